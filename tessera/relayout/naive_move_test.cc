// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/relayout/verify.h"
#include "tessera/testing/build.h"

namespace tessera::test {
namespace {

Layout row_major(std::vector<std::int64_t> extents) {
  return *Layout::row_major(shape(std::move(extents)), DType::kF32);
}

/// Rows of 3 in rows of 4: slots 3 and 7 are padding that holds 5.
Layout padded(PaddingValue padding) {
  LayoutSpec wide =
      spec(form({2, 3}, {}, {fold(x(0), {mem(1, 2, 4)}), fold(x(1), {mem(1, 4, 1)})}));
  wide.padding = padding;
  return *Layout::make(wide);
}

TEST(MoveNaively, MovesSubByteElementsByTheirBits) {
  // i4 [2, 3] row by row: 1 2 3 4 5 6 is 0x21 0x43 0x65; column by column 1 4 2 5 3 6.
  const Layout rows = *Layout::row_major(shape({2, 3}), DType::kI4);
  const Layout columns = *Layout::strided(shape({2, 3}), DType::kI4, {1, 2});
  const std::vector<std::byte> source = {std::byte{0x21}, std::byte{0x43}, std::byte{0x65}};
  std::vector<std::byte> moved(3);
  ASSERT_TRUE(
      relayout::move_naively(rows, source, columns, moved, relayout::PaddingRule::kLeave).ok());
  EXPECT_EQ(moved, (std::vector{std::byte{0x41}, std::byte{0x52}, std::byte{0x63}}));
}

TEST(MoveNaively, WritesPaddingAsAsked) {
  const auto moved = [](PaddingValue value, relayout::PaddingRule rule) {
    std::vector<std::byte> source(24, std::byte{7});
    std::vector<std::byte> to(32, std::byte{9});
    EXPECT_TRUE(relayout::move_naively(row_major({2, 3}), source, padded(value), to, rule).ok());
    std::vector<int> bytes;
    for (const std::size_t at : {0U, 12U, 15U, 28U, 31U}) {
      bytes.push_back(std::to_integer<int>(to[at]));
    }
    return bytes;
  };
  using Bytes = std::vector<int>;
  EXPECT_EQ(moved(PaddingValue::undef(), relayout::PaddingRule::kPromised), (Bytes{7, 9, 9, 9, 9}));
  EXPECT_EQ(moved(PaddingValue::undef(), relayout::PaddingRule::kZero), (Bytes{7, 0, 0, 0, 0}));
  // 1.0f is 0x3F800000.
  EXPECT_EQ(moved(PaddingValue::of(1), relayout::PaddingRule::kPromised),
            (Bytes{7, 0, 0x3F, 0, 0x3F}));
  EXPECT_EQ(moved(PaddingValue::of(1), relayout::PaddingRule::kZero), (Bytes{7, 0, 0x3F, 0, 0x3F}));
  EXPECT_EQ(moved(PaddingValue::of(1), relayout::PaddingRule::kLeave), (Bytes{7, 9, 9, 9, 9}));
}

TEST(MoveNaively, SaysWhatItDoesNotMove) {
  const auto code = [](const Placement& from, const Placement& to, std::size_t from_bytes,
                       std::size_t to_bytes) {
    std::vector<std::byte> source(from_bytes);
    std::vector<std::byte> moved(to_bytes);
    const Status status =
        relayout::move_naively(from, source, to, moved, relayout::PaddingRule::kLeave);
    EXPECT_FALSE(status.ok());
    return status.ok() ? ErrorCode::kIo : status.error().code;
  };
  const Layout plain = row_major({2, 3});
  const Layout half = *Layout::row_major(shape({2, 3}), DType::kF16);
  EXPECT_EQ(code(plain, half, 24, 12), ErrorCode::kNotSupported);
  EXPECT_EQ(code(plain, plain, 23, 24), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(plain, plain, 24, 25), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(plain, row_major({3, 2}), 24, 24), ErrorCode::kShapeMismatch);
  const View repeated = *View::of(row_major({3})).broadcast(0, 2);
  EXPECT_EQ(code(plain, repeated, 24, 12), ErrorCode::kNotInjective);
  LayoutSpec tiles =
      spec(form({32, 32}, {}, {fold(x(0), {mem(1, 32, 32)}), fold(x(1), {mem(1, 32, 1)})}));
  tiles.atom = Atom::tile(32, 32, DType::kBfpBf8);
  const Layout blocks = *Layout::make(tiles);
  EXPECT_EQ(code(blocks, blocks, 1088, 1088), ErrorCode::kNotSupported);
}

TEST(BitsOfNumber, FollowsTheFormats) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  struct Case {
    double number;
    DType dtype;
    std::uint64_t bits;
  };
  const std::vector<Case> cases = {
      {1.5, DType::kBF16, 0x3FC0},
      {1.5, DType::kF64, 0x3FF8000000000000},
      {-0.0, DType::kF32, 0x80000000},
      {0.1, DType::kF32, 0x3DCCCCCD},  // 0.1 = 1.6 · 2^-4, rounded up
      {65504, DType::kF16, 0x7BFF},
      {65520, DType::kF16, 0x7BFF},  // would round to infinity: the nearest number instead
      {kInf, DType::kF16, 0x7C00},
      {-kInf, DType::kBF16, 0xFF80},
      {0x1p-24, DType::kF16, 1},          // the smallest subnormal
      {0x1p-25, DType::kF16, 0},          // half of it: ties to even
      {0x1.8p-24, DType::kF16, 2},        // 1.5 of it: ties to even
      {0x1.FFFp-15, DType::kF16, 0x400},  // carries into the smallest normal
      {1 + 0x1p-11, DType::kF16, 0x3C00},
      {1 + 0x1.8p-10, DType::kF16, 0x3C02},
      {448, DType::kF8E4M3, 0x7E},
      {kInf, DType::kF8E4M3, 0x7E},  // has no infinity
      {57344, DType::kF8E5M2, 0x7B},
      {0x1p-1074, DType::kF64, 1},
      {300, DType::kU8, 0xFF},
      {-1, DType::kU8, 0},
      {-1, DType::kI4, 0xF},
      {-9, DType::kI4, 0x8},
      {2.5, DType::kI8, 2},
      {-kInf, DType::kI64, 0x8000000000000000},
      {0x1p63, DType::kI64, 0x7FFFFFFFFFFFFFFF},
      {0x1p63, DType::kU64, 0x8000000000000000},
      {-1, DType::kI2, 3},
      {2, DType::kBool, 1},
      {0.3, DType::kBool, 0},
      {-1, DType::kBool, 0},
      {std::nan(""), DType::kI32, 0},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(relayout::bits_of_number(c.number, c.dtype), c.bits)
        << c.number << " as " << dtype_name(c.dtype);
  }
  EXPECT_EQ(relayout::bits_of_number(1, DType::kBfpBf8), std::nullopt);
}

}  // namespace
}  // namespace tessera::test
