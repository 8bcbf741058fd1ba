// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera {

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
