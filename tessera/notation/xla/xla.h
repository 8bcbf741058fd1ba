// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// An XLA layout: the order of dims in memory, and tiles over the fastest of them.
///
///     xla{1,0}      xla{1,0:T(8,128)(2,1)S(5)}      xla{2,1,0:T(2,*,128)}      xla{:T(256)}
///
/// The rule (openxla.org/xla/tiled_layout). minor_to_major lists dims from fastest to slowest; read
/// backwards it gives the physical shape. A tile of k numbers covers the k fastest physical dims
/// (dims that are missing have extent 1): each is rounded up to the tile and becomes a grid of
/// tiles, and the tile's own dims follow all of the grid. Further tiles apply to that result in the
/// same way, and may reach into the grid. `*` in the first tile joins a dim with the next faster
/// one before tiling. Memory is row-major over the final dims. Slots past the data of a tile are
/// padding of cause tile; those that only L adds are a gap.
///
/// The other properties, as HLO texts spell them in this order: L(n) rounds the number of slots up
/// to a multiple of n; E(n) keeps an element in n bits, where unsaid i4 and i2 take a byte; S(n) is
/// the memory space, 0 the default one. Sparse and split layouts (D, #, *, SC, P) and prefixes (M)
/// are refused by name.
struct XlaLayout {
  static constexpr std::int64_t kCombine = -1;  ///< `*`

  std::vector<std::int64_t> minor_to_major;
  std::vector<std::vector<std::int64_t>> tiles;
  std::optional<std::int64_t> tail_alignment;  ///< L(n)
  std::optional<std::int64_t> element_bits;    ///< E(n)
  std::optional<std::int64_t> memory_space;    ///< S(n); space "s<n>" of the layout
  friend bool operator==(const XlaLayout&, const XlaLayout&) = default;
};

/// Tiles in one layout, and numbers in all of them together; HLO texts have three tiles at most.
inline constexpr std::size_t kMaxXlaTiles = 64;
inline constexpr std::size_t kMaxXlaNumbers = 4096;

/// Where each part of a text stands, for errors.
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

/// The plainest words: no tiles where none are needed, as few levels as the order of the digits
/// allows, row-major where the order is free.
/// Law: lower(*raise_xla(l), l.shape(), l.dtype()) is the same function as l with the same slots,
/// storage and memory space. Every layout that `lower` gives has words, unless they take more tiles
/// or numbers than are read, which those of a few tiles never do.
Result<XlaLayout> raise_xla(const Layout& layout);

/// "xla{1,0:T(8,128)(2,1)}".
std::string write(const XlaLayout& words);

/// The type in memory of an element of n bits (E; what XLA takes when unsaid): i4 in 8 bits is i8.
std::optional<DType> xla_storage(DType dtype, std::optional<std::int64_t> bits);

}  // namespace tessera::notation
