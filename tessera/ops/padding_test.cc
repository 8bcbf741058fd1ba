// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/padding.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tessera/graph/builder.h"
#include "tessera/testing/ops/padding_law.h"
#include "tessera/testing/ops/random_calls.h"

namespace tessera::ops {
namespace {

using test::Dice;
using test::OpCase;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const PaddingState kAbsent = PaddingState::absent();
const PaddingState kZero = PaddingState::of(0);
const PaddingState kDirty = PaddingState::dirty();
const PaddingState kUndef = PaddingState::undef();

PaddingFlow flow_of(std::string_view op, std::vector<std::vector<std::int64_t>> shapes,
                    const std::vector<PaddingStates>& states,
                    const graph::Attributes& attributes = {}) {
  graph::Types types;
  for (auto& extents : shapes) types.push_back({*Shape::make(std::move(extents)), DType::kF32});
  std::vector<const graph::TensorType*> inputs;
  for (const graph::TensorType& type : types) inputs.push_back(&type);
  const graph::Call call(*graph::Op::find(op), inputs, attributes, 1);
  const graph::Types outputs = *graph::infer(call);
  const Result<PaddingFlow> flow = padding_of(call, outputs, *loops_of(call, outputs), states);
  EXPECT_TRUE(flow);
  return flow ? *flow : PaddingFlow();
}

PaddingStates output(std::string_view op, std::vector<std::vector<std::int64_t>> shapes,
                     const std::vector<PaddingStates>& states,
                     const graph::Attributes& attributes = {}) {
  return flow_of(op, std::move(shapes), states, attributes).outputs[0];
}

template <typename Visit>
void each_case(std::uint64_t seeds, const Visit& visit) {
  for (const std::string_view op : test::ops_with_loops()) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      Dice dice(seed * 613 + 11);
      const OpCase made = test::random_call(dice, op);
      const graph::Types outputs = *made.infer();
      const auto types = made.types();
      const graph::Call call(made.op, types, made.attributes, made.outputs);
      const Loops loops = *loops_of(call, outputs);
      if (!visit(dice, made, loops, seed)) break;
    }
  }
}

TEST(Padding, EveryOpObeysTheLaw) {
  std::uint64_t cases = 0;
  each_case(test::tries(120),
            [&](Dice& dice, const OpCase& made, const Loops& loops, std::uint64_t seed) {
              const std::string wrong = test::padding_law(dice, made, loops);
              EXPECT_EQ(wrong, "") << made.text() << "\n" << loops.to_string() << " seed " << seed;
              ++cases;
              return wrong.empty();
            });
  EXPECT_GE(cases, test::tries(12000));
}

TEST(Padding, EveryNeedIsNecessary) {
  test::Witnesses seen;
  each_case(150, [&](Dice& dice, const OpCase& made, const Loops& loops, std::uint64_t) {
    test::try_without(dice, made, loops, seen);
    return true;
  });
  EXPECT_GT(seen.size(), 60U);
  for (const auto& [need, is_wrong] : seen) EXPECT_TRUE(is_wrong) << need;
}

TEST(Padding, OfProductsIsZeroInOneOperandAndFiniteInTheOthers) {
  const std::vector<PaddingStates> undef = {{kUndef, kUndef}, {kUndef, kUndef}};
  PaddingFlow flow = flow_of("matmul", {{5, 7}, {7, 3}}, undef);
  EXPECT_EQ(flow.needs[0], (std::vector{PaddingNeed::nothing(), PaddingNeed::finite()}));
  EXPECT_EQ(flow.needs[1], (std::vector{PaddingNeed::of(0), PaddingNeed::nothing()}));

  // A has zeros already, so B needs only numbers.
  flow = flow_of("matmul", {{5, 7}, {7, 3}}, {{kZero, kZero}, {kDirty, kDirty}});
  EXPECT_EQ(flow.needs[0], (std::vector{PaddingNeed::nothing(), PaddingNeed::of(0)}));
  EXPECT_EQ(flow.needs[1], (std::vector{PaddingNeed::finite(), PaddingNeed::nothing()}));
  EXPECT_EQ(flow.refilled[1], (PaddingStates{kDirty, kDirty}));
  // Rows of zeros give rows of zeros; columns are sums over anything.
  EXPECT_EQ(flow.outputs[0], (PaddingStates{kZero, kDirty}));

  // B has no padding along k, so the loop over k stops at 7.
  flow = flow_of("matmul", {{5, 7}, {7, 3}}, {{kZero, kUndef}, {kAbsent, kAbsent}});
  EXPECT_EQ(flow.needs[0], (std::vector{PaddingNeed::nothing(), PaddingNeed::nothing()}));
}

TEST(Padding, OfElementwiseOpsIsTheOpAppliedToIt) {
  EXPECT_EQ(output("relu", {{5}}, {{kZero}}), PaddingStates{kZero});
  EXPECT_EQ(output("exp", {{5}}, {{kZero}}), PaddingStates{PaddingState::of(1)});
  EXPECT_EQ(output("exp", {{5}}, {{kDirty}}), PaddingStates{kUndef});
  EXPECT_EQ(output("exp", {{5}}, {{PaddingState::of(-kInfinity)}}), PaddingStates{kZero});
  EXPECT_EQ(output("add", {{5}, {5}}, {{kZero}, {kZero}}), PaddingStates{kZero});
  EXPECT_EQ(output("add", {{5}, {5}}, {{kZero}, {kDirty}}), PaddingStates{kDirty});
  EXPECT_EQ(output("mul", {{5}, {5}}, {{kZero}, {kDirty}}), PaddingStates{kZero});
  EXPECT_EQ(output("mul", {{5}, {5}}, {{kZero}, {kUndef}}), PaddingStates{kUndef});
  // A bias of one row is added to the padding of all rows.
  EXPECT_EQ(output("add", {{5, 3}, {3}}, {{kZero, kZero}, {kZero}}),
            (PaddingStates{kDirty, kZero}));
}

TEST(Padding, OfReductionsIsNeutral) {
  const std::vector<PaddingStates> undef = {{kDirty, kUndef}};
  const graph::Attributes last = {{"axes", std::vector<std::int64_t>{1}}};
  EXPECT_EQ(flow_of("reduce_sum", {{5, 7}}, undef, last).needs[0][1], PaddingNeed::of(0));
  EXPECT_EQ(flow_of("reduce_prod", {{5, 7}}, undef, last).needs[0][1], PaddingNeed::of(1));
  EXPECT_EQ(flow_of("reduce_max", {{5, 7}}, undef, last).needs[0][1], PaddingNeed::of(-kInfinity));
  EXPECT_EQ(flow_of("reduce_mean", {{5, 7}}, undef, last).needs[0][1], PaddingNeed::exact());
  EXPECT_EQ(flow_of("softmax", {{5, 7}}, undef).needs[0][1], PaddingNeed::of(-kInfinity));
  EXPECT_EQ(flow_of("softmax", {{5, 7}}, {{kAbsent, kUndef}}).outputs[0][1], kZero);
  EXPECT_EQ(flow_of("layer_norm", {{5, 7}, {7}}, {{kDirty, kUndef}, {kUndef}}).needs[1][0],
            PaddingNeed::exact());
}

/// x[5, 7] -> matmul w[7, 3] -> + bias[3] -> relu -> softmax, with padding everywhere.
TEST(Padding, IsRefilledInAGraphOnlyWhereItIsRead) {
  graph::GraphBuilder builder("net");
  const graph::ValueId x = *builder.input("x", {5, 7});
  const graph::ValueId w = *builder.parameter("w", {7, 3});
  const graph::ValueId b = *builder.parameter("b", {3});
  const graph::ValueId h = *builder.add("matmul", {x, w});
  const graph::ValueId s = *builder.add("add", {h, b});
  const graph::ValueId r = *builder.add("relu", {s});
  const graph::ValueId p = *builder.add("softmax", {r});
  const graph::ValueId m =
      *builder.add("reduce_mean", {p}, {{"axes", std::vector<std::int64_t>{0}}});
  ASSERT_TRUE(builder.output(m));
  const graph::Graph net = std::move(builder).finish();
  std::vector<PaddingStates> given;
  for (const graph::Value& value : net.values) {
    given.emplace_back(value.type.shape.rank(), kUndef);
  }
  given[x] = {kDirty, kDirty};
  given[w] = {kZero, kZero};
  given[b] = {kZero};
  const Result<PaddingPlan> plan = plan_padding(net, given);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->values[h], (PaddingStates{kDirty, kZero}));
  EXPECT_EQ(plan->values[r], (PaddingStates{kDirty, kZero}));
  // Only the softmax reads wrong padding, along its axis; the mean counts rows.
  EXPECT_EQ(plan->refills, (std::vector<Refill>{{3, r, 1, -kInfinity}}));
  EXPECT_EQ(plan->masked, (std::vector<Masked>{{4, 0, 0}}));
  EXPECT_EQ(plan->values[p][1], kUndef);  // rows beyond the extent are -inf there, which gives NaN

  // Without padding along rows and along the axis there is nothing to do.
  for (PaddingStates& states : given) {
    for (PaddingState& state : states) state = kAbsent;
  }
  const Result<PaddingPlan> none = plan_padding(net, given);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->refills.empty() && none->masked.empty());
}

TEST(Padding, ARefillReachesCorners) {
  PaddingStates states = {kZero, kUndef, PaddingState::of(1), kAbsent};
  refill(states, 1, 1);
  EXPECT_EQ(states, (PaddingStates{kDirty, PaddingState::of(1), PaddingState::of(1), kAbsent}));
}

TEST(Padding, RefusesStatesOfAnotherRank) {
  graph::Types types = {{*Shape::make({5}), DType::kF32}};
  const std::vector<const graph::TensorType*> inputs = {types.data()};
  const graph::Attributes none;
  const graph::Call call(*graph::Op::find("relu"), inputs, none, 1);
  const Loops loops = *loops_of(call, types);
  EXPECT_EQ(padding_of(call, types, loops, {}).error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(padding_of(call, types, loops, {{kZero, kZero}}).error().code,
            ErrorCode::kShapeMismatch);
}

}  // namespace
}  // namespace tessera::ops
