// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// An XLA layout: the order of dims in memory, and tiles over the fastest of them.
///
///     xla{1,0}      xla{1,0:T(8,128)(2,1)}      xla{2,1,0:T(*,128)}
///
/// The rule. minor_to_major lists dims from fastest to slowest; read backwards it gives the
/// physical shape. A tile of k numbers covers the k fastest physical dims (missing ones are 1):
/// each is rounded up to the tile and becomes a grid of tiles, and the tile's own dims follow all
/// of the grid. Further tiles apply to that result in the same way. `*` in the first tile joins a
/// dim with the next faster one before tiling. Memory is row-major over the final dims.
struct XlaLayout {
  static constexpr std::int64_t kCombine = -1;  ///< `*`

  std::vector<std::int64_t> minor_to_major;
  std::vector<std::vector<std::int64_t>> tiles;
  std::optional<std::int64_t> memory_space;  ///< S(n)
  friend bool operator==(const XlaLayout&, const XlaLayout&) = default;
};

/// Example: 3x5 in {1,0:T(2,2)}: element (2, 3) is in slot (1·3 + 1)·4 + 0·2 + 1 = 17.
Result<Layout> lower(const XlaLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_xla(l), l.shape(), l.dtype()) is the same function as l with the same slots.
Result<XlaLayout> raise_xla(const Layout& layout);
std::string write(const XlaLayout& words);

}  // namespace tessera
