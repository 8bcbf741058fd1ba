// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tessera/relayout/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/kernels/transpose_kernels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "tessera/relayout/kernels/vectors.inc"

HWY_BEFORE_NAMESPACE();
namespace tessera::relayout::HWY_NAMESPACE {
namespace {

template <int kWidth>
constexpr int kSide = static_cast<int>(kVector) / kWidth;  // elements in a vector

/// Whether tiles are completely transposed while they are read. Tiles of narrow elements have more
/// rows than memory can read efficiently at once, so they are read one lane of rows at a time, and
/// their lanes are put in order when they are written.
template <int kWidth>
constexpr bool kFinishedOnReading = kSide<kWidth> <= 16;

/// Transposes the square at `base` in registers, column by column: `put(c, v)` gets each column
/// once.
template <int kWidth, typename Put>
HWY_INLINE void transpose_square(const std::byte* base, const std::int64_t* row, const Put& put) {
  constexpr int kG = kGroup<kWidth>;
  Bytes v[kLanes][kG];
#pragma GCC unroll 4
  for (int lane = 0; lane < kLanes; ++lane) {
#pragma GCC unroll 4
    for (int r = 0; r < kG; ++r) v[lane][r] = load(base + row[lane * kG + r]);
    transpose_lanes<kWidth>(v[lane]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < kG; ++c) {
    Bytes column[kLanes];
#pragma GCC unroll 4
    for (int lane = 0; lane < kLanes; ++lane) column[lane] = v[lane][c];
    transpose_blocks(column);
#pragma GCC unroll 4
    for (int lane = 0; lane < kLanes; ++lane) put(lane * kG + c, column[lane]);
  }
}

/// Writes rows [r0, r0 + kRows) of the square at `base`, transposed inside their lanes only, to
/// `tile`.
constexpr int kRowsAtOnce = 16;
template <int kWidth>
HWY_INLINE void transpose_lanes(const std::byte* base, const std::int64_t* row, std::byte* tile) {
  constexpr int kG = kGroup<kWidth>;
#pragma GCC unroll 2
  for (int g = 0; g < kRowsAtOnce; g += kG) {
    Bytes v[kG];
#pragma GCC unroll 16
    for (int r = 0; r < kG; ++r) v[r] = load(base + row[g + r]);
    transpose_lanes<kWidth>(v);
#pragma GCC unroll 16
    for (int r = 0; r < kG; ++r) store(v[r], tile + (g + r) * kVector);
  }
}

/// Columns c, kG + c, .. of a tile whose rows were transposed inside their lanes: vector g·kG + c
/// of it holds, lane by lane, rows [g·kG, (g+1)·kG) of column lane·kG + c.
template <int kWidth, typename Put>
HWY_INLINE void finish_columns(const std::byte* tile, int c, const Put& put) {
  constexpr int kG = kGroup<kWidth>;
  Bytes v[kLanes];
#pragma GCC unroll 4
  for (int g = 0; g < kLanes; ++g) v[g] = load(tile + (g * kG + c) * kVector);
  transpose_blocks(v);
#pragma GCC unroll 4
  for (int lane = 0; lane < kLanes; ++lane) put(lane * kG + c, v[lane]);
}

template <int kWidth>
void read_tiles_of(const TileGrid& grid, std::int64_t i, const std::byte* from,
                   const std::int64_t* row, const std::int64_t* first, std::int64_t column_tiles) {
  constexpr std::int64_t kTile = kVector * kSide<kWidth>;
  const std::int64_t step = grid.row_tiles * kTile;
  if constexpr (kFinishedOnReading<kWidth>) {
    std::byte* tile = grid.tiles + i * kTile;
    for (std::int64_t j = 0; j < column_tiles; ++j, tile += step) {
      transpose_square<kWidth>(from + first[j], row,
                               [&](int c, Bytes v) { store(v, tile + c * kVector); });
    }
  } else {
    for (int r0 = 0; r0 < kSide<kWidth>; r0 += kRowsAtOnce) {
      std::byte* tile = grid.tiles + i * kTile + r0 * kVector;
      for (std::int64_t j = 0; j < column_tiles; ++j, tile += step) {
        transpose_lanes<kWidth>(from + first[j], row + r0, tile);
      }
    }
  }
}

template <int kWidth, bool kStreaming>
void transpose_tiles_of(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
                        std::byte* to, const std::int64_t* const* column, std::int64_t columns,
                        std::int64_t tiles) {
  for (std::int64_t j = 0; j < tiles; ++j) {
    const std::int64_t* at = column[j];
    const auto put = [&](int c, Bytes v) {
      if (c >= columns) return;
      if constexpr (kStreaming) {
        stream(v, to + at[c]);
      } else {
        store(v, to + at[c]);
      }
    };
    if constexpr (kFinishedOnReading<kWidth>) {
      transpose_square<kWidth>(from + first[j], row, put);
    } else {
      alignas(kLine) std::byte tile[kVector * kSide<kWidth>];
      for (int r0 = 0; r0 < kSide<kWidth>; r0 += kRowsAtOnce) {
        transpose_lanes<kWidth>(from + first[j], row + r0, tile + r0 * kVector);
      }
      for (int c = 0; c < kGroup<kWidth>; ++c) finish_columns<kWidth>(tile, c, put);
    }
  }
}

template <int kWidth, bool kStreaming>
void write_columns_of(const TileGrid& grid, std::int64_t j, std::int64_t columns,
                      std::byte* const* to, const std::int64_t* at) {
  constexpr std::int64_t kTile = kVector * kSide<kWidth>;
  const std::byte* tiles = grid.tiles + j * grid.row_tiles * kTile;
  const auto put = [](Bytes v, std::byte* where) {
    if constexpr (kStreaming) {
      stream(v, where);
    } else {
      store(v, where);
    }
  };
  if constexpr (kFinishedOnReading<kWidth>) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::byte* column = tiles + c * kVector;
      for (std::int64_t i = 0; i < grid.row_tiles; ++i)
        put(load(column + i * kTile), to[c] + at[i]);
    }
  } else {
    for (int c = 0; c < kGroup<kWidth>; ++c) {
      for (std::int64_t i = 0; i < grid.row_tiles; ++i) {
        finish_columns<kWidth>(tiles + i * kTile, c, [&](int column, Bytes v) {
          if (column < columns) put(v, to[column] + at[i]);
        });
      }
    }
  }
}

template <int kWidth>
void interleave_rows_of(std::byte* to, const std::byte* from, const std::int64_t* row, int rows,
                        std::int64_t columns) {
  constexpr int kG = kGroup<kWidth>;
  const std::int64_t pitch = std::int64_t{rows} * kWidth;
  for (std::int64_t c0 = 0; c0 < columns; c0 += kSide<kWidth>) {
    std::byte* out = to + c0 * pitch;
    for (int g = 0; g < rows / kG; ++g) {
      Bytes v[kG];
#pragma GCC unroll 16
      for (int r = 0; r < kG; ++r) v[r] = load(from + row[g * kG + r] + c0 * kWidth);
      transpose_lanes<kWidth>(v);
      std::byte* lanes = out + g * kLane;
#pragma GCC unroll 16
      for (int c = 0; c < kG; ++c) {
        store_lane<0>(v[c], lanes + c * pitch);
        if constexpr (kLanes > 1) store_lane<1>(v[c], lanes + (kG + c) * pitch);
        if constexpr (kLanes > 2) {
          store_lane<2>(v[c], lanes + (2 * kG + c) * pitch);
          store_lane<3>(v[c], lanes + (3 * kG + c) * pitch);
        }
      }
    }
  }
}

template <int kWidth, bool kStreaming>
void split_columns_of(std::byte* const* to, const std::byte* from, const std::int64_t* row,
                      std::int64_t rows) {
  constexpr int kG = kGroup<kWidth>;
  for (std::int64_t r0 = 0; r0 < rows; r0 += kSide<kWidth>) {
    Bytes v[kG];
#pragma GCC unroll 16
    for (int r = 0; r < kG; ++r) v[r] = load_lanes(from, row + r0 + r, kG);
    transpose_lanes<kWidth>(v);
#pragma GCC unroll 16
    for (int c = 0; c < kG; ++c) {
      if constexpr (kStreaming) {
        stream(v[c], to[c] + r0 * kWidth);
      } else {
        store(v[c], to[c] + r0 * kWidth);
      }
    }
  }
}

int TileSide(int width) { return static_cast<int>(kVector) / width; }

void ReadTiles(const TileGrid& grid, std::int64_t i, const std::byte* from, const std::int64_t* row,
               const std::int64_t* first, std::int64_t column_tiles) {
  switch (grid.width) {
    case 1:
      return read_tiles_of<1>(grid, i, from, row, first, column_tiles);
    case 2:
      return read_tiles_of<2>(grid, i, from, row, first, column_tiles);
    case 4:
      return read_tiles_of<4>(grid, i, from, row, first, column_tiles);
    default:
      return read_tiles_of<8>(grid, i, from, row, first, column_tiles);
  }
}

template <bool kStreaming>
void write_columns_to(const TileGrid& grid, std::int64_t j, std::int64_t columns,
                      std::byte* const* to, const std::int64_t* at) {
  switch (grid.width) {
    case 1:
      return write_columns_of<1, kStreaming>(grid, j, columns, to, at);
    case 2:
      return write_columns_of<2, kStreaming>(grid, j, columns, to, at);
    case 4:
      return write_columns_of<4, kStreaming>(grid, j, columns, to, at);
    default:
      return write_columns_of<8, kStreaming>(grid, j, columns, to, at);
  }
}

void WriteColumns(const TileGrid& grid, std::int64_t j, std::int64_t columns, std::byte* const* to,
                  const std::int64_t* at, bool streaming) {
  if (streaming) return write_columns_to<true>(grid, j, columns, to, at);
  write_columns_to<false>(grid, j, columns, to, at);
}

template <bool kStreaming>
void transpose_tiles_to(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
                        std::byte* to, const std::int64_t* const* column, std::int64_t columns,
                        std::int64_t tiles, int width) {
  switch (width) {
    case 1:
      return transpose_tiles_of<1, kStreaming>(from, row, first, to, column, columns, tiles);
    case 2:
      return transpose_tiles_of<2, kStreaming>(from, row, first, to, column, columns, tiles);
    case 4:
      return transpose_tiles_of<4, kStreaming>(from, row, first, to, column, columns, tiles);
    default:
      return transpose_tiles_of<8, kStreaming>(from, row, first, to, column, columns, tiles);
  }
}

void TransposeTiles(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
                    std::byte* to, const std::int64_t* const* column, std::int64_t columns,
                    std::int64_t tiles, int width, bool streaming) {
  if (streaming)
    return transpose_tiles_to<true>(from, row, first, to, column, columns, tiles, width);
  transpose_tiles_to<false>(from, row, first, to, column, columns, tiles, width);
}

void InterleaveRows(std::byte* to, const std::byte* from, const std::int64_t* row, int rows,
                    std::int64_t columns, int width) {
  switch (width) {
    case 1:
      return interleave_rows_of<1>(to, from, row, rows, columns);
    case 2:
      return interleave_rows_of<2>(to, from, row, rows, columns);
    case 4:
      return interleave_rows_of<4>(to, from, row, rows, columns);
    default:
      return interleave_rows_of<8>(to, from, row, rows, columns);
  }
}

template <bool kStreaming>
void split_columns_to(std::byte* const* to, const std::byte* from, const std::int64_t* row,
                      std::int64_t rows, int width) {
  switch (width) {
    case 1:
      return split_columns_of<1, kStreaming>(to, from, row, rows);
    case 2:
      return split_columns_of<2, kStreaming>(to, from, row, rows);
    case 4:
      return split_columns_of<4, kStreaming>(to, from, row, rows);
    default:
      return split_columns_of<8, kStreaming>(to, from, row, rows);
  }
}

void SplitColumns(std::byte* const* to, const std::byte* from, const std::int64_t* row,
                  std::int64_t rows, int width, bool streaming) {
  if (streaming) return split_columns_to<true>(to, from, row, rows, width);
  split_columns_to<false>(to, from, row, rows, width);
}

}  // namespace
}  // namespace tessera::relayout::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::relayout {

HWY_EXPORT(TileSide);
HWY_EXPORT(ReadTiles);
HWY_EXPORT(WriteColumns);
HWY_EXPORT(TransposeTiles);
HWY_EXPORT(InterleaveRows);
HWY_EXPORT(SplitColumns);

int tile_side(int width) { return HWY_DYNAMIC_DISPATCH(TileSide)(width); }
void read_tiles(const TileGrid& grid, std::int64_t i, const std::byte* from,
                const std::int64_t* row, const std::int64_t* first, std::int64_t column_tiles) {
  HWY_DYNAMIC_DISPATCH(ReadTiles)(grid, i, from, row, first, column_tiles);
}
void write_columns(const TileGrid& grid, std::int64_t j, std::int64_t columns, std::byte* const* to,
                   const std::int64_t* at, bool streaming) {
  HWY_DYNAMIC_DISPATCH(WriteColumns)(grid, j, columns, to, at, streaming);
}
void transpose_tiles(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
                     std::byte* to, const std::int64_t* const* column, std::int64_t columns,
                     std::int64_t tiles, int width, bool streaming) {
  HWY_DYNAMIC_DISPATCH(TransposeTiles)(from, row, first, to, column, columns, tiles, width,
                                       streaming);
}
void interleave_rows(std::byte* to, const std::byte* from, const std::int64_t* row, int rows,
                     std::int64_t columns, int width) {
  HWY_DYNAMIC_DISPATCH(InterleaveRows)(to, from, row, rows, columns, width);
}
void split_columns(std::byte* const* to, const std::byte* from, const std::int64_t* row,
                   std::int64_t rows, int width, bool streaming) {
  HWY_DYNAMIC_DISPATCH(SplitColumns)(to, from, row, rows, width, streaming);
}

}  // namespace tessera::relayout
#endif
