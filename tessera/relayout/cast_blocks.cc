// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/relayout/cast_steps.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/cast_blocks.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "tessera/relayout/cast_walk-inl.h"
// clang-format on

#ifndef TESSERA_RELAYOUT_CAST_BLOCKS_
#define TESSERA_RELAYOUT_CAST_BLOCKS_
namespace tessera::cast_steps {
namespace {

constexpr std::int64_t kGroup = 16;
constexpr std::int64_t kTile = 1024;
constexpr std::int64_t kExponents = kTile / kGroup;  // bytes before the mantissas of a tile

/// One kind of block float: bits of an element, and of its shared exponent.
template <int kElementBits, int kExponentBits>
struct Kind {
  static constexpr int kBits = kElementBits;
  static constexpr int kMagnitudeBits = kBits - 1;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kExponentMask = (1 << kExponentBits) - 1;
  // Exponents that are written: with 8 bits the last one is infinity in floats.
  static constexpr int kLargestExponent = kExponentBits == 8 ? 254 : kExponentMask;
  /// The f32 that is the largest number that fits: the one below 2^(kLargestExponent - bias + 1).
  static constexpr std::int32_t kLargest = ((kLargestExponent - kBias + 1 + 127) << 23) - 1;
  static constexpr std::int64_t kGroupBytes = kGroup * kBits / 8;
  static constexpr std::int64_t kTileBytes = kExponents + kTile * kBits / 8;
};

/// Where a group is: its exponent and its first mantissa.
template <class Block>
struct GroupAt {
  std::int64_t exponent;
  std::int64_t mantissas;
  explicit GroupAt(std::int64_t group) {
    const std::int64_t tile = group / kExponents * Block::kTileBytes;
    exponent = tile + group % kExponents;
    mantissas = tile + kExponents + group % kExponents * Block::kGroupBytes;
  }
};

/// 2^exponent for exponents of normal f32 numbers.
inline float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

}  // namespace
}  // namespace tessera::cast_steps
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cast_steps {
namespace HWY_NAMESPACE {

// At most a group in a vector.
using GI32 = hn::CappedTag<std::int32_t, 16>;
using GF32 = hn::Rebind<float, GI32>;
using GU8 = hn::Rebind<std::uint8_t, GI32>;
using VGI32 = hn::Vec<GI32>;

// Sixteen elements as bytes with the sign on top and the magnitude, to its left, in 7 bits: then
// the exponent counts sixty-fourths for all kinds.
template <class Block>
void unpack(const std::byte* mantissas, std::byte* bytes) {
  constexpr int kPerByte = 8 / Block::kBits;
  for (int i = 0; i < static_cast<int>(Block::kGroupBytes); ++i) {
    const auto packed = std::to_integer<std::uint32_t>(mantissas[i]);
    for (int k = 0; k < kPerByte; ++k) {
      bytes[i * kPerByte + k] =
          static_cast<std::byte>((packed >> (k * Block::kBits)) << (8 - Block::kBits) & 0xFF);
    }
  }
}

template <class Block>
void pack(const std::byte* bytes, std::byte* mantissas) {
  constexpr int kPerByte = 8 / Block::kBits;
  for (int i = 0; i < static_cast<int>(Block::kGroupBytes); ++i) {
    std::uint32_t packed = 0;
    for (int k = 0; k < kPerByte; ++k) {
      packed |= std::to_integer<std::uint32_t>(bytes[i * kPerByte + k]) << (k * Block::kBits);
    }
    mantissas[i] = static_cast<std::byte>(packed);
  }
}

template <class Block>
void read_group(const std::byte* from, std::int64_t group, std::byte* to) {
  const GroupAt<Block> at(group);
  alignas(16) std::byte bytes[kGroup];
  unpack<Block>(from + at.mantissas, bytes);
  // 2^(exponent - bias - 6) may be a subnormal number; then its one bit is in the mantissa.
  const int exponent = std::to_integer<int>(from[at.exponent]) & Block::kExponentMask;
  const int power = exponent - Block::kBias - 6;
  const float unit =
      power >= -126 ? power_of_two(power) : std::bit_cast<float>(1U << (power + 149));

  const GI32 d;
  const GF32 df;
  const GU8 db;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < kGroup; i += lanes) {
    const VGI32 element = hn::PromoteTo(d, load_any(db, bytes + i));
    const VGI32 magnitude = hn::And(element, hn::Set(d, 0x7F));
    const auto number = hn::Mul(hn::ConvertTo(df, magnitude), hn::Set(df, unit));
    const VGI32 sign = hn::ShiftLeft<24>(hn::AndNot(hn::Set(d, 0x7F), element));
    store_any(hn::BitCast(df, hn::Or(hn::BitCast(d, number), sign)), df, to + i * 4);
  }
}

template <class Block>
bool read_block(const std::byte* from, std::int64_t from_first, std::byte* to,
                std::int64_t to_first, std::int64_t n) {
  to += to_first * 4;
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t group = (from_first + i) / kGroup;
    const std::int64_t within = (from_first + i) % kGroup;
    const std::int64_t count = std::min(kGroup - within, n - i);
    if (count == kGroup) {
      read_group<Block>(from, group, to + i * 4);
    } else {
      std::byte numbers[kGroup * 4];
      read_group<Block>(from, group, numbers);
      std::memcpy(to + i * 4, numbers + within * 4, static_cast<std::size_t>(count * 4));
    }
    i += count;
  }
  return true;
}

// Answers a vector that is not 0 in lanes that do not fit.
template <class Block>
VGI32 write_group(const std::byte* from, std::byte* to, std::int64_t group) {
  const GI32 d;
  const GF32 df;
  const GU8 db;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VGI32 mask = hn::Set(d, 0x7FFFFFFF);
  const VGI32 limit = hn::Set(d, Block::kLargest);
  const VGI32 infinity = hn::Set(d, 0x7F800000);

  // Magnitudes of f32 are ordered as their bits are.
  VGI32 misfits = hn::Zero(d);
  VGI32 largest = hn::Zero(d);
  alignas(64) std::int32_t magnitudes[kGroup];
  for (std::int64_t i = 0; i < kGroup; i += lanes) {
    VGI32 magnitude = hn::And(load_any(d, from + i * 4), mask);
    misfits = hn::Or(misfits, hn::VecFromMask(d, hn::Gt(magnitude, limit)));
    magnitude = hn::IfThenZeroElse(hn::Gt(magnitude, infinity), magnitude);
    magnitude = hn::Min(magnitude, limit);
    largest = hn::Max(largest, magnitude);
    hn::Store(magnitude, d, magnitudes + i);
  }
  const int top = hn::GetLane(hn::MaxOfLanes(d, largest)) >> 23;
  const int exponent = std::max(0, top - 127 + Block::kBias);
  // In two halves, because 2^133 is beyond f32; growing is exact, and what shrinks to a subnormal
  // rounds to 0 in the end.
  const int power = Block::kMagnitudeBits - 1 + Block::kBias - exponent;
  const auto one_half = hn::Set(df, power_of_two(power / 2));
  const auto other_half = hn::Set(df, power_of_two(power - power / 2));

  // Adding 2^23 rounds to integers and leaves them in the last bits.
  const auto units = hn::Set(df, 8388608.0F);
  alignas(16) std::byte bytes[kGroup];
  for (std::int64_t i = 0; i < kGroup; i += lanes) {
    const auto number = hn::BitCast(df, hn::Load(d, magnitudes + i));
    const auto scaled = hn::Mul(hn::Mul(number, one_half), other_half);
    VGI32 element = hn::Sub(hn::BitCast(d, hn::Add(scaled, units)), hn::BitCast(d, units));
    element = hn::Min(element, hn::Set(d, (1 << Block::kMagnitudeBits) - 1));
    const VGI32 sign = hn::And(hn::ShiftRight<31>(load_any(d, from + i * 4)),
                               hn::Set(d, 1 << Block::kMagnitudeBits));
    element = hn::Or(element, hn::IfThenZeroElse(hn::Eq(element, hn::Zero(d)), sign));
    store_any(hn::DemoteTo(db, element), db, bytes + i);
  }
  const GroupAt<Block> at(group);
  to[at.exponent] = static_cast<std::byte>(exponent);
  pack<Block>(bytes, to + at.mantissas);
  return misfits;
}

template <class Block>
bool write_block(const std::byte* from, std::int64_t from_first, std::byte* to,
                 std::int64_t to_first, std::int64_t n) {
  const GI32 d;
  VGI32 misfits = hn::Zero(d);
  for (std::int64_t i = 0; i < n; i += kGroup) {
    misfits = hn::Or(misfits,
                     write_group<Block>(from + (from_first + i) * 4, to, (to_first + i) / kGroup));
  }
  return hn::AllFalse(d, hn::Ne(misfits, hn::Zero(d)));
}

Step block_to_f32_now(DType from) {
  switch (from) {
    case DType::kBfpBf8:
      return read_block<Kind<8, 8>>;
    case DType::kBfpBf4:
      return read_block<Kind<4, 8>>;
    case DType::kBfpBf2:
      return read_block<Kind<2, 8>>;
    case DType::kBfpF8:
      return read_block<Kind<8, 5>>;
    case DType::kBfpF4:
      return read_block<Kind<4, 5>>;
    default:
      return read_block<Kind<2, 5>>;
  }
}

Step f32_to_block_now(DType to) {
  switch (to) {
    case DType::kBfpBf8:
      return write_block<Kind<8, 8>>;
    case DType::kBfpBf4:
      return write_block<Kind<4, 8>>;
    case DType::kBfpBf2:
      return write_block<Kind<2, 8>>;
    case DType::kBfpF8:
      return write_block<Kind<8, 5>>;
    case DType::kBfpF4:
      return write_block<Kind<4, 5>>;
    default:
      return write_block<Kind<2, 5>>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cast_steps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cast_steps {

HWY_EXPORT(block_to_f32_now);
HWY_EXPORT(f32_to_block_now);

Step block_to_f32(DType from) { return HWY_DYNAMIC_DISPATCH(block_to_f32_now)(from); }
Step f32_to_block(DType to) { return HWY_DYNAMIC_DISPATCH(f32_to_block_now)(to); }

bool block_holds(DType to, float number) {
  const bool short_exponent = to == DType::kBfpF8 || to == DType::kBfpF4 || to == DType::kBfpF2;
  const std::int32_t largest = short_exponent ? Kind<8, 5>::kLargest : Kind<8, 8>::kLargest;
  return std::abs(number) <= std::bit_cast<float>(largest);  // false for NaN
}

}  // namespace tessera::cast_steps
#endif
