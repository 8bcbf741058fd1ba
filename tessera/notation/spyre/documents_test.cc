// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_spyre.h"
#include "tessera/testing/notation/rule_spyre_laws.h"

/// Every example and number of the Spyre documents, with its known errors corrected, against the
/// rule (testing/notation/rule_spyre.h) and by hand.
namespace tessera::notation {
namespace {

using test::Dice;
using test::Numbers;
using test::SpyreRule;
using Form = SpyreRule::Form;

Tensor read(const std::string& text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor ? *std::move(tensor) : *parse_tensor("tensor<f32, strided<[]>>");
}

SpyreLayout spelled(const std::string& text) {
  const Tensor tensor = read(text);
  const auto out = spelled_out(std::get<SpyreLayout>(terms_of(tensor)), tensor.layout().shape(),
                               tensor.layout().dtype());
  EXPECT_TRUE(out.ok()) << text;
  return out ? *out : SpyreLayout{};
}

Numbers strides_of(const std::string& text) {
  const Tensor tensor = read(text);
  const auto out = stride_map_of(std::get<SpyreLayout>(terms_of(tensor)), tensor.layout().shape(),
                                 tensor.layout().dtype());
  EXPECT_TRUE(out.ok()) << text;
  return out ? *out : Numbers{};
}

/// Spyre document 001: device coordinate (a, b, c, d) is element (c, a, b·64 + d), in row-major
/// order; also when the host tensor is smaller and the rest is padding.
TEST(SpyreDocuments, ATiledTensorOfRankThree) {
  for (const Numbers& shape : {Numbers{128, 256, 512}, Numbers{100, 200, 500}}) {
    const std::string text = test::tensor_text(
        shape, "f16", "spyre<device_size=[256, 8, 128, 64], dim_map=[1, 2, 0, 2]>");
    SCOPED_TRACE(text);
    EXPECT_EQ(test::print_mistake(text), "");
    EXPECT_EQ(test::raise_mistake(text), "");
    const Layout layout = read(text).layout();
    EXPECT_EQ(layout.slots(), 256 * 8 * 128 * 64);
    Dice dice(1);
    for (int sample = 0; sample < 2000; ++sample) {
      const std::int64_t a = dice.below(256);
      const std::int64_t b = dice.below(8);
      const std::int64_t c = dice.below(128);
      const std::int64_t d = dice.below(64);
      // stride[i] = prod(size[i+1:]): 65536, 8192, 64, 1.
      const std::int64_t slot = 65536 * a + 8192 * b + 64 * c + d;
      const Index element = {c, a, 64 * b + d};
      const bool inside = c < shape[0] && a < shape[1] && 64 * b + d < shape[2];
      const Result<Slot> found = layout.element_at({}, slot);
      ASSERT_TRUE(found.ok());
      ASSERT_EQ(std::holds_alternative<Index>(*found), inside);
      if (!inside) continue;
      ASSERT_EQ(*found, Slot(element));
      ASSERT_EQ(layout.locate(element)->slot, slot);
    }
  }
}

/// Spyre document 001: dims of size 1 do not count in era document; dim_map keeps the
/// original dim numbers. In era now they stay, with stride -1.
TEST(SpyreDocuments, DimsOfSizeOne) {
  const SpyreLayout document = spelled("tensor<512x1x256xf16, spyre.default(era=document)>");
  EXPECT_EQ(document.device_size, (Numbers{4, 512, 64}));
  EXPECT_EQ(document.map, (Numbers{2, 0, 2}));
  const SpyreLayout plain = spelled("tensor<512x256xf16, spyre.default(era=document)>");
  EXPECT_EQ(plain.device_size, (Numbers{4, 512, 64}));
  EXPECT_EQ(plain.map, (Numbers{1, 0, 1}));
  // (size=[512, 1, 256], stride=[256, 256, 1]) is the same tensor.
  EXPECT_EQ(
      strides_of("tensor<512x1x256xf16, spyre.default(era=document, host_stride=[256, 256, 1])>"),
      (Numbers{64, 256, 1}));
  // The default is the same for [512, 1] and [512].
  EXPECT_EQ(spelled("tensor<512x1xf16, spyre.default(era=document)>").device_size,
            (Numbers{8, 64}));
  EXPECT_EQ(spelled("tensor<512xf16, spyre.default(era=document)>").device_size, (Numbers{8, 64}));
  const SpyreLayout scalar = spelled("tensor<f16, spyre.default(era=document)>");
  EXPECT_EQ(scalar.device_size, (Numbers{64}));
  EXPECT_EQ(scalar.map, (Numbers{-1}));

  const std::string now = "tensor<512x1x256xf16, spyre.default(era=now)>";
  EXPECT_EQ(spelled(now).device_size, (Numbers{1, 4, 512, 64}));
  EXPECT_EQ(strides_of(now), (Numbers{-1, 64, 256, 1}));
}

/// Spyre document 001: sparse tensors keep one element per stick.
TEST(SpyreDocuments, SparseTensors) {
  const std::string document = "tensor<512x256xf16, spyre.default(sparse=true, era=document)>";
  EXPECT_EQ(spelled(document).device_size, (Numbers{256, 512, 64}));
  EXPECT_EQ(spelled(document).map, (Numbers{1, 0, -1}));
  const std::string now = "tensor<512x256xf16, spyre.default(sparse=true, era=now)>";
  EXPECT_EQ(spelled(now).device_size, (Numbers{256, 1, 512, 64}));
  EXPECT_EQ(spelled(now).map, (Numbers{1, -1, 256, -1}));
  EXPECT_EQ(spelled("tensor<512x256xf16, spyre.default(sparse=true)>").map,
            (Numbers{1, -1, 256, -1}));
  for (const std::string& text : {document, now}) {
    const Layout layout = read(text).layout();
    EXPECT_EQ(layout.locate({3, 5})->slot, (5 * 512 + 3) * 64);
    EXPECT_EQ(*layout.element_at({}, (5 * 512 + 3) * 64 + 1), Slot(Padding{Cause::kSynthetic}));
  }
}

/// Spyre document 003: a (1024, 256) f16 tensor has host strides (256, 1), 4 sticks
/// per row, and is a (4, 1024, 64) device tensor of strides (65536, 64, 1).
TEST(SpyreDocuments, AStickifiedMatrix) {
  const std::string text = "tensor<1024x256xf16, spyre.default()>";
  EXPECT_EQ(spelled(text).device_size, (Numbers{4, 1024, 64}));
  EXPECT_EQ(strides_of(text), (Numbers{64, 256, 1}));
  const Layout layout = read(text).layout();
  EXPECT_EQ(*elements_per_stick(DType::kF16), 64);
  EXPECT_EQ(layout.slots(), 1024 * 256);
  // The loop nest of the Spyre document: device i·1 + j·64 + k·65536 = host j·256 + k·64 + i.
  for (std::int64_t i : {0, 1, 31, 63}) {
    for (std::int64_t j : {0, 1, 511, 1023}) {
      for (std::int64_t k = 0; k < 4; ++k) {
        EXPECT_EQ(layout.locate({j, k * 64 + i})->slot, i + j * 64 + k * 65536);
        EXPECT_EQ(*layout.element_at({}, i + j * 64 + k * 65536), Slot(Index{j, k * 64 + i}));
      }
    }
  }
}

std::vector<SpyreNest> nests_of(const std::string& text) {
  const Tensor tensor = read(text);
  const auto out = transfer_nests(std::get<SpyreLayout>(terms_of(tensor)), tensor.layout().shape(),
                                  tensor.layout().dtype());
  EXPECT_TRUE(out.ok()) << text;
  return out ? *out : std::vector<SpyreNest>{};
}

/// Spyre document 003: the nest of the (1024, 256) tensor, and what it copies.
TEST(SpyreDocuments, TheLoopNestOfTheStickifiedMatrix) {
  const std::vector<SpyreNest> nests = nests_of("tensor<1024x256xf16, spyre.default()>");
  ASSERT_EQ(nests.size(), 1U);
  EXPECT_EQ(nests[0], (SpyreNest{{4, 1024, 64}, {64, 256, 1}, {65536, 64, 1}, 0, 0}));
  test::Copies expected;
  for (std::int64_t i = 0; i < 64; ++i) {
    for (std::int64_t j = 0; j < 1024; ++j) {
      for (std::int64_t k = 0; k < 4; ++k) {
        expected.emplace_back(j * 256 + (k * 64 + i * 1), i * 1 + j * 64 + k * 65536);
      }
    }
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(test::run_nests(nests), expected);
}

/// Padding is peeled into extra nests.
TEST(SpyreFacts, PaddingIsPeeled) {
  const std::vector<SpyreNest> nests = nests_of("tensor<512x240xf16, spyre.default()>");
  ASSERT_EQ(nests.size(), 2U);
  EXPECT_EQ(nests[0], (SpyreNest{{3, 512, 64}, {64, 240, 1}, {32768, 64, 1}, 0, 0}));
  EXPECT_EQ(nests[1].extent, (Numbers{1, 512, 48}));
  EXPECT_EQ(nests[1].host_offset, 192);
  EXPECT_EQ(nests[1].device_offset, 98304);
  EXPECT_EQ(nests[1].host_stride, (Numbers{64, 240, 1}));
  EXPECT_EQ(nests[1].device_stride, (Numbers{32768, 64, 1}));
}

/// With e elements per stick: 2-D [R, C] → [C/e, R, e]; 3-D [A, B, C] → [B, C/e, A, e]; 1-D →
/// [ceil(d/e), e].
TEST(SpyreFacts, DefaultLayouts) {
  const auto both = [](const std::string& shape_type) {
    const SpyreLayout document =
        spelled(cat("tensor<", shape_type, ", spyre.default(era=document)>"));
    const SpyreLayout now = spelled(cat("tensor<", shape_type, ", spyre.default()>"));
    EXPECT_EQ(document.device_size, now.device_size);
    return now.device_size;
  };
  EXPECT_EQ(both("512x256xf16"), (Numbers{4, 512, 64}));
  EXPECT_EQ(both("512x240xf16"), (Numbers{4, 512, 64}));
  EXPECT_EQ(both("512x256xf32"), (Numbers{8, 512, 32}));
  EXPECT_EQ(both("10x20x300xf16"), (Numbers{20, 5, 10, 64}));
  EXPECT_EQ(both("128xf16"), (Numbers{2, 64}));
  EXPECT_EQ(both("130xf16"), (Numbers{3, 64}));
  EXPECT_EQ(both("2x3x5x7xf32"), (Numbers{3, 5, 1, 2, 32}));
  EXPECT_EQ(spelled("tensor<512x256xf16, spyre.default(dim_order=[1, 0])>").device_size,
            (Numbers{8, 256, 64}));
  EXPECT_EQ(strides_of("tensor<512x256xf16, spyre.default(dim_order=[1, 0])>"),
            (Numbers{16384, 1, 256}));
  EXPECT_EQ(spelled("tensor<512x8x256xf16, spyre.default(dim_order=[2, 1, 0], era=document)>").map,
            (Numbers{1, 0, 2, 0}));
}

/// Elements of a 128-byte stick, every type.
TEST(SpyreFacts, Sticks) {
  for (const auto& [dtype, elements] :
       std::vector<std::pair<DType, std::int64_t>>{{DType::kF16, 64},
                                                   {DType::kBF16, 64},
                                                   {DType::kBool, 64},
                                                   {DType::kI16, 64},
                                                   {DType::kSI16, 64},
                                                   {DType::kSI32, 32},
                                                   {DType::kSI64, 32},
                                                   {DType::kSI8, 128},
                                                   {DType::kF32, 32},
                                                   {DType::kI32, 32},
                                                   {DType::kI64, 32},
                                                   {DType::kI8, 128},
                                                   {DType::kF8E4M3, 128},
                                                   {DType::kF8E5M2, 128},
                                                   {DType::kU8, 32},
                                                   {DType::kI4, 256},
                                                   {DType::kI2, 512}}) {
    const auto found = elements_per_stick(dtype);
    ASSERT_TRUE(found.ok()) << dtype_name(dtype);
    EXPECT_EQ(*found, elements) << dtype_name(dtype);
    const std::string text =
        cat("tensor<3x", elements + 1, "x", dtype_name(dtype), ", spyre.default()>");
    const Layout layout = read(text).layout();
    EXPECT_EQ(layout.slots(), std::int64_t{2} * 3 * elements) << text;
    EXPECT_EQ(layout.shard_bytes(), 2 * 3 * 128) << text;
    EXPECT_EQ(*layout.element_at({}, 3 * elements + 1), Slot(Padding{Cause::kStick})) << text;
  }
  EXPECT_FALSE(elements_per_stick(DType::kF64).ok());
  EXPECT_FALSE(elements_per_stick(DType::kBfpBf8).ok());
}

/// A fused view has a stride_map and no dim_map. [15, 1, 128] with dim 0 split the other
/// way round: x0 = c0 + 5·c2.
TEST(SpyreFacts, AFusedViewHasNoDimMap) {
  const std::string text =
      "tensor<15x1x128xf16, spyre<device_size=[5, 2, 3, 64], stride_map=[128, 64, 640, 1]>>";
  SpyreRule rule;
  rule.shape = {15, 1, 128};
  rule.form = Form::kStrideMap;
  rule.device_size = {5, 2, 3, 64};
  rule.map = {128, 64, 640, 1};
  EXPECT_EQ(test::ruled(rule).text, text);
  EXPECT_EQ(test::spyre_mistake(rule), "");
  const Tensor tensor = read(text);
  EXPECT_EQ(tensor.layout().locate({7, 0, 70})->slot, ((2 * 2 + 1) * 3 + 1) * 64 + 6);
  const auto dims = dim_map_of(std::get<SpyreLayout>(terms_of(tensor)), tensor.layout().shape(),
                               tensor.layout().dtype());
  EXPECT_FALSE(dims.ok());
  // The [3, 5, 128] tensor that it is a view of: the default of era now.
  EXPECT_EQ(spelled("tensor<3x5x128xf16, spyre.default()>").device_size, (Numbers{5, 2, 3, 64}));
  EXPECT_EQ(strides_of("tensor<3x5x128xf16, spyre.default()>"), (Numbers{128, 64, 640, 1}));
}

/// A step that is not the step of a dim cuts the memory of the host instead: 5 rows of 240 as 5
/// runs of 250.
TEST(SpyreFacts, StridesCutTheHostsMemory) {
  SpyreRule rule;
  rule.shape = {5, 240};
  rule.form = Form::kStrideMap;
  rule.device_size = {4, 5, 64};
  rule.map = {64, 250, 1};
  EXPECT_EQ(test::spyre_mistake(rule), "");
  const Layout layout =
      read("tensor<5x240xf16, spyre<device_size=[4, 5, 64], stride_map=[64, 250, 1]>>").layout();
  EXPECT_EQ(layout.locate({1, 0})->slot, (3 * 5 + 0) * 64 + 48);  // offset 240 = 3·64 + 48
  EXPECT_EQ(layout.locate({1, 10})->slot, 1 * 64);                // offset 250
}

/// A tensor divided over cores: ceil-sized pieces of device dims, row-major core numbers.
TEST(SpyreFacts, Cores) {
  SpyreRule rule;
  rule.shape = {5, 100};
  rule.form = Form::kDimMap;
  rule.device_size = {2, 5, 64};
  rule.map = {1, 0, 1};
  rule.cores = {2, 3, 1};
  EXPECT_EQ(test::spyre_mistake(rule), "");
  const Layout layout =
      read("tensor<5x100xf16, spyre<device_size=[2, 5, 64], dim_map=[1, 0, 1], cores=[2, 3, 1]>>")
          .layout();
  // Rows 0 1 | 2 3 | 4; element (4, 70) is stick column 1, piece 2: core 1·3 + 2.
  EXPECT_EQ(layout.locate({4, 70})->places, (std::vector<Place>{{5}}));
  EXPECT_EQ(layout.locate({4, 70})->slot, 6);
}

/// Dim 1 in both halves of a 2-D tile: several stick dims are plain digits.
TEST(SpyreFacts, SeveralStickDims) {
  SpyreRule rule;
  rule.shape = {5, 70};
  rule.dtype = "f32";
  rule.form = Form::kDimMap;
  rule.device_size = {2, 3, 3, 32};
  rule.map = {0, 1, 0, 1};
  EXPECT_EQ(test::spyre_mistake(rule), "");
}

}  // namespace
}  // namespace tessera::notation
