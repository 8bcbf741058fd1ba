// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/notation/metal/metal.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/text/cursor.h"

/// What the readers and writers of the two metal attributes share.
namespace tessera::notation {

inline constexpr std::array<std::string_view, 4> kMetalSpaces = {"system", "mmio", "dram", "l1"};
inline constexpr std::array<std::string_view, 5> kMemoryLayouts = {
    "interleaved", "sharded", "height_sharded", "width_sharded", "block_sharded"};
inline constexpr std::array<std::string_view, 5> kOobWords = {"undef", "zero", "one", "inf",
                                                              "neginf"};

/// The value of an oob word; nothing for another word.
std::optional<PaddingValue> oob_value(std::string_view word);
/// The word of a value that the attribute can say.
std::optional<std::string_view> oob_word(const PaddingValue& value);

bool is_one_of(std::string_view word, std::span<const std::string_view> words);

/// Today's attribute, behind `#ttcore.metal_layout<` and up to its '>'.
Result<Tensor> read_metal_today(Cursor& cursor, std::string_view dialect, const TensorType& type);

/// Where the parts of the seed's attribute stand, so that a contradiction can point at its part.
struct MetalSpans {
  Span linear;
  Span grid;
  Span memref;
  Span memref_shape;  ///< its extents; where they would stand when there are none
  Span device;
};
Result<Layout> lower(const MetalLayout& words, const Shape& shape, DType dtype,
                     const MetalSpans* spans);

}  // namespace tessera::notation
