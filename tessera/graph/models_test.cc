// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/models/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include "tessera/graph/builder.h"
#include "tessera/graph/fold.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/graph_json.h"
#include "tessera/graph/passes/dead_code.h"
#include "tessera/graph/program.h"
#include "tessera/testing/graph/random_graphs.h"

namespace tessera::graph {
namespace {

TEST(Models, AreValidAndRoundTrip) {
  for (const std::string_view name : model_names()) {
    const Result<Graph> graph = make_model(name, {});
    ASSERT_TRUE(graph) << name << ": " << graph.error().message;
    const Status status = check(*graph);
    ASSERT_TRUE(status) << name << ": " << status.error().message;
    EXPECT_FALSE(graph->outputs.empty());
    const Result<Graph> back = parse_graph(to_json(*graph));
    ASSERT_TRUE(back) << name;
    EXPECT_EQ(*back, *graph);
    EXPECT_EQ(without_dead_code(*graph), *graph) << name << " has nodes that nothing needs";
  }
  EXPECT_EQ(make_model("resnet51", {}).error().code, ErrorCode::kUnknownName);
  ModelOptions odd;
  odd.heads = 7;
  EXPECT_EQ(make_model("bert-base", odd).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(make_model("llama", odd).error().code, ErrorCode::kOutOfRange);
}

/// Each model accepts exactly the numbers that it has, from their least on.
TEST(Models, AcceptTheNumbersThatTheyHave) {
  int accepted = 0;
  for (const std::string_view name : model_names()) {
    const std::span<const std::string_view> names = numbers_of(name);
    for (const ModelNumber& number : model_numbers()) {
      const bool has = std::ranges::find(names, number.name) != names.end();
      ModelOptions options;
      options.*number.value = number.least - 1;
      EXPECT_EQ(make_model(name, options).error().code,
                has ? ErrorCode::kOutOfRange : ErrorCode::kUnknownName)
          << name << " " << number.name;
      // Numbers that are no default and fit every model.
      options.*number.value = number.name == "hidden"          ? 1536
                              : number.name.ends_with("heads") ? 16
                                                               : 80;
      const Result<Graph> graph = make_model(name, options);
      ASSERT_EQ(has, static_cast<bool>(graph)) << name << " " << number.name;
      if (!has) {
        EXPECT_EQ(graph.error().code, ErrorCode::kUnknownName);
        continue;
      }
      EXPECT_NE(*graph, *make_model(name, {})) << name << " ignores " << number.name;
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 20);
  EXPECT_TRUE(numbers_of("resnet51").empty());
}

/// Zero is no default: of the cache it means a prompt, which reads none and returns one; all else
/// is refused.
TEST(Models, MeanZeroWhereItIsGiven) {
  const Graph prompt = *make_model("llama", {.past = 0});
  EXPECT_EQ(prompt.outputs.size(), 5U);
  EXPECT_EQ(prompt.values[prompt.outputs[0]].name, "layer0.keys");
  EXPECT_EQ(prompt.values[prompt.outputs[0]].type.to_string(), "f32[1, 8, 128, 128]");
  EXPECT_EQ(prompt.of_kind(Kind::kInput), make_model("llama", {})->of_kind(Kind::kInput));
  EXPECT_EQ(make_model("llama", {})->outputs.size(), 1U);
  EXPECT_EQ(make_model("llama", {.layers = 0}).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(make_model("bert-base", {.sequence = 513}).error().code, ErrorCode::kOutOfRange);
}

/// The published numbers of parameters. ResNet-50: 25,557,032. MobileNet-v2: 3,504,872. BERT-base
/// with its pooler: 109,482,240. Mixer-S/16: about 18.5 million. Llama 3 8B: 8,030,261,248.
TEST(Models, HaveThePublishedParameters) {
  const auto parameters = [](std::string_view name, const ModelOptions& options = {}) {
    return figures_of(*make_model(name, options)).parameters;
  };
  EXPECT_EQ(parameters("resnet50"), 25557032);
  EXPECT_EQ(parameters("mobilenet-v2"), 3504872);
  EXPECT_EQ(parameters("bert-base"), 109482240);
  EXPECT_EQ(parameters("mlp"), 1024 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10);
  EXPECT_NEAR(static_cast<double>(parameters("mlp-mixer")), 18.5e6, 0.1e6);
  ModelOptions llama;
  llama.layers = 32;
  EXPECT_EQ(parameters("llama", llama), 8030261248);
}

/// MobileNet-v2 clips to [0, 6] after the stem, the expansions of 16 blocks, 17 depthwise
/// convolutions and the head, whatever the type of its weights.
TEST(Models, MobileNetClipsToSix) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const Graph graph = *make_model("mobilenet-v2", {.dtype = dtype});
    const Figures figures = figures_of(graph);
    EXPECT_EQ(figures.ops.at("clip"), 1 + 16 + 17 + 1);
    EXPECT_FALSE(figures.ops.contains("relu"));
    std::vector<double> limits;
    for (const Value& value : graph.values) {
      const auto numbers = reals_of(value.data, value.type.shape, value.type.dtype, 1);
      if (value.kind == Kind::kConstant && numbers) limits.push_back(numbers->at(0));
    }
    EXPECT_EQ(limits, (std::vector{0.0, 6.0}));
    EXPECT_EQ(figures.ops.contains("cast"), dtype == DType::kBF16);
  }
}

/// ResNet-50 on 224x224 is published as 4.1 billion multiply-adds.
TEST(Models, HaveThePublishedArithmetic) {
  const Figures figures = figures_of(*make_model("resnet50", {}));
  EXPECT_NEAR(static_cast<double>(figures.flops) / 2, 4.1e9, 0.1e9);
}

TEST(Models, DecodeReadsTheCacheAndReturnsIt) {
  ModelOptions options;
  options.past = 100;
  const Graph graph = *make_model("llama", options);
  EXPECT_EQ(graph.outputs.size(), 5U);  // keys and values of two layers, and the logits
  EXPECT_EQ(graph.values[graph.outputs[0]].type.to_string(), "f32[1, 8, 101, 128]");
  EXPECT_EQ(graph.values[graph.outputs[3]].name, "layer1.values");
  EXPECT_EQ(graph.values[graph.outputs[4]].type.to_string(), "f32[1, 1, 128256]");
}

TEST(Figures, AddUp) {
  GraphBuilder builder;
  const ValueId x = *builder.input("x", {2, 3});
  const ValueId w = *builder.parameter("w", {3, 4});
  const ValueId y = *builder.add("matmul", {x, w});
  ASSERT_TRUE(builder.add("reshape", {y}, {{"shape", std::vector<std::int64_t>{8}}}));
  const Figures figures = figures_of(builder.graph());
  EXPECT_EQ(figures.nodes, 2);
  EXPECT_EQ(figures.parameters, 12);
  EXPECT_EQ(figures.parameter_bytes, 48);
  EXPECT_EQ(figures.flops, 48);
  EXPECT_EQ(figures.bytes, 24 + 48 + 32 + 32);
  EXPECT_EQ(figures.moved_bytes, 24 + 48 + 32);  // the reshape moves nothing
  EXPECT_EQ(figures.ops.at("matmul"), 1);
}

/// Law: lifetimes exist for every graph, and a value lives from its node to its last reader.
TEST(Program, HasLifetimesOfEveryGraph) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    test::Dice dice(seed);
    const Graph graph = test::random_graph(dice, 12);
    const ProgramOptions options{dice.chance(50), dice.chance(50)};
    const memory::Program program = program_of(graph, options);
    const Result<memory::Lifetimes> lives = memory::lifetimes(program, sizes_of(graph));
    ASSERT_TRUE(lives) << seed << ": " << lives.error().message;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const auto now = static_cast<std::int64_t>(n);
      for (const ValueId v : graph.nodes[n].inputs) {
        if (v == kAbsent) continue;
        EXPECT_LE(lives->buffers[v].lower, now);
        EXPECT_GT(lives->buffers[v].upper, now);
      }
      for (const ValueId v : graph.nodes[n].outputs) EXPECT_EQ(lives->buffers[v].lower, now);
    }
  }
}

/// A graph of 100,000 nodes is read, checked and hashed without a cost per pair of nodes. Steps are
/// not counted here; the test would take hours if a step were quadratic.
TEST(Graph, LargeGraphsAreLinear) {
  GraphBuilder builder("large");
  ValueId x = *builder.input("x", {4, 4});
  for (int i = 0; i < 100000; ++i) x = *builder.add(i % 2 == 0 ? "relu" : "tanh", {x});
  ASSERT_TRUE(builder.output(x));
  const Graph graph = std::move(builder).finish();
  const Result<Graph> back = parse_graph(to_json(graph));
  ASSERT_TRUE(back);
  EXPECT_EQ(hash(*back), hash(graph));
}

TEST(DeadCode, RemovesWhatNothingNeeds) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    test::Dice dice(seed);
    const Graph graph = test::random_graph(dice, 12);
    const Graph less = without_dead_code(graph);
    const Status status = check(less);
    ASSERT_TRUE(status) << seed << ": " << status.error().message;
    ASSERT_EQ(less.outputs.size(), graph.outputs.size());
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      EXPECT_EQ(less.values[less.outputs[i]], graph.values[graph.outputs[i]]);
    }
    EXPECT_EQ(without_dead_code(less), less);
    EXPECT_LE(less.nodes.size(), graph.nodes.size());
  }
}

}  // namespace
}  // namespace tessera::graph
