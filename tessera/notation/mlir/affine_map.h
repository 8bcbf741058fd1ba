// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/form.h"
#include "tessera/notation/text/cursor.h"

/// mlir/: the parts of MLIR's syntax that several notations share: affine maps, memrefs and core
/// ranges. Text comes in; plain structs go out, and their text again. Which maps and memory spaces
/// are valid, and what they mean for a tensor, is decided by the notation that uses them.
namespace tessera::notation {

/// One result of an affine map that a fold with cuts can express:
///
///     ((constant + Σ coef·d[dim]) mod modulus) floordiv divisor
///
/// A modulus of 0 means no modulus and a divisor of 1 means no divisor. Sums, products by
/// constants, parentheses, floordiv, mod and ceildiv by positive constants are read and converted
/// to this form where that is exact (`(d0 floordiv 2) floordiv 3` is `d0 floordiv 6`,
/// `(d0 floordiv 2) mod 3` is `(d0 mod 6) floordiv 2`); a sum of quotients is an error.
struct AffineResult {
  std::vector<Term> terms;  ///< sorted by dim, no coefficient is 0
  std::int64_t constant = 0;
  std::int64_t modulus = 0;
  std::int64_t divisor = 1;
  friend bool operator==(const AffineResult&, const AffineResult&) = default;

  bool is_linear() const { return modulus == 0 && divisor == 1; }
  bool is_constant() const { return is_linear() && terms.empty(); }
  /// The value at an index, which must have all dims of the result. For tests and messages.
  std::int64_t at(const Index& index) const;
};

/// `(d0, d1) -> (d0 * 64 + d1, 0)` as MLIR writes it.
struct AffineMap {
  int dims = 0;
  std::vector<AffineResult> results;
  friend bool operator==(const AffineMap&, const AffineMap&) = default;

  /// (d0, d1, ..) -> (d0, d1, ..)
  static AffineMap identity(std::size_t rank);
};

/// Reads a map, with or without `affine_map<..>` around it. Dims are d0, d1, .. in order. `span` is
/// set to the span of the map inside.
Result<AffineMap> read_affine_map(Cursor& cursor, Span* span = nullptr);
/// Law: reading what was written gives the same map. `(d0, d1) -> (d0 * 64 + d1, 0)`.
std::string write_affine_map(const AffineMap& map);

/// The length of the line of values: one past the largest, and 0 when a dim of the result is empty.
/// For a linear result that increases with every dim this is map(N-1)+1 of the tt-mlir layout
/// specification. For a dim with a negative coefficient the largest value is at its first index.
/// With a modulus the length has room for every remainder, used or not. kBadFold when a value is
/// negative.
/// Example: (d0 * 96 + d1) on 8x96 is 768 long; (d0 mod 8) on 20 is 8 long.
Result<std::int64_t> line_length(const AffineResult& result, const Shape& shape);

/// The fold of a result with these cuts on its value. Widths are multiplied by the divisor; what
/// the modulus and the divisor drop becomes unplaced digits.
/// Law: for every index, the digits of the fold's placed cuts are those of cutting `result.at(x)`.
/// Errors: kOverflow and kRankTooLarge when the fold would be too large.
Result<Fold> fold_of(const AffineResult& result, const Shape& shape, std::vector<Cut> cuts);

}  // namespace tessera::notation
