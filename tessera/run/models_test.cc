// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/models/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tessera/graph/random_weights.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/execute.h"
#include "tessera/run/predict.h"

namespace tessera::run {
namespace {

std::vector<float> numbers_of(const std::string& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

/// relu(x·w + b), in double.
std::vector<float> layer(const std::vector<float>& x, const std::vector<float>& w,
                         const std::vector<float>& b) {
  const std::size_t cols = b.size();
  const std::size_t inner = w.size() / cols;
  std::vector<float> y;
  for (std::size_t i = 0; i < x.size() / inner; ++i) {
    std::vector<double> row(b.begin(), b.end());
    for (std::size_t k = 0; k < inner; ++k) {
      for (std::size_t j = 0; j < cols; ++j) {
        row[j] += static_cast<double>(x[i * inner + k]) * static_cast<double>(w[k * cols + j]);
      }
    }
    for (const double number : row) y.push_back(static_cast<float>(std::max(number, 0.0)));
  }
  return y;
}

/// The multilayer perceptron of the PyFlame document, [32, 1024] through 1024-512-256-10, on the
/// default layouts of a wafer.
TEST(Models, PerceptronRunsOnAWafer) {
  Result<graph::Graph> made = graph::make_model("mlp", {});
  ASSERT_TRUE(made);
  Result<graph::Graph> weighted = graph::with_random_weights(*made, 7);
  ASSERT_TRUE(weighted);
  const graph::Graph& graph = *weighted;
  const Result<const Machine*> wafer = find_machine("wse2");
  ASSERT_TRUE(wafer);
  const Result<Execution> execution = compile_with_defaults(graph, **wafer, {});
  ASSERT_TRUE(execution) << execution.error().message;
  ASSERT_EQ(execution->spaces.size(), 1U);
  EXPECT_LE(execution->spaces[0].peak_bytes, 36864);
  EXPECT_GT(execution->mesh.elements(), 64);

  const graph::ValueId input = graph.of_kind(graph::Kind::kInput)[0];
  HostTensor x{graph.values[input].type, {}};
  std::vector<float> numbers(static_cast<std::size_t>(x.type.shape.elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>((i * 37 % 101)) / 50.0F - 1.0F;
  }
  x.bytes.resize(numbers.size() * sizeof(float));
  std::memcpy(x.bytes.data(), numbers.data(), x.bytes.size());
  ThreadPool pool(2);
  const auto device = device_for(*execution, true);
  ASSERT_TRUE(device) << device.error().message;
  const Result<RunResult> result =
      execute(*execution, **device, {{graph.values[input].name, x}}, pool);
  ASSERT_TRUE(result) << result.error().message;

  std::vector<float> expected = numbers;
  const std::vector<graph::ValueId> weights = graph.of_kind(graph::Kind::kParameter);
  ASSERT_EQ(weights.size(), 6U);
  for (std::size_t l = 0; l < weights.size(); l += 2) {
    expected = layer(expected, numbers_of(*graph.values[weights[l]].data.bytes),
                     numbers_of(*graph.values[weights[l + 1]].data.bytes));
  }
  const std::vector<float> found = numbers_of(result->outputs[0].bytes);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-4 + 1e-3 * std::fabs(expected[i])) << i;
  }

  // Every op has a predicted time: the products at one multiply-add a cycle on the busiest place.
  const auto cycles = predict(*execution);
  ASSERT_TRUE(cycles) << cycles.error().message;
  ASSERT_EQ(cycles->size(), graph.nodes.size());
  for (std::size_t k = 0; k < cycles->size(); ++k) {
    const Step& step = execution->steps[k];
    EXPECT_TRUE((*cycles)[k].compute) << k;
    if (!graph.nodes[step.node].op.is("matmul")) continue;
    const std::int64_t all = std::accumulate(
        (*cycles)[k].classes.begin(), (*cycles)[k].classes.end(), std::int64_t{0},
        [](std::int64_t sum, const ClassCycles& each) { return sum + each.places * each.flops; });
    EXPECT_EQ(all, graph::flops_of(graph, graph.nodes[step.node]));
  }
}

}  // namespace
}  // namespace tessera::run
