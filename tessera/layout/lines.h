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

}  // namespace tessera
