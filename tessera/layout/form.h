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

/// The meaning of a mesh axis (or a part of one) that no digit uses. It is always given, never
/// guessed.
///   Replicate  each of the `count` coordinates, `stride` apart, holds the element.
///   Partial    the same, but each holds a share, and the value is the reduction of the shares.
///   Fixed      data is only at coordinate `value` (added to what the digits contribute).
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

/// The function from indices to places and slots. A Layout and a View each contain one.
///
///     coordinate on mesh axis a = Σ digit·stride over the digits placed on a  (+ fills)
///     slot                      = offset + Σ digit·stride over the digits placed in memory
///
/// A Form may alias and may leave holes, and it does not define bytes. `check` tests whether it is
/// well-formed; all other functions require that it is.
struct Form {
  Shape shape;  ///< logical extents
  Shape mesh;   ///< virtual mesh; rank 0 is a single place
  std::vector<Fold> folds;
  std::vector<Fill> fills;
  std::int64_t offset = 0;  ///< the slot when all digits are zero

  friend bool operator==(const Form&, const Form&) = default;

  /// Checks that folds and fills are well-formed, stay inside the mesh and cover every mesh axis
  /// longer than 1, and that no place, slot or product overflows.
  Status check() const;

  /// One past the largest slot that the allocated digits reach; 0 if a memory digit has no values.
  std::int64_t reach() const;
  /// How many places hold each element.
  std::int64_t replicas() const;

  /// The first place (all replica coordinates zero) and the slot of `index`, computed directly from
  /// the definition. `index` must lie inside the shape.
  void evaluate(const Index& index, Place& place, std::int64_t& slot) const;
};

/// All places of an element whose first place is `first`, in row-major order of the fills.
std::vector<Place> replica_places(const Form& form, const Place& first);

}  // namespace tessera
