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

/// A readable and exact size: in the largest of GB, MB and KB (factors of 1024) that divides it,
/// else in bytes.
/// Example: 49152 is "48 KB", 4194304 is "4 MB", 1396736 is "1364 KB", 1088 is "1088 bytes".
std::string size_text(std::int64_t bytes);

/// One reason why a layout does not fit a machine.
struct Misfit {
  enum class Code : std::uint8_t {
    kExceedsMemory,  ///< more than the whole memory has
    kExceedsBudget,  ///< fits the memory, but not its data budget
    kMeshTooLarge,   ///< more places, or more along an axis, than the machine has
    kDeadPlaces,     ///< the mesh includes places that do not work
    kSpanTooLong,    ///< one place addresses more than its span limit
  };
  Code code = Code::kExceedsMemory;
  std::string message;
};
/// "exceeds_memory", "exceeds_data_budget", "mesh_too_large", "dead_places", "span_too_long".
std::string_view misfit_name(Misfit::Code code);

/// The owner of the bytes in a message: "per place", "per bank", "in total".
std::string_view each_owner(MemorySpace::Owner owner);

/// Whether a layout fits a machine, and by how much.
struct Fit {
  std::string space;         ///< the memory that was checked
  std::string layout_space;  ///< the memory that the layout names; empty if none
  MemorySpace::Owner owner = MemorySpace::Owner::kPlace;
  std::int64_t shard_bytes = 0;  ///< of one place, rounded up to the memory's alignment
  std::int64_t held_bytes = 0;   ///< what one place, one bank or the shared memory must hold
  std::optional<std::int64_t> capacity_bytes;  ///< of that place, bank or memory, if published
  std::optional<std::int64_t> usable_bytes;    ///< the part of it for data
  /// The fewest places whose data budgets hold the elements, for any layout. Empty for memories
  /// that belong to no place or have an unknown size.
  std::optional<std::int64_t> needed_places;
  std::vector<Misfit> reasons;

  bool fits() const { return reasons.empty(); }
  /// held_bytes in percent of usable_bytes, if known.
  std::optional<double> share_percent() const;
};

/// How a tensor on one place is stored. Layouts do not specify this; notations may.
enum class Spread : std::uint8_t {
  kWhole,        ///< all of it on that place
  kInterleaved,  ///< in pages, round-robin over all working places or all banks
};

/// Checks one tensor against a machine that is otherwise empty.
///
/// The memory is the one that the layout names if the machine has it, else the machine's
/// `data_space`. What it must hold depends on its owner:
///   place    one shard, times the number of virtual places that a device map stacks on one
///            physical place; for an interleaved tensor, the place's share of the pages (tiles, or
///            rows of the last dim)
///   bank     a tensor on one place is distributed over the banks in pages; shards of a mesh are
///            distributed round-robin, or by the device map. Where there
///            are several devices, each with its own banks, meshes of the machine's rank lie on
///            them axis by axis, meshes of the rank of a device are on one device, and others are
///            distributed evenly
///   shared   the shards of all places; each shard is also the span of its place
/// The mesh (after the device map, if there is one) must lie inside the machine's mesh, axis by
/// axis. If the ranks differ, only the numbers of places are compared. Meshes over banks and
/// interleaved tensors are not compared with the mesh of places.
///
/// Law: fits() ⇔ `reasons` is empty, and a layout that fits also fits a machine that has more of
/// everything.
/// Example: [1024, 1024] f32 on one place of wse2: 4 MB > 48 KB per place (36 KB for data).
/// Errors: a machine that `check` rejects; kTooLarge for a device map of more than 2^22 places on a
/// machine with dead places.
Result<Fit> fits(const Layout& layout, const Machine& machine, Spread spread = Spread::kWhole);

}  // namespace tessera::target
