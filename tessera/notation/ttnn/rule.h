// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/ttnn/ttnn.h"

/// The arithmetic of TTNN's rule, shared by the code that reads, lowers, raises and explains the
/// attribute.
namespace tessera::notation {

/// The spans of the parts of an attribute.
struct TtnnSpans {
  Span linear;
  Span grid;
  Span memref;
  Span memref_shape;  ///< its extents; where they would be if there are none
  Span memory;
  Span memory_item;  ///< the memory layout with the comma before it and the memref's '>'
  Span cores;
};
/// The error with the span of a part of the text, if there is a text.
Error at_part(const Error& error, const TtnnSpans* spans, Span TtnnSpans::* part);

/// The numbers of one tensor, one entry per line of the map.
struct TtnnNumbers {
  std::vector<std::int64_t> tile;      ///< the tile's extent; 1 for all but the last two lines
  std::vector<std::int64_t> physical;  ///< map(padded - 1) + 1, in whole tiles
  std::vector<std::int64_t> atoms;     ///< physical / tile
  /// The number of places that divide the line: the grid for block sharding, [all, 1] for height,
  /// [1, all] for width, ones for tensors that are not sharded.
  std::vector<std::int64_t> pieces;
  std::vector<std::int64_t> shard;   ///< ceil(physical / pieces)
  std::vector<std::int64_t> memref;  ///< what the memref must be
};

/// The number of places that divide the rows and the columns.
std::vector<std::int64_t> ttnn_pieces(const TtnnLayout& words);

/// The shape with its last two dims rounded up to a tile.
Result<Shape> ttnn_padded(const Shape& shape, const Atom& element);

/// The numbers of an attribute, or the rule that it violates. The memref's shape is not checked.
Result<TtnnNumbers> ttnn_numbers(const TtnnLayout& words, const Shape& shape,
                                 const TtnnSpans* spans = nullptr);

/// Like the public `lower`, but errors point at the invalid part of the text.
Result<Layout> lower_ttnn(const TtnnLayout& words, const Shape& shape, DType dtype,
                          const TtnnSpans* spans);

/// "height_sharded", ..; empty for kUnsaid.
std::string_view ttnn_memory_name(TtnnLayout::Memory memory);
/// `#ttnn.buffer_type<system_memory>` for "system".
std::string ttnn_buffer_type(std::string_view space);

}  // namespace tessera::notation
