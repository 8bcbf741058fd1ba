// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// An XLA layout: the order of dims in memory, and tiles over the fastest of them. Text comes in; a
/// layout on a single place goes out.
///
///     xla{1,0}      xla{1,0:T(8,128)(2,1)S(5)}      xla{2,1,0:T(2,*,128)}      xla{:T(256)}
///
/// The rule (openxla.org/xla/tiled_layout). minor_to_major lists dims from fastest to slowest; in
/// reverse order it gives the physical shape. A tile of k numbers covers the k fastest physical
/// dims (missing dims have extent 1): each is rounded up to the tile and becomes a grid of tiles,
/// and the tile's own dims come after all grid dims. Further tiles apply to that result in the same
/// way, and may include grid dims. `*` in the first tile joins a dim with the next faster one
/// before tiling. Memory is row-major over the final dims. Slots past the data of a tile are
/// padding of cause tile; slots that only L adds are padding of cause gap.
///
/// The other properties, in the order of HLO texts: L(n) rounds the number of slots up to a
/// multiple of n; E(n) stores an element in n bits (without it, i4 and i2 take a byte); S(n) is the
/// memory space, default 0. Sparse and split layouts (D, #, *, SC, P) and prefixes (M) are rejected
/// with an error that names them.
struct XlaLayout {
  static constexpr std::int64_t kCombine = -1;  ///< `*`

  std::vector<std::int64_t> minor_to_major;
  std::vector<std::vector<std::int64_t>> tiles;
  std::optional<std::int64_t> tail_alignment;  ///< L(n)
  std::optional<std::int64_t> element_bits;    ///< E(n)
  std::optional<std::int64_t> memory_space;    ///< S(n); space "s<n>" of the layout
  friend bool operator==(const XlaLayout&, const XlaLayout&) = default;
};

/// The maximum number of tiles in one layout, and of numbers in all its tiles; HLO texts have three
/// tiles at most.
inline constexpr std::size_t kMaxXlaTiles = 64;
inline constexpr std::size_t kMaxXlaNumbers = 4096;

/// The span of each part of a text, for errors.
struct XlaSpans {
  Span order;
  std::vector<Span> tiles;
  Span tail_alignment;
  Span element_bits;
  Span memory_space;
};

/// Example: 3x5 in {1,0:T(2,2)}: element (2, 3) is in slot (1·3 + 1)·4 + 0·2 + 1 = 17.
Result<Layout> lower(const XlaLayout& words, const Shape& shape, DType dtype,
                     const XlaSpans* spans = nullptr);

/// The simplest XLA layout: no tiles if none are needed, as few levels as the order of the digits
/// allows, row-major where the order is free.
/// Law: lower(*raise_xla(l), l.shape(), l.dtype()) is the same function as l with the same slots,
/// storage and memory space. Every result of `lower` can be raised, unless this needs more tiles or
/// numbers than the maximum; layouts of a few tiles never do.
Result<XlaLayout> raise_xla(const Layout& layout);

/// "xla{1,0:T(8,128)(2,1)}".
std::string write(const XlaLayout& words);

/// The type in memory of an element of n bits (E(n); XLA's default if absent): i4 in 8 bits is i8.
std::optional<DType> xla_storage(DType dtype, std::optional<std::int64_t> bits);

}  // namespace tessera::notation
