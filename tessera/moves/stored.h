// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

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
