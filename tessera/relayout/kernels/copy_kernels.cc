// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tessera/relayout/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/kernels/copy_kernels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "tessera/relayout/kernels/copies.inc"

HWY_BEFORE_NAMESPACE();
namespace tessera::relayout::HWY_NAMESPACE {
namespace {

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

/// Parts of a line that are written consecutively leave the processor together.
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

}  // namespace tessera::relayout
#endif
