// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// A Morello layout: physical dims from slowest to fastest, each taking a share of a logical dim.
///
///     morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]
///
/// The rule. From the back, each physical dim of size p over logical dim i adds
/// α·(floor(d_i / v_i) mod p) to the buffer offset, where α is the volume covered so far and v_i
/// the part of dim i covered so far.
///
///   Dynamic     takes what is left of its dim; once a dim, and outermost of it
///   Packed(n)   takes n, which must divide what is left; where less than n is left, it takes that,
///               once a dim
///   OddEven(n)  takes n, an even number, and puts even positions first: for n = 8 positions
///               0 .. 7 go to 0 4 1 5 2 6 3 7; where 1 is left it takes that, which counts as the
///               dim's one exception
///
/// Everything is covered exactly (a dim of extent 1 need not be named), so there is never padding;
/// a shape that does not fit is kInvalidShape with its reason.
///
/// The owner's constructor also refuses neighbours that act as one, such as (0, Dynamic) right
/// before (0, Packed(4)), and packs of 1. They mean what the rule says, and are read here.
struct MorelloDim {
  enum class Kind : std::uint8_t { kDynamic, kPacked, kOddEven };
  std::int64_t dim = 0;
  Kind kind = Kind::kDynamic;
  std::int64_t size = 0;  ///< Packed and OddEven
  friend bool operator==(const MorelloDim&, const MorelloDim&) = default;
};

/// More physical dims than this are refused: beyond 64 real ones no extent is left to share.
inline constexpr std::size_t kMaxMorelloDims = 256;

struct MorelloLayout {
  /// A builder stands for the dims of the tensor's rank and prints back as itself.
  enum class Builder : std::uint8_t { kNone, kRowMajor, kColMajor, kNhwc };
  Builder builder = Builder::kNone;
  std::vector<MorelloDim> dims;  ///< with a builder: what it stands for
  bool says_rank = false;        ///< `row_major(2)` rather than `row_major()`
  friend bool operator==(const MorelloLayout&, const MorelloLayout&) = default;
};

/// The dims that a builder stands for: all Dynamic, in the order 0 1 .. (row_major), .. 1 0
/// (col_major) or 0 2 3 1 (nhwc, of rank 4 alone: else kInvalidShape).
Result<MorelloLayout> morello_builder(MorelloLayout::Builder builder, std::size_t rank);

/// A layout on a single place without padding, one fold a dim.
Result<Layout> lower(const MorelloLayout& words, const Shape& shape, DType dtype);

/// The words for any layout that is a product of packs, however it was described: a single place,
/// scalar atoms, every slot used. A builder where one says it.
/// Law: lower(*raise_morello(l), l.shape(), l.dtype()) is the same function as l.
Result<MorelloLayout> raise_morello(const Layout& layout);
std::string write(const MorelloLayout& words);

/// The size of each physical dim for this shape, slowest first.
/// Example: the layout above on 6x8: 2, 6, 4. Law: they multiply to the number of elements.
Result<std::vector<std::int64_t>> physical_sizes(const MorelloLayout& words, const Shape& shape);

/// The buffer indexing expression, simplified: `4*d0 + 24*(d1/4) + d1%4`.
///
/// One term a digit, ordered by dim and within a dim from its most significant digit. A digit is
/// `(d/v)%p`, without `/v` where v is 1 and without `%p` where the dim ends there; digits that
/// never leave 0 are dropped, and neighbours that act as one are joined. Nothing left is `0`. Law:
/// evaluating it with integer division and remainder gives the slot of every index.
Result<std::string> index_expression(const MorelloLayout& words, const Shape& shape);

}  // namespace tessera::notation
