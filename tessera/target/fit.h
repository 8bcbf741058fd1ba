// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/target/machine.h"

namespace tessera::target {

/// One reason why a layout does not fit a machine.
struct Misfit {
  enum class Code : std::uint8_t {
    kExceedsMemory,  ///< more than the memory has, whatever it is used for
    kExceedsBudget,  ///< fits the memory, but not what is left of it for data
    kMeshTooLarge,   ///< more places, or more along an axis, than the machine has
    kDeadPlaces,     ///< places that do not work lie under the mesh
    kSpanTooLong,    ///< one place reaches further than it may
  };
  Code code = Code::kExceedsMemory;
  std::string message;
};
/// "exceeds_memory", "exceeds_data_budget", "mesh_too_large", "dead_places", "span_too_long".
std::string_view misfit_name(Misfit::Code code);

/// Whose bytes are spoken of: "a place", "a bank", "in all".
std::string_view each_owner(MemorySpace::Owner owner);

/// Whether a layout fits a machine, and by how much.
struct Fit {
  std::string space;         ///< the memory that was looked at
  std::string layout_space;  ///< the memory that the layout names; empty when it names none
  MemorySpace::Owner owner = MemorySpace::Owner::kPlace;
  std::int64_t shard_bytes = 0;  ///< of one place, in whole units of the memory's alignment
  std::int64_t held_bytes = 0;   ///< what one place, one bank or the shared memory has to hold
  std::optional<std::int64_t> capacity_bytes;  ///< of that place, bank or memory, if published
  std::optional<std::int64_t> usable_bytes;    ///< what of it is for data
  /// The fewest places whose data budgets hold the elements, whatever the layout; nothing for
  /// memories that belong to no place, or of unknown size.
  std::optional<std::int64_t> needed_places;
  std::vector<Misfit> reasons;

  bool fits() const { return reasons.empty(); }
  /// held_bytes in percent of usable_bytes, if that is known.
  std::optional<double> share_percent() const;
};

/// How a tensor on one place lies in its memory. Layouts do not say; notations may.
enum class Spread : std::uint8_t {
  kWhole,        ///< all of it on that place
  kInterleaved,  ///< dealt in pages to all places that work, or to all banks
};

/// Checks one tensor against a machine that is otherwise empty.
///
/// The memory is the one that the layout names where the machine has it, else the machine's
/// `data_space`. What has to be held there follows from whom it belongs to:
///   place    a shard, times the virtual places that a device map stacks on one physical place; of
///            an interleaved tensor, a place's share of the pages (tiles, or rows of the last dim)
///   bank     tensors on one place are dealt to the banks in pages; shards of a mesh are dealt out
///            in turn, or as the device map says
///   shared   the shards of all places; each is also the span of its place
/// The mesh (through the device map, if there is one) must lie inside the machine's, axis by axis;
/// when ranks differ only the numbers of places are compared. Meshes over banks and interleaved
/// tensors are not compared with the mesh of places.
///
/// Law: fits() ⇔ no reason is given, and a layout that fits also fits a machine that has more of
/// everything.
/// Example: [1024, 1024] f32 on one place of wse2: 4 MB > 48 KB a place (36 KB for data).
/// Errors: a machine that `check` refuses; kTooLarge for a device map of more than 2^22 places on a
/// machine with dead ones.
Result<Fit> fits(const Layout& layout, const Machine& machine, Spread spread = Spread::kWhole);

}  // namespace tessera::target
