// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/eval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/frontend/node.h"
#include "tessera/graph/builder.h"
#include "tessera/notation/tensor.h"
#include "tessera/testing/graph/random_run.h"
#include "tessera/testing/ops/propagate_law.h"
#include "tessera/testing/run/run_law.h"

namespace tessera::frontend {
namespace {

using test::Dice;
using test::NaiveTensor;

/// A tensor, and what it must be: computed by the naive evaluator, call by call.
struct Twin {
  Tensor tensor;
  NaiveTensor naive;
};

/// One op by the naive evaluator, in a graph of its own.
NaiveTensor naive_op(std::string_view op, const graph::Attributes& attributes,
                     const std::vector<const NaiveTensor*>& operands) {
  graph::GraphBuilder builder;
  std::map<std::string, NaiveTensor> inputs;
  std::vector<graph::ValueId> ids;
  for (const NaiveTensor* const operand : operands) {
    const std::string name = cat("x", ids.size());
    const graph::TensorType& type = operand->type;
    ids.push_back(*builder.input(name, type.shape.extents(), type.dtype));
    inputs[name] = *operand;
  }
  (void)builder.output(*builder.add(op, ids, attributes));
  return test::naive_evaluate(std::move(builder).finish(), inputs)->front();
}

NaiveTensor naive_number(double number, DType dtype) {
  return {{Shape(), dtype}, {test::as_element(number, dtype)}};
}

/// Random expressions. Every step calls a function, and states by itself which op with which
/// attributes that is.
class RandomExpression {
 public:
  RandomExpression(Dice& dice, const Machine& machine) : dice_(dice), mesh_(machine.shape()) {}

  std::vector<Twin> make(int steps) {
    for (int i = 0; i < 3; ++i) add_source();
    for (int i = 0; i < steps; ++i) add_step();
    return std::move(twins_);
  }

 private:
  std::optional<Layout> some_layout(const graph::TensorType& type) {
    if (!dice_.chance(40)) return std::nullopt;
    return test::random_division(dice_, type, mesh_);
  }

  void add_source() {
    const graph::TensorType type{
        *Shape::make({dice_.between(1, 6), dice_.between(dice_.chance(5) ? 0 : 1, 6)}),
        DType::kF64};
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
      numbers.push_back(static_cast<double>(dice_.between(-4, 4)) / 2);
    }
    NaiveTensor naive{type, {numbers.begin(), numbers.end()}};
    put(from_numbers(type.shape.extents(), numbers, type.dtype, some_layout(type)),
        std::move(naive));
  }

  void put(const Result<Tensor>& made, NaiveTensor naive) {
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_EQ(made->type().to_string(), naive.type.to_string());
    twins_.push_back({*made, std::move(naive)});
  }

  const Twin& any() { return twins_[static_cast<std::size_t>(dice_.below(std::ssize(twins_)))]; }

  /// A tensor of the same shape: another one, if there is one.
  Twin like(const Twin& twin) {
    for (int tries = 0; tries < 6; ++tries) {
      const Twin& other = any();
      if (other.tensor.shape() == twin.tensor.shape()) return other;
    }
    return twin;
  }

  void add_step() {
    const Twin a = any();
    const Twin b = like(a);
    const Tensor& x = a.tensor;
    const Tensor& y = b.tensor;
    const auto one = [&](std::string_view op, const graph::Attributes& attributes = {}) {
      return naive_op(op, attributes, {&a.naive});
    };
    const auto two = [&](std::string_view op) { return naive_op(op, {}, {&a.naive, &b.naive}); };
    const auto rank = static_cast<std::int64_t>(x.shape().rank());
    const std::int64_t axis = rank == 0 ? 0 : dice_.between(-rank, rank - 1);
    const bool keeps = dice_.chance(50);
    const graph::Attributes along{{"axes", Extents{axis}}, {"keepdims", std::int64_t{keeps}}};
    switch (dice_.below(22)) {
      case 0:
        return put(x + y, two("add"));
      case 1:
        return put(x - y, two("sub"));
      case 2:
        return put(x * y, two("mul"));
      case 3: {  // x / (y·y + 1)
        const NaiveTensor square = naive_op("mul", {}, {&b.naive, &b.naive});
        const NaiveTensor number = naive_number(1, x.dtype());
        const NaiveTensor divisor = naive_op("add", {}, {&square, &number});
        return put(x / (y * y + 1), naive_op("div", {}, {&a.naive, &divisor}));
      }
      case 4:
        return put(-x, one("neg"));
      case 5: {
        const NaiveTensor number = naive_number(2.5, x.dtype());
        return put(2.5 - x, naive_op("sub", {}, {&number, &a.naive}));
      }
      case 6: {
        if (rank != 2) return;
        const NaiveTensor turned = naive_op("transpose", {}, {&b.naive});
        return put(matmul(x, transpose(y)), naive_op("matmul", {}, {&a.naive, &turned}));
      }
      case 7:
        return put(relu(x), one("relu"));
      case 8:
        return put(gelu(x), one("gelu"));
      case 9:
        if (rank == 0) return;
        return put(softmax(x, axis), one("softmax", {{"axis", axis}}));
      case 10: {
        if (rank == 0) return;
        const NaiveTensor scale = naive_number(1, x.dtype());
        return put(layer_norm(x), naive_op("layer_norm", {}, {&a.naive, &scale}));
      }
      case 11:
        return put(sum(x), one("reduce_sum", {{"keepdims", std::int64_t{0}}}));
      case 12:
        if (rank == 0) return;
        return put(sum(x, {axis}, keeps), one("reduce_sum", along));
      case 13:
        if (rank == 0 || x.shape().empty()) return;
        return put(mean(x, {axis}, keeps), one("reduce_mean", along));
      case 14:
        if (rank == 0 || x.shape().empty()) return;
        return put(max(x, {axis}, keeps), one("reduce_max", along));
      case 15:
        if (rank == 0 || x.shape().empty()) return;
        return put(min(x, {axis}, keeps), one("reduce_min", along));
      case 16: {
        if (x.shape().empty()) return;
        const Extents line = {x.shape().elements()};
        return put(reshape(x, {-1}), one("reshape", {{"shape", line}}));
      }
      case 17:
        return put(transpose(x), one("transpose"));
      case 18: {
        if (rank == 0) return;
        const std::int64_t from = dice_.below(x.shape()[0] + 1);
        const graph::Attributes part{
            {"starts", Extents{from}}, {"ends", Extents{100}}, {"steps", Extents{2}}};
        return put(slice(x, {from}, {100}, {2}), one("slice", part));
      }
      case 19:
        if (rank == 0) return;
        return put(concat({x, y}, axis),
                   naive_op("concat", {{"axis", axis}}, {&a.naive, &b.naive}));
      case 20: {
        const NaiveTensor is_less = two("less_or_equal");
        return put(where(less_equal(x, y), x, y),
                   naive_op("where", {}, {&is_less, &a.naive, &b.naive}));
      }
      default:
        return put(to_layout(x, test::random_division(dice_, x.type(), mesh_)), a.naive);
    }
  }

  Dice& dice_;
  Shape mesh_;
  std::vector<Twin> twins_;
};

/// A wafer of 2x3 places, on which moves have prices.
Machine small_wafer() {
  Machine machine = **find_machine("wse2");
  machine.name = "small";
  machine.mesh[0].extents = {2, 3};
  machine.rules.fabric.reset();
  machine.notes.clear();
  machine.compute = {{"vector", "", "", 1}};
  std::erase_if(machine.memory,
                [&](const target::MemorySpace& space) { return space.name != machine.data_space; });
  return machine;
}

std::string differs(const Twin& twin) {
  const NaiveTensor found = test::naive_of(
      {twin.tensor.type(), std::string(reinterpret_cast<const char*>(twin.tensor.bytes().data()),
                                       twin.tensor.bytes().size())});
  return test::is_near(found, twin.naive, 1e-7L) ? "" : twin.tensor.type().to_string();
}

TEST(Eval, RandomExpressionsAreWhatTheNaiveEvaluatorSays) {
  const Machine machine = small_wafer();
  for (std::uint64_t seed = 0; seed < test::tries(200); ++seed) {
    Dice dice(seed * 389 + 5);
    std::vector<Twin> twins = RandomExpression(dice, machine).make(9);
    if (HasFatalFailure()) return;
    std::vector<Tensor> some;
    for (const Twin& twin : twins) {
      if (dice.chance(40)) some.push_back(twin.tensor);
    }
    EvalOptions options;
    options.machine = &machine;
    options.checked = true;
    options.threads = 1;
    if (dice.chance(10)) options.planning = Planning::kAlways;
    options.plan_seconds = 0.2;
    const Result<Evaluation> done = eval(some, options);
    ASSERT_TRUE(done.ok()) << seed << ": " << done.error().message;
    std::vector<Tensor> all;
    for (const Twin& twin : twins) all.push_back(twin.tensor);
    options.planning = Planning::kWhereNeeded;
    const Result<Evaluation> rest = eval(all, options);
    ASSERT_TRUE(rest.ok()) << seed << ": " << rest.error().message;
    for (std::size_t i = 0; i < twins.size(); ++i) {
      ASSERT_TRUE(twins[i].tensor.is_evaluated());
      ASSERT_EQ(differs(twins[i]), "") << "tensor " << i << " of seed " << seed;
    }
  }
}

TEST(Eval, PartsAreComputedOnceAndKept) {
  const Tensor x = *from_numbers({3}, std::vector<double>{1, 2, 3});
  const Tensor y = *(x + x);
  const Tensor z = *(matmul(y, y) + y);
  const Result<Evaluation> done = eval({z, y, z});
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->ops, 3);
  EXPECT_EQ(done->parts, 1);
  EXPECT_EQ(done->machine, "wse2");
  EXPECT_FALSE(done->is_planned);
  EXPECT_EQ(z.elements<float>(), (std::vector<float>{58, 60, 62}));
  EXPECT_EQ(eval({z, y, x})->ops, 0);
  // What follows starts from the elements.
  const Tensor w = *(z - y);
  EXPECT_EQ(eval({w})->ops, 1);
  EXPECT_EQ(w.elements<float>(), (std::vector<float>{56, 56, 56}));
}

TEST(Eval, TensorsThatAreHeldKeepWhatWasComputedOnTheWay) {
  const Tensor x = *ones({4});
  const Tensor held = *(x * 3);
  const Tensor last = *relu(-(held + 1));
  const std::weak_ptr<Tensor::Node> between = last.node()->operands()[0];
  ASSERT_FALSE(between.expired());
  ASSERT_TRUE(eval({last}).ok());
  EXPECT_EQ(held.elements<float>(), (std::vector<float>{3, 3, 3, 3}));
  EXPECT_TRUE(between.expired());  // -(held + 1) has no name any more, and was let go
}

TEST(Eval, LayoutsAreKeptAndBadOnesAreErrors) {
  const Layout grid = parse_tensor("tensor<8x12xf32, pyflame.Grid(2, 3)>")->layout();
  const Tensor x = *randn({8, 12}, 1, DType::kF32, grid);
  const Tensor y = *to_layout(x + x, grid);
  EvalOptions options;
  options.predict = true;
  const Result<Evaluation> done = eval({y}, options);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_GT(done->cycles.value_or(0), 0);
  ASSERT_FALSE(done->memory.empty());
  EXPECT_GE(done->memory[0].peak_bytes, 2 * 16 * 4);  // tiles of 4x4: x and y
  const Layout too_wide = parse_tensor("tensor<8x2000xf32, pyflame.Grid(1, 1000)>")->layout();
  const Tensor z = *(*zeros({8, 2000}, DType::kF32, too_wide) + 1);
  EXPECT_EQ(eval({z}).error().code, ErrorCode::kMeshTooSmall);
  const Layout one = parse_tensor("tensor<200x200xf32, pyflame.SinglePE()>")->layout();
  const Tensor large = *(*zeros({200, 200}, DType::kF32, one) + 1);  // 160,000 bytes on a PE
  EXPECT_EQ(eval({large}).error().code, ErrorCode::kDoesNotFit);
  EXPECT_FALSE(large.is_evaluated());
}

TEST(Eval, WhatDoesNotFitTogetherRunsInParts) {
  // Three weights of 16 KB on one PE of 36 KB, whose products are small.
  const Layout one = parse_tensor("tensor<64x64xf32, pyflame.SinglePE()>")->layout();
  const Tensor x = *randn({4, 64}, 1);
  Tensor y = x;
  for (std::uint64_t layer = 2; layer < 5; ++layer) {
    y = *relu(matmul(y, *randn({64, 64}, layer, DType::kF32, one)));
  }
  EvalOptions options;
  options.planning = Planning::kNever;
  options.predict = true;
  const Result<Evaluation> done = eval({y}, options);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->ops, 6);
  EXPECT_GE(done->parts, 2);
  EXPECT_GT(done->cycles.value_or(0), 0);
  EXPECT_LE(done->memory[0].peak_bytes, 36 * 1024);
  // The same without layouts fits at once.
  Tensor same = x;
  for (std::uint64_t layer = 2; layer < 5; ++layer) {
    same = *relu(matmul(same, *randn({64, 64}, layer)));
  }
  EXPECT_EQ(eval({same})->parts, 1);
  const std::vector<float> numbers = y.elements<float>();
  const std::vector<float> others = same.elements<float>();
  ASSERT_EQ(numbers.size(), others.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_NEAR(numbers[i], others[i], 1e-3 * (1 + std::abs(others[i])));
  }
}

TEST(Eval, StopsWhenAsked) {
  const Tensor x = *ones({4});
  const Tensor y = *(x + 1);
  EvalOptions options;
  options.stops = [] { return true; };
  EXPECT_EQ(eval({y}, options).error().code, ErrorCode::kIo);
  EXPECT_FALSE(y.is_evaluated());
  EXPECT_TRUE(eval({y}).ok());
}

TEST(Eval, AGraphIsWhatIsLeftToCompute) {
  const Tensor x = *ones({4});
  const Tensor w = *randn({4, 2}, 3);
  const Tensor h = *matmul(x, w);
  const Tensor y = *relu(h + h);
  const Result<graph::Graph> graph = graph_of({y, h}, "mine");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->name, "mine");
  EXPECT_EQ(graph->nodes.size(), 3U);
  EXPECT_EQ(graph->values[graph->outputs[1]].name, "matmul");
  EXPECT_EQ(graph->of_kind(graph::Kind::kParameter).size(), 1U);
  EXPECT_TRUE(graph::check(*graph).ok());
  ASSERT_TRUE(eval({h}).ok());
  EXPECT_EQ(graph_of({y})->nodes.size(), 2U);
}

}  // namespace
}  // namespace tessera::frontend
