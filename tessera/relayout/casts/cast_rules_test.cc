// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "tessera/relayout/casts/cast.h"

// The rules of rounding.h on numbers computed by hand.
namespace tessera::relayout {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename T>
const std::byte* in(const T& array) {
  return reinterpret_cast<const std::byte*>(array.data());
}

// The result for one number, and whether it fits.
template <typename To>
struct Became {
  To number;
  bool fits;
  friend bool operator==(const Became&, const Became&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Became& became) {
    return out << +became.number << (became.fits ? " fits" : " does not fit");
  }
};

template <typename To, typename From>
Became<To> became(DType from_type, From number, DType to_type) {
  Became<To> result{To{}, true};
  const std::vector<From> one = {number};
  auto* out = reinterpret_cast<std::byte*>(&result.number);
  const Result<Cast> checked = Cast::make(from_type, to_type, Rounding::kChecked);
  result.fits = !checked->run(in(one), 0, out, 0, 1).has_value();
  const Result<Cast> saturate = Cast::make(from_type, to_type, Rounding::kSaturate);
  EXPECT_EQ(saturate->run(in(one), 0, out, 0, 1), std::nullopt);
  return result;
}

template <typename To>
Became<To> from_f32(float number, DType to) {
  return became<To>(DType::kF32, number, to);
}

using Byte = Became<std::uint8_t>;
using Half = Became<std::uint16_t>;

/// Whether the number fits an integer type once its fraction is rounded away, and what it becomes.
template <typename To, typename From>
std::optional<To> rounded(DType from_type, From number, DType to_type) {
  const std::vector<From> one = {number};
  To result{};
  const Result<Cast> cast = Cast::make(from_type, to_type, Rounding::kRound);
  if (cast->run(in(one), 0, reinterpret_cast<std::byte*>(&result), 0, 1)) return std::nullopt;
  return result;
}

TEST(CastRules, RoundingAloneAcceptsFractionsAndNothingElse) {
  const auto as_i8 = [](float number) {
    return rounded<std::int8_t>(DType::kF32, number, DType::kI8);
  };
  EXPECT_EQ(as_i8(2.5F), 2);
  EXPECT_EQ(as_i8(-3.5F), -4);
  EXPECT_EQ(as_i8(0.49999997F), 0);
  EXPECT_EQ(as_i8(127.49F), 127);
  EXPECT_EQ(as_i8(127.5F), std::nullopt);  // a tie, to the even 128
  EXPECT_EQ(as_i8(-128.5F), -128);
  EXPECT_EQ(as_i8(-128.6F), std::nullopt);
  EXPECT_EQ(as_i8(kNaN), std::nullopt);
  EXPECT_EQ(as_i8(kInf), std::nullopt);
  EXPECT_EQ((rounded<std::uint8_t>(DType::kF32, 0.3F, DType::kBool)), 0);
  EXPECT_EQ((rounded<std::uint8_t>(DType::kF32, 1.6F, DType::kBool)), std::nullopt);
  EXPECT_EQ((rounded<std::uint32_t>(DType::kF16, std::uint16_t{0x4100}, DType::kU32)), 2U);  // 2.5
  EXPECT_EQ((rounded<std::uint64_t>(DType::kF64, 0x1p63 + 0x1p11, DType::kU64)),
            (std::uint64_t{1} << 63) + 2048);
  EXPECT_EQ((rounded<std::int64_t>(DType::kF64, 0x1p63, DType::kI64)), std::nullopt);
  EXPECT_EQ((rounded<std::int64_t>(DType::kF64, 1e15 + 0.5, DType::kI64)), 1'000'000'000'000'000);
  // Integers and floats are as strict as without rounding.
  EXPECT_EQ((rounded<std::int8_t>(DType::kI32, 128, DType::kI8)), std::nullopt);
  EXPECT_EQ((rounded<std::uint16_t>(DType::kF32, 65520.0F, DType::kF16)), std::nullopt);
}

TEST(CastRules, SmallFloatsRoundToNearestEven) {
  // 10 bits below 1: 1 + 2^-11 is a tie and goes down to even, 1 + 3·2^-11 goes up.
  EXPECT_EQ(from_f32<std::uint16_t>(1 + 0x1p-11F, DType::kF16), (Half{0x3C00, true}));
  EXPECT_EQ(from_f32<std::uint16_t>(1 + 0x3p-11F, DType::kF16), (Half{0x3C02, true}));
  EXPECT_EQ(from_f32<std::uint16_t>(1 + 0x1p-8F, DType::kBF16), (Half{0x3F80, true}));
  EXPECT_EQ(from_f32<std::uint16_t>(1 + 0x3p-8F, DType::kBF16), (Half{0x3F82, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(1 + 0x1p-4F, DType::kF8E4M3), (Byte{0x38, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(1 + 0x3p-3F, DType::kF8E5M2), (Byte{0x3E, true}));
}

TEST(CastRules, SubnormalNumbersAreNumbers) {
  EXPECT_EQ(from_f32<std::uint16_t>(0x1p-24F, DType::kF16), (Half{0x0001, true}));
  EXPECT_EQ(from_f32<std::uint16_t>(0x1p-25F, DType::kF16), (Half{0x0000, true}));
  EXPECT_EQ(from_f32<std::uint16_t>(-0x1.000002p-25F, DType::kF16), (Half{0x8001, true}));
  // The largest subnormal f16 is 1023·2^-24; half a step above is a tie, and the next is normal.
  EXPECT_EQ(from_f32<std::uint16_t>(1023.5F * 0x1p-24F, DType::kF16), (Half{0x0400, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(0x1p-9F, DType::kF8E4M3), (Byte{0x01, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(0x1p-16F, DType::kF8E5M2), (Byte{0x01, true}));
  EXPECT_EQ(from_f32<std::uint16_t>(0x1p-133F, DType::kBF16), (Half{0x0001, true}));
  const auto back = became<float>(DType::kF16, std::uint16_t{0x8001}, DType::kF32);
  EXPECT_EQ(back, (Became<float>{-0x1p-24F, true}));
}

TEST(CastRules, LargestNumbers) {
  EXPECT_EQ(from_f32<std::uint16_t>(65519.99F, DType::kF16), (Half{0x7BFF, true}));
  EXPECT_EQ(from_f32<std::uint16_t>(-65520.0F, DType::kF16), (Half{0xFBFF, false}));
  // 464 ties between 448 and 480, which f8E4M3FN does not have; 448 is the even one.
  EXPECT_EQ(from_f32<std::uint8_t>(464.0F, DType::kF8E4M3), (Byte{0x7E, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(464.1F, DType::kF8E4M3), (Byte{0x7E, false}));
  // 61440 ties between 57344 and 65536, and 57344 is odd.
  EXPECT_EQ(from_f32<std::uint8_t>(61439.0F, DType::kF8E5M2), (Byte{0x7B, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(61440.0F, DType::kF8E5M2), (Byte{0x7B, false}));
  EXPECT_EQ(from_f32<std::uint16_t>(0x1.fep127F, DType::kBF16), (Half{0x7F7F, true}));
  EXPECT_EQ(from_f32<std::uint16_t>(0x1.ffp127F, DType::kBF16), (Half{0x7F7F, false}));
  EXPECT_EQ(became<float>(DType::kF64, 0x1.ffffffp127, DType::kF32),
            (Became<float>{0x1.fffffep127F, false}));
  EXPECT_EQ(became<std::uint16_t>(DType::kF64, -1e300, DType::kBF16), (Half{0xFF7F, false}));
}

TEST(CastRules, InfinityAndNaN) {
  EXPECT_EQ(from_f32<std::uint16_t>(-kInf, DType::kF16), (Half{0xFC00, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(kInf, DType::kF8E5M2), (Byte{0x7C, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(kInf, DType::kF8E4M3), (Byte{0x7E, false}));
  EXPECT_EQ(from_f32<std::uint8_t>(kNaN, DType::kF8E4M3), (Byte{0x7F, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(kNaN, DType::kU8), (Byte{0, false}));
  EXPECT_EQ(from_f32<std::uint8_t>(-kInf, DType::kI8), (Byte{0x80, false}));
  // A signalling NaN with mantissa 0x212345: its leading bits, and the quiet bit on top.
  const std::uint32_t signalling = 0xFFA12345;
  const auto to = [&](DType type) { return became<std::uint16_t>(DType::kF32, signalling, type); };
  EXPECT_EQ(to(DType::kBF16), (Half{0xFFE1, true}));
  EXPECT_EQ(to(DType::kF16), (Half{0xFF09, true}));
  // f32 to itself, however, copies bits.
  EXPECT_EQ(became<std::uint32_t>(DType::kF32, signalling, DType::kF32).number, signalling);
}

TEST(CastRules, NumbersAreRoundedOnce) {
  // Just above a tie of bf16, and by so little that f32 would lose it.
  EXPECT_EQ(became<std::uint16_t>(DType::kF64, 1 + 0x1p-8 + 0x1p-40, DType::kBF16),
            (Half{0x3F81, true}));
  EXPECT_EQ(became<std::uint16_t>(DType::kI32, (1 << 30) + (1 << 22) + 1, DType::kBF16),
            (Half{0x4E81, true}));
  EXPECT_EQ(became<std::uint16_t>(DType::kI32, -(1 << 30) - (1 << 22) - 1, DType::kBF16),
            (Half{0xCE81, true}));
  const std::int64_t above_tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1;
  EXPECT_EQ(became<std::uint32_t>(DType::kI64, above_tie, DType::kF32).number, 0x5E800001U);
  EXPECT_EQ(became<std::uint32_t>(DType::kI64, above_tie - 1, DType::kF32).number, 0x5E800000U);
  EXPECT_EQ(became<float>(DType::kU64, ~std::uint64_t{0}, DType::kF32),
            (Became<float>{0x1p64F, true}));
}

TEST(CastRules, Integers) {
  EXPECT_EQ(from_f32<std::uint8_t>(300.0F, DType::kU8), (Byte{255, false}));
  EXPECT_EQ(from_f32<std::uint8_t>(255.0F, DType::kU8), (Byte{255, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(2.5F, DType::kI8), (Byte{2, false}));
  EXPECT_EQ(from_f32<std::uint8_t>(3.5F, DType::kI8), (Byte{4, false}));
  EXPECT_EQ(from_f32<std::uint8_t>(-0.0F, DType::kU8), (Byte{0, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(-0.25F, DType::kU8), (Byte{0, false}));
  EXPECT_EQ(from_f32<std::int32_t>(0x1p31F, DType::kI32),
            (Became<std::int32_t>{2147483647, false}));
  EXPECT_EQ(from_f32<std::int32_t>(-0x1p31F, DType::kI32),
            (Became<std::int32_t>{-2147483647 - 1, true}));
  EXPECT_EQ(became<std::uint8_t>(DType::kI32, 32768, DType::kU8), (Byte{255, false}));
  EXPECT_EQ(became<std::uint8_t>(DType::kI64, std::int64_t{-129}, DType::kI8), (Byte{128, false}));
  EXPECT_EQ(became<std::int64_t>(DType::kU64, ~std::uint64_t{0}, DType::kI64),
            (Became<std::int64_t>{std::numeric_limits<std::int64_t>::max(), false}));
  EXPECT_EQ(became<std::uint8_t>(DType::kI32, -8, DType::kI4), (Byte{0x08, true}));
  EXPECT_EQ(became<std::uint8_t>(DType::kI32, 2, DType::kI2), (Byte{0x01, false}));
  EXPECT_EQ(became<std::int32_t>(DType::kI4, std::uint8_t{0xF7}, DType::kI32),
            (Became<std::int32_t>{7, true}));
}

TEST(CastRules, BoolsAreZeroAndOne) {
  EXPECT_EQ(became<std::uint8_t>(DType::kBool, std::uint8_t{7}, DType::kU8), (Byte{1, true}));
  EXPECT_EQ(became<std::uint8_t>(DType::kI32, 5, DType::kBool), (Byte{1, false}));
  EXPECT_EQ(became<std::uint8_t>(DType::kI32, -5, DType::kBool), (Byte{0, false}));
  EXPECT_EQ(from_f32<std::uint8_t>(1.0F, DType::kBool), (Byte{1, true}));
  EXPECT_EQ(from_f32<std::uint8_t>(0.3F, DType::kBool), (Byte{0, false}));
}

// A tile of block floats whose first group is `group`, which may be shorter; the rest is zero.
std::vector<std::uint8_t> tile_of(std::vector<float> group, DType type,
                                  Rounding rounding = Rounding::kChecked) {
  group.resize(1024);
  std::vector<std::uint8_t> tile(static_cast<std::size_t>(tile_bytes_32x32(type)), 0xEE);
  const Result<Cast> cast = Cast::make(DType::kF32, type, rounding);
  EXPECT_EQ(cast->run(in(group), 0, reinterpret_cast<std::byte*>(tile.data()), 0, 1024),
            std::nullopt);
  return tile;
}

// Exponent and mantissa bytes of the first group.
using Group = std::pair<int, std::vector<int>>;
Group first_group(const std::vector<std::uint8_t>& tile, std::size_t bytes) {
  return {tile[0], std::vector<int>(tile.begin() + 64, tile.begin() + 64 + bytes)};
}

TEST(CastRules, BlockFloatsShareTheLargestExponent) {
  // The largest is 1.999, so E = 127 and a magnitude counts 2^-6: 64, -32, 127.9, then a half and
  // one and a half, ties that go to even, and half of one below zero, which loses its sign.
  const std::vector<float> numbers = {1.0F,      -0.5F,    1.999F, 0x1p-7F,
                                      0x1.8p-6F, -0x1p-7F, -0.0F,  -0x1.8p-6F};
  EXPECT_EQ(first_group(tile_of(numbers, DType::kBfpBf8), 8),
            Group(127, {64, 0x80 | 32, 127, 0, 2, 0, 0, 0x80 | 2}));
  // With 3 bits a magnitude counts 2^-2; the first element is in the low bits.
  EXPECT_EQ(first_group(tile_of({1.0F, -0.5F, 1.999F, 0.375F}, DType::kBfpBf4), 2),
            Group(127, {0xA4, 0x27}));
  // With one bit it counts 1: 1, -1, a half that ties to 0, and 0.6.
  EXPECT_EQ(first_group(tile_of({1.0F, -1.4F, 0.5F, 0.6F}, DType::kBfpBf2), 1),
            Group(127, {0b01'00'11'01}));
  EXPECT_EQ(first_group(tile_of({1.0F, -0.5F}, DType::kBfpF8), 2), Group(15, {64, 0x80 | 32}));
}

TEST(CastRules, BlockFloatsAtTheirEnds) {
  // 2^-133 is the smallest number that bfp_bf8 distinguishes from zero, 2^-21 the smallest of
  // bfp_f8.
  EXPECT_EQ(first_group(tile_of({0x1p-127F, 0x1p-133F, 0x1p-134F}, DType::kBfpBf8), 3),
            Group(0, {64, 1, 0}));
  EXPECT_EQ(first_group(tile_of({0x1p-15F, 0x1p-21F, 0x1p-22F}, DType::kBfpF8), 3),
            Group(0, {64, 1, 0}));
  EXPECT_EQ(first_group(tile_of({0, -0.0F}, DType::kBfpBf8), 2), Group(0, {0, 0}));
  EXPECT_EQ(first_group(tile_of({131071.0F}, DType::kBfpF8), 1), Group(31, {127}));
  // Saturated: the largest number, which makes the others 0; NaN is 0.
  EXPECT_EQ(first_group(tile_of({1, -kInf, kNaN}, DType::kBfpBf8, Rounding::kSaturate), 3),
            Group(254, {0, 0xFF, 0}));
  EXPECT_EQ(first_group(tile_of({131072.0F, 65536.0F}, DType::kBfpF8, Rounding::kSaturate), 2),
            Group(31, {127, 64}));
  for (const float misfit : {kInf, -kInf, kNaN, 131072.0F}) {
    std::vector<float> numbers(32, 1.0F);
    numbers[21] = misfit;
    std::vector<std::byte> tile(1088);
    const Result<Cast> cast = Cast::make(DType::kF32, DType::kBfpF8, Rounding::kChecked);
    EXPECT_EQ(cast->run(in(numbers), 0, tile.data(), 0, 32), std::optional<std::int64_t>(21));
  }
}

TEST(CastRules, BlockFloatsAreRead) {
  const std::size_t second = 1088;
  std::vector<std::uint8_t> tiles(2 * second);
  tiles[second + 1] = 130;       // the exponent of group 1
  tiles[second + 64 + 16] = 64;  // 64 · 2^(130 - 127 - 6) = 8
  tiles[second + 64 + 17] = 0x80 | 3;
  tiles[second + 64 + 18] = 0x80;
  tiles[second + 2] = 255;  // 127 · 2^122 is beyond f32, 63 · 2^122 is not
  tiles[second + 64 + 32] = 0x80 | 64;
  tiles[second + 64 + 33] = 63;
  std::vector<float> numbers(18);
  const Result<Cast> cast = Cast::make(DType::kBfpBf8, DType::kF32, Rounding::kChecked);
  EXPECT_EQ(cast->run(in(tiles), 1024 + 16, reinterpret_cast<std::byte*>(numbers.data()), 0, 18),
            std::nullopt);
  EXPECT_EQ(numbers[0], 8.0F);
  EXPECT_EQ(numbers[1], -0.375F);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(numbers[2]), 0x80000000U);
  EXPECT_EQ(numbers[16], -kInf);
  EXPECT_EQ(numbers[17], 63 * 0x1p122F);
}

// Law: after a round trip, a number differs by at most half a unit of the group's exponent, or by
// one unit if a carry was cut off; a second round trip changes nothing.
TEST(CastRules, BlockFloatsComeBack) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(4096);
  for (float& number : numbers) number = std::ldexp(normal(random), static_cast<int>(random() % 9));
  for (const DType type : all_dtypes()) {
    if (!is_block_float(type)) continue;
    const std::int64_t tile_bytes = tile_bytes_32x32(type);
    std::vector<std::byte> tiles(static_cast<std::size_t>(4 * tile_bytes));
    std::vector<std::byte> again(tiles.size());
    std::vector<float> back(numbers.size());
    const Result<Cast> write = Cast::make(DType::kF32, type, Rounding::kChecked);
    const Result<Cast> read = Cast::make(type, DType::kF32, Rounding::kChecked);
    ASSERT_EQ(write->run(in(numbers), 0, tiles.data(), 0, 4096), std::nullopt);
    ASSERT_EQ(read->run(in(tiles), 0, reinterpret_cast<std::byte*>(back.data()), 0, 4096),
              std::nullopt);
    ASSERT_EQ(write->run(in(back), 0, again.data(), 0, 4096), std::nullopt);
    EXPECT_TRUE(tiles == again) << dtype_name(type);

    const int magnitude_bits = static_cast<int>((tile_bytes - 64) / 128) - 1;
    const int bias = type < DType::kBfpF8 ? 127 : 15;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t tile = i / 1024 * static_cast<std::size_t>(tile_bytes);
      const int exponent = std::to_integer<int>(tiles[tile + i % 1024 / 16]);
      const float unit = std::ldexp(1.0F, exponent - bias - (magnitude_bits - 1));
      const float largest = unit * static_cast<float>((1 << magnitude_bits) - 1);
      const float allowed = std::abs(numbers[i]) > largest ? unit : unit / 2;
      ASSERT_LE(std::abs(back[i] - numbers[i]), allowed) << dtype_name(type) << " " << i;
    }
  }
}

}  // namespace
}  // namespace tessera::relayout
