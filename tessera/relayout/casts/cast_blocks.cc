// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/relayout/casts/cast_steps.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/casts/cast_blocks.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "tessera/relayout/casts/cast_walk.inc"
// clang-format on

#ifndef TESSERA_RELAYOUT_CAST_BLOCKS_
#define TESSERA_RELAYOUT_CAST_BLOCKS_
namespace tessera::relayout::cast_steps {
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
  // The largest exponent that is written: with 8 bits the last one is infinity in floats.
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
    const std::int64_t tile = (group >> 6) * Block::kTileBytes;
    const std::int64_t within = group & (kExponents - 1);
    exponent = tile + within;
    mantissas = tile + kExponents + within * Block::kGroupBytes;
  }
};

/// 2^power for powers from -149 to 127; the subnormal ones have their bit in the mantissa.
inline float power_of_two(int power) {
  const auto bits =
      static_cast<std::uint32_t>(power >= -126 ? (power + 127) << 23 : 1 << (power + 149));
  return std::bit_cast<float>(bits);
}

}  // namespace
}  // namespace tessera::relayout::cast_steps
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::relayout::cast_steps {
namespace HWY_NAMESPACE {

// At most a group in a vector.
using GI32 = hn::CappedTag<std::int32_t, 16>;
using GF32 = hn::Rebind<float, GI32>;
using GU32 = hn::Rebind<std::uint32_t, GI32>;
using GU8 = hn::Rebind<std::uint8_t, GI32>;
using VGI32 = hn::Vec<GI32>;

// Elements starting with number i of a group. The magnitude is shifted to the left of 7 bits, with
// the sign above: then the exponent counts units of 1/64 for all kinds.
template <class Block>
HWY_INLINE VGI32 elements_from(const std::byte* mantissas, std::int64_t i) {
  const GI32 d;
  if constexpr (Block::kBits == 8) {
    return hn::PromoteTo(d, load_any(GU8(), mantissas + i));
  } else {
    // Each lane extracts its bits from the same word, or from two words if there are more lanes.
    constexpr std::int64_t kPerWord = 32 / Block::kBits;
    const GU32 du;
    const auto word = [mantissas](std::int64_t w) HWY_ATTR {
      std::uint32_t bits = 0;
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
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes + half * 8, 8);
    const std::uint32_t packed = side_by_side<Block>(eight);
    std::memcpy(mantissas + half * kHalf, &packed, kHalf);
  }
}

template <class Block>
HWY_INLINE void read_group(const std::byte* from, std::int64_t group, std::byte* to) {
  const GroupAt<Block> at(group);
  const int exponent = std::to_integer<int>(from[at.exponent]) & Block::kExponentMask;
  const float unit = power_of_two(exponent - Block::kBias - 6);
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
HWY_NOINLINE void read_some(const std::byte* from, std::int64_t first, std::byte* to,
                            std::int64_t n) {
  std::byte numbers[kGroup * 4];
  read_group<Block>(from, first / kGroup, numbers);
  std::memcpy(to, numbers + first % kGroup * 4, static_cast<std::size_t>(n * 4));
}

template <class Block>
bool read_block(const std::byte* from, std::int64_t from_first, std::byte* to,
                std::int64_t to_first, std::int64_t n) {
  to += to_first * 4;
  const std::int64_t past = from_first % kGroup;
  std::int64_t i = past == 0 ? 0 : std::min(n, kGroup - past);
  if (i > 0) read_some<Block>(from, from_first, to, i);
  for (; i + kGroup <= n; i += kGroup) {
    read_group<Block>(from, (from_first + i) / kGroup, to + i * 4);
  }
  if (i < n) read_some<Block>(from, from_first + i, to + i * 4, n - i);
  return true;
}

// The largest magnitude of a group as the bits of an f32, which are ordered as magnitudes are;
// those of infinity and NaN are above all others.
HWY_INLINE std::int32_t largest_of(const std::byte* from) {
  const GI32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VGI32 largest = hn::Zero(d);
  for (std::int64_t i = 0; i < kGroup; i += lanes) {
    const VGI32 bits = load_any(d, from + i * 4);
    largest = hn::Max(largest, hn::And(bits, hn::Set(d, 0x7FFFFFFF)));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// A group whose elements fit.
template <class Block>
HWY_INLINE void write_group(const std::byte* from, std::int32_t largest, std::byte* to,
                            std::int64_t group) {
  const GI32 d;
  const GF32 df;
  const GU8 db;
  const GroupAt<Block> at(group);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const int exponent = std::max(0, (largest >> 23) - 127 + Block::kBias);
  // A number that is scaled down to a subnormal number finally rounds to 0. Scaling up may take two
  // steps, because 2^133 is outside f32.
  const int power = Block::kMagnitudeBits - 1 + Block::kBias - exponent;
  const auto scale = hn::Set(df, power_of_two(std::min(power, 127)));
  const auto rest = hn::Set(df, power_of_two(std::max(power, 127) - 127));

  // Adding 2^23 rounds to integers, which are then in the lowest bits.
  const auto units = hn::Set(df, 8388608.0F);
  alignas(16) std::byte bytes[kGroup];
  std::byte* out = Block::kBits == 8 ? to + at.mantissas : bytes;
  for (std::int64_t i = 0; i < kGroup; i += lanes) {
    const VGI32 bits = load_any(d, from + i * 4);
    const VGI32 magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFF));
    auto scaled = hn::Mul(hn::BitCast(df, magnitude), scale);
    if (HWY_UNLIKELY(power > 127)) scaled = hn::Mul(scaled, rest);
    VGI32 element = hn::Sub(hn::BitCast(d, hn::Add(scaled, units)), hn::BitCast(d, units));
    element = hn::Min(element, hn::Set(d, (1 << Block::kMagnitudeBits) - 1));
    const VGI32 sign = hn::And(hn::ShiftRight<31>(bits), hn::Set(d, 1 << Block::kMagnitudeBits));
    element = hn::Or(element, hn::IfThenZeroElse(hn::Eq(element, hn::Zero(d)), sign));
    store_any(hn::DemoteTo(db, element), db, out + i);
  }
  to[at.exponent] = static_cast<std::byte>(exponent);
  if constexpr (Block::kBits != 8) pack<Block>(bytes, to + at.mantissas);
}

// The numbers of a group; numbers that do not fit are replaced by the largest number, NaN by 0.
template <class Block>
HWY_INLINE void saturate(const std::byte* from, float* numbers) {
  const float limit = std::bit_cast<float>(Block::kLargest);
  std::memcpy(numbers, from, kGroup * sizeof(float));
  for (std::int64_t i = 0; i < kGroup; ++i) {
    const float number = std::isnan(numbers[i]) ? 0 : numbers[i];
    numbers[i] = std::min(std::max(number, -limit), limit);
  }
}

template <class Block>
bool write_block(const std::byte* from, std::int64_t from_first, std::byte* to,
                 std::int64_t to_first, std::int64_t n) {
  bool fits = true;
  float saturated[kGroup];
  for (std::int64_t i = 0; i < n; i += kGroup) {
    const std::byte* numbers = from + (from_first + i) * 4;
    std::int32_t largest = largest_of(numbers);
    if (HWY_UNLIKELY(largest > Block::kLargest)) {
      fits = false;
      saturate<Block>(numbers, saturated);
      numbers = reinterpret_cast<const std::byte*>(saturated);
      largest = largest_of(numbers);
    }
    write_group<Block>(numbers, largest, to, (to_first + i) / kGroup);
  }
  return fits;
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
}  // namespace tessera::relayout::cast_steps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::relayout::cast_steps {

HWY_EXPORT(block_to_f32_now);
HWY_EXPORT(f32_to_block_now);

Step block_to_f32(DType from) { return HWY_DYNAMIC_DISPATCH(block_to_f32_now)(from); }
Step f32_to_block(DType to) { return HWY_DYNAMIC_DISPATCH(f32_to_block_now)(to); }

bool block_holds(DType to, float number) {
  const bool short_exponent = to == DType::kBfpF8 || to == DType::kBfpF4 || to == DType::kBfpF2;
  const std::int32_t largest = short_exponent ? Kind<8, 5>::kLargest : Kind<8, 8>::kLargest;
  return std::abs(number) <= std::bit_cast<float>(largest);  // false for NaN
}

}  // namespace tessera::relayout::cast_steps
#endif
