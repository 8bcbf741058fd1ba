// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/notation/tensor.h"
#include "tessera/run/execute.h"
#include "tessera/testing/run/run_law.h"

namespace tessera::run {
namespace {

Layout stored_layout(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor) << text << ": " << tensor.error().message;
  return tensor->layout();
}

/// [rows, cols] of bf16 in tiles of another type: in pages over DRAM, or block-sharded over L1.
std::string tiled(std::int64_t rows, std::int64_t cols, const std::string& storage,
                  std::int64_t grid = 0) {
  const std::int64_t places = std::max<std::int64_t>(grid, 1);
  const auto tiles = [&](std::int64_t extent) { return (extent + 31) / 32 / places; };
  const std::string memory =
      grid == 0 ? "#ttnn.buffer_type<dram>>, <interleaved>>>"
                : cat("#ttnn.buffer_type<l1>>, <block_sharded>, core_ranges = ",
                      "<[#ttnn.core_range<(0,0), (", grid - 1, ",", grid - 1, ")>]>>>");
  return cat("tensor<", rows, "x", cols, "xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <", places,
             "x", places, ">, memref<", tiles(rows), "x", tiles(cols), "x!ttcore.tile<32x32, ",
             storage, ">, ", memory);
}

graph::Graph stored_product(std::int64_t rows, std::int64_t inner, std::int64_t cols) {
  graph::GraphBuilder builder("product");
  const graph::ValueId x = *builder.input("x", {rows, inner}, DType::kBF16);
  const graph::ValueId w = *builder.input("w", {inner, cols}, DType::kBF16);
  (void)builder.output(*builder.add("matmul", {x, w}, {}, "y"));
  return std::move(builder).finish();
}

/// Multiples of 1/4 from -2 to 2: exact with 4 bits and a sign, as in bfp_bf8.
test::NaiveTensor quarters(const graph::TensorType& type, std::int64_t step) {
  test::NaiveTensor tensor{type, {}};
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    tensor.elements.push_back(static_cast<long double>(i * step % 17 - 8) / 4);
  }
  return tensor;
}

/// x·w, with weights in bfp tiles, in DRAM (unpacked before they move) and in the L1 of places
/// (read there): numbers that the type holds give the product exactly.
TEST(StoredTypes, BlockFloatsAreUnpackedWhereTheyAreRead) {
  const Machine machine = **find_machine("wormhole");
  const graph::Graph graph = stored_product(64, 64, 96);
  const test::NaiveTensor x = quarters(graph.values[0].type, 5);
  const test::NaiveTensor w = quarters(graph.values[1].type, 3);
  std::vector<long double> expected;
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 96; ++j) {
      long double sum = 0;
      for (std::size_t k = 0; k < 64; ++k) sum += x.elements[i * 64 + k] * w.elements[k * 96 + j];
      expected.push_back(sum);
    }
  }
  for (const std::int64_t grid : {0, 1}) {
    const std::vector<Layout> layouts = {stored_layout(tiled(64, 64, "bf16")),
                                         stored_layout(tiled(64, 96, "bfp_bf8", grid)),
                                         stored_layout(tiled(64, 96, "bf16"))};
    const Result<Execution> made = compile(graph, machine, layouts);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->steps[0].unpack.size(), grid == 0 ? 1U : 0U);
    ThreadPool pool(2);
    const auto device = device_for(*made, true);
    ASSERT_TRUE(device);
    const Result<RunResult> result =
        execute(*made, **device, {{"x", test::host_tensor(x)}, {"w", test::host_tensor(w)}}, pool);
    ASSERT_TRUE(result) << result.error().message;
    const test::NaiveTensor found = test::naive_of(result->outputs[0]);
    for (std::size_t e = 0; e < expected.size(); ++e) {
      // bf16 keeps 8 bits.
      EXPECT_NEAR(static_cast<double>(found.elements[e]), static_cast<double>(expected[e]),
                  std::fabs(static_cast<double>(expected[e])) / 256)
          << e;
    }
  }
}

/// What is written to bfp tiles of every width reads back rounded to the step of its group of 16,
/// also where the last tiles are ragged, and results are packed.
TEST(StoredTypes, ResultsArePackedInWholeTiles) {
  const Machine machine = **find_machine("wormhole");
  graph::GraphBuilder builder("pass");
  const graph::ValueId x = *builder.input("x", {53, 63}, DType::kBF16);
  (void)builder.output(*builder.add("neg", {x}, {}, "y"));
  const graph::Graph graph = std::move(builder).finish();
  const test::NaiveTensor given = quarters(graph.values[0].type, 11);
  const std::vector<std::pair<std::string, double>> types = {
      {"bfp_bf8", 0}, {"bfp_bf4", 0.25}, {"bfp_f8", 0}, {"bfp_bf2", 1}};
  for (const auto& [type, step] : types) {
    for (const std::int64_t grid : {0, 1, 2}) {
      const std::vector<Layout> layouts = {stored_layout(tiled(53, 63, "bf16")),
                                           stored_layout(tiled(53, 63, type, grid))};
      const Result<Execution> made = compile(graph, machine, layouts);
      ASSERT_TRUE(made) << type << ": " << made.error().message;
      ThreadPool pool(1);
      const auto device = device_for(*made, true);
      const Result<RunResult> result =
          execute(*made, **device, {{"x", test::host_tensor(given)}}, pool);
      ASSERT_TRUE(result) << type << ": " << result.error().message;
      const test::NaiveTensor found = test::naive_of(result->outputs[0]);
      for (std::size_t e = 0; e < found.elements.size(); ++e) {
        EXPECT_NEAR(static_cast<double>(found.elements[e]), -static_cast<double>(given.elements[e]),
                    step)
            << type << " " << e;
      }
    }
  }
}

TEST(StoredTypes, OthersAreRefusedByName) {
  const Machine machine = **find_machine("wormhole");
  graph::GraphBuilder builder("pass");
  const graph::ValueId x = *builder.input("x", {32, 32}, DType::kI32);
  (void)builder.output(*builder.add("neg", {x}, {}, "y"));
  const graph::Graph graph = std::move(builder).finish();
  const std::string text =
      "tensor<32x32xi32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
      "memref<1x1x!ttcore.tile<32x32, bfp_bf8>, #ttnn.buffer_type<dram>>, <interleaved>>>";
  const Result<Tensor> tensor = parse_tensor(text);
  ASSERT_TRUE(tensor) << tensor.error().message;
  const auto made = compile(graph, machine, {tensor->layout(), tensor->layout()});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(made.error().message.find("'x'"), std::string::npos);
}

}  // namespace
}  // namespace tessera::run
