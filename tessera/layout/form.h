// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/fold.h"

namespace tessera {

/// How partial results on several places combine into the value.
enum class Reduction : std::uint8_t { kSum, kProduct, kMin, kMax, kAnd, kOr };
std::string_view reduction_name(Reduction reduction);

/// What a mesh axis (or a part of one) that no digit uses means. Said, never guessed.
///   Replicate  every one of the `count` coordinates, `stride` apart, holds the element.
///   Partial    the same, but each holds a share and the value is their reduction.
///   Fixed      data live only at coordinate `value` (added to what digits contribute).
struct Fill {
  enum class Kind : std::uint8_t { kReplicate, kPartial, kFixed };
  int axis = 0;
  Kind kind = Kind::kFixed;
  std::int64_t count = 1;   ///< replicate and partial: how many coordinates
  std::int64_t stride = 1;  ///< replicate and partial: how far apart they are
  std::int64_t value = 0;   ///< fixed: the coordinate
  Reduction reduction = Reduction::kSum;

  static Fill replicate(int axis, std::int64_t count, std::int64_t stride = 1);
  static Fill partial(int axis, std::int64_t count, Reduction reduction, std::int64_t stride = 1);
  static Fill fixed(int axis, std::int64_t value);
  friend bool operator==(const Fill&, const Fill&) = default;
};

/// Where elements are: the function that a Layout and a View share.
///
///     coordinate on mesh axis a = Σ digit·stride over the digits placed on a  (+ fills)
///     slot                      = offset + Σ digit·stride over the digits placed in memory
///
/// A Form is plain: it may alias, leave holes, and says nothing of bytes. `check` tells whether it
/// is well-formed; everything below assumes that it is.
struct Form {
  Shape shape;  ///< logical extents
  Shape mesh;   ///< virtual mesh; rank 0 is a single place
  std::vector<Fold> folds;
  std::vector<Fill> fills;
  std::int64_t offset = 0;  ///< slot of the all-zero digits

  friend bool operator==(const Form&, const Form&) = default;

  /// Folds and fills are well-formed, stay inside the mesh, say something about every mesh axis
  /// longer than 1, and no place, slot or product overflows.
  Status check() const;

  /// One past the largest slot that the allocated digits reach; 0 when a memory digit has no
  /// values.
  std::int64_t reach() const;
  /// How many places hold each element.
  std::int64_t replicas() const;

  /// The first place (all replica coordinates zero) and the slot of `index`, straight from the
  /// definition. `index` must lie inside the shape.
  void evaluate(const Index& index, Place& place, std::int64_t& slot) const;
};

/// Every place of an element whose first place is `first`, in row-major order of the fills.
std::vector<Place> replica_places(const Form& form, const Place& first);

}  // namespace tessera
