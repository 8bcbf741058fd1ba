// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/casts/cast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tessera/testing/relayout/cast_checks.h"
#include "tessera/testing/relayout/naive_cast.h"

namespace tessera::relayout {
namespace {

using cast_test::blank;
using cast_test::Bytes;
using cast_test::bytes_of;
using cast_test::cast_of;
using cast_test::different_types;
using cast_test::for_each_target;

// Checks the cast of `n` elements, a multiple of 16, against the reference: saturating in one call,
// and checked in windows that end at each element that does not fit.
void check(DType from, const Bytes& source, DType to, std::int64_t n) {
  SCOPED_TRACE(testing::Message() << dtype_name(from) << " to " << dtype_name(to));
  Bytes expected = blank(to, n);
  const std::vector<bool> fits =
      test::naive_cast(from, source.data(), 0, to, expected.data(), 0, n);
  const std::int64_t group = is_block_float(to) ? 16 : 1;
  for_each_target([&] {
    Bytes got = blank(to, n);
    const Cast saturate = cast_of(from, to, Rounding::kSaturate);
    ASSERT_EQ(saturate.run(source.data(), 0, got.data(), 0, n), std::nullopt);
    if (got != expected) {
      const auto at = std::mismatch(got.begin(), got.end(), expected.begin());
      FAIL() << "byte " << at.first - got.begin() << " is " << std::to_integer<int>(*at.first)
             << ", not " << std::to_integer<int>(*at.second);
    }

    const Cast checked = cast_of(from, to, Rounding::kChecked);
    got = blank(to, n);
    for (std::int64_t i = 0; i < n;) {
      // To a few elements after the next that does not fit.
      const auto begin = fits.begin() + i;
      const auto next = std::find(begin, begin + std::min<std::int64_t>(20, n - i), false) - begin;
      const std::int64_t groups = (next + 1 + i % 7 + group - 1) / group;
      const std::int64_t window = std::min(groups * group, n - i);
      const auto first = std::find(begin, begin + window, false) - begin;
      const auto answer = checked.run(source.data(), i, got.data(), i, window);
      if (first < window) {
        ASSERT_EQ(answer, std::optional<std::int64_t>(first)) << "from element " << i;
        i += first / group * group + group;
      } else {
        ASSERT_EQ(answer, std::nullopt) << "from element " << i;
        i += window;
      }
    }
  });
}

// Every code of a type of `bits` bits, repeated to fill 16 elements.
Bytes all_codes(int bits) {
  Bytes codes(
      std::max<std::size_t>(16, (std::size_t{1} << bits) * static_cast<std::size_t>(bits) / 8));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t code = bits == 16 ? i / 2 >> (i % 2 == 0 ? 0 : 8) : i;
    codes[i] = static_cast<std::byte>(code & 0xFF);
  }
  return codes;
}

void check_all_codes(std::initializer_list<DType> types) {
  for (const DType from : types) {
    const auto bits = static_cast<int>(*dtype_bits(from));
    const Bytes codes = all_codes(std::max(bits, 8));
    const auto n = static_cast<std::int64_t>(codes.size()) * 8 / bits;
    for (const DType to : different_types()) {
      check(from, codes, to, n);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Cast, EveryCodeOfSmallTypes) {
  check_all_codes({DType::kF8E4M3, DType::kF8E5M2, DType::kSI8, DType::kU8, DType::kBool,
                   DType::kI4, DType::kI2});
}
TEST(Cast, EveryCodeOfF16) { check_all_codes({DType::kF16}); }
TEST(Cast, EveryCodeOfBF16) { check_all_codes({DType::kBF16}); }
TEST(Cast, EveryCodeOfSixteenBitIntegers) { check_all_codes({DType::kSI16, DType::kU16}); }

// The bits of numbers where roundings change: below every exponent, mantissas of a leading run of
// ones, a single one, and the two together, with everything one last bit above and below.
template <typename Bits>
void append_edges(Bytes& bytes, int mantissa_bits, Bits exponent) {
  std::vector<Bits> mantissas = {0};
  const Bits all = (Bits{1} << mantissa_bits) - 1;
  for (int b = 0; b < mantissa_bits; ++b) {
    // No type ends in the middle of f64's mantissa.
    if (b > 3 && b < mantissa_bits - 26) continue;
    const Bits one = Bits{1} << b;
    mantissas.insert(mantissas.end(), {one, static_cast<Bits>(all & ~(one - 1)),
                                       static_cast<Bits>((all & ~(one - 1)) - one / 2),
                                       static_cast<Bits>(3 * one & all)});
  }
  for (const Bits mantissa : mantissas) {
    for (const Bits near : {mantissa - 1, mantissa + 0, mantissa + 1}) {
      for (const Bits sign : {Bits{0}, Bits{1}}) {
        const Bits bits = sign << (sizeof(Bits) * 8 - 1) | exponent << mantissa_bits | (near & all);
        const auto* at = reinterpret_cast<const std::byte*>(&bits);
        bytes.insert(bytes.end(), at, at + sizeof(bits));
      }
    }
  }
}

void append_random(Bytes& bytes, std::size_t count) {
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(random() & 0xFF));
}

// Down to a multiple of 16 elements. Every other group keeps its elements, which are similar; the
// others are mixed, so that groups have small and large elements.
std::int64_t shuffle(Bytes& bytes, std::size_t element_bytes) {
  const std::size_t n = bytes.size() / element_bytes / 16 * 16;
  std::vector<std::size_t> mixed;
  for (std::size_t i = 0; i < n; ++i) {
    if (i / 16 % 2 == 1) mixed.push_back(i);
  }
  std::vector<std::size_t> source = mixed;
  std::shuffle(source.begin(), source.end(), std::mt19937_64(3));
  Bytes out(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n * element_bytes));
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    std::memcpy(&out[mixed[i] * element_bytes], &bytes[source[i] * element_bytes], element_bytes);
  }
  bytes = out;
  return static_cast<std::int64_t>(n);
}

TEST(Cast, EdgesOfF32) {
  Bytes bytes;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    const bool dense = exponent < 6 || exponent > 248 || (exponent > 94 && exponent < 164);
    if (dense || exponent % 8 == 0) append_edges(bytes, 23, exponent);
  }
  append_random(bytes, 32000);
  const std::int64_t n = shuffle(bytes, 4);
  for (const DType to : different_types()) check(DType::kF32, bytes, to, n);
}

TEST(Cast, EdgesOfF64) {
  Bytes bytes;
  for (std::uint64_t exponent = 0; exponent < 2048; ++exponent) {
    // Where the other types begin and end: 2^-149 .. 2^-126, 2^-24 .. 2^17, 2^31, 2^63, 2^127.
    const int power = static_cast<int>(exponent) - 1023;
    const bool dense = (power > -152 && power < -148) || (power > -136 && power < -124) ||
                       (power > -26 && power < 20) || power == 31 || power == 32 ||
                       (power > 61 && power < 66) || (power > 125 && power < 130);
    if (dense || exponent == 0 || exponent == 2047) append_edges(bytes, 52, exponent);
  }
  append_random(bytes, 32000);
  const std::int64_t n = shuffle(bytes, 8);
  for (const DType to : different_types()) check(DType::kF64, bytes, to, n);
}

// Sums and differences of powers of two, which are the ends of types and ties of floats.
template <typename Int>
void check_integers(DType from) {
  using Unsigned = std::make_unsigned_t<Int>;
  constexpr int kBits = sizeof(Int) * 8;
  std::vector<Unsigned> numbers;
  for (int a = 0; a < kBits; ++a) {
    for (int b = 0; b <= a; ++b) {
      const Unsigned power = Unsigned{1} << a;
      const Unsigned other = Unsigned{1} << b;
      for (const Unsigned last : {Unsigned{0}, Unsigned{1}, static_cast<Unsigned>(-1)}) {
        if (last != 0 && b > 0 && a - b > 24) continue;  // far below the last bit of f32
        for (const Unsigned number : {power + other + last, power - other + last}) {
          numbers.push_back(number);
          numbers.push_back(Unsigned{0} - number);
        }
      }
    }
  }
  Bytes bytes(numbers.size() * sizeof(Int));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  append_random(bytes, 16000);
  const std::int64_t n = shuffle(bytes, sizeof(Int));
  for (const DType to : different_types()) check(from, bytes, to, n);
}

TEST(Cast, EdgesOfIntegers) {
  check_integers<std::int32_t>(DType::kSI32);
  check_integers<std::uint32_t>(DType::kU32);
  check_integers<std::int64_t>(DType::kSI64);
  check_integers<std::uint64_t>(DType::kU64);
}

TEST(Cast, EveryExponentOfBlockFloats) {
  std::mt19937_64 random(5);
  for (const DType from : all_dtypes()) {
    if (!is_block_float(from)) continue;
    // Every exponent, over random mantissas.
    const std::int64_t n = std::int64_t{256} * 16;
    Bytes bytes(static_cast<std::size_t>(bytes_of(from, n)));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
    for (std::int64_t group = 0; group < n / 16; ++group) {
      const std::int64_t tile = group / 64 * tile_bytes_32x32(from);
      bytes[static_cast<std::size_t>(tile + group % 64)] = static_cast<std::byte>(group & 0xFF);
    }
    for (const DType to : different_types()) check(from, bytes, to, n);
  }
}

}  // namespace
}  // namespace tessera::relayout
