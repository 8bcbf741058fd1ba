// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/ttnn/ttnn.h"

/// The arithmetic of TTNN's rule, shared by what reads, lowers, raises and explains the attribute.
namespace tessera::notation {

/// Where the parts of an attribute stand in its text.
struct TtnnSpans {
  Span linear;
  Span grid;
  Span memref;
  Span memref_shape;  ///< its extents; where they would stand when there are none
  Span memory;
  Span memory_item;  ///< the memory layout with the comma before it and the memref's '>'
  Span cores;
};
/// The error at a part of the text, if there is a text.
Error at_part(Error error, const TtnnSpans* spans, Span TtnnSpans::* part);

/// The numbers of one tensor, an entry a line of the map.
struct TtnnNumbers {
  std::vector<std::int64_t> tile;      ///< the tile's extent; 1 for all but the last two lines
  std::vector<std::int64_t> physical;  ///< map(padded - 1) + 1, in whole tiles
  std::vector<std::int64_t> atoms;     ///< physical / tile
  /// Places that divide the line: the grid for block sharding, [all, 1] for height, [1, all] for
  /// width, ones for what is not sharded.
  std::vector<std::int64_t> pieces;
  std::vector<std::int64_t> shard;   ///< ceil(physical / pieces)
  std::vector<std::int64_t> memref;  ///< what the memref must be
};

/// Places that divide the rows and the columns.
std::vector<std::int64_t> ttnn_pieces(const TtnnLayout& words);

/// The shape with its last two dims rounded up to a tile.
Result<Shape> ttnn_padded(const Shape& shape, const Atom& element);

/// Numbers of words that obey every rule but that of the memref's shape, or what they break.
Result<TtnnNumbers> ttnn_numbers(const TtnnLayout& words, const Shape& shape,
                                 const TtnnSpans* spans = nullptr);

/// As the public `lower`; errors point at the part of the text that is wrong.
Result<Layout> lower_ttnn(const TtnnLayout& words, const Shape& shape, DType dtype,
                          const TtnnSpans* spans);

/// "height_sharded", ..; empty for kUnsaid.
std::string_view ttnn_memory_name(TtnnLayout::Memory memory);
/// `#ttnn.buffer_type<system_memory>` for "system".
std::string ttnn_buffer_type(std::string_view space);

}  // namespace tessera::notation
