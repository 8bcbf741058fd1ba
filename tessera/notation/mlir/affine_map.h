// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/fold.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {

/// One result of an affine map that fold, cut and place can say:
///
///     ((constant + Σ coef·d[dim]) mod modulus) floordiv divisor
///
/// with modulus 0 for none and divisor 1 for none. Sums, products by constants, parentheses,
/// floordiv, mod and ceildiv by positive constants are read and brought into this shape where that
/// is exact (`(d0 floordiv 2) floordiv 3` is `d0 floordiv 6`, `(d0 floordiv 2) mod 3` is
/// `(d0 mod 6) floordiv 2`); a sum of quotients is a typed refusal.
struct AffineResult {
  std::vector<Term> terms;  ///< sorted by dim, no coefficient is 0
  std::int64_t constant = 0;
  std::int64_t modulus = 0;
  std::int64_t divisor = 1;
  friend bool operator==(const AffineResult&, const AffineResult&) = default;

  bool is_linear() const { return modulus == 0 && divisor == 1; }
  bool is_constant() const { return is_linear() && terms.empty(); }
  /// The value at an index; the caller keeps dims inside the index. For tests and messages.
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

/// Reads a map, with or without `affine_map<..>` around it. Dims are d0, d1, .. in order. `span`
/// becomes that of the map inside.
Result<AffineMap> read_affine_map(Cursor& cursor, Span* span = nullptr);
/// Law: reading what was written gives the same map. `(d0, d1) -> (d0 * 64 + d1, 0)`.
std::string write_affine_map(const AffineMap& map);

/// The length of the line of values: one past the largest, and 0 when a dim of the result is empty.
/// For a linear result that rises with every dim this is the seed's map(N-1)+1; a flipped dim
/// counts from its low end, and where a line wraps every remainder has room, taken or not. kBadFold
/// when a value is negative.
/// Example: (d0 * 96 + d1) on 8x96 is 768 long; (d0 mod 8) on 20 is 8 long.
Result<std::int64_t> line_length(const AffineResult& result, const Shape& shape);

/// The fold of a result with these cuts on its value: widths are multiplied by the divisor, and
/// what modulus and divisor leave over goes to unplaced digits. Law: for every index, the digits of
/// the fold's placed cuts are those of cutting `result.at(x)`. Refuses (kOverflow, kRankTooLarge)
/// what does not fit.
Result<Fold> fold_of(const AffineResult& result, const Shape& shape, std::vector<Cut> cuts);

}  // namespace tessera::notation
