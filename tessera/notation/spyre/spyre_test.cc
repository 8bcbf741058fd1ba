// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/regions.h"
#include "tessera/testing/notation/spyre_checks.h"

// The rules of the Spyre documents with their corrections, and what PyTorch's Spyre backend
// publishes as its own expectations.
namespace tessera::notation::spyre_test {
namespace {

using Era = SpyreLayout::Era;

SpyreLayout spelled(const Numbers& extents, const SpyreLayout& words, DType dtype = DType::kF16) {
  const Result<SpyreLayout> result = spelled_out(words, shape_of(extents), dtype);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result ? *result : SpyreLayout{};
}

void expect_now(const Numbers& extents, const SpyreLayout& words, const Numbers& device_size,
                const Numbers& strides) {
  const SpyreLayout actual = spelled(extents, words);
  EXPECT_EQ(actual.form, SpyreLayout::Form::kStrideMap);
  EXPECT_EQ(actual.device_size, device_size) << bracketed(extents);
  EXPECT_EQ(actual.map, strides) << bracketed(extents);
}

void expect_document(const Numbers& extents, const SpyreLayout& words, const Numbers& device_size,
                     const Numbers& dims) {
  const SpyreLayout actual = spelled(extents, words);
  EXPECT_EQ(actual.form, SpyreLayout::Form::kDimMap);
  EXPECT_EQ(actual.device_size, device_size) << bracketed(extents);
  EXPECT_EQ(actual.map, dims) << bracketed(extents);
}

TEST(SpyreDefault, Today) {
  expect_now({}, by_default(), {1, 64}, {-1, -1});
  expect_now({120}, by_default(), {2, 64}, {64, 1});
  expect_now({128}, by_default(), {2, 64}, {64, 1});
  expect_now({512, 240}, by_default(), {4, 512, 64}, {64, 240, 1});
  expect_now({512, 256}, by_default(), {4, 512, 64}, {64, 256, 1});
  expect_now({512, 8, 240}, by_default(), {8, 4, 512, 64}, {240, 64, 1920, 1});
  expect_now({512, 8, 256}, by_default(), {8, 4, 512, 64}, {256, 64, 2048, 1});
  // Dims of extent 1 stay, with stride -1; one in the stick makes the tensor sparse.
  expect_now({512, 1, 256}, by_default(), {1, 4, 512, 64}, {-1, 64, 256, 1});
  expect_now({512, 256, 1}, by_default(), {256, 1, 512, 64}, {1, -1, 256, -1});
  // Rank 4: [B, C, D/e, A, e] of [A, B, C, D].
  expect_now({2, 3, 5, 130}, by_default(), {3, 5, 3, 2, 64}, {650, 130, 64, 1950, 1});
}

TEST(SpyreDefault, TodayInOtherOrders) {
  const auto order = [](Numbers dims) { return by_default(std::nullopt, std::move(dims)); };
  expect_now({512, 256}, order({1, 0}), {8, 256, 64}, {16384, 1, 256});
  expect_now({512, 8, 256}, order({0, 2, 1}), {256, 1, 512, 64}, {1, 16384, 2048, 256});
  expect_now({512, 8, 256}, order({1, 0, 2}), {512, 4, 8, 64}, {2048, 64, 256, 1});
  expect_now({512, 8, 256}, order({1, 2, 0}), {256, 8, 8, 64}, {1, 131072, 256, 2048});
  expect_now({512, 8, 256}, order({2, 0, 1}), {512, 1, 256, 64}, {2048, 16384, 1, 256});
  expect_now({512, 8, 256}, order({2, 1, 0}), {8, 8, 256, 64}, {256, 131072, 1, 2048});
  // Strides follow the host: column-major rows of 512.
  SpyreLayout columns = by_default();
  columns.host_stride = {1, 512};
  expect_now({512, 256}, columns, {4, 512, 64}, {32768, 1, 512});
}

TEST(SpyreDefault, TodaySparse) {
  const SpyreLayout sparse = by_default(std::nullopt, std::nullopt, true);
  expect_now({512, 256}, sparse, {256, 1, 512, 64}, {1, -1, 256, -1});
  expect_now({256}, sparse, {1, 256, 64}, {-1, 1, -1});
  expect_now({}, sparse, {1, 64}, {-1, -1});
  expect_now({2, 3, 5}, sparse, {3, 5, 1, 2, 64}, {5, 1, -1, 15, -1});
  expect_now({2, 3}, by_default(std::nullopt, Numbers{1, 0}, true), {2, 1, 3, 64}, {3, -1, 1, -1});
}

TEST(SpyreDefault, OfTheDocument) {
  const SpyreLayout document = by_default(Era::kDocument);
  expect_document({512, 256}, document, {4, 512, 64}, {1, 0, 1});
  expect_document({512, 1, 256}, document, {4, 512, 64}, {2, 0, 2});
  expect_document({512, 1}, document, {8, 64}, {0, 0});
  expect_document({512}, document, {8, 64}, {0, 0});
  expect_document({}, document, {64}, {-1});
  expect_document({1, 1}, document, {64}, {-1});
  expect_document({10, 20, 300}, document, {20, 5, 10, 64}, {1, 2, 0, 2});
  expect_document({512, 256}, by_default(Era::kDocument, std::nullopt, true), {256, 512, 64},
                  {1, 0, -1});
  expect_document({512}, by_default(Era::kDocument, std::nullopt, true), {512, 64}, {0, -1});
  expect_document({2, 1, 5}, by_default(Era::kDocument, Numbers{2, 1, 0}), {1, 5, 64}, {0, 2, 0});
}

TEST(SpyreDefault, EveryTypeFillsAStick) {
  // 128 bytes: [3, 2e] is [2, 3, e] for every type, 6 sticks.
  for (const auto& [dtype, per_stick, storage] :
       std::vector<std::tuple<DType, std::int64_t, DType>>{{DType::kF16, 64, DType::kF16},
                                                           {DType::kBF16, 64, DType::kBF16},
                                                           {DType::kBool, 64, DType::kU16},
                                                           {DType::kI16, 64, DType::kI16},
                                                           {DType::kSI16, 64, DType::kSI16},
                                                           {DType::kF32, 32, DType::kF32},
                                                           {DType::kI32, 32, DType::kI32},
                                                           {DType::kSI32, 32, DType::kSI32},
                                                           {DType::kI64, 32, DType::kI32},
                                                           {DType::kSI64, 32, DType::kSI32},
                                                           {DType::kI8, 128, DType::kI8},
                                                           {DType::kSI8, 128, DType::kSI8},
                                                           {DType::kF8E4M3, 128, DType::kF8E4M3},
                                                           {DType::kF8E5M2, 128, DType::kF8E5M2},
                                                           {DType::kU8, 32, DType::kU32},
                                                           {DType::kI4, 256, DType::kI4},
                                                           {DType::kI2, 512, DType::kI2}}) {
    SCOPED_TRACE(dtype_name(dtype));
    EXPECT_EQ(*elements_per_stick(dtype), per_stick);
    EXPECT_EQ(*stick_storage(dtype), storage);
    const Numbers extents = {3, 2 * per_stick};
    EXPECT_EQ(spelled(extents, by_default(), dtype).device_size, (Numbers{2, 3, per_stick}));
    const Result<Layout> layout = lower(by_default(), shape_of(extents), dtype);
    ASSERT_TRUE(layout.ok());
    EXPECT_EQ(layout->shard_bytes(), 6 * 128);
    EXPECT_EQ(layout->dtype(), dtype);
  }
  for (const DType dtype : {DType::kF64, DType::kU64, DType::kU32, DType::kU16, DType::kBfpBf8}) {
    EXPECT_EQ(elements_per_stick(dtype).error().code, ErrorCode::kBadDType) << dtype_name(dtype);
  }
}

TEST(SpyreMaps, DimsAndStridesGoTogether) {
  struct Pair {
    Numbers extents;
    Numbers device_size;
    Numbers dims;
    Numbers strides;
  };
  for (const Pair& pair :
       std::vector<Pair>{{{128, 256, 512}, {256, 8, 128, 64}, {1, 2, 0, 2}, {512, 64, 131072, 1}},
                         {{3, 5, 128}, {5, 2, 3, 64}, {1, 2, 0, 2}, {128, 64, 640, 1}},
                         {{512, 256}, {256, 512, 64}, {1, 0, -1}, {1, 256, -1}},
                         {{40, 60}, {1, 40, 64}, {1, 0, 1}, {64, 60, 1}},
                         {{40, 60}, {1, 60, 64}, {0, 1, 0}, {3840, 1, 60}},
                         // One dim as a square of sticks.
                         {{4096}, {64, 64}, {0, 0}, {64, 1}}}) {
    const Shape shape = shape_of(pair.extents);
    EXPECT_EQ(*stride_map_of(dim_map(pair.device_size, pair.dims), shape, DType::kF16),
              pair.strides);
    EXPECT_EQ(*dim_map_of(stride_map(pair.device_size, pair.strides), shape, DType::kF16),
              pair.dims);
    EXPECT_TRUE(*same_device_layout(dim_map(pair.device_size, pair.dims),
                                    stride_map(pair.device_size, pair.strides), shape,
                                    DType::kF16));
  }
  // If the device extent is 1, the stride has no meaning.
  const Shape shape = shape_of({40, 60});
  EXPECT_TRUE(*same_device_layout(stride_map({1, 40, 64}, {64, 60, 1}),
                                  stride_map({1, 40, 64}, {60, 60, 1}), shape, DType::kF16));
  EXPECT_FALSE(*same_device_layout(stride_map({1, 40, 64}, {64, 60, 1}),
                                   stride_map({1, 60, 64}, {3840, 1, 60}), shape, DType::kF16));
}

TEST(SpyreMaps, WhatNoDimMapSays) {
  const auto reason = [](const Numbers& extents, const SpyreLayout& words) {
    const Result<Numbers> dims = dim_map_of(words, shape_of(extents), DType::kF16);
    return dims ? bracketed(*dims) : dims.error().message;
  };
  EXPECT_EQ(
      reason({15, 1, 128}, stride_map({5, 2, 3, 64}, {128, 64, 640, 1})),
      "a dim_map cannot express that dim 0 steps 5 in device dim 2 and 1 in device dim 0 to its "
      "left: the digits of a dim widen from right to left");
  EXPECT_EQ(
      reason({480}, stride_map({4, 2, 64}, {120, 64, 1})),
      "a dim_map cannot express that dim 0 steps 120 in device dim 0, where the extents to its "
      "right make 128");
  EXPECT_EQ(reason({40, 60}, stride_map({38, 64}, {64, 1})),
            "a dim_map cannot express that device dim 0 runs across dims 0 and 1");
  EXPECT_EQ(reason({512, 256}, stride_map({2048, 64}, {64, 1})),
            "a dim_map cannot express that device dim 0 runs across dims 0 and 1");
  EXPECT_EQ(
      reason({64}, stride_map({2, 64}, {64, 1}, {2})),
      "a dim_map cannot express that one step along dim 0 moves 2 coordinates of device dim 1");
}

/// Explicit maps that Spyre's backend accepts and copies in both directions: every element has a
/// slot, and its device coordinates give its host offset.
TEST(SpyreStrides, WhatTheBackendAccepts) {
  for (const auto& [extents, host, device_size, strides] :
       std::vector<std::tuple<Numbers, Numbers, Numbers, Numbers>>{
           {{60}, {1}, {1, 64}, {64, 1}},
           {{40, 60}, {60, 1}, {1, 60, 64}, {3840, 1, 60}},
           {{40, 128}, {128, 1}, {2, 40, 64}, {64, 128, 1}},
           {{40, 240}, {240, 1}, {1, 240, 64}, {15360, 1, 240}},
           // padded
           {{40, 60}, {60, 1}, {1, 512, 64}, {3840, 1, 60}},
           {{40, 256}, {256, 1}, {4, 512, 64}, {64, 256, 1}},
           // fused
           {{40, 60}, {60, 1}, {38, 64}, {64, 1}},
           // extents of 1 without effect
           {{60}, {1}, {1, 1, 64}, {64, 60, 1}},
           {{60}, {1}, {1, 1, 1, 64}, {60, 64, 60, 1}},
           // sticks that are half full
           {{60}, {1}, {1, 2, 64}, {64, 30, 1}},
           {{60}, {1}, {2, 1, 2, 64}, {15, 64, 30, 1}},
           {{60}, {1}, {2, 2, 1, 1, 1, 64}, {30, 15, 15, 64, 60, 1}},
           // tiles
           {{4800}, {1}, {3, 2, 14, 64}, {120, 64, 360, 1}},
           {{40, 60}, {60, 1}, {24, 1, 2, 64}, {60, 64, 1440, 1}},
           {{40, 60}, {60, 1}, {2, 12, 1, 2, 64}, {720, 60, 64, 1200, 1}},
           {{40, 60}, {60, 1}, {3, 4, 3, 1, 2, 64}, {600, 180, 60, 64, 1800, 1}},
           // a permuted host
           {{40, 60}, {1, 40}, {1, 40, 64}, {2560, 1, 40}},
           {{40, 60}, {1, 40}, {1, 60, 64}, {64, 40, 1}}}) {
    const Case c{shape_of(extents), DType::kF16, stride_map(device_size, strides, host)};
    SCOPED_TRACE(describe(c));
    const Result<Layout> layout = lower(c.words, c.shape, c.dtype);
    ASSERT_TRUE(layout.ok()) << layout.error().message;
    for_each_index(c.shape, [&](const Index& index) {
      const Numbers at = coordinates_by_strides(host_offset(index, host), device_size, strides);
      ASSERT_EQ(layout->locate(index)->slot, slot_of(at, device_size)) << bracketed(index);
    });
  }
}

}  // namespace
}  // namespace tessera::notation::spyre_test
