// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/fit.h"
#include "tessera/target/machine.h"

/// moves/: what it takes to have a tensor somewhere else on a machine. In: a machine and two
/// tensors in its memories. Out: the steps of the move, each with its time and what dominates it.
/// Routes and loads come from fabric/, transfers and collectives from reshard/. Pure: no files, no
/// threads, no notations.
namespace tessera::moves {

/// A tensor in a memory of a machine.
struct Stored {
  Placement placement;  ///< its places are coordinates of the machine, or numbers of places
  std::string space;    ///< the memory; empty: the one that the layout names, else data_space
  target::Spread spread = target::Spread::kWhole;
};

// =================================================================================================
// Where a tensor is: endpoints
//
// Every memory consists of parts: one per place, one per bank, or a single one. They are numbered
// together, as fabric/topology.h numbers endpoints:
//
//     places           row-major; the memories of a place are at the same endpoint
//     banks            memory by memory, device by device, bank by bank
//     shared memories  memory by memory
//
// so that a tensor in any memory is a tensor on numbered places, and a move between memories is a
// reshard. The rules:
//
//     memory per place   the place itself. Interleaved: page i on place i mod P.
//     memory per bank    On a machine of one device: a tensor on a single place, or interleaved,
//                        has page i in bank i mod B; shard i of a mesh is in bank i mod B. On a
//                        machine of several devices, the places of the tensor are devices, and the
//                        pages of each are interleaved over the banks of its device.
//     shared memory      everything is there, whatever places the layout has: they only say which
//                        place works on which part.
//
// A page is a tile, or without tiles a row of the last dim as it is in memory.
// =================================================================================================

/// The numbers of the endpoints of a machine.
class EndpointNumbers {
 public:
  explicit EndpointNumbers(const Machine& machine);
  std::int64_t count() const { return count_; }
  /// The first endpoint of a memory; for memories per place 0.
  std::int64_t first(std::size_t memory) const { return first_[memory]; }
  /// The memory that an endpoint beyond the places belongs to.
  std::size_t memory_at(std::int64_t endpoint) const;

 private:
  std::int64_t places_ = 0;
  std::vector<std::int64_t> first_;
  std::int64_t count_ = 0;
};

/// The index in Machine::memory where a tensor is. kUnknownName for a memory that the machine does
/// not have.
Result<std::size_t> memory_of(const Stored& stored, const Machine& machine);

/// The layout with its memory cut into pages: slot s becomes slot s mod `page` of the page s div
/// `page`, a further, last mesh axis. kNotSupported where a digit crosses the border of a page.
/// Law: place'(x) = place(x) ++ [slot(x) div page], slot'(x) = slot(x) mod page.
Result<Layout> in_pages(const Layout& layout, std::int64_t page);

/// Elements of a page: of a tile, or of the slots that the last dim takes in memory.
std::int64_t page_elements(const Layout& layout);

/// The tensor on endpoints: its device map leads to a device of rank 1, the numbers above. Errors:
/// kUnknownName; kOutOfRange for places that the machine does not have; kMeshMismatch for ranks
/// that do not fit; kNotSupported for views and pieces where pages or stacked places would be
/// needed.
Result<Placement> on_endpoints(const Stored& stored, const Machine& machine);

/// A tensor on the places of its own mesh, counted row-major, and the endpoint of each in short
/// form. Places that are dealt out are counted modulo their period: place v = outer·length + page
/// is at the endpoint outer_endpoints[outer] + page mod period. Law: endpoint(reduced(v)) is the
/// endpoint of place v, and reduced(v + w) = sum(reduced(v), reduced(w)) where the pages of v and w
/// together are below `length`.
struct DealtSide {
  Form form;
  std::int64_t length = 1;
  std::int64_t period = 1;
  std::vector<std::int64_t> outer_endpoints;

  std::int64_t reduced(std::int64_t place) const {
    return place / length * room() + place % length % period;
  }
  /// What leads from one place to another; may be negative.
  std::int64_t step(std::int64_t from, std::int64_t to) const {
    const std::int64_t pages = to % length % period - from % length % period;
    return (to / length - from / length) * room() + (pages < 0 ? pages + period : pages);
  }
  /// A reduced place, and a step to another one.
  std::int64_t sum(std::int64_t place, std::int64_t step) const {
    const std::int64_t both = place + step;
    return both % room() < period ? both : both - period;
  }
  std::int64_t endpoint(std::int64_t reduced_place) const {
    return outer_endpoints[static_cast<std::size_t>(reduced_place / room())] +
           reduced_place % room();
  }
  /// Reduced places are below this.
  std::int64_t numbers() const {
    return static_cast<std::int64_t>(outer_endpoints.size()) * room();
  }
  /// Numbers that one outer place takes: enough for the sum of two pages.
  std::int64_t room() const { return 2 * period - 1; }
};

/// The endpoints of a tensor with one layout, in short form.
Result<DealtSide> dealt_side(const Stored& stored, const Machine& machine);

/// The levels above the innermost, as one shape of devices.
Result<Shape> devices_of(const Machine& machine);

/// True if a tensor is in the memories of the places that its layout names.
bool is_on_places(const Stored& stored, const Machine& machine, std::size_t memory);

/// True if every element is in the same slot of the same memory of the same endpoints.
Result<bool> is_same(const Machine& machine, const Stored& a, const Stored& b);

/// A move as a reshard.
struct MachineReshard {
  reshard::Reshard reshard;  ///< its physical places are endpoints
  std::size_t memory_a = 0;  ///< in Machine::memory
  std::size_t memory_b = 0;
};

/// Between memories of places, a reshard on the machine's mesh; otherwise between endpoints.
Result<MachineReshard> reshard_on(const Machine& machine, const Stored& a, const Stored& b);

/// The tensor with elements of another type on the same slots. kBadDType where the storage unit of
/// the layout cannot hold the type (block floats need tiles).
Result<Placement> retyped(const Placement& placement, DType dtype, DType storage);

}  // namespace tessera::moves
