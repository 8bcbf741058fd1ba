// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// The loops that touch memory, compiled for every instruction set and chosen at run time. They
/// know addresses and widths in bytes, nothing of layouts. Not part of the public interface.
namespace tessera::relayout {

/// Bytes of a cache line: what streaming stores write as a whole.
inline constexpr std::int64_t kLine = 64;

/// Copies `bytes` bytes; `streaming` writes whole lines around the caches, the rest plainly.
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes, bool streaming);

/// A loop over two arrays: `steps` steps of `to` and `from` bytes.
struct ByteLoop {
  std::int64_t steps = 1;
  std::int64_t to = 0;
  std::int64_t from = 0;
};

/// A run of `bytes` bytes at every step of two loops.
void copy_runs(std::byte* to, const std::byte* from, const ByteLoop& outer, const ByteLoop& inner,
               std::int64_t bytes, bool streaming);

/// `runs` runs of `bytes` bytes each, `from_step` and `to_step` apart.
inline void copy_runs(std::byte* to, std::int64_t to_step, const std::byte* from,
                      std::int64_t from_step, std::int64_t runs, std::int64_t bytes,
                      bool streaming) {
  copy_runs(to, from, {}, {runs, to_step, from_step}, bytes, streaming);
}

/// Pieces of a source one after another: piece i is bytes[i] bytes at from + at[i]. When none is
/// longer than `freely` (16, 32 or 64), that many bytes are read for each, and written, also past
/// the end of the last; 0 touches nothing but the pieces. What lies `ahead` bytes further is wanted
/// soon, unless that is 0.
void join_pieces(std::byte* to, const std::byte* from, const std::int64_t* at,
                 const std::int64_t* bytes, std::int64_t pieces, std::int64_t freely,
                 std::int64_t ahead);

/// The smallest `freely` for pieces of at most `widest` bytes.
constexpr std::int64_t free_copy(std::int64_t widest) {
  if (widest <= 16) return 16;
  if (widest <= 32) return 32;
  return widest <= kLine ? kLine : 0;
}

/// `bytes` bytes that go from one place of an array to one place of another.
struct Stretch {
  std::int64_t to = 0;
  std::int64_t from = 0;
  std::int64_t bytes = 0;
};

/// Asks for the lines of `bytes` bytes, to the second-level cache: what waits for memory there does
/// not hold up the loads and stores of the first, of which few can wait.
inline void ask_for(const std::byte* begin, std::int64_t bytes) {
  for (std::int64_t k = 0; k < bytes; k += kLine) __builtin_prefetch(begin + k, 0, 2);
  if (bytes > kLine) __builtin_prefetch(begin + bytes - 1, 0, 2);
}

/// What will be touched soon: the bytes at `base` + from or to of one stretch for each that is
/// moved now. Nothing when there is no base.
struct Wanted {
  const std::byte* base = nullptr;
  const Stretch* stretches = nullptr;
  std::int64_t Stretch::* side = &Stretch::from;
};

/// Moves `count` stretches and touches nothing else. All of them have `shortest` to `longest`
/// bytes; `streaming` writes whole lines around the caches.
struct StretchSizes {
  std::int64_t shortest = 0;
  std::int64_t longest = 0;
};
void copy_stretches(std::byte* to, const std::byte* from, const Stretch* stretches,
                    std::int64_t count, const StretchSizes& sizes, bool streaming,
                    const Wanted& wanted);

/// Reads a byte of every line of [from, from + bytes), in order: memory follows that faster than
/// anything that leaves lines out.
void touch_lines(const std::byte* from, std::int64_t bytes);

/// Columns on their way to a destination of any alignment: column c collects at lines + c·pitch,
/// whose first line stands for the line of to[c]. `begin_lines` puts there what is carried from the
/// block before, a line for each column; the new bytes are then written behind it, from to[c] mod
/// kLine on. `end_lines` streams whole lines and keeps the part of a line at the end in `carry`;
/// the first block has nothing before it, and the last keeps nothing.
struct CarriedColumns {
  std::byte* lines = nullptr;
  std::int64_t pitch = 0;
  std::byte* carry = nullptr;
  std::int64_t columns = 0;
};
void begin_lines(const CarriedColumns& columns);
void end_lines(const CarriedColumns& columns, std::byte* const* to, std::int64_t bytes, bool first,
               bool last);

/// Makes streaming stores of this thread visible to others.
void finish_streaming();

/// Lines made of short runs of `bytes` bytes, 16 or 32, which stand `piece_step` apart in the
/// source, written around the caches to an aligned destination.
void stream_pieces(std::byte* to, const std::byte* from, const ByteLoop& lines,
                   std::int64_t piece_step, std::int64_t bytes);

/// Row r, `bytes` bytes at from + row[r], to to + r·pitch. Reads a few far-apart rows side by side,
/// which memory answers faster than one after another or many.
void copy_rows(std::byte* to, std::int64_t pitch, const std::byte* from, const std::int64_t* row,
               std::int64_t rows, std::int64_t bytes);

/// Elements of `width` bytes, width 1, 2, 4 or 8, in a square that fills vector registers: this
/// many elements a side. 16 for 4 bytes with 64-byte vectors, 4 with 16-byte ones.
int tile_side(int width);

/// A block of rows on its way to become columns. Tiles of side L = tile_side(width) stand in
/// `tiles`, those of one column of tiles together:
///     tile (row tile i, column tile j) begins at  tiles + (j·row_tiles + i)·L·L·width.
/// What a tile looks like inside is between the two functions below.
struct TileGrid {
  std::byte* tiles = nullptr;
  std::int64_t row_tiles = 0;
  int width = 1;
};

/// Reads row tile i: the element (r, c) of column tile j is at from + row[r] + first[j] + c·width,
/// r, c < L; `first[j]` and `row[r]` are offsets in bytes.
void read_tiles(const TileGrid& grid, std::int64_t i, const std::byte* from,
                const std::int64_t* row, const std::int64_t* first, std::int64_t column_tiles);

/// Writes columns [0, columns) of column tile j: column c, which is the rows of all row tiles, to
/// to[c], with row tile i at byte at[i] of it. `streaming` only for aligned whole lines.
void write_columns(const TileGrid& grid, std::int64_t j, std::int64_t columns, std::byte* const* to,
                   const std::int64_t* at, bool streaming);

/// Rows to columns without a stop in between, for outputs that stay near: the element (r, c) of
/// tile j, at from + row[r] + first[j] + c·width, goes to to + column[j][c] + r·width, for the
/// first `columns` columns of each of `tiles` tiles. `streaming` only for aligned whole lines.
void turn_tiles(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
                std::byte* to, const std::int64_t* const* column, std::int64_t columns,
                std::int64_t tiles, int width, bool streaming);

/// Few rows of many columns: to[c·rows·width + r·width] = from[row[r] + c·width]; the rows fill a
/// multiple of 16 bytes, at most 64, and `columns` is a multiple of tile_side(width).
void interleave_rows(std::byte* to, const std::byte* from, const std::int64_t* row, int rows,
                     std::int64_t columns, int width);

/// Few columns of many rows: to[c][r·width] = from[row[r] + c·width]; the columns fill 16 bytes,
/// and `rows` is a multiple of tile_side(width). `streaming` only for aligned whole lines.
void split_columns(std::byte* const* to, const std::byte* from, const std::int64_t* row,
                   std::int64_t rows, int width, bool streaming);

}  // namespace tessera::relayout
