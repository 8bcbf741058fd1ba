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

/// Code shared by the readers and writers of the two metal attributes.
namespace tessera::notation {

inline constexpr std::array<std::string_view, 4> kMetalSpaces = {"system", "mmio", "dram", "l1"};
inline constexpr std::array<std::string_view, 5> kMemoryLayouts = {
    "interleaved", "sharded", "height_sharded", "width_sharded", "block_sharded"};
inline constexpr std::array<std::string_view, 5> kOobWords = {"undef", "zero", "one", "inf",
                                                              "neginf"};

/// The value of an oob keyword; nullopt for any other word.
std::optional<PaddingValue> oob_value(std::string_view word);
/// The keyword of a value; nullopt if the attribute has none for it.
std::optional<std::string_view> oob_word(const PaddingValue& value);

bool is_one_of(std::string_view word, std::span<const std::string_view> words);

/// Reads the metal_today attribute after `#ttcore.metal_layout<`, up to its '>'.
Result<Tensor> read_metal_today(Cursor& cursor, std::string_view dialect, const TensorType& type);

/// The spans of the parts of the attribute, so that a contradiction can point at its part.
struct MetalSpans {
  Span linear;
  Span grid;
  Span memref;
  Span memref_shape;  ///< its extents; where they would be if there are none
  Span device;
};
Result<Layout> lower(const MetalLayout& words, const Shape& shape, DType dtype,
                     const MetalSpans* spans);

}  // namespace tessera::notation
