// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"

/// TTNN sees a tensor as a matrix: its last dim are the columns, all others together the rows.
/// Its kind says which of the two is divided over cores:
///
///     interleaved   neither: pages are dealt to the banks of a memory, and every core reads any
///     height        the rows
///     width         the columns
///     block         both, rows along the first axis of the grid and columns along the second
namespace tessera::ops::machines {

enum class Kind : std::uint8_t { kInterleaved, kHeight, kWidth, kBlock };
/// "interleaved", "height-sharded", ..
std::string_view kind_text(Kind kind);

Kind kind_of(const Layout& layout);
bool divides_columns(const Layout& layout);
/// Also for null: an operand that is not known may be anything.
bool is_interleaved(const Layout* layout);
bool is_tiled(const Layout& layout);

/// Which cores a sharded tensor is on.
struct Cores {
  Shape grid;
  DeviceMap map;
};

/// A tensor as TTNN stores it: rows and columns padded to tiles (`tiled`) and collapsed, whole
/// tiles of each to a core. Without tiles, rows are plain elements. Interleaved tensors are on one
/// place. Errors: kBadFold for block sharding on a grid without two axes; those of Layout::make.
/// Law: the layout that the TTNN notation gives for the same kind, grid and memory.
Result<Layout> ttnn_layout(const graph::TensorType& type, Kind kind, const Cores& cores,
                           std::string_view space, bool tiled = true);

/// Whether every core of a kind has a tile of the tensor.
bool fills_cores(const Shape& shape, Kind kind, const Shape& grid);

}  // namespace tessera::ops::machines
