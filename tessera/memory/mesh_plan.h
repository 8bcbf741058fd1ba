// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/mesh/place_sizes.h"
#include "tessera/memory/problem.h"
#include "tessera/memory/solve.h"

namespace tessera::memory {

/// Which places share offsets.
enum class OffsetMode : std::uint8_t {
  kLockStep,  ///< a tensor has the same offset on every place: one program runs everywhere
  kPerClass,  ///< each class of places has its own offsets
};
std::string_view offset_mode_name(OffsetMode mode);  ///< "lock_step", "per_class"

struct MeshPlanOptions {
  OffsetMode mode = OffsetMode::kLockStep;
  /// Capacity, time and techniques. The capacity applies to every place; the time limit to the
  /// whole mesh.
  SolveOptions solve = {};
};

/// Offsets for all places of a mesh.
///
/// Law: on every place, of class c, the offsets of c are a plan for the sizes of c. In lock step
/// all classes have the same offsets.
struct MeshPlan {
  OffsetMode mode = OffsetMode::kLockStep;
  Outcome outcome = Outcome::kUnknown;
  std::int64_t peak = 0;  ///< one past the highest byte used on any place
  /// The most that is live at one moment on one place (more where alignments keep bytes apart), and
  /// at least the end of every fixed buffer.
  std::int64_t lower_bound = 0;
  bool optimal = false;       ///< no plan of this mode has a lower peak
  std::string_view found_by;  ///< the technique that found the highest of the plans
  double seconds = 0;
  std::uint32_t worst = 0;  ///< the class that determines the bound, one of maximal()

  std::vector<std::vector<std::int64_t>> offsets;  ///< plans; one entry per buffer
  std::vector<std::uint32_t> plan_of;              ///< the plan of each of maximal()

  double gap() const;  ///< peak / lower_bound - 1; 0 when nothing is live

  /// The plan of a class.
  const std::vector<std::int64_t>& offsets_of(const PlaceSizes& sizes, std::size_t c) const {
    return offsets[plan_of[sizes.dominator(c)]];
  }
  /// One past the highest byte used on the places of a class.
  std::int64_t used(const PlaceSizes& sizes, std::size_t c) const;
  /// The same for every class, in one pass.
  std::vector<std::int64_t> used_by_class(const PlaceSizes& sizes) const;
};

/// The buffers of one class: lifetimes and aliases of `buffers` with the class's sizes.
Problem problem_of(std::span<const Buffer> buffers, const PlaceSizes& sizes, std::size_t c);

/// Offsets for buffers whose sizes differ from place to place: buffer i is tensor i of `sizes`, and
/// the sizes in `buffers` are ignored.
///
/// Per class: `solve` runs for every class that no other class dominates; the others use the plan
/// of their dominator. Only the peak of the mesh counts: no class is planned lower than the
/// capacity or, when minimising without a capacity, the largest bound of a class. If there are more
/// than 64 classes, plans that serve many classes at once are tried first.
/// In lock step: `lock_step` (lock_step.h).
/// Errors: those of check(), kNotSupported for a buffer with gaps (the bytes that it keeps would
/// have to differ from place to place, like its size), kTooLarge for more than 2^23 sizes of
/// maximal classes, kOutOfMemory. A capacity that is too small is an outcome, never an error.
Result<MeshPlan> plan_mesh(std::span<const Buffer> buffers, const PlaceSizes& sizes,
                           const MeshPlanOptions& options);

}  // namespace tessera::memory
