// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// kernels/: the loops that read and write memory. Addresses, offsets and widths in bytes come in;
/// moved bytes go out. Kernels know nothing of layouts and start no threads. Not part of the public
/// interface.
///
/// The files that include foreach_target.h of the Highway library (*_kernels.cc, permute_lines.cc)
/// are compiled once per instruction set, and their functions call the version for the processor at
/// run time; *.inc hold what these files share.
namespace tessera::relayout {

/// Bytes of a cache line. Streaming stores write whole lines.
inline constexpr std::int64_t kLine = 64;

/// Copies `bytes` bytes; `streaming` writes whole lines that bypass the caches, and the rest with
/// normal stores.
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes, bool streaming);

/// A loop over two arrays: `steps` steps of `to` and `from` bytes.
struct ByteLoop {
  std::int64_t steps = 1;
  std::int64_t to = 0;
  std::int64_t from = 0;
};

/// Copies a run of `bytes` bytes at every step of two loops.
void copy_runs(std::byte* to, const std::byte* from, const ByteLoop& outer, const ByteLoop& inner,
               std::int64_t bytes, bool streaming);

/// Copies `runs` runs of `bytes` bytes each, `from_step` and `to_step` apart.
inline void copy_runs(std::byte* to, std::int64_t to_step, const std::byte* from,
                      std::int64_t from_step, std::int64_t runs, std::int64_t bytes,
                      bool streaming) {
  copy_runs(to, from, {}, {runs, to_step, from_step}, bytes, streaming);
}

/// Joins pieces of a source one after another: piece i is bytes[i] bytes at from + at[i]. When no
/// piece is longer than `freely` (16, 32 or 64), `freely` bytes are read and written for each
/// piece, also past the end of the last one; with 0 only the bytes of the pieces are accessed.
/// Bytes that are `ahead` bytes further are prefetched, unless `ahead` is 0.
void join_pieces(std::byte* to, const std::byte* from, const std::int64_t* at,
                 const std::int64_t* bytes, std::int64_t pieces, std::int64_t freely,
                 std::int64_t ahead);

/// The smallest `freely` for pieces of at most `widest` bytes.
constexpr std::int64_t free_copy(std::int64_t widest) {
  if (widest <= 16) return 16;
  if (widest <= 32) return 32;
  return widest <= kLine ? kLine : 0;
}

/// `bytes` contiguous bytes that move from one array to another.
struct Stretch {
  std::int64_t to = 0;
  std::int64_t from = 0;
  std::int64_t bytes = 0;
};

/// Prefetches the lines of `bytes` bytes into the second-level cache. Requests that wait there do
/// not block the loads and stores of the first-level cache, which can have only few outstanding
/// requests.
inline void prefetch(const std::byte* begin, std::int64_t bytes) {
  for (std::int64_t k = 0; k < bytes; k += kLine) __builtin_prefetch(begin + k, 0, 2);
  if (bytes > kLine) __builtin_prefetch(begin + bytes - 1, 0, 2);
}

/// Bytes to prefetch: for each stretch that is moved now, the bytes at `base` + from or to of one
/// other stretch. Nothing when `base` is null.
struct PrefetchList {
  const std::byte* base = nullptr;
  const Stretch* stretches = nullptr;
  std::int64_t Stretch::* side = &Stretch::from;
};

/// Moves `count` stretches and accesses nothing else. All of them have `shortest` to `longest`
/// bytes; `streaming` writes whole lines that bypass the caches.
struct StretchSizes {
  std::int64_t shortest = 0;
  std::int64_t longest = 0;
};
void copy_stretches(std::byte* to, const std::byte* from, const Stretch* stretches,
                    std::int64_t count, const StretchSizes& sizes, bool streaming,
                    const PrefetchList& list);

/// Reads a byte of every line of [from, from + bytes), in order: memory is faster when no line is
/// skipped.
void touch_lines(const std::byte* from, std::int64_t bytes);

/// Collects columns for a destination of any alignment: column c is collected at lines + c·pitch,
/// whose first line corresponds to the line of to[c]. `begin_lines` restores the bytes carried from
/// the previous block, one line for each column; the caller then writes the new bytes after them,
/// starting at to[c] mod kLine. `end_lines` streams whole lines and keeps the partial line at the
/// end in `carry`. The first block has no carried bytes, and the last block keeps none.
struct CarriedColumns {
  std::byte* lines = nullptr;
  std::int64_t pitch = 0;
  std::byte* carry = nullptr;
  std::int64_t columns = 0;
};
void begin_lines(const CarriedColumns& columns);
void end_lines(const CarriedColumns& columns, std::byte* const* to, std::int64_t bytes, bool first,
               bool last);

/// Makes the streaming stores of this thread visible to other threads.
void finish_streaming();

/// Streams lines to an aligned destination. Each line consists of short runs of `bytes` bytes, 16
/// or 32, which are `piece_step` apart in the source.
void stream_pieces(std::byte* to, const std::byte* from, const ByteLoop& lines,
                   std::int64_t piece_step, std::int64_t bytes);

/// Copies row r, `bytes` bytes at from + row[r], to to + r·pitch. Reads a few distant rows side by
/// side, which is faster than one at a time or many at once.
void copy_rows(std::byte* to, std::int64_t pitch, const std::byte* from, const std::int64_t* row,
               std::int64_t rows, std::int64_t bytes);

/// The side, in elements, of a square of elements that fills vector registers. Elements have
/// `width` bytes: 1, 2, 4 or 8. The side is 16 for 4 bytes with 64-byte vectors, 4 with 16-byte
/// vectors.
int tile_side(int width);

/// A block of rows that will become columns. Tiles of side L = tile_side(width) are in `tiles`,
/// those of one column of tiles together:
///     tile (row tile i, column tile j) begins at  tiles + (j·row_tiles + i)·L·L·width.
/// The order inside a tile is private to the two functions below.
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

/// Rows to columns without an intermediate buffer, for outputs that stay in the caches: the element
/// (r, c) of tile j, at from + row[r] + first[j] + c·width, goes to to + column[j][c] + r·width,
/// for the first `columns` columns of each of `tiles` tiles. `streaming` only for aligned whole
/// lines.
void transpose_tiles(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
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
