// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/kernels/permute_lines.h"

#include <algorithm>
#include <cstring>

// Byte permutes across a whole vector justify a separate target.
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/kernels/permute_lines.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::relayout::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tables = LinePermutation::Tables;
using Ports = LinePermutation::Ports;

#if HWY_TARGET <= HWY_AVX3

/// Takes bytes or pairs of bytes from two registers, or from four by choosing between two such
/// results.
#if HWY_TARGET <= HWY_AVX3_DL
struct Bytes {
  using Mask = __mmask64;
  static const LinePermutation::ByBytes* tables(const Tables& t) { return t.bytes.data(); }
  static HWY_INLINE __m512i one(__m512i index, __m512i a) {
    return _mm512_permutexvar_epi8(index, a);
  }
  static HWY_INLINE __m512i two(__m512i a, __m512i index, __m512i b) {
    return _mm512_permutex2var_epi8(a, index, b);
  }
  static HWY_INLINE __m512i one_where(__m512i rest, Mask mask, __m512i index, __m512i a) {
    return _mm512_mask_permutexvar_epi8(rest, mask, index, a);
  }
  static HWY_INLINE __m512i choose(Mask mask, __m512i no, __m512i yes) {
    return _mm512_mask_blend_epi8(mask, no, yes);
  }
};
#endif

struct Pairs {
  using Mask = __mmask32;
  static const LinePermutation::ByPairs* tables(const Tables& t) { return t.pairs.data(); }
  static HWY_INLINE __m512i one(__m512i index, __m512i a) {
    return _mm512_permutexvar_epi16(index, a);
  }
  static HWY_INLINE __m512i two(__m512i a, __m512i index, __m512i b) {
    return _mm512_permutex2var_epi16(a, index, b);
  }
  static HWY_INLINE __m512i one_where(__m512i rest, Mask mask, __m512i index, __m512i a) {
    return _mm512_mask_permutexvar_epi16(rest, mask, index, a);
  }
  static HWY_INLINE __m512i choose(Mask mask, __m512i no, __m512i yes) {
    return _mm512_mask_blend_epi16(mask, no, yes);
  }
};

template <bool kStreaming>
HWY_INLINE void put(std::byte* to, __m512i line) {
  if constexpr (kStreaming) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), line);
  } else {
    _mm512_storeu_si512(to, line);
  }
}

/// Tables and lines are in registers: at most 4 lines, 8 indices and 4 masks.
template <typename Unit, int kLines, bool kStreaming>
void permute(const Tables& tables, const Ports& ports, std::int64_t groups) {
  __m512i low[kLines];
  __m512i high[kLines];
  typename Unit::Mask from_high[kLines];
#pragma GCC unroll 4
  for (int j = 0; j < kLines; ++j) {
    const auto& table = Unit::tables(tables)[j];
    low[j] = _mm512_loadu_si512(table.low.data());
    high[j] = _mm512_loadu_si512(table.high.data());
    from_high[j] = table.from_high;
  }
  std::int64_t from_at = 0;
  std::int64_t to_at = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    __m512i line[kLines];
#pragma GCC unroll 4
    for (int i = 0; i < kLines; ++i) line[i] = _mm512_loadu_si512(ports.from[i] + from_at);
#pragma GCC unroll 4
    for (int j = 0; j < kLines; ++j) {
      __m512i out;
      if constexpr (kLines == 1) {
        out = Unit::one(low[j], line[0]);
      } else {
        out = Unit::two(line[0], low[j], line[1]);
      }
      if constexpr (kLines == 3) out = Unit::one_where(out, from_high[j], high[j], line[2]);
      if constexpr (kLines == 4) {
        out = Unit::choose(from_high[j], out, Unit::two(line[2], high[j], line[3]));
      }
      put<kStreaming>(ports.to[j] + to_at, out);
    }
    from_at += ports.from_step;
    to_at += ports.to_step;
  }
}

/// The same order in each of the four chunks of a line costs one shuffle per line.
template <int kLines, bool kStreaming>
void permute_chunks(const Tables& tables, const Ports& ports, std::int64_t groups) {
  __m512i table[kLines];
#pragma GCC unroll 4
  for (int j = 0; j < kLines; ++j) {
    std::array<std::uint8_t, 64> bytes;
    for (std::size_t c = 0; c < 4; ++c) {
      std::memcpy(bytes.data() + 16 * c,
                  tables.parts[4 * static_cast<std::size_t>(j) + c].table.data(), 16);
    }
    table[j] = _mm512_loadu_si512(bytes.data());
  }
  std::int64_t from_at = 0;
  std::int64_t to_at = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
#pragma GCC unroll 4
    for (int j = 0; j < kLines; ++j) {
      const __m512i line = _mm512_loadu_si512(ports.from[j] + from_at);
      put<kStreaming>(ports.to[j] + to_at, _mm512_shuffle_epi8(line, table[j]));
    }
    from_at += ports.from_step;
    to_at += ports.to_step;
  }
}

template <int kLines, bool kStreaming>
bool permute_wide(const Tables& tables, const Ports& ports, std::int64_t groups) {
  if (tables.in_chunks) {
    permute_chunks<kLines, kStreaming>(tables, ports, groups);
    return true;
  }
  if (tables.in_pairs) {
    permute<Pairs, kLines, kStreaming>(tables, ports, groups);
    return true;
  }
#if HWY_TARGET <= HWY_AVX3_DL
  permute<Bytes, kLines, kStreaming>(tables, ports, groups);
  return true;
#else
  return false;
#endif
}

template <bool kStreaming>
bool permute_wide(int lines, const Tables& tables, const Ports& ports, std::int64_t groups) {
  if (lines == 1) return permute_wide<1, kStreaming>(tables, ports, groups);
  if (lines == 2) return permute_wide<2, kStreaming>(tables, ports, groups);
  if (lines == 3) return permute_wide<3, kStreaming>(tables, ports, groups);
  return permute_wide<4, kStreaming>(tables, ports, groups);
}

#endif  // HWY_TARGET <= HWY_AVX3

// Sixteen bytes, and shuffles inside them, which every instruction set has.
#if HWY_TARGET == HWY_SCALAR
struct Chunk {
  std::uint8_t bytes[16];
};
Chunk no_bytes() { return {}; }
Chunk joined(Chunk chunk, const std::uint8_t* from, const std::uint8_t* table) {
  for (int b = 0; b < 16; ++b) {
    if (table[b] < 16) chunk.bytes[b] = from[table[b]];
  }
  return chunk;
}
void put_chunk(Chunk chunk, std::uint8_t* to, bool) { std::memcpy(to, chunk.bytes, 16); }
#else
using ChunkTag = hn::FixedTag<std::uint8_t, 16>;
using Chunk = hn::Vec<ChunkTag>;
HWY_INLINE Chunk no_bytes() { return hn::Zero(ChunkTag()); }
HWY_INLINE Chunk joined(Chunk chunk, const std::uint8_t* from, const std::uint8_t* table) {
  const ChunkTag d;
  return hn::Or(chunk, hn::TableLookupBytesOr0(hn::LoadU(d, from), hn::LoadU(d, table)));
}
HWY_INLINE void put_chunk(Chunk chunk, std::uint8_t* to, bool streaming) {
  if (streaming) {
    hn::Stream(chunk, ChunkTag(), to);
  } else {
    hn::StoreU(chunk, ChunkTag(), to);
  }
}
#endif

void permute_parts(int lines, const Tables& tables, const Ports& ports, std::int64_t groups,
                   bool streaming) {
  for (std::int64_t g = 0; g < groups; ++g) {
    const LinePermutation::ChunkPart* part = tables.parts.data();
    for (int j = 0; j < lines; ++j) {
      auto* to = reinterpret_cast<std::uint8_t*>(ports.to[j] + g * ports.to_step);
      for (int c = 0; c < 4; ++c, to += 16) {
        Chunk chunk = no_bytes();
        bool last = false;
        for (; !last; ++part) {
          const std::byte* line = ports.from[part->from_line] + g * ports.from_step;
          chunk = joined(chunk, reinterpret_cast<const std::uint8_t*>(line) + part->from_byte,
                         part->table.data());
          last = part->last;
        }
        put_chunk(chunk, to, streaming);
      }
    }
  }
}

void PermuteLines(int lines, const Tables& tables, const Ports& ports, std::int64_t groups,
                  bool streaming) {
#if HWY_TARGET <= HWY_AVX3
  if (streaming ? permute_wide<true>(lines, tables, ports, groups)
                : permute_wide<false>(lines, tables, ports, groups)) {
    return;
  }
#endif
  permute_parts(lines, tables, ports, groups, streaming);
}

}  // namespace
}  // namespace tessera::relayout::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::relayout {
namespace {

HWY_EXPORT(PermuteLines);

/// The entry of a byte that may be anything: that of its position in the first line, which keeps
/// adjacent bytes together.
std::uint16_t settled(std::span<const std::uint16_t> source_of, std::size_t b) {
  if (source_of[b] != LinePermutation::kAny) return source_of[b];
  const std::uint16_t pair = source_of[b ^ 1];
  if (pair == LinePermutation::kAny) return static_cast<std::uint16_t>(b % 64);
  return static_cast<std::uint16_t>(pair ^ 1);
}

}  // namespace

LinePermutation::LinePermutation(std::span<const std::uint16_t> source_of)
    : lines_(static_cast<int>(source_of.size() / 64)) {
  const std::size_t bytes = source_of.size();
  std::vector<std::uint16_t> source(bytes);
  for (std::size_t b = 0; b < bytes; ++b) source[b] = settled(source_of, b);
  for (std::size_t b = 0; b < bytes; ++b) {
    const std::uint16_t s = source[b];
    ByBytes& by_bytes = tables_.bytes[b / 64];
    (s < 128 ? by_bytes.low : by_bytes.high)[b % 64] = static_cast<std::uint8_t>(s % 128);
    if (s >= 128) by_bytes.from_high |= std::uint64_t{1} << (b % 64);
    if (b % 2 == 1) continue;
    if (s % 2 != 0 || source[b + 1] != s + 1) tables_.in_pairs = false;
    ByPairs& by_pairs = tables_.pairs[b / 64];
    (s < 128 ? by_pairs.low : by_pairs.high)[b % 64 / 2] = static_cast<std::uint16_t>(s % 128 / 2);
    if (s >= 128) by_pairs.from_high |= std::uint32_t{1} << (b % 64 / 2);
  }
  for (std::size_t chunk = 0; chunk < bytes; chunk += 16) {
    const std::size_t first = tables_.parts.size();
    for (std::size_t b = chunk; b < chunk + 16; ++b) {
      const auto line = static_cast<std::uint8_t>(source[b] / 64);
      const auto byte = static_cast<std::uint8_t>(source[b] % 64 / 16 * 16);
      std::size_t p = first;
      while (p < tables_.parts.size() &&
             (tables_.parts[p].from_line != line || tables_.parts[p].from_byte != byte)) {
        ++p;
      }
      if (p == tables_.parts.size()) {
        ChunkPart part;
        part.table.fill(0x80);
        part.from_line = line;
        part.from_byte = byte;
        tables_.parts.push_back(part);
      }
      tables_.parts[p].table[b - chunk] = static_cast<std::uint8_t>(source[b] % 16);
      if (source[b] / 16 != b / 16) tables_.in_chunks = false;
    }
    tables_.parts.back().last = true;
  }
}

void LinePermutation::run(const Ports& ports, std::int64_t groups, bool streaming) const {
  HWY_DYNAMIC_DISPATCH(PermuteLines)(lines_, tables_, ports, groups, streaming);
}

}  // namespace tessera::relayout
#endif  // HWY_ONCE
