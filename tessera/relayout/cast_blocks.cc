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
using GU32 = hn::Rebind<std::uint32_t, GI32>;
using GU8 = hn::Rebind<std::uint8_t, GI32>;
using VGI32 = hn::Vec<GI32>;

// Elements from the i-th of a group on, with the magnitude, to its left, in 7 bits and the sign
// above: then the exponent counts sixty-fourths for all kinds.
template <class Block>
VGI32 elements_from(const std::byte* mantissas, std::int64_t i) {
  const GI32 d;
  if constexpr (Block::kBits == 8) {
    return hn::PromoteTo(d, load_any(GU8(), mantissas + i));
  } else {
    // Each lane takes its bits out of the same word, or of two when there are so many lanes.
    constexpr std::int64_t kPerWord = 32 / Block::kBits;
    const GU32 du;
    const auto word = [mantissas](std::int64_t w) HWY_ATTR {
      std::uint32_t bits;
      std::memcpy(&bits, mantissas + w * 4, 4);
      return hn::Set(GU32(), bits);
    };
    auto words = word(i / kPerWord);
    if constexpr (hn::MaxLanes(GI32()) > kPerWord) {
      words = hn::IfThenElse(hn::FirstN(du, kPerWord), words, word(1));
    }
    const auto lane = hn::Iota(du, static_cast<std::uint32_t>(i));
    const auto shift =
        hn::ShiftLeft < Block::kBits == 4
            ? 2
            : 1 > (hn::And(lane, hn::Set(du, static_cast<std::uint32_t>(kPerWord - 1))));
    const auto bits = hn::ShiftLeft<8 - Block::kBits>(hn::Shr(words, shift));
    return hn::BitCast(d, hn::And(bits, hn::Set(du, 0xFF)));
  }
}

/// Eight elements, one in each byte, side by side.
template <class Block>
std::uint32_t side_by_side(std::uint64_t bytes) {
  constexpr int kGap = 8 - Block::kBits;
  constexpr std::uint64_t kPairs = Block::kBits == 4 ? 0x00FF00FF00FF00FF : 0x000F000F000F000F;
  constexpr std::uint64_t kFours = Block::kBits == 4 ? 0x0000FFFF0000FFFF : 0x000000FF000000FF;
  bytes = (bytes | bytes >> kGap) & kPairs;
  bytes = (bytes | bytes >> 2 * kGap) & kFours;
  return static_cast<std::uint32_t>(bytes | bytes >> 4 * kGap);
}

template <class Block>
void pack(const std::byte* bytes, std::byte* mantissas) {
  constexpr std::size_t kHalf = Block::kGroupBytes / 2;
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes + half * 8, 8);
    const std::uint32_t packed = side_by_side<Block>(eight);
    std::memcpy(mantissas + half * kHalf, &packed, kHalf);
  }
}

template <class Block>
void read_group(const std::byte* from, std::int64_t group, std::byte* to) {
  const GroupAt<Block> at(group);
  // 2^(exponent - bias - 6) may be a subnormal number; then its one bit is in the mantissa.
  const int exponent = std::to_integer<int>(from[at.exponent]) & Block::kExponentMask;
  const int power = exponent - Block::kBias - 6;
  const float unit =
      power >= -126 ? power_of_two(power) : std::bit_cast<float>(1U << (power + 149));

  const GI32 d;
  const GF32 df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < kGroup; i += lanes) {
    const VGI32 element = elements_from<Block>(from + at.mantissas, i);
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

// Magnitudes of f32 are ordered as their bits are. NaN counts as 0 here.
template <class Block>
VGI32 clamped_magnitude(VGI32 bits) {
  const GI32 d;
  const VGI32 magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFF));
  const auto nan = hn::Gt(magnitude, hn::Set(d, 0x7F800000));
  return hn::Min(hn::IfThenZeroElse(nan, magnitude), hn::Set(d, Block::kLargest));
}

// 2^power in every lane.
inline hn::Vec<GF32> powers_of_two(VGI32 power) {
  return hn::BitCast(GF32(), hn::ShiftLeft<23>(hn::Add(power, hn::Set(GI32(), 127))));
}

// Answers a vector that is not 0 in lanes that do not fit.
template <class Block>
VGI32 write_group(const std::byte* from, std::byte* to, std::int64_t group) {
  const GI32 d;
  const GF32 df;
  const GU8 db;
  const GroupAt<Block> at(group);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VGI32 misfits = hn::Zero(d);
  VGI32 largest = hn::Zero(d);
  for (std::int64_t i = 0; i < kGroup; i += lanes) {
    const VGI32 bits = load_any(d, from + i * 4);
    const VGI32 magnitude = clamped_magnitude<Block>(bits);
    misfits = hn::Or(misfits, hn::Xor(magnitude, hn::And(bits, hn::Set(d, 0x7FFFFFFF))));
    largest = hn::Max(largest, magnitude);
  }
  const VGI32 top = hn::ShiftRight<23>(hn::MaxOfLanes(d, largest));
  const VGI32 exponent = hn::Max(hn::Zero(d), hn::Sub(top, hn::Set(d, 127 - Block::kBias)));
  // In two halves, because 2^133 is beyond f32; growing is exact, and what shrinks to a subnormal
  // rounds to 0 in the end.
  const VGI32 power = hn::Sub(hn::Set(d, Block::kMagnitudeBits - 1 + Block::kBias), exponent);
  const VGI32 half = hn::ShiftRight<1>(power);
  const auto one_half = powers_of_two(half);
  const auto other_half = powers_of_two(hn::Sub(power, half));

  // Adding 2^23 rounds to integers and leaves them in the last bits.
  const auto units = hn::Set(df, 8388608.0F);
  alignas(16) std::byte bytes[kGroup];
  std::byte* out = Block::kBits == 8 ? to + at.mantissas : bytes;
  for (std::int64_t i = 0; i < kGroup; i += lanes) {
    const VGI32 bits = load_any(d, from + i * 4);
    const auto number = hn::BitCast(df, clamped_magnitude<Block>(bits));
    const auto scaled = hn::Mul(hn::Mul(number, one_half), other_half);
    VGI32 element = hn::Sub(hn::BitCast(d, hn::Add(scaled, units)), hn::BitCast(d, units));
    element = hn::Min(element, hn::Set(d, (1 << Block::kMagnitudeBits) - 1));
    const VGI32 sign = hn::And(hn::ShiftRight<31>(bits), hn::Set(d, 1 << Block::kMagnitudeBits));
    element = hn::Or(element, hn::IfThenZeroElse(hn::Eq(element, hn::Zero(d)), sign));
    store_any(hn::DemoteTo(db, element), db, out + i);
  }
  to[at.exponent] = static_cast<std::byte>(hn::GetLane(exponent));
  if constexpr (Block::kBits != 8) pack<Block>(bytes, to + at.mantissas);
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
