// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// A oneDNN format tag: the order of dims, then blocks.
///
///     onednn.aBcd16b      onednn.nhwc      onednn.OIhw4i16o4i
///
/// The rule. Letters name dims from slowest to fastest, upper case where the dim is blocked; then
/// blocks follow, slowest first, each a size and the letter of its dim. A blocked dim is padded to
/// the product of its blocks. In the plain vocabulary a is dim 0, b dim 1, ..; in the named ones
/// the letters stand for dims in a fixed order: n c d h w (activations), g o i d h w (weights), t n
/// c, and l d n i g o c (recurrent).
struct OnednnLayout {
  struct Block {
    int dim = 0;
    std::int64_t size = 1;
    friend bool operator==(const Block&, const Block&) = default;
  };
  std::string letters;        ///< the letter of dim 0, 1, ..: "abcd", "nchw", "oihw"
  std::vector<int> order;     ///< dims from slowest to fastest
  std::vector<Block> blocks;  ///< slowest first
  friend bool operator==(const OnednnLayout&, const OnednnLayout&) = default;
};

Result<Layout> lower(const OnednnLayout& words, const Shape& shape, DType dtype);
/// In the plain vocabulary. Law: lower(*raise_onednn(l), ..) is the same function with the same
/// slots.
Result<OnednnLayout> raise_onednn(const Layout& layout);
/// "onednn.aBcd16b".
std::string write(const OnednnLayout& words);

}  // namespace tessera
