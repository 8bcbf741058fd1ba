// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/relayout/casts/cast.h"
#include "tessera/testing/relayout/cast_checks.h"
#include "tessera/testing/relayout/naive_cast.h"

// Which elements a cast reads and writes: lengths, addresses, first elements, chunks.
namespace tessera::relayout {
namespace {

using cast_test::blank;
using cast_test::Bytes;
using cast_test::cast_of;
using cast_test::for_each_target;
using cast_test::kCanary;

// Numbers that most types hold, with a few that they do not.
Bytes plausible(DType type, std::int64_t n) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto whole = static_cast<double>(i * 37 % 19 - 9);
    numbers.push_back(i % 23 == 7 ? 999.6 : whole / static_cast<double>(i % 4 + 1));
  }
  Bytes bytes = blank(type, n);
  test::naive_cast(DType::kF64, reinterpret_cast<const std::byte*>(numbers.data()), 0, type,
                   bytes.data(), 0, n);
  return bytes;
}

// The bytes of `array` at an address that is `shift` past one of 64 bytes, with canaries around.
class Shifted {
 public:
  Shifted(const Bytes& array, std::size_t shift) : size_(array.size()) {
    bytes_.assign(size_ + 3 * kMargin, kCanary);
    const auto past = reinterpret_cast<std::uintptr_t>(bytes_.data()) % kMargin;
    start_ = kMargin + (kMargin - past) + shift % kMargin;
    std::copy(array.begin(), array.end(), data());
  }
  std::byte* data() { return bytes_.data() + start_; }
  Bytes bytes() { return Bytes(data(), data() + size_); }
  bool intact() const {
    const auto outside = [](std::byte byte) { return byte == kCanary; };
    const auto start = bytes_.begin() + static_cast<std::ptrdiff_t>(start_);
    return std::all_of(bytes_.begin(), start, outside) &&
           std::all_of(start + static_cast<std::ptrdiff_t>(size_), bytes_.end(), outside);
  }

 private:
  static constexpr std::size_t kMargin = 64;
  std::size_t size_;
  std::size_t start_ = 0;
  Bytes bytes_;
};

// Every pair of types, every length to 70 at changing addresses and first elements, also across
// the border of two tiles: only the requested elements change.
TEST(CastRuns, EveryLengthAtEveryAddress) {
  constexpr std::int64_t kLongest = 70;
  for (const DType from : all_dtypes()) {
    for (const DType to : all_dtypes()) {
      SCOPED_TRACE(testing::Message() << dtype_name(from) << " to " << dtype_name(to));
      const bool block = is_block_float(to);
      // Where the second tile begins; other arrays need no first tile.
      const std::int64_t border = block || is_block_float(from) ? 1024 : 64;
      const std::int64_t elements = border + 96;
      const Bytes source = plausible(from, elements);
      for (std::int64_t length = 0; length <= kLongest; length += block ? 16 : 1) {
        const std::int64_t from_first = border - 32 + length % 19;
        const std::int64_t to_first = block ? border - 32 : border - 40 + length % 13;
        Bytes expected = blank(to, elements);
        const std::vector<bool> fits = test::naive_cast(from, source.data(), from_first, to,
                                                        expected.data(), to_first, length);
        const auto misfit = std::find(fits.begin(), fits.end(), false);
        const std::optional<std::int64_t> first =
            misfit == fits.end() ? std::nullopt : std::optional(misfit - fits.begin());
        for_each_target([&] {
          Shifted in(source, static_cast<std::size_t>(length * 5));
          for (const Rounding rounding : {Rounding::kSaturate, Rounding::kChecked}) {
            Shifted out(blank(to, elements), static_cast<std::size_t>(length * 3 + 1));
            const auto answer = cast_of(from, to, rounding)
                                    .run(in.data(), from_first, out.data(), to_first, length);
            ASSERT_TRUE(out.intact()) << length;
            if (rounding == Rounding::kChecked && first) {
              ASSERT_EQ(answer, first) << length;
            } else {
              ASSERT_EQ(answer, std::nullopt) << length;
              ASSERT_TRUE(out.bytes() == expected) << length;
            }
          }
        });
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(CastRuns, StreamingWritesTheSame) {
  constexpr std::int64_t kElements = 3000;
  for (const DType from : {DType::kF32, DType::kBF16, DType::kU8, DType::kF64, DType::kI4}) {
    const Bytes source = plausible(from, kElements);
    for (const DType to : all_dtypes()) {
      SCOPED_TRACE(testing::Message() << dtype_name(from) << " to " << dtype_name(to));
      for_each_target([&] {
        const Cast cast = cast_of(from, to, Rounding::kSaturate);
        for (const std::size_t shift : {0, 1, 24, 62}) {
          for (const std::int64_t n : {0, 16, 48, 512, 2896}) {
            Shifted plain(blank(to, kElements), shift);
            Shifted streamed(blank(to, kElements), shift);
            ASSERT_EQ(cast.run(source.data(), 3, plain.data(), 16, n), std::nullopt);
            ASSERT_EQ(cast.run(source.data(), 3, streamed.data(), 16, n, true), std::nullopt);
            ASSERT_TRUE(streamed.bytes() == plain.bytes()) << shift << " " << n;
            ASSERT_TRUE(streamed.intact()) << shift << " " << n;
          }
        }
      });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CastRuns, FirstMisfitOfALongRun) {
  std::vector<float> numbers(5000, 1.0F);
  std::vector<std::uint8_t> out(numbers.size());
  const auto run = [&](bool streaming) {
    return cast_of(DType::kF32, DType::kU8, Rounding::kChecked)
        .run(reinterpret_cast<const std::byte*>(numbers.data()), 10,
             reinterpret_cast<std::byte*>(out.data()), 0, 4990, streaming);
  };
  EXPECT_EQ(run(false), std::nullopt);
  numbers[4700] = 1.5F;
  numbers[4321] = 256.0F;
  numbers[9] = -1.0F;  // not in the run
  EXPECT_EQ(run(false), std::optional<std::int64_t>(4311));
  EXPECT_EQ(run(true), std::optional<std::int64_t>(4311));
}

}  // namespace
}  // namespace tessera::relayout
