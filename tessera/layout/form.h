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

/// A position as two numbers: the row-major number of the place on a mesh, and the slot. Both are
/// sums of digits times strides, so moving along a dim adds a Position.
///
/// Arithmetic wraps modulo 2^64. The position of every element fits an int64, so sums are exact
/// even if intermediate values overflow or are negative.
struct Position {
  std::int64_t place = 0;
  std::int64_t slot = 0;
  friend bool operator==(const Position&, const Position&) = default;
  friend auto operator<=>(const Position&, const Position&) = default;
  friend Position operator+(Position a, Position b) {
    return {wrap_add(a.place, b.place), wrap_add(a.slot, b.slot)};
  }
  friend Position operator-(Position a, Position b) { return a + b * -1; }
  friend Position operator*(Position a, std::int64_t n) {
    return {wrap_mul(a.place, n), wrap_mul(a.slot, n)};
  }
  Position& operator+=(Position b) { return *this = *this + b; }
  bool is_zero() const { return place == 0 && slot == 0; }

 private:
  static std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  static std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};

/// A cut without its allocation: its width, and how far one unit of the digit moves.
struct LineCut {
  std::int64_t width = 1;
  Position move;
  friend bool operator==(const LineCut&, const LineCut&) = default;
  friend auto operator<=>(const LineCut&, const LineCut&) = default;
};

/// A fold reduced to its function: the sum over the cuts of digit·move.
struct Line {
  std::vector<Term> terms;  ///< in decreasing order of |coef|
  std::int64_t start = 0;
  std::vector<LineCut> cuts;  ///< decreasing widths; the last is 1
  friend bool operator==(const Line&, const Line&) = default;
};

/// The canonical form of a function from indices to positions: position(x) = base + Σ line(x).
///
/// Digits that are always 0 are dropped. Neighbouring digits that act as one are joined. Dims of
/// extent 1 are removed. Joined dims are separated where the cuts allow it ("un-collapse": the line
/// 64·x0 + x1 cut at multiples of 64 is two lines). Constants move into `base`. A form is separable
/// when every line has at most one term.
///
/// Law: position(x) equals the first place and slot of Form::evaluate for every x.
struct Lines {
  Shape shape;
  Shape mesh;  ///< the mesh in which places are numbered
  Position base;
  std::vector<Line> lines;  ///< sorted, so that equal sets of lines compare equal

  bool separable() const;
  Position position(const Index& index) const;
};

/// Canonical lines of a form, with places numbered row-major in `mesh`, which must be at least as
/// large as the form's mesh on every axis. To compare two forms, use one mesh that contains both.
Result<Lines> canonical(const Form& form, const Shape& mesh);
inline Result<Lines> canonical(const Form& form) { return canonical(form, form.mesh); }

/// The positions of one element in two forms at once.
struct PositionPair {
  Position a;
  Position b;
  friend bool operator==(const PositionPair&, const PositionPair&) = default;
};

/// One loop of a nest: `extent` steps of `step` along logical `dim`. Each step moves both sides by
/// a constant amount.
struct Loop {
  int dim = 0;
  std::int64_t extent = 1;
  std::int64_t step = 1;
  PositionPair move;
  friend bool operator==(const Loop&, const Loop&) = default;
};

/// A set of elements that both forms place along plain strides: the element at `origin + Σ i·step`
/// is at `at.a + Σ i·move.a` in A and at `at.b + Σ i·move.b` in B. Loops of one dim are ordered
/// from the largest step to the smallest.
struct Nest {
  Index origin;
  PositionPair at;
  std::vector<Loop> loops;
  std::int64_t elements() const;
};

/// The part of a nest that depends only on the dims of one factor.
struct Piece {
  std::vector<std::int64_t> origin;  ///< one number per dim of the factor
  PositionPair at;
  std::vector<Loop> loops;
};

/// Dims that some fold of A or B joins, and the pieces of their index space.
struct Factor {
  std::vector<int> dims;
  std::vector<Piece> pieces;
};

/// The common refinement of A and B in product form: every choice of one piece per factor is a
/// nest, and each element is in exactly one nest.
class Refinement {
 public:
  Refinement(Shape shape, Shape mesh_a, Shape mesh_b, PositionPair base,
             std::vector<Factor> factors);

  const std::vector<Factor>& factors() const { return factors_; }
  const PositionPair& base() const { return base_; }
  const Shape& shape() const { return shape_; }
  /// The meshes in which the places of side a and side b are numbered, row-major.
  const Shape& mesh_a() const { return mesh_a_; }
  const Shape& mesh_b() const { return mesh_b_; }

  /// The number of nests: the product of the factors' numbers of pieces. 0 for an empty tensor.
  std::int64_t nests() const { return nests_; }
  /// Nest number i, in row-major order of the factors. Law: the nests partition the index space.
  Nest nest(std::int64_t i) const;

 private:
  Shape shape_, mesh_a_, mesh_b_;
  PositionPair base_;
  std::vector<Factor> factors_;
  std::int64_t nests_ = 0;
};

/// Cuts the index space at every boundary of either form, so that both have plain strides inside
/// each nest. Exact also if widths do not divide: where widths u and v share no common multiple
/// inside the line, one period of lcm(u, v) has u/g + v/g - 1 segments, g = gcd(u, v), and one more
/// if their starts differ modulo g.
/// Example: 12 elements as 3 pieces of 4 against 2 pieces of 6: segments [0,4) [4,6) [6,8) [8,12).
/// Shapes must agree. Errors: kShapeMismatch, kTooLarge if there would be more than 2^18 pieces.
Result<Refinement> refine(const Form& a, const Form& b);

/// The same for canonical lines, whose places may be numbered in a mesh that contains both.
Result<Refinement> refine(const Lines& a, const Lines& b);

/// The nests of one form alone (both sides of `PositionPair` are A).
Result<Refinement> refine(const Form& a);

}  // namespace tessera
