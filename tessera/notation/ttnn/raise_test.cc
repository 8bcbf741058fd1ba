// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/notation/reasons.h"

namespace tessera::notation {
namespace {

Tensor read(const std::string& text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor.ok() ? *std::move(tensor) : *parse_tensor("tensor<f32, strided<[]>>");
}

Result<std::string> as_ttnn(const Tensor& tensor) {
  return print_tensor(tensor.layout(), **find_notation("ttnn"));
}

/// The raised text reads back as the same function, allocation, atom and cores.
void expect_raised(const std::string& text, const std::string& layout) {
  SCOPED_TRACE(text);
  const Tensor tensor = read(text);
  const Result<std::string> raised = as_ttnn(tensor);
  ASSERT_TRUE(raised.ok()) << raised.error().message;
  const std::string type = text.substr(0, text.find(',') + 2);
  EXPECT_EQ(*raised, type + layout + ">");
  const Tensor again = read(*raised);
  const Result<Comparison> same = same_function(tensor.layout(), again.layout());
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->equal);
  EXPECT_EQ(again.layout().slots(), tensor.layout().slots());
  EXPECT_EQ(again.layout().atom(), tensor.layout().atom());
  if (tensor.layout().places() == 1) return;
  for (std::int64_t k = 0; k < tensor.layout().places(); ++k) {
    const Place place = tensor.layout().mesh().delinear(k);
    EXPECT_EQ(tensor.layout().spec().device_map.map(tensor.layout().mesh(), place),
              again.layout().spec().device_map.map(again.layout().mesh(), place));
  }
}

void expect_reason(const std::string& text, const std::string& reason) {
  SCOPED_TRACE(text);
  const Result<std::string> raised = as_ttnn(read(text));
  ASSERT_FALSE(raised.ok()) << *raised;
  EXPECT_EQ(raised.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(test::reasons_text(raised.error()), reason);
  EXPECT_FALSE(raised.error().help.empty());
}

TEST(TtnnRaise, SaysWhatItSaid) {
  for (const std::string layout :
       {"#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, "
        "memref<4x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>",
        "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 128 + d1, d2), <1x1>, "  // a bumped stride
        "memref<6x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>",
        "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 53 + d1, d2), <1x1>, "
        "memref<106x63xbf16, #ttnn.buffer_type<system_memory>>>",
        "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <3x2>, "
        "memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <block_sharded>, "
        "core_ranges = <[#ttnn.core_range<(1,2), (2,4)>]>>",
        "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <4x2>, "
        "memref<1x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <height_sharded>, "
        "core_ranges = <[#ttnn.core_range<(0,0), (7,0)>]>>",
        "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x7>, "
        "memref<4x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <width_sharded>, "
        "core_ranges = <[#ttnn.core_range<(4,4), (5,5)>, #ttnn.core_range<(0,0), (2,0)>]>>"}) {
    expect_raised("tensor<2x53x63xbf16, " + layout + ">", layout);
  }
}

TEST(TtnnRaise, ForgetsWhatDoesNotMatter) {
  // An irrelevant grid, lines that do not collapse, the mesh's name.
  expect_raised(
      "tensor<32x2048xui16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, mesh = <\"m\">, "
      "memref<1x1024xui16, #l1>, <interleaved>>>",
      "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x65536xui16, "
      "#ttnn.buffer_type<l1>>, <interleaved>>");
  expect_raised(
      "tensor<4x40x50xbf16, #ttnn.ttnn_layout<(d0, d1, d2) -> (d0, d1, d2), <1x1>, "
      "memref<4x2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>",
      "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, "
      "memref<8x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>");
}

TEST(TtnnRaise, SaysLayoutsOfOtherNotations) {
  // If the layout has no memory and the terms can express it, no memory is invented.
  expect_raised("tensor<4x6xf32, strided<[6, 1]>>", "ttnn<stride=[24, 6, 1], shard_shape=[4, 6]>");
  expect_raised("tensor<4x6xf32, strided<[1, 4]>>",
                "#ttnn.ttnn_layout<(d0, d1) -> (d1, d0), <1x1>, memref<6x4xf32, "
                "#ttnn.buffer_type<system_memory>>>");
  expect_raised("tensor<4x6xf32, strided<[300, 2]>>",
                "#ttnn.ttnn_layout<(d0, d1) -> (0, d0 * 300 + d1 * 2), <1x1>, memref<1x911xf32, "
                "#ttnn.buffer_type<system_memory>>>");
  expect_raised(
      "tensor<53x63xf32, native<mesh=[3, 2], {d0} / (18 -> m0, 32#1 -> mem*1024, 1#32 -> "
      "mem*32), {d1} / (32 -> m1, 32#1 -> mem*1024, 1#32 -> mem), atom=tile(32x32, f32)>>",
      "ttnn<stride=[3339, 63, 1], shard_shape=[18, 32], tile_shape=[32, 32]>");
  expect_raised(
      "tensor<64x64xf32, native<mesh=[2, 2], {d0} / (32 -> m0, 1 -> mem*32), {d1} / (32 "
      "-> m1, 1 -> mem), space=l1>>",
      "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x2>, memref<32x32xf32, "
      "#ttnn.buffer_type<l1>>, <block_sharded>, core_ranges = "
      "<[#ttnn.core_range<(0,0), (1,1)>]>>");
}

TEST(TtnnRaise, EmptyTensorsKeepTheirAllocation) {
  expect_raised("tensor<0x8x32xf32, ttnn<stride=[2560, 1280, 40, 1], shard_shape=[322, 40]>>",
                "ttnn<stride=[32, 256, 32, 1], shard_shape=[1, 12880]>");
  expect_raised("tensor<5x0xi8, ttnn<stride=[65, 13, 1], shard_shape=[4, 8], tile_shape=[4, 4]>>",
                "ttnn<stride=[45, 9, 1], shard_shape=[4, 8], tile_shape=[4, 4]>");
  expect_raised(
      "tensor<0x64xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
      "memref<0x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>",
      "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<0x2x!ttcore.tile<32x32, bf16>, "
      "#ttnn.buffer_type<dram>>, <interleaved>>");
}

TEST(TtnnRaise, HasReasons) {
  const std::string metal =
      "tensor<53x63xf32, native<mesh=[3, 2], {d0} / (18 -> m0, 32#1 -> mem*1024, 1#32 -> mem*32), "
      "{d1} / (32 -> m1, 32#1 -> mem*1024, 1#32 -> mem), atom=tile(32x32, f32), space=l1>>";
  expect_reason(metal,
                "element_elsewhere index=[18, 0] slot=0 expected_slot=576 place=[1, 0] "
                "expected_place=[0, 0]");
  expect_reason(
      "tensor<2x4x4xf32, native<mesh=[2, 2, 2], {d0} / (1 -> m0), {d1} / (2 -> m1, 1 -> "
      "mem*2), {d2} / (2 -> m2, 1 -> mem), space=l1>>",
      "mesh_rank mesh=[2, 2, 2] least_axes=2 most_axes=2");
  expect_reason("tensor<4xf32, native<mesh=[2], {d0} / (2 -> m0, 1 -> mem)>>",
                "mesh_rank mesh=[2] least_axes=2 most_axes=2");
  expect_reason("tensor<4xf32, native<mesh=[2, 1], {d0} / (1 -> mem), replicate(m0)>>",
                "replicated places=2 axis=0");
  expect_reason("tensor<4xf32, native<mesh=[2, 1], {d0} / (1 -> mem), partial(m0, sum)>>",
                "partial_result reduction=sum places=2");
  expect_reason("tensor<4xf32, native<{d0} / (1 -> mem), pad=0>>", "padding_value");
  expect_reason("tensor<4xf32, native<{d0} / (1 -> mem), space=mmio>>", "memory_space space=mmio");
  expect_reason("tensor<4xf32, native<mesh=[2, 1], {d0} / (2 -> m0, 1 -> mem), space=system>>",
                "memory_space space=system");
  expect_reason("tensor<4xf32, native<{d0} / (1 -> mem), slots=9, space=dram>>",
                "allocation slots=9 expected_slots=4");
  expect_reason(
      "tensor<4x4xf32, native<{d0} / (2 -> mem, 1 -> mem*8), {d1} / (1 -> mem*2), "
      "space=dram>>",
      "element_elsewhere index=[0, 1] slot=2 expected_slot=1 expected_place=[0, 0]");
}

}  // namespace
}  // namespace tessera::notation
