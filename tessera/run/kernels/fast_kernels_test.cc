// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/data.h"
#include "tessera/run/kernels/kernel.h"
#include "tessera/run/kernels/vectors.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/ops/random_calls.h"
#include "tessera/testing/process.h"
#include "tessera/testing/relayout/instruction_sets.h"

namespace tessera::run {
namespace {

using kernels::map_row;
using kernels::RowInputs;
using kernels::RowMap;
using test::Dice;
using Extents = std::vector<std::int64_t>;
using Integers = std::vector<std::int64_t>;

/// A call: the shapes of its inputs and its attributes.
struct FastCall {
  std::vector<Extents> shapes;
  graph::Attributes attributes;
};
using MakeCall = std::function<FastCall(Dice&)>;

std::int64_t extent_of(Dice& dice) {
  return dice.chance(10)   ? dice.below(2)
         : dice.chance(30) ? dice.between(1, 200)
                           : dice.between(1, 20);
}

Extents extents_of(Dice& dice, std::int64_t rank) {
  Extents extents;
  for (std::int64_t d = 0; d < rank; ++d) extents.push_back(extent_of(dice));
  return extents;
}

/// A shape that broadcasts to this one.
Extents broadcast_of(Dice& dice, Extents extents) {
  for (std::int64_t& extent : extents) {
    if (dice.chance(30)) extent = 1;
  }
  extents.erase(extents.begin(), extents.begin() + dice.below(std::ssize(extents) + 1));
  return extents;
}

FastCall map_of_one(Dice& dice) { return {{extents_of(dice, dice.between(1, 3))}, {}}; }

FastCall map_of_two(Dice& dice) {
  FastCall call = map_of_one(dice);
  call.shapes.push_back(broadcast_of(dice, call.shapes[0]));
  return call;
}

FastCall reduction_call(Dice& dice) {
  FastCall call = {{extents_of(dice, 3)}, {}};
  Integers axes;
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    if (dice.chance(50)) axes.push_back(axis);
  }
  if (!axes.empty()) call.attributes = {{"axes", axes}};
  return call;
}

FastCall softmax_call(Dice& dice) {
  return {{extents_of(dice, 2)}, {{"axis", dice.between(0, 1)}}};
}

FastCall norm_call(Dice& dice, bool has_bias) {
  const Extents x = {dice.between(1, 8), dice.between(1, 70), dice.between(1, 20)};
  const std::int64_t axis = dice.between(1, 2);
  const Extents scale(x.begin() + axis, x.end());
  FastCall call = {{x, scale}, {{"axis", axis}}};
  if (has_bias) call.shapes.push_back(scale);
  return call;
}

FastCall channel_norm_call(Dice& dice, bool has_groups) {
  const std::int64_t groups = dice.between(1, 4);
  const std::int64_t channels = groups * dice.between(1, 4);
  const Extents x = {dice.between(1, 3), channels, dice.between(1, 9), dice.between(1, 40)};
  FastCall call = {{x, {channels}, {channels}}, {}};
  if (has_groups) call.attributes = {{"groups", groups}};
  return call;
}

FastCall matmul_call(Dice& dice) {
  const std::int64_t k = extent_of(dice);
  const std::int64_t batch = dice.between(1, 3);
  return {{{batch, extent_of(dice), k}, {batch, k, extent_of(dice)}}, {}};
}

/// Long enough for several panels of columns and of terms.
FastCall large_matmul_call(Dice& dice) {
  const std::int64_t k = dice.between(380, 800);
  return {{{dice.between(1, 40), k}, {k, dice.between(380, 450)}}, {}};
}

FastCall gemm_call(Dice& dice) {
  const bool turns_a = dice.chance(50);
  const bool turns_b = dice.chance(50);
  const std::int64_t m = extent_of(dice);
  const std::int64_t n = extent_of(dice);
  const std::int64_t k = extent_of(dice);
  FastCall call = {
      {turns_a ? Extents{k, m} : Extents{m, k}, turns_b ? Extents{n, k} : Extents{k, n}},
      {{"trans_a", std::int64_t{turns_a ? 1 : 0}},
       {"trans_b", std::int64_t{turns_b ? 1 : 0}},
       {"alpha", 0.5},
       {"beta", -2.0}}};
  if (dice.chance(70)) call.shapes.push_back({n});
  return call;
}

FastCall conv_call(Dice& dice) {
  const std::int64_t groups = dice.between(1, 2);
  const std::int64_t in = dice.between(1, 5);
  const std::int64_t out = groups * dice.between(1, 12);
  const std::int64_t kernel = dice.between(1, 3);
  const std::int64_t pad = dice.below(kernel);
  FastCall call = {{{dice.between(1, 2), groups * in, dice.between(4, 20), dice.between(4, 20)},
                    {out, in, kernel, kernel}},
                   {{"strides", Integers{dice.between(1, 2), dice.between(1, 2)}},
                    {"pads", Integers{pad, pad, pad, pad}},
                    {"groups", groups}}};
  if (dice.chance(50)) call.shapes.push_back({out});
  return call;
}

FastCall attention_call(Dice& dice) {
  const std::int64_t heads = dice.between(1, 3);
  const std::int64_t queries = dice.between(1, 90);
  const std::int64_t keys = dice.between(1, 90);
  const std::int64_t width = dice.between(1, 40);
  FastCall call = {
      {{1, heads, queries, width}, {1, heads, keys, width}, {1, heads, keys, dice.between(1, 40)}},
      {{"causal", dice.between(0, 1)}}};
  if (dice.chance(50)) call.shapes.push_back({queries, keys});
  return call;
}

/// How to call each op that has a fast kernel.
std::vector<std::pair<std::string_view, MakeCall>> fast_ops() {
  std::vector<std::pair<std::string_view, MakeCall>> list = {
      {"softmax", softmax_call},
      {"log_softmax", softmax_call},
      {"layer_norm", [](Dice& dice) { return norm_call(dice, true); }},
      {"rms_norm", [](Dice& dice) { return norm_call(dice, false); }},
      {"instance_norm", [](Dice& dice) { return channel_norm_call(dice, false); }},
      {"group_norm", [](Dice& dice) { return channel_norm_call(dice, true); }},
      {"batch_norm",
       [](Dice& dice) {
         const Extents x = {dice.between(1, 3), dice.between(1, 9), dice.between(1, 70)};
         return FastCall{{x, {x[1]}, {x[1]}, {x[1]}, {x[1]}}, {}};
       }},
      {"clip", [](Dice& dice) { return FastCall{{extents_of(dice, 2), {}, {}}, {}}; }},
      {"matmul", matmul_call},
      {"matmul", large_matmul_call},
      {"gemm", gemm_call},
      {"conv", conv_call},
      {"attention", attention_call}};
  for (const std::string_view op : {"add", "sub", "mul", "div", "max", "min", "prelu"}) {
    list.emplace_back(op, map_of_two);
  }
  for (const std::string_view op :
       {"relu", "neg", "abs", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "round", "leaky_relu",
        "hard_sigmoid", "hard_swish", "softsign", "thresholded_relu", "exp", "erf", "tanh",
        "sigmoid", "gelu"}) {
    list.emplace_back(op, map_of_one);
  }
  for (const std::string_view op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min",
                                    "reduce_l1", "reduce_sum_square"}) {
    list.emplace_back(op, reduction_call);
  }
  return list;
}

/// Elements at strides of their own, which begin at any element.
template <typename W>
struct Cells {
  std::vector<W> memory;
  Tile tile;

  Cells(Dice& dice, const Shape& shape) {
    tile.box = Box::whole(shape);
    tile.strides.resize(shape.rank());
    std::vector<std::size_t> order = dice.order(shape.rank());
    if (dice.chance(85)) std::ranges::sort(order);
    std::int64_t stride = 1;
    for (std::size_t d = shape.rank(); d-- > 0;) {
      tile.strides[order[d]] = stride;
      stride *= shape[order[d]] + (dice.chance(25) ? dice.between(1, 3) : 0);
    }
    const std::int64_t first = dice.below(9);
    memory.resize(static_cast<std::size_t>(first + stride + 1));
    tile.data = reinterpret_cast<std::byte*>(memory.data() + first);
  }
};

template <typename W>
W number_of(Dice& dice, int strange, W most) {
  using Limits = std::numeric_limits<W>;
  if (dice.below(100) < strange) {
    const std::vector<W> list = {Limits::quiet_NaN(),
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 most > 1 ? Limits::denorm_min() : W{1},
                                 W{-0.0},
                                 W{0}};
    return list[static_cast<std::size_t>(dice.below(std::ssize(list)))];
  }
  return most * static_cast<W>(dice.between(-4000, 4000)) / W{4000};
}

template <typename W>
bool agree(W got, W want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return true;
  const W allowed = sizeof(W) == sizeof(float) ? static_cast<W>(2e-5) : static_cast<W>(1e-12);
  return std::fabs(got - want) <= allowed * (1 + std::fabs(want));
}

/// What differs between both kernels, or "". `used` is the name of the fast one.
template <typename W>
std::string fast_law(Dice& dice, std::string_view op, const FastCall& made, DType dtype,
                     std::string_view& used) {
  std::vector<graph::TensorType> types;
  for (const Extents& extents : made.shapes) types.push_back({*Shape::make(extents), dtype});
  std::vector<const graph::TensorType*> list;
  for (const graph::TensorType& type : types) list.push_back(&type);
  const graph::Call call(*graph::Op::find(op), list, made.attributes, 1);
  const Result<graph::Types> outputs = graph::infer(call);
  if (!outputs) return outputs.error().message;
  const Result<ops::Loops> loops = ops::loops_of(call, *outputs);
  if (!loops) return loops.error().message;
  const int strange = dice.chance(30) ? 2 : 0;
  // Sums of many products round in proportion to these; a denormal number times alpha may be 0.
  const W most = op == "matmul" || op == "gemm" || op == "conv" ? W{1} : W{4};
  std::vector<Cells<W>> inputs;
  for (const graph::TensorType& type : types) {
    inputs.emplace_back(dice, type.shape);
    for (W& number : inputs.back().memory) number = number_of<W>(dice, strange, most);
  }
  Cells<W> out(dice, (*outputs)[0].shape);
  std::ranges::fill(out.memory, W{12345});
  Task task{&call, &*outputs, &*loops, {Box::whole(*loops->iterations())}, {}, {out.tile}};
  if (task.blocks[0].elements() == 0) task.blocks.clear();
  for (const Cells<W>& cells : inputs) task.inputs.push_back(cells.tile);
  std::vector<W> wanted = out.memory;
  if (const Status status = perform(task, &used); !status) return status.error().message;
  std::swap(wanted, out.memory);  // the tile keeps its address: the vectors change places
  task.results[0].data = reinterpret_cast<std::byte*>(out.memory.data()) +
                         (out.tile.data - reinterpret_cast<std::byte*>(wanted.data()));
  if (const Status status = perform_plainly(task); !status) return status.error().message;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!agree(wanted[i], out.memory[i])) {
      return cat("element ", i, " is ", std::to_string(static_cast<double>(wanted[i])),
                 ", by the plain kernel ", std::to_string(static_cast<double>(out.memory[i])));
    }
  }
  return "";
}

/// All types whose kernels compute in f32.
std::vector<DType> types_in_f32() {
  std::vector<DType> types;
  for (const DType dtype : all_dtypes()) {
    if (graph::is_float(dtype) && compute_type(dtype) == DType::kF32) types.push_back(dtype);
  }
  return types;
}

TEST(FastKernels, AgreeWithPlainOnesInEveryInstructionSet) {
  const std::uint64_t seeds = test::kSanitized ? 15 : 25;
  const std::vector<DType> narrow = types_in_f32();
  EXPECT_GE(std::ranges::count(narrow, DType::kF8E4M3), 1);
  std::map<DType, std::int64_t> fast_types;
  std::map<std::string_view, std::int64_t> fast;
  for (const std::int64_t set : test::instruction_sets()) {
    const test::OnlyInstructionSet only(set);
    for (const auto& [op, make] : fast_ops()) {
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Dice dice(seed * 7919 + static_cast<std::uint64_t>(op.size()));
        const FastCall call = make(dice);
        std::string_view used;
        const bool is_double = dice.chance(20);
        const DType dtype = narrow[static_cast<std::size_t>(dice.below(std::ssize(narrow)))];
        const std::string wrong = is_double ? fast_law<double>(dice, op, call, DType::kF64, used)
                                            : fast_law<float>(dice, op, call, dtype, used);
        ASSERT_EQ(wrong, "") << op << " in " << test::instruction_set_name(set) << ", seed " << seed
                             << ", " << used;
        if (used == "plain") continue;
        ++fast[op];
        if (!is_double) ++fast_types[dtype];
      }
    }
  }
  for (const auto& [op, make] : fast_ops()) EXPECT_GT(fast[op], 0) << op;
  for (const DType dtype : narrow) EXPECT_GT(fast_types[dtype], 0) << dtype_name(dtype);
}

/// The largest error over numbers from the whole range, relative to the exact result; below the
/// normal numbers, in their distance.
double largest_error(RowMap map, double (*exact)(double)) {
  constexpr std::uint32_t kStep = 39'119;
  std::vector<float> numbers;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += kStep) {
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  std::vector<float> results(numbers.size());
  RowInputs<float> inputs;
  inputs.rows[0] = numbers.data();
  inputs.steps[0] = 1;
  map_row(map, {}, inputs, results.data(), std::ssize(numbers));
  double most = 0;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const double right = exact(static_cast<double>(numbers[n]));
    const auto rounded = static_cast<float>(right);
    if (results[n] == rounded || (std::isnan(right) && std::isnan(results[n]))) continue;
    const double apart = std::fabs(static_cast<double>(results[n]) - right);
    const double size = std::max(std::fabs(right), 0x1p-126);
    most = std::max(most, std::isfinite(apart) ? apart / size : 1.0);
  }
  return most;
}

/// With e^-x as an f32, which may be infinite.
double sigmoid(double x) { return 1 / (1 + static_cast<double>(static_cast<float>(std::exp(-x)))); }

TEST(FastKernels, FunctionsHaveTheErrorsThatAreStated) {
  for (const std::int64_t set : test::instruction_sets()) {
    const test::OnlyInstructionSet only(set);
    const std::string name = test::instruction_set_name(set);
    constexpr double kStated = 0x1p-21;
    EXPECT_LE(largest_error(RowMap::kExp, std::exp), kStated) << name;
    EXPECT_LE(largest_error(RowMap::kErf, std::erf), kStated) << name;
    EXPECT_LE(largest_error(RowMap::kTanh, std::tanh), kStated) << name;
    EXPECT_LE(largest_error(RowMap::kSigmoid, sigmoid), kStated) << name;
  }
}

/// Long rows go around the caches, at any address.
TEST(FastKernels, LongRowsAreWrittenOnce) {
  constexpr std::int64_t kCount = (std::int64_t{5} << 20) + 3;
  std::vector<float> x(static_cast<std::size_t>(kCount) + 1, 2);
  std::vector<float> y(static_cast<std::size_t>(kCount) + 3, 7);
  RowInputs<float> inputs;
  inputs.rows = {x.data() + 1, x.data() + 1};
  inputs.steps = {1, 1};
  map_row(RowMap::kAdd, {}, inputs, y.data() + 1, kCount);
  EXPECT_EQ(y.front(), 7);
  EXPECT_EQ(y.back(), 7);
  EXPECT_EQ(std::count(y.begin(), y.end(), 4.0F), kCount);
}

}  // namespace
}  // namespace tessera::run
