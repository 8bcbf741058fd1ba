// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// A Morello layout: physical dims from slowest to fastest, each of which takes a part of a logical
/// dim. Text comes in; a layout on a single place without padding goes out.
///
///     morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]
///
/// The rule. Starting with the last, each physical dim of size p over logical dim i adds
/// α·(floor(d_i / v_i) mod p) to the buffer offset, where α is the volume covered so far and v_i
/// the part of dim i covered so far.
///
///   Dynamic     takes what is left of its dim; once per dim, as its outermost part
///   Packed(n)   takes n, which must divide what is left; if less than n is left, it takes that,
///               once per dim
///   OddEven(n)  takes n, an even number, and puts even positions first: for n = 8 positions
///               0 .. 7 go to 0 4 1 5 2 6 3 7; if 1 is left it takes that, which counts as the
///               one exception of the dim
///
/// The physical dims cover everything exactly (a dim of extent 1 need not be listed), so there is
/// never padding. A shape that does not fit is kInvalidShape with the reason.
///
/// Morello's own constructor also rejects adjacent physical dims that act as one, such as
/// (0, Dynamic) directly before (0, Packed(4)), and packs of 1. This reader accepts them with the
/// meaning that the rule gives them.
struct MorelloDim {
  enum class Kind : std::uint8_t { kDynamic, kPacked, kOddEven };
  std::int64_t dim = 0;
  Kind kind = Kind::kDynamic;
  std::int64_t size = 0;  ///< Packed and OddEven
  friend bool operator==(const MorelloDim&, const MorelloDim&) = default;
};

/// The maximum number of physical dims. After 64 dims of size 2 or more, no extent is left.
inline constexpr std::size_t kMaxMorelloDims = 256;

struct MorelloLayout {
  /// A builder is an abbreviation for a list of dims of the tensor's rank. It prints as the
  /// builder.
  enum class Builder : std::uint8_t { kNone, kRowMajor, kColMajor, kNhwc };
  Builder builder = Builder::kNone;
  std::vector<MorelloDim> dims;  ///< with a builder: its expansion
  bool says_rank = false;        ///< `row_major(2)` rather than `row_major()`
  friend bool operator==(const MorelloLayout&, const MorelloLayout&) = default;
};

/// The expansion of a builder: all dims Dynamic, in the order 0 1 .. (row_major), .. 1 0
/// (col_major) or 0 2 3 1 (nhwc, only rank 4: otherwise kInvalidShape).
Result<MorelloLayout> morello_builder(MorelloLayout::Builder builder, std::size_t rank);

/// A layout on a single place without padding, one fold per dim.
Result<Layout> lower(const MorelloLayout& words, const Shape& shape, DType dtype);

/// The Morello layout of any layout that is a product of packs, however it was described: a single
/// place, scalar atoms, every slot used. Uses a builder if one expresses it.
/// Law: lower(*raise_morello(l), l.shape(), l.dtype()) is the same function as l.
Result<MorelloLayout> raise_morello(const Layout& layout);
std::string write(const MorelloLayout& words);

/// The size of each physical dim for this shape, slowest first.
/// Example: the layout above on 6x8: 2, 6, 4. Law: they multiply to the number of elements.
Result<std::vector<std::int64_t>> physical_sizes(const MorelloLayout& words, const Shape& shape);

/// The buffer indexing expression, simplified: `4*d0 + 24*(d1/4) + d1%4`.
///
/// One term per digit, ordered by dim and within a dim from its most significant digit. A digit is
/// `(d/v)%p`, without `/v` if v is 1 and without `%p` if the dim ends there. Digits that are always
/// 0 are dropped, and adjacent digits that act as one are joined. With no digits left, the
/// expression is `0`.
/// Law: evaluating it with integer division and remainder gives the slot of every index.
Result<std::string> index_expression(const MorelloLayout& words, const Shape& shape);

}  // namespace tessera::notation
