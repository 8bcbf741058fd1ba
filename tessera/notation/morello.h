// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// A Morello layout: physical dims from slowest to fastest, each taking a share of a logical dim.
///
///     morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]
///
/// The rule. From the back, each physical dim of size p over logical dim i adds
/// α·(floor(d_i / v_i) mod p) to the buffer offset, where α is the volume covered so far and v_i
/// the part of dim i covered so far. Dynamic takes what is left of its dim (once a dim, outermost
/// of it); Packed(n) takes n, or what is left if that is less (once a dim); OddEven(n) takes n and
/// puts even positions first. Sizes divide exactly and everything is covered: there is never
/// padding, and a shape that does not fit is kInvalidShape with its reason.
struct MorelloDim {
  enum class Kind : std::uint8_t { kDynamic, kPacked, kOddEven };
  std::int64_t dim = 0;
  Kind kind = Kind::kDynamic;
  std::int64_t size = 0;  ///< Packed and OddEven
  friend bool operator==(const MorelloDim&, const MorelloDim&) = default;
};

struct MorelloLayout {
  /// A builder stands for the dims of the tensor's rank and prints back as itself.
  enum class Builder : std::uint8_t { kNone, kRowMajor, kColMajor, kNhwc };
  Builder builder = Builder::kNone;
  std::vector<MorelloDim> dims;
  friend bool operator==(const MorelloLayout&, const MorelloLayout&) = default;
};

/// The dims that a builder stands for; kBadShape-like reasons when the rank does not fit (nhwc: 4).
Result<MorelloLayout> morello_builder(MorelloLayout::Builder builder, std::size_t rank);

Result<Layout> lower(const MorelloLayout& words, const Shape& shape, DType dtype);
Result<MorelloLayout> raise_morello(const Layout& layout);
std::string write(const MorelloLayout& words);

/// The size of each physical dim for this shape, slowest first.
Result<std::vector<std::int64_t>> physical_sizes(const MorelloLayout& words, const Shape& shape);

/// The buffer indexing expression, simplified: `4*d0 + 24*(d1/4) + d1%4`.
/// Law: evaluating it with integer division and remainder gives the slot of every index.
Result<std::string> index_expression(const MorelloLayout& words, const Shape& shape);

}  // namespace tessera
