// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"

namespace tessera {

/// Why a slot holds no element. If several causes apply, the first in this order is reported; the
/// order is part of the command's contract.
enum class Cause : std::uint8_t {
  kSynthetic,  ///< a digit that depends on no logical dim: sparse sticks
  kGap,        ///< a hole between elements: an enlarged stride, a slot that no digit reaches
  kAlignment,  ///< rounding an extent up
  kStick,      ///< the end of a partly filled stick
  kTile,       ///< the edge of a partly filled tile
  kGrid,       ///< places left over because the grid does not divide the tensor
};
inline constexpr std::size_t kCauses = 6;

/// "synthetic", "gap", "alignment", "stick", "tile", "grid".
std::string_view cause_name(Cause cause);

/// Where the value of a digit goes: a mesh axis, memory, or nowhere.
class Target {
 public:
  static constexpr Target nothing() { return Target(-2); }
  static constexpr Target memory() { return Target(-1); }
  static constexpr Target mesh(int axis) { return Target(axis); }

  constexpr bool is_nothing() const { return code_ == -2; }
  constexpr bool is_memory() const { return code_ == -1; }
  constexpr bool is_mesh() const { return code_ >= 0; }
  constexpr int axis() const { return code_; }
  friend constexpr bool operator==(Target, Target) = default;

 private:
  explicit constexpr Target(int code) : code_(code) {}
  int code_;
};

/// One step of a fold's chain: divides the rest of the line by `width`. The quotient is the digit;
/// the remainder goes to the next cut.
struct Cut {
  std::int64_t width = 1;
  std::int64_t count = 1;  ///< allocated values of the digit, 0 .. count-1; may exceed `needed`
  Target target = Target::memory();
  std::int64_t stride = 1;  ///< mesh coordinates or slots per unit of the digit
  /// The cause reported for slots in which this digit runs past the end of the piece of the
  /// previous cut (for the first digit: past the end of the line).
  Cause cause = Cause::kAlignment;
  friend bool operator==(const Cut&, const Cut&) = default;
};

/// The default cause: synthetic in a fold without dims, grid for a digit on the mesh, else
/// alignment.
Cause default_cause(bool fold_has_dims, Target target);

/// coef · x[dim]
struct Term {
  int dim = 0;
  std::int64_t coef = 1;
  friend bool operator==(const Term&, const Term&) = default;
};

/// Joins dims into a line and cuts it:
///
///     p = start + Σ coef·x[dim]
///     v = p;  for each cut: digit = v div width, v = v mod width       (the last width is 1)
///
/// Law: p = Σ digit·width, and for every cut, the sum of digit·width over the later cuts is less
/// than its width.
/// Example: 53 rows on 3 cores, then 32-row tiles, is {x0} cut by widths (18, 32, 1): row 40 has
/// digits (2, 0, 4). The widths are a chain, not radices: 32 does not divide 18, and the second
/// digit is always 0 because a piece of 18 rows never fills a tile.
///
/// A negative coefficient reverses a dim; `start` must keep the line at or above zero. A fold
/// without terms is synthetic: its line is the single point `start`.
struct Fold {
  std::vector<Term> terms;
  std::int64_t start = 0;
  std::vector<Cut> cuts;
  friend bool operator==(const Fold&, const Fold&) = default;

  /// The needed length E of the line: one past the largest p, or 0 if a dim of the fold is empty.
  /// Only for folds that `check` accepts.
  std::int64_t extent(const Shape& shape) const;
  /// The smallest p of any index. Only for folds that `check` accepts and that are not empty.
  std::int64_t first(const Shape& shape) const;
  /// For each cut k, the needed number of digit values: ceil(min(E, w_1 .. w_{k-1}) / w_k).
  std::vector<std::int64_t> needed(const Shape& shape) const;

  /// Checks that dims exist and are named once, coefficients are not zero, the line starts at or
  /// above zero, widths are positive and end in 1, counts are at least `needed`, strides of placed
  /// digits are positive, and no product overflows.
  Status check(const Shape& shape, std::size_t mesh_rank) const;
};

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
