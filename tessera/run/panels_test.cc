// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/graph/builder.h"
#include "tessera/notation/tensor.h"
#include "tessera/run/execute.h"
#include "tessera/testing/ops/random_calls.h"
#include "tessera/testing/run/run_law.h"

namespace tessera::run {
namespace {

using test::Dice;

Layout long_layout(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor) << text;
  return tensor->layout();
}

/// y = matmul(x, w) of [8, 1024] and [1024, 8], all on Grid(2, 2).
graph::Graph long_product() {
  graph::GraphBuilder builder("product");
  const graph::ValueId x = *builder.input("x", {8, 1024});
  const graph::ValueId w = *builder.input("w", {1024, 8});
  (void)builder.output(*builder.add("matmul", {x, w}, {}, "y"));
  return std::move(builder).finish();
}

std::vector<Layout> grids() {
  return {long_layout("tensor<8x1024xf32, pyflame.Grid(2, 2)>"),
          long_layout("tensor<1024x8xf32, pyflame.Grid(2, 2)>"),
          long_layout("tensor<8x8xf32, pyflame.Grid(2, 2)>")};
}

/// Small integers, so that sums are exact in any order.
HostTensor small_integers(const graph::TensorType& type, int step) {
  test::NaiveTensor tensor{type, {}};
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    tensor.elements.push_back(static_cast<long double>(i * step % 7) - 3);
  }
  return test::host_tensor(tensor);
}

/// A place holds 8 KB of each operand. As y is divided it needs another 16 KB of each; as x is, 16
/// KB of w. Below that, k is cut: two panels of n values of k for both take 64·n bytes.
TEST(Panels, AreTakenWhereOperandsDoNotFit) {
  const graph::Graph graph = long_product();
  const std::map<std::string, HostTensor> given = {{"x", small_integers(graph.values[0].type, 3)},
                                                   {"w", small_integers(graph.values[1].type, 5)}};
  std::string expected;
  std::vector<std::size_t> panels;
  for (const std::int64_t bytes : {65536, 40960, 28672, 20480, 17408}) {
    const Result<Execution> made = compile(graph, test::small_machine({2, 2}, bytes), grids());
    ASSERT_TRUE(made) << bytes << ": " << made.error().message;
    EXPECT_LE(made->spaces[0].peak_bytes, bytes);
    const Step& step = made->steps[0];
    panels.push_back(step.panels ? step.panels->bring.size() : 1);
    for (const int threads : {1, 2, 8}) {
      ThreadPool pool(threads);
      const auto device = device_for(*made, true);
      ASSERT_TRUE(device);
      const Result<RunResult> result = execute(*made, **device, given, pool);
      ASSERT_TRUE(result) << bytes << ": " << result.error().message;
      if (expected.empty()) expected = result->outputs[0].bytes;
      EXPECT_EQ(result->outputs[0].bytes, expected) << bytes << " bytes, " << threads << " threads";
    }
  }
  EXPECT_EQ(panels[0], 1U);
  EXPECT_EQ(panels[1], 1U);
  EXPECT_GT(panels[2], 1U);
  EXPECT_GT(panels[4], panels[2]);
  const Result<Execution> none = compile(graph, test::small_machine({2, 2}, 16384), grids());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kDoesNotFit);
}

/// Every op whose sums can be cut, in 2 to 5 panels, the last of which may be shorter, under random
/// layouts; others are as they were.
TEST(Panels, EveryOpUnderRandomLayouts) {
  const std::vector<std::vector<std::int64_t>> meshes = {{1, 1}, {2, 3}, {4, 4}};
  int cut = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    for (std::uint64_t seed = 0; seed < test::tries(4); ++seed) {
      Dice dice(seed * 613 + 29);
      const test::OpCase made = test::random_call(dice, op);
      const test::OneNode one = test::graph_of(made);
      const StepChoice choice{dice.chance(50), dice.below(4) + 2, dice.chance(75)};
      CompileOptions options;
      options.choices = {choice};
      const std::string wrong =
          test::run_law(dice, one.graph, one.inputs, meshes[seed % meshes.size()], options, &cut);
      EXPECT_EQ(wrong, "") << made.text() << " seed " << seed << " panels " << choice.panels;
      if (!wrong.empty()) break;
    }
  }
  EXPECT_GT(cut, static_cast<int>(test::tries(20)));
}

}  // namespace
}  // namespace tessera::run
