// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>

#include "tessera/base/checked.h"
#include "tessera/memory/validate.h"
#include "tessera/pyflame/pe_memory_planner.h"

// What reuse of memory saves on realistic graphs, compared with PyFlame's own planner, which reuses
// nothing. The PyFlame document expects 30-50 %.
namespace tessera::pyflame {
namespace {

/// A graph on one grid: dim 0 over its rows, dim 1 over its columns.
class Builder {
 public:
  Builder(std::int32_t rows, std::int32_t cols) : grid_(MeshLayout::Grid(rows, cols)) {}

  TensorId input(std::string name, std::vector<std::int64_t> shape) {
    return lay(graph.add({std::move(name), std::move(shape), DType::kF32, graph::Kind::kInput}));
  }
  TensorId weight(std::string name, std::vector<std::int64_t> shape) {
    return lay(
        graph.add({std::move(name), std::move(shape), DType::kF32, graph::Kind::kParameter}));
  }
  /// One number per column of the grid's tensors, on every row of PEs.
  TensorId bias(std::string name, std::int64_t n) {
    const TensorId id = graph.add({std::move(name), {n}, DType::kF32, graph::Kind::kParameter});
    MeshLayout copies = grid_;
    copies.replicate = {0};
    copies.dim_to_pe = {1};
    layouts[id] = copies;
    return id;
  }
  TensorId op(std::string name, const std::vector<TensorId>& inputs,
              std::vector<std::int64_t> shape) {
    return lay(graph.compute(std::move(name), inputs, std::move(shape)));
  }
  TensorId elementwise(std::string name, const std::vector<TensorId>& inputs) {
    const std::vector<std::int64_t> shape = graph.tensor(inputs[0]).type.shape.extents();
    return lay(graph.compute_in_place(std::move(name), inputs, shape));
  }
  /// a·b with panels of `k` columns of a and rows of b; one panel is loaded while the other is
  /// used.
  TensorId matmul(std::string name, TensorId a, TensorId b, std::int64_t rows, std::int64_t cols,
                  std::int64_t k = 16) {
    const TensorId out = op(std::move(name), {a, b}, {rows, cols});
    const std::int64_t step = 4 * (ceil_div(rows, grid_.pe_rows) + ceil_div(cols, grid_.pe_cols));
    graph.last_memory().scratch = {{"panels", 2 * k * step, out, k, 2, "double_buffers"}};
    return out;
  }
  /// An op that changes its first input in place and has no other output: an optimizer step.
  void update(std::string name, const std::vector<TensorId>& inputs) {
    graph.run(std::move(name), inputs);
  }
  void output(TensorId id) { graph.set_output(id); }

  PEGraph graph;
  std::map<TensorId, MeshLayout> layouts;

 private:
  TensorId lay(TensorId id) {
    layouts[id] = grid_;
    return id;
  }
  MeshLayout grid_;
};

Builder mlp_forward() {
  Builder b(256, 256);
  constexpr std::int64_t kBatch = 2048;
  TensorId x = b.input("x", {kBatch, 1024});
  std::int64_t width = 1024;
  for (const std::int64_t next : {4096, 4096, 4096, 1024}) {
    const std::string layer = std::to_string(b.graph.ops());
    const TensorId w = b.weight("w" + layer, {width, next});
    const TensorId bias = b.bias("b" + layer, next);
    x = b.matmul("matmul" + layer, x, w, kBatch, next);
    x = b.elementwise("bias" + layer, {x, bias});
    x = b.elementwise("relu" + layer, {x});
    width = next;
  }
  b.output(x);
  return b;
}

Builder transformer_forward() {
  Builder b(512, 512);
  constexpr std::int64_t kTokens = 2048;
  constexpr std::int64_t kModel = 1024;
  constexpr std::int64_t kHeads = 16;
  const TensorId x = b.input("x", {kTokens, kModel});
  const TensorId norm1 = b.op("norm1", {x}, {kTokens, kModel});
  std::vector<TensorId> qkv;
  for (const std::string part : {"q", "k", "v"}) {
    const TensorId w = b.weight("w" + part, {kModel, kModel});
    qkv.push_back(b.matmul(part, norm1, w, kTokens, kModel));
  }
  // All heads stacked along the rows, as an op that processes them one by one would store them.
  const TensorId scores = b.matmul("scores", qkv[0], qkv[1], kHeads * kTokens, kTokens, 4);
  const TensorId softmax = b.elementwise("softmax", {scores});
  const TensorId context = b.matmul("context", softmax, qkv[2], kTokens, kModel);
  const TensorId projected =
      b.matmul("project", context, b.weight("wo", {kModel, kModel}), kTokens, kModel);
  const TensorId sum1 = b.elementwise("add1", {projected, x});
  const TensorId norm2 = b.op("norm2", {sum1}, {kTokens, kModel});
  const TensorId up =
      b.matmul("up", norm2, b.weight("w1", {kModel, 4 * kModel}), kTokens, 4 * kModel);
  const TensorId gelu = b.elementwise("gelu", {up});
  const TensorId down =
      b.matmul("down", gelu, b.weight("w2", {4 * kModel, kModel}), kTokens, kModel);
  b.output(b.elementwise("add2", {down, sum1}));
  return b;
}

/// Forward, backward and an optimizer with momentum: activations stay live until their gradients.
Builder training_step() {
  Builder b(256, 256);
  constexpr std::int64_t kBatch = 2048;
  constexpr std::int64_t kWidth = 2048;
  constexpr int kLayers = 4;
  std::vector<TensorId> weights;
  std::vector<TensorId> momenta;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  TensorId x = b.input("x", {kBatch, kWidth});
  const TensorId target = b.input("target", {kBatch, kWidth});
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = std::to_string(i);
    weights.push_back(b.weight("w" + layer, {kWidth, kWidth}));
    momenta.push_back(b.weight("m" + layer, {kWidth, kWidth}));
    inputs.push_back(x);
    x = b.matmul("forward" + layer, x, weights.back(), kBatch, kWidth);
    x = b.elementwise("relu" + layer, {x});
    outputs.push_back(x);
  }
  TensorId gradient = b.op("loss", {x, target}, {kBatch, kWidth});
  for (int i = kLayers; i-- > 0;) {
    const auto layer = static_cast<std::size_t>(i);
    const std::string name = std::to_string(i);
    gradient = b.elementwise("relu'" + name, {gradient, outputs[layer]});
    const TensorId dw = b.matmul("dw" + name, inputs[layer], gradient, kWidth, kWidth);
    if (i > 0) {
      gradient = b.matmul("dx" + name, gradient, weights[layer], kBatch, kWidth);
    }
    b.update("sgd" + name, {weights[layer], momenta[layer], dw});
  }
  return b;
}

/// Residual blocks on [H, W, N, C] with rows and columns of the picture on the PEs; weights are
/// streamed, so only a part of them is on a PE at any time.
Builder residual_cnn() {
  Builder b(56, 56);
  const std::vector<std::int64_t> shape = {112, 112, 4, 32};
  TensorId x = b.input("x", shape);
  const auto conv = [&](const std::string& name, TensorId from) {
    const TensorId out = b.op(name, {from}, shape);
    b.graph.last_memory().scratch = {
        {"weights", std::int64_t{2} * 9 * 32 * 4, out, 32, 2, "double_buffers"},
        {"halo", std::int64_t{12} * 4 * 32 * 4, out, 0, 1, "receive_queues"}};
    return b.elementwise(name + ".norm", {out});
  };
  for (int block = 0; block < 4; ++block) {
    const std::string name = "block" + std::to_string(block);
    TensorId y = conv(name + ".conv1", x);
    y = b.elementwise(name + ".relu1", {y});
    y = conv(name + ".conv2", y);
    y = b.elementwise(name + ".add", {y, x});
    x = b.elementwise(name + ".relu2", {y});
  }
  b.output(x);
  return b;
}

struct Measured {
  std::size_t bump = 0;
  std::size_t without_in_place = 0;
  std::size_t used = 0;
};

MemoryPlan planned(const PEGraph& graph, const std::map<TensorId, MeshLayout>& layouts) {
  const MemoryPlan plan = PEMemoryPlanner().plan(graph, layouts);
  EXPECT_TRUE(plan.valid || plan.shortfall) << plan.error_message;
  for (const std::uint32_t c : plan.sizes()->maximal()) {
    EXPECT_TRUE(memory::validate(memory::problem_of(plan.lifetimes()->buffers, *plan.sizes(), c),
                                 plan.offsets()->offsets_of(*plan.sizes(), c))
                    .empty());
  }
  return plan;
}

/// Plans a graph, prints what reuse saves, and returns the numbers.
Measured measure(const char* name, const Builder& b) {
  const MemoryPlan plan = planned(b.graph, b.layouts);
  PEGraph plain = b.graph;
  for (std::size_t k = 0; k < plain.ops(); ++k) plain.memory(k).in_place.clear();
  const MemoryPlan without = planned(plain, b.layouts);
  std::size_t parameters = 0;
  const PEMemoryPlan pe = *plan.plan_for({0, 0});
  for (const auto& [id, region] : pe.tensor_regions) {
    if (b.graph.tensor(id).kind == graph::Kind::kParameter) parameters += pe.regions[region].size;
  }
  std::printf(
      "%-22s nothing reused %6zu B, by lifetimes %6zu B (-%2.0f %%), and in place %6zu B "
      "(-%2.0f %%); bound %zu B, parameters %zu B, offsets found by %s\n",
      name, plan.bump_max_pe(), without.max_pe_memory_used(), without.saved_percent(),
      plan.max_pe_memory_used(), plan.saved_percent(), plan.lower_bound(), parameters,
      std::string(plan.offsets()->found_by).c_str());
  EXPECT_EQ(plan.max_pe_memory_used(), plan.lower_bound());
  return {plan.bump_max_pe(), without.max_pe_memory_used(), plan.max_pe_memory_used()};
}

// Tiles on 256x256: 8 rows of the batch; 16 columns of 4096 and 4 of 1024. Parameters: 4x16, twice
// 16x16, 16x4 and biases 16, 16, 16, 4 of 4 bytes: 2768. The peak is at a matmul 4096 to 4096: 8x16
// in and out, 2 x 16 steps of (8 + 16) for panels.
TEST(MemoryReuse, SavesInAnMlp) {
  const Measured mlp = measure("MLP forward", mlp_forward());
  EXPECT_EQ(mlp.used, 2768u + 2 * 512 + 4 * 2 * 16 * 24);
  // x, and three tensors per layer.
  EXPECT_EQ(mlp.bump, 2768u + 128 + 3 * (3 * 512 + 128) + 3072);
}

// Tiles on 512x512: x, q, k, v 4x2; scores 16·4 x 4; weights 2x2 four times, 2x8 and 8x2. The peak
// is at the scores, with panels of 2 x 4 steps of (64 + 4).
TEST(MemoryReuse, SavesInATransformer) {
  const Measured block = measure("transformer forward", transformer_forward());
  EXPECT_EQ(block.used, 192u + 4 * 32 + 1024 + 4 * 2 * 4 * 68);
}

// Tiles of 8x8 on 256x256, 256 bytes; 4 weights and 4 momenta. The peak is at dx3: x, three
// activations, dw3, the gradient and the next one, with panels of 2 x 16 steps of (8 + 8).
TEST(MemoryReuse, SavesInATrainingStep) {
  const Measured training = measure("MLP training step", training_step());
  EXPECT_EQ(training.used, 256u * (8 + 7) + 4 * 2 * 16 * 16);
}

// 2x2 pixels of 4 pictures and 32 channels are 2048 bytes. The second convolution of a block needs
// its input and output, and x for the sum; 2304 bytes of weights are streamed, 6144 are the halo.
TEST(MemoryReuse, SavesInAResidualNetwork) {
  const Measured cnn = measure("residual CNN forward", residual_cnn());
  EXPECT_EQ(cnn.used, 3u * 2048 + 2304 + 6144);
}

}  // namespace
}  // namespace tessera::pyflame
