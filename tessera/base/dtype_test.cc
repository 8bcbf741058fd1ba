// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/dtype.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace tessera {
namespace {

TEST(DType, NamesAreDistinctAndParseBack) {
  std::set<std::string_view> names;
  for (const DType dtype : all_dtypes()) {
    EXPECT_TRUE(names.insert(dtype_name(dtype)).second) << dtype_name(dtype);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(all_dtypes().size(), static_cast<std::size_t>(DType::kBfpF2) + 1);
  for (std::size_t i = 0; i < all_dtypes().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(all_dtypes()[i]), i);
  }
}

TEST(DType, OtherSpellings) {
  EXPECT_EQ(parse_dtype("si32"), DType::kSI32);
  EXPECT_NE(parse_dtype("si32"), parse_dtype("i32"));
  EXPECT_EQ(parse_dtype("u8"), DType::kU8);
  EXPECT_EQ(parse_dtype("ui8"), DType::kU8);
  EXPECT_EQ(parse_dtype("bool"), DType::kBool);
  EXPECT_EQ(parse_dtype("i1"), DType::kBool);
  EXPECT_EQ(parse_dtype("fp8-e4m3"), DType::kF8E4M3);
  EXPECT_EQ(parse_dtype("fp8-e5m2"), DType::kF8E5M2);
  EXPECT_FALSE(parse_dtype("f33").has_value());
  EXPECT_FALSE(parse_dtype("").has_value());
  EXPECT_FALSE(parse_dtype("F32").has_value());
}

TEST(DType, Bits) {
  EXPECT_EQ(dtype_bits(DType::kF64), 64);
  EXPECT_EQ(dtype_bits(DType::kBF16), 16);
  EXPECT_EQ(dtype_bits(DType::kBool), 8);
  EXPECT_EQ(dtype_bits(DType::kI4), 4);
  EXPECT_EQ(dtype_bits(DType::kI2), 2);
  EXPECT_FALSE(dtype_bits(DType::kBfpBf8).has_value());
  for (const DType dtype : all_dtypes()) {
    EXPECT_EQ(is_block_float(dtype), !dtype_bits(dtype).has_value());
  }
}

// Bytes of a 32x32 tile: f32 u32 i32 4096; f16 bf16 u16 2048; u8 1024; bfp8 1088; bfp4 576; bfp2
// 320.
TEST(DType, TileBytes) {
  for (const DType dtype : {DType::kF32, DType::kU32, DType::kI32}) {
    EXPECT_EQ(tile_bytes_32x32(dtype), 4096);
  }
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kU16}) {
    EXPECT_EQ(tile_bytes_32x32(dtype), 2048);
  }
  EXPECT_EQ(tile_bytes_32x32(DType::kU8), 1024);
  EXPECT_EQ(tile_bytes_32x32(DType::kBfpBf8), 1088);
  EXPECT_EQ(tile_bytes_32x32(DType::kBfpF8), 1088);
  EXPECT_EQ(tile_bytes_32x32(DType::kBfpBf4), 576);
  EXPECT_EQ(tile_bytes_32x32(DType::kBfpF4), 576);
  EXPECT_EQ(tile_bytes_32x32(DType::kBfpBf2), 320);
  EXPECT_EQ(tile_bytes_32x32(DType::kBfpF2), 320);
}

TEST(DType, BytesRoundUpToWholeBytesAndTiles) {
  EXPECT_EQ(dtype_bytes(DType::kF32, 0), 0);
  EXPECT_EQ(dtype_bytes(DType::kF32, 3), 12);
  EXPECT_EQ(dtype_bytes(DType::kI4, 3), 2);
  EXPECT_EQ(dtype_bytes(DType::kI4, 4), 2);
  EXPECT_EQ(dtype_bytes(DType::kI2, 5), 2);
  EXPECT_EQ(dtype_bytes(DType::kBool, 5), 5);
  EXPECT_EQ(dtype_bytes(DType::kBfpBf8, 0), 0);
  EXPECT_EQ(dtype_bytes(DType::kBfpBf8, 1), 1088);
  EXPECT_EQ(dtype_bytes(DType::kBfpBf8, 1024), 1088);
  EXPECT_EQ(dtype_bytes(DType::kBfpBf8, 1025), 2176);
}

TEST(DType, BytesThatDoNotFitAreNothing) {
  EXPECT_FALSE(dtype_bytes(DType::kF64, INT64_MAX).has_value());
  EXPECT_FALSE(dtype_bytes(DType::kI16, INT64_MAX / 2 + 1).has_value());
  EXPECT_EQ(dtype_bytes(DType::kI16, INT64_MAX / 2), INT64_MAX - 1);
  EXPECT_EQ(dtype_bytes(DType::kI8, INT64_MAX), INT64_MAX);
  EXPECT_EQ(dtype_bytes(DType::kI4, INT64_MAX), INT64_MAX / 2 + 1);
  // 2^63-1 elements are 2^53 tiles of 1088 bytes: more than 2^63.
  EXPECT_FALSE(dtype_bytes(DType::kBfpBf8, INT64_MAX).has_value());
}

}  // namespace
}  // namespace tessera
