// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/kernels.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/kernels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::relayout::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kLane = 16;  // what shuffles stay inside of

template <int kWidth>
constexpr int kGroup = static_cast<int>(kLane) / kWidth;  // elements in a lane

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
// Sixteen bytes as plain memory: without vectors, or with ones whose size the compiler does not
// know, so that they cannot stand in arrays.

struct Bytes {
  std::byte b[kLane];
};
constexpr std::int64_t kVector = kLane;

HWY_INLINE Bytes load(const std::byte* from) {
  Bytes v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
HWY_INLINE void store(Bytes v, std::byte* to) { std::memcpy(to, &v, sizeof(v)); }
HWY_INLINE void stream(Bytes v, std::byte* to) { store(v, to); }

template <int kWidth>
HWY_INLINE void transpose_lanes(Bytes* v) {
  Bytes next[kGroup<kWidth>];
  for (int r = 0; r < kGroup<kWidth>; ++r) {
    for (int c = 0; c < kGroup<kWidth>; ++c) {
      std::memcpy(next[c].b + r * kWidth, v[r].b + c * kWidth, kWidth);
    }
  }
  std::memcpy(v, next, sizeof(next));
}
HWY_INLINE void transpose_blocks(Bytes*) {}

template <int kNumber>
HWY_INLINE void store_lane(Bytes v, std::byte* to) {
  static_assert(kNumber == 0);
  store(v, to);
}
HWY_INLINE Bytes load_lanes(const std::byte* base, const std::int64_t* at, std::int64_t) {
  return load(base + *at);
}

#else

/// Vectors of at most a cache line.
template <typename T>
using Tag = hn::CappedTag<T, kLine / sizeof(T)>;
using Bytes = hn::Vec<Tag<std::uint8_t>>;
constexpr std::int64_t kVector = hn::MaxLanes(Tag<std::uint8_t>());

HWY_INLINE Bytes load(const std::byte* from) {
  return hn::LoadU(Tag<std::uint8_t>(), reinterpret_cast<const std::uint8_t*>(from));
}
HWY_INLINE void store(Bytes v, std::byte* to) {
  hn::StoreU(v, Tag<std::uint8_t>(), reinterpret_cast<std::uint8_t*>(to));
}
HWY_INLINE void stream(Bytes v, std::byte* to) {
  hn::Stream(v, Tag<std::uint8_t>(), reinterpret_cast<std::uint8_t*>(to));
}

/// Transposes the kGroup x kGroup squares that stand side by side in the lanes of kGroup vectors.
/// Interleaving vector i with vector i + half, log2(kGroup) times over, does just that.
template <int kWidth>
HWY_INLINE void transpose_lanes(Bytes* v) {
  using T = hwy::UnsignedFromSize<kWidth>;
  const Tag<T> d;
  const Tag<std::uint8_t> bytes;
  constexpr int kHalf = kGroup<kWidth> / 2;
  Bytes next[kGroup<kWidth>];
#pragma GCC unroll 4
  for (int stage = 1; stage < kGroup<kWidth>; stage *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < kHalf; ++i) {
      const auto a = hn::BitCast(d, v[i]);
      const auto b = hn::BitCast(d, v[i + kHalf]);
      next[2 * i] = hn::BitCast(bytes, hn::InterleaveLower(d, a, b));
      next[2 * i + 1] = hn::BitCast(bytes, hn::InterleaveUpper(d, a, b));
    }
#pragma GCC unroll 16
    for (int i = 0; i < kGroup<kWidth>; ++i) v[i] = next[i];
  }
}

/// Transposes the kLanes x kLanes square of lanes: lane j of vector i becomes lane i of vector j.
template <class D>
HWY_INLINE void transpose_blocks_of(hn::Vec<D>* v) {
#if HWY_TARGET <= HWY_AVX3
  const __m512i low01 = _mm512_shuffle_i64x2(v[0].raw, v[1].raw, 0x88);
  const __m512i high01 = _mm512_shuffle_i64x2(v[0].raw, v[1].raw, 0xdd);
  const __m512i low23 = _mm512_shuffle_i64x2(v[2].raw, v[3].raw, 0x88);
  const __m512i high23 = _mm512_shuffle_i64x2(v[2].raw, v[3].raw, 0xdd);
  v[0].raw = _mm512_shuffle_i64x2(low01, low23, 0x88);
  v[1].raw = _mm512_shuffle_i64x2(high01, high23, 0x88);
  v[2].raw = _mm512_shuffle_i64x2(low01, low23, 0xdd);
  v[3].raw = _mm512_shuffle_i64x2(high01, high23, 0xdd);
#else
  static_assert(kVector <= 2 * kLane);
  if constexpr (hn::MaxLanes(D()) == 2 * kLane) {
    const auto low = hn::ConcatLowerLower(D(), v[1], v[0]);
    v[1] = hn::ConcatUpperUpper(D(), v[1], v[0]);
    v[0] = low;
  }
#endif
}

HWY_INLINE void transpose_blocks(Bytes* v) { transpose_blocks_of<Tag<std::uint8_t>>(v); }

/// Stores lane number kNumber of a vector.
template <int kNumber, class D = Tag<std::uint8_t>>
HWY_INLINE void store_lane(hn::Vec<D> v, std::byte* to) {
  constexpr int kCount = static_cast<int>(hn::MaxLanes(D()) / kLane);
  if constexpr (kCount == 1) {
    hn::StoreU(v, D(), reinterpret_cast<std::uint8_t*>(to));
  } else {
    const hn::Half<D> half;
    if constexpr (kNumber < kCount / 2) {
      store_lane<kNumber, hn::Half<D>>(hn::LowerHalf(half, v), to);
    } else {
      store_lane<kNumber - kCount / 2, hn::Half<D>>(hn::UpperHalf(half, v), to);
    }
  }
}

/// A vector whose lanes come from several places: base + at[0], base + at[step], ..
template <class D>
HWY_INLINE hn::Vec<D> lanes_of(const std::byte* base, const std::int64_t* at, std::int64_t step) {
  constexpr std::int64_t kCount = hn::MaxLanes(D()) / kLane;
  if constexpr (kCount == 1) {
    return hn::LoadU(D(), reinterpret_cast<const std::uint8_t*>(base + *at));
  } else {
    using H = hn::Half<D>;
    return hn::Combine(D(), lanes_of<H>(base, at + kCount / 2 * step, step),
                       lanes_of<H>(base, at, step));
  }
}

HWY_INLINE Bytes load_lanes(const std::byte* base, const std::int64_t* at, std::int64_t step) {
  return lanes_of<Tag<std::uint8_t>>(base, at, step);
}

#endif

constexpr std::int64_t kLanes = kVector / kLane;

// ---- Copies -------------------------------------------------------------------------------------

/// Whole lines to an aligned destination.
HWY_INLINE void stream_lines(std::byte* to, const std::byte* from, std::int64_t lines) {
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t k = 0; k < kLine; k += kVector) stream(load(from + k), to + k);
    from += kLine;
    to += kLine;
  }
}

/// At least one vector: the last one overlaps the one before.
HWY_INLINE void copy_vectors(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const Bytes last = load(from + bytes - kVector);
  std::int64_t i = 0;
  for (; i + 2 * kVector <= bytes; i += 2 * kVector) {
    const Bytes a = load(from + i);
    const Bytes b = load(from + i + kVector);
    store(a, to + i);
    store(b, to + i + kVector);
  }
  if (i + kVector <= bytes) store(load(from + i), to + i);
  store(last, to + bytes - kVector);
}

template <typename T>
HWY_INLINE void copy_ends(std::byte* to, const std::byte* from, std::int64_t bytes) {
  T first;
  T last;
  std::memcpy(&first, from, sizeof(T));
  std::memcpy(&last, from + bytes - static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  std::memcpy(to, &first, sizeof(T));
  std::memcpy(to + bytes - static_cast<std::int64_t>(sizeof(T)), &last, sizeof(T));
}

HWY_INLINE void copy_short(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes >= kVector) return copy_vectors(to, from, bytes);
  if (bytes >= 32) {
    struct Half {
      std::uint64_t a[4];
    };
    return copy_ends<Half>(to, from, bytes);
  }
  if (bytes >= 16) {
    struct Quarter {
      std::uint64_t a[2];
    };
    return copy_ends<Quarter>(to, from, bytes);
  }
  if (bytes >= 8) return copy_ends<std::uint64_t>(to, from, bytes);
  if (bytes >= 4) return copy_ends<std::uint32_t>(to, from, bytes);
  if (bytes >= 2) return copy_ends<std::uint16_t>(to, from, bytes);
  if (bytes == 1) *to = *from;
}

HWY_INLINE void copy_streaming(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % kLine);
  const std::int64_t head = past == 0 ? 0 : kLine - past;
  if (bytes < head + kLine) return copy_short(to, from, bytes);
  copy_short(to, from, head);
  const std::int64_t lines = (bytes - head) / kLine;
  stream_lines(to + head, from + head, lines);
  const std::int64_t done = head + lines * kLine;
  copy_short(to + done, from + done, bytes - done);
}

void CopyBytes(std::byte* to, const std::byte* from, std::int64_t bytes, bool streaming) {
  if (streaming) return copy_streaming(to, from, bytes);
  if (bytes >= 4096) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else {
    copy_short(to, from, bytes);
  }
}

/// Calls `copy(to, from)` at every step of two loops.
template <typename Copy>
HWY_INLINE void for_each_run(std::byte* to, const std::byte* from, const ByteLoop& outer,
                             const ByteLoop& inner, const Copy& copy) {
  for (std::int64_t i = 0; i < outer.steps; ++i) {
    std::byte* out = to + i * outer.to;
    const std::byte* in = from + i * outer.from;
    for (std::int64_t j = 0; j < inner.steps; ++j) {
      copy(out, in);
      out += inner.to;
      in += inner.from;
    }
  }
}

template <std::int64_t kBytes>
HWY_INLINE void copy_fixed_runs(std::byte* to, const std::byte* from, const ByteLoop& outer,
                                const ByteLoop& inner) {
  for_each_run(to, from, outer, inner,
               [](std::byte* out, const std::byte* in) { std::memcpy(out, in, kBytes); });
}

void CopyRuns(std::byte* to, const std::byte* from, const ByteLoop& outer, const ByteLoop& inner,
              std::int64_t bytes, bool streaming) {
  if (streaming) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(to) % kLine == 0 &&
                         outer.to % kLine == 0 && inner.to % kLine == 0 && bytes % kLine == 0;
    if (aligned) {
      return for_each_run(to, from, outer, inner, [&](std::byte* out, const std::byte* in) {
        stream_lines(out, in, bytes / kLine);
      });
    }
    return for_each_run(to, from, outer, inner, [&](std::byte* out, const std::byte* in) {
      copy_streaming(out, in, bytes);
    });
  }
  switch (bytes) {
    case 1:
      return copy_fixed_runs<1>(to, from, outer, inner);
    case 2:
      return copy_fixed_runs<2>(to, from, outer, inner);
    case 4:
      return copy_fixed_runs<4>(to, from, outer, inner);
    case 8:
      return copy_fixed_runs<8>(to, from, outer, inner);
    case 16:
      return copy_fixed_runs<16>(to, from, outer, inner);
    case 32:
      return copy_fixed_runs<32>(to, from, outer, inner);
    case 64:
      return copy_fixed_runs<64>(to, from, outer, inner);
    case 128:
      return copy_fixed_runs<128>(to, from, outer, inner);
    default:
      break;
  }
  for_each_run(to, from, outer, inner,
               [&](std::byte* out, const std::byte* in) { copy_short(out, in, bytes); });
}

/// Parts of a line that are written at once leave the processor together.
template <std::int64_t kBytes>
HWY_INLINE void stream_part(std::byte* to, const std::byte* from) {
#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
  std::memcpy(to, from, kBytes);
#else
  const hn::CappedTag<std::uint8_t, kBytes> d;
  for (std::int64_t k = 0; k < kBytes; k += hn::MaxLanes(d)) {
    hn::Stream(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + k)), d,
               reinterpret_cast<std::uint8_t*>(to + k));
  }
#endif
}

template <std::int64_t kBytes>
void stream_pieces_of(std::byte* to, const std::byte* from, const ByteLoop& lines,
                      std::int64_t piece_step) {
  for (std::int64_t i = 0; i < lines.steps; ++i) {
    for (std::int64_t p = 0; p < kLine / kBytes; ++p) {
      stream_part<kBytes>(to + p * kBytes, from + p * piece_step);
    }
    to += lines.to;
    from += lines.from;
  }
}

void StreamPieces(std::byte* to, const std::byte* from, const ByteLoop& lines,
                  std::int64_t piece_step, std::int64_t bytes) {
  if (bytes == 16) return stream_pieces_of<16>(to, from, lines, piece_step);
  stream_pieces_of<32>(to, from, lines, piece_step);
}

void CopyRows(std::byte* to, std::int64_t pitch, const std::byte* from, const std::int64_t* row,
              std::int64_t rows, std::int64_t bytes) {
  constexpr std::int64_t kStreams = 8;
  constexpr std::int64_t kChunk = 128;
  const std::int64_t apart = (rows + kStreams - 1) / kStreams;
  const std::int64_t whole = bytes / kChunk * kChunk;
  for (std::int64_t k = 0; k < apart; ++k) {
    for (std::int64_t c = 0; c < whole; c += kChunk) {
      for (std::int64_t r = k; r < rows; r += apart) {
        std::memcpy(to + r * pitch + c, from + row[r] + c, kChunk);
      }
    }
    if (whole == bytes) continue;
    for (std::int64_t r = k; r < rows; r += apart) {
      copy_short(to + r * pitch + whole, from + row[r] + whole, bytes - whole);
    }
  }
}

template <std::int64_t kFreely>
HWY_INLINE void join_freely(std::byte* to, const std::byte* from, const std::int64_t* at,
                            const std::int64_t* bytes, std::int64_t pieces, std::int64_t ahead) {
  for (std::int64_t i = 0; i < pieces; ++i) {
    if (ahead != 0) hwy::Prefetch(from + at[i] + ahead);
    std::memcpy(to, from + at[i], kFreely);
    to += bytes[i];
  }
}

void JoinPieces(std::byte* to, const std::byte* from, const std::int64_t* at,
                const std::int64_t* bytes, std::int64_t pieces, std::int64_t freely,
                std::int64_t ahead) {
  switch (freely) {
    case 16:
      return join_freely<16>(to, from, at, bytes, pieces, ahead);
    case 32:
      return join_freely<32>(to, from, at, bytes, pieces, ahead);
    case 64:
      return join_freely<64>(to, from, at, bytes, pieces, ahead);
    default:
      break;
  }
  for (std::int64_t i = 0; i < pieces; ++i) {
    if (ahead != 0) hwy::Prefetch(from + at[i] + ahead);
    copy_short(to, from + at[i], bytes[i]);
    to += bytes[i];
  }
}

HWY_INLINE void copy_line(std::byte* to, const std::byte* from) {
  for (std::int64_t k = 0; k < kLine; k += kVector) store(load(from + k), to + k);
}

void BeginLines(const CarriedColumns& columns) {
  for (std::int64_t c = 0; c < columns.columns; ++c) {
    copy_line(columns.lines + c * columns.pitch, columns.carry + c * kLine);
  }
}

void EndLines(const CarriedColumns& columns, std::byte* const* to, std::int64_t bytes, bool first,
              bool last) {
  for (std::int64_t c = 0; c < columns.columns; ++c) {
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to[c]) % kLine);
    const std::byte* lines = columns.lines + c * columns.pitch;
    std::byte* out = to[c] - past;
    const std::int64_t end = past + bytes;
    const std::int64_t whole = end / kLine * kLine;
    std::int64_t begin = 0;
    if (first && past > 0) {
      begin = std::min(kLine, end);
      copy_short(out + past, lines + past, begin - past);
    }
    if (whole > begin) stream_lines(out + begin, lines + begin, (whole - begin) / kLine);
    if (!last) {
      copy_line(columns.carry + c * kLine, lines + whole);
    } else if (end > std::max(whole, begin)) {
      copy_short(out + whole, lines + whole, end - whole);
    }
  }
}

void FinishStreaming() { hwy::FlushStream(); }

// ---- Transposes ---------------------------------------------------------------------------------

template <int kWidth>
constexpr int kSide = static_cast<int>(kVector) / kWidth;  // elements in a vector

/// Whether tiles are finished while they are read. Tiles of narrow elements have more rows than
/// memory likes to be read at once, so they are read a lane's worth of rows at a time and their
/// lanes are put in order when they are written.
template <int kWidth>
constexpr bool kFinishedOnReading = kSide<kWidth> <= 16;

/// The square at `base` in registers, column by column: `put(c, v)` gets each column once.
template <int kWidth, typename Put>
HWY_INLINE void turn_square(const std::byte* base, const std::int64_t* row, const Put& put) {
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

/// Rows [r0, r0 + kRows) of the square at `base`, turned inside their lanes only, to `tile`.
constexpr int kRowsAtOnce = 16;
template <int kWidth>
HWY_INLINE void turn_lanes(const std::byte* base, const std::int64_t* row, std::byte* tile) {
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

/// Columns c, kG + c, .. of a tile whose rows were turned inside their lanes: vector g·kG + c of it
/// holds, lane by lane, rows [g·kG, (g+1)·kG) of column lane·kG + c.
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
      turn_square<kWidth>(from + first[j], row,
                          [&](int c, Bytes v) { store(v, tile + c * kVector); });
    }
  } else {
    for (int r0 = 0; r0 < kSide<kWidth>; r0 += kRowsAtOnce) {
      std::byte* tile = grid.tiles + i * kTile + r0 * kVector;
      for (std::int64_t j = 0; j < column_tiles; ++j, tile += step) {
        turn_lanes<kWidth>(from + first[j], row + r0, tile);
      }
    }
  }
}

template <int kWidth, bool kStreaming>
void turn_tiles_of(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
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
      turn_square<kWidth>(from + first[j], row, put);
    } else {
      alignas(kLine) std::byte tile[kVector * kSide<kWidth>];
      for (int r0 = 0; r0 < kSide<kWidth>; r0 += kRowsAtOnce) {
        turn_lanes<kWidth>(from + first[j], row + r0, tile + r0 * kVector);
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
void turn_tiles_to(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
                   std::byte* to, const std::int64_t* const* column, std::int64_t columns,
                   std::int64_t tiles, int width) {
  switch (width) {
    case 1:
      return turn_tiles_of<1, kStreaming>(from, row, first, to, column, columns, tiles);
    case 2:
      return turn_tiles_of<2, kStreaming>(from, row, first, to, column, columns, tiles);
    case 4:
      return turn_tiles_of<4, kStreaming>(from, row, first, to, column, columns, tiles);
    default:
      return turn_tiles_of<8, kStreaming>(from, row, first, to, column, columns, tiles);
  }
}

void TurnTiles(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
               std::byte* to, const std::int64_t* const* column, std::int64_t columns,
               std::int64_t tiles, int width, bool streaming) {
  if (streaming) return turn_tiles_to<true>(from, row, first, to, column, columns, tiles, width);
  turn_tiles_to<false>(from, row, first, to, column, columns, tiles, width);
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

HWY_EXPORT(CopyBytes);
HWY_EXPORT(CopyRuns);
HWY_EXPORT(StreamPieces);
HWY_EXPORT(CopyRows);
HWY_EXPORT(JoinPieces);
HWY_EXPORT(BeginLines);
HWY_EXPORT(EndLines);
HWY_EXPORT(FinishStreaming);
HWY_EXPORT(TileSide);
HWY_EXPORT(ReadTiles);
HWY_EXPORT(WriteColumns);
HWY_EXPORT(TurnTiles);
HWY_EXPORT(InterleaveRows);
HWY_EXPORT(SplitColumns);

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes, bool streaming) {
  HWY_DYNAMIC_DISPATCH(CopyBytes)(to, from, bytes, streaming);
}
void copy_runs(std::byte* to, const std::byte* from, const ByteLoop& outer, const ByteLoop& inner,
               std::int64_t bytes, bool streaming) {
  HWY_DYNAMIC_DISPATCH(CopyRuns)(to, from, outer, inner, bytes, streaming);
}
void stream_pieces(std::byte* to, const std::byte* from, const ByteLoop& lines,
                   std::int64_t piece_step, std::int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(StreamPieces)(to, from, lines, piece_step, bytes);
}
void copy_rows(std::byte* to, std::int64_t pitch, const std::byte* from, const std::int64_t* row,
               std::int64_t rows, std::int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(CopyRows)(to, pitch, from, row, rows, bytes);
}
void join_pieces(std::byte* to, const std::byte* from, const std::int64_t* at,
                 const std::int64_t* bytes, std::int64_t pieces, std::int64_t freely,
                 std::int64_t ahead) {
  HWY_DYNAMIC_DISPATCH(JoinPieces)(to, from, at, bytes, pieces, freely, ahead);
}
void begin_lines(const CarriedColumns& columns) { HWY_DYNAMIC_DISPATCH(BeginLines)(columns); }
void end_lines(const CarriedColumns& columns, std::byte* const* to, std::int64_t bytes, bool first,
               bool last) {
  HWY_DYNAMIC_DISPATCH(EndLines)(columns, to, bytes, first, last);
}
void finish_streaming() { HWY_DYNAMIC_DISPATCH(FinishStreaming)(); }
int tile_side(int width) { return HWY_DYNAMIC_DISPATCH(TileSide)(width); }
void read_tiles(const TileGrid& grid, std::int64_t i, const std::byte* from,
                const std::int64_t* row, const std::int64_t* first, std::int64_t column_tiles) {
  HWY_DYNAMIC_DISPATCH(ReadTiles)(grid, i, from, row, first, column_tiles);
}
void write_columns(const TileGrid& grid, std::int64_t j, std::int64_t columns, std::byte* const* to,
                   const std::int64_t* at, bool streaming) {
  HWY_DYNAMIC_DISPATCH(WriteColumns)(grid, j, columns, to, at, streaming);
}
void turn_tiles(const std::byte* from, const std::int64_t* row, const std::int64_t* first,
                std::byte* to, const std::int64_t* const* column, std::int64_t columns,
                std::int64_t tiles, int width, bool streaming) {
  HWY_DYNAMIC_DISPATCH(TurnTiles)(from, row, first, to, column, columns, tiles, width, streaming);
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
