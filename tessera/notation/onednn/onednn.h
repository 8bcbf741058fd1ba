// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// A oneDNN format tag: the order of dims, then blocks. Text comes in; a layout on a single place
/// goes out.
///
///     onednn.aBcd16b      onednn.nhwc      onednn.OIhw4i16o4i
///
/// The rule (oneDNN's "Understanding memory formats"). Letters name dims from slowest to fastest,
/// in upper case if the dim is blocked. Then the blocks follow, slowest first, each a size and the
/// letter of its dim. A blocked dim is padded to a multiple of the product of its blocks: those
/// slots are padding of cause alignment, oneDNN's padded_dims. Memory is row-major over dims, then
/// blocks.
///
/// Plain letters number the dims: a is dim 0, b dim 1, .. Named letters denote dims in a fixed
/// order: n c d h w (activations), g o i d h w (weights), t n c, l d n c and l d i g o (recurrent).
/// Any order and any blocks are accepted, including all tags of oneDNN's enum.
struct OnednnLayout {
  struct Block {
    int dim = 0;
    std::int64_t size = 1;
    friend bool operator==(const Block&, const Block&) = default;
  };
  std::string letters;        ///< the letter of dim 0, 1, ..: "abcd", "nchw", "oihw"
  std::vector<int> order;     ///< dims from slowest to fastest
  std::vector<Block> blocks;  ///< slowest first
  /// A name of oneDNN's enum whose letters do not match its value (OhwI32o is Acdb32a); the fields
  /// above are those of the value. Empty for all other tags.
  std::string misnomer = {};
  friend bool operator==(const OnednnLayout&, const OnednnLayout&) = default;
};

/// oneDNN's own limits.
inline constexpr std::size_t kMaxOnednnDims = 12;
inline constexpr std::size_t kMaxOnednnBlocks = 12;

/// Reads the text after "onednn."; spans count from `from`.
Result<OnednnLayout> read_onednn_tag(std::string_view tag, std::int64_t from);

/// Example: 2x33x7x7 in aBcd16b: element (1, 20, 2, 3) is in slot
/// ((1·3 + 1)·7 + 2)·7·16 + 3·16 + 4 = 3412.
Result<Layout> lower(const OnednnLayout& words, const Shape& shape, DType dtype);

/// Uses plain letters and as few blocks as possible.
/// Law: lower(*raise_onednn(l), l.shape(), l.dtype()) is the same function with the same slots;
/// every result of `lower` can be raised.
Result<OnednnLayout> raise_onednn(const Layout& layout);

/// "onednn.aBcd16b".
std::string write(const OnednnLayout& words);

}  // namespace tessera::notation
