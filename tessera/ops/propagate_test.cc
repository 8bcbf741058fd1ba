// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/propagate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/ops/layouts_for.h"
#include "tessera/ops/padding.h"
#include "tessera/testing/ops/any_division.h"
#include "tessera/testing/ops/propagate_law.h"
#include "tessera/testing/ops/random_calls.h"
#include "tessera/testing/ops/random_shards.h"

namespace tessera::ops {
namespace {

using test::Dice;
using test::OpCase;

Shape random_mesh(Dice& dice) {
  std::vector<std::int64_t> extents;
  for (std::int64_t a = dice.between(1, 2); a > 0; --a) extents.push_back(dice.between(1, 4));
  return *Shape::make(extents);
}

TEST(Propagate, EveryOpObeysTheLawOnRandomLayouts) {
  std::uint64_t legal = 0;
  std::uint64_t refused = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    const std::uint64_t seeds = test::tries(op == "concat" ? 1000 : 100);
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      Dice dice(seed * 7919 + 3);
      const OpCase made = test::random_call(dice, op);
      const Result<graph::Types> outputs = made.infer();
      ASSERT_TRUE(outputs) << made.text();
      const auto types = made.types();
      const graph::Call call(made.op, types, made.attributes, made.outputs);
      const Shape mesh = random_mesh(dice);
      Question question{&call, {}, {}};
      const bool backwards = seed % 3 == 0 || made.inputs.empty();
      for (const auto& input : made.inputs) {
        question.inputs.emplace_back();
        if (input && !backwards) {
          question.inputs.back() = test::random_division(dice, input->type, mesh);
        }
      }
      if (backwards) {
        question.outputs.resize(outputs->size());
        question.outputs[0] = test::random_division(dice, (*outputs)[0], mesh);
      }
      const Result<Answer> answer = propagate(question);
      if (!answer && answer.error().code == ErrorCode::kUsage) continue;  // no operand is read
      ASSERT_TRUE(answer) << made.text() << ": " << answer.error().message;
      const std::string wrong = test::propagate_law(made, question, *answer);
      EXPECT_EQ(wrong, "") << made.text() << "\n"
                           << answer->loops.to_string() << "\nseed " << seed << " mesh "
                           << mesh.to_string() << " backwards " << backwards << "\n"
                           << answer->reason;
      if (!wrong.empty()) break;
      (answer->legal ? legal : refused) += 1;
    }
  }
  EXPECT_GT(legal, test::tries(5000));
  RecordProperty("legal", std::to_string(legal));
  RecordProperty("refused", std::to_string(refused));
}

/// What the inputs of a call are told of one mesh axis: shares of all of them, of the first or of
/// any one, where the others usually are replicas. Nothing in most calls.
std::vector<std::optional<Fill>> told_of_inputs(Dice& dice, std::size_t inputs, const Shape& mesh) {
  std::vector<std::optional<Fill>> told(inputs);
  if (inputs == 0 || dice.chance(70)) return told;
  const auto axis = dice.below(static_cast<std::int64_t>(mesh.rank()));
  const std::int64_t count = mesh[static_cast<std::size_t>(axis)];
  constexpr Reduction kOthers[] = {Reduction::kMax, Reduction::kMin, Reduction::kProduct};
  const Reduction reduction = dice.chance(70) ? Reduction::kSum : kOthers[dice.below(3)];
  const std::int64_t who = dice.below(3);
  const auto one = who == 0
                       ? std::size_t{0}
                       : static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(inputs)));
  for (std::size_t i = 0; i < inputs; ++i) {
    if (who == 2 || i == one) {
      told[i] = Fill::partial(static_cast<int>(axis), count, reduction);
    } else if (dice.chance(70)) {
      told[i] = Fill::replicate(static_cast<int>(axis), count);
    }
  }
  return told;
}

/// Sub-meshes with an origin, blocks that begin inside a block, tiles, sticks and shares.
TEST(Propagate, EveryOpObeysTheLawOnAnyShards) {
  std::uint64_t legal = 0;
  std::uint64_t refused = 0;
  std::uint64_t on_shares = 0;
  std::uint64_t with_halos = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    int failures = 0;
    const bool is_window = graph::Op::find(op)->rule().family == graph::Family::kWindow;
    const std::uint64_t seeds = test::tries(is_window ? 400 : 75);
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      Dice dice(seed * 6007 + 29);
      const OpCase made = test::random_call(dice, op);
      const Result<graph::Types> outputs = made.infer();
      ASSERT_TRUE(outputs) << made.text();
      const auto types = made.types();
      const graph::Call call(made.op, types, made.attributes, made.outputs);
      const Shape mesh = random_mesh(dice);
      Question question{&call, {}, {}};
      const bool backwards = seed % 4 == 0 || made.inputs.empty();
      const auto told = told_of_inputs(dice, made.inputs.size(), mesh);
      for (std::size_t i = 0; i < made.inputs.size(); ++i) {
        question.inputs.emplace_back();
        const bool is_asked = i == 0 || told[i] || dice.chance(is_window ? 20 : 75);
        if (made.inputs[i] && is_asked && !backwards) {
          question.inputs.back() = test::random_shards(dice, made.inputs[i]->type, mesh, told[i]);
        }
      }
      if (backwards) {
        question.outputs.resize(outputs->size());
        question.outputs[0] = test::random_shards(dice, (*outputs)[0], mesh);
      }
      const Result<Answer> answer = propagate(question);
      if (!answer && answer.error().code == ErrorCode::kUsage) continue;  // no operand is read
      ASSERT_TRUE(answer) << made.text() << " seed " << seed << ": " << answer.error().message;
      const std::string wrong = test::propagate_law(made, question, *answer);
      EXPECT_EQ(wrong, "") << made.text() << "\n"
                           << answer->loops.to_string() << "\nseed " << seed << " mesh "
                           << mesh.to_string() << " backwards " << backwards << "\n"
                           << answer->reason;
      if (!wrong.empty() && ++failures >= 3) break;
      (answer->legal ? legal : refused) += 1;
      if (!answer->legal) continue;
      bool shares = false;
      bool halos = false;
      for (std::size_t i = 0; i < answer->inputs.size(); ++i) {
        shares |= answer->inputs[i] && !partial_axes(*answer->inputs[i]).empty();
        for (const Halo& halo : answer->halos[i]) halos |= !(halo == Halo{});
      }
      on_shares += shares ? 1 : 0;
      with_halos += halos ? 1 : 0;
    }
  }
  RecordProperty("legal", std::to_string(legal));
  RecordProperty("refused", std::to_string(refused));
  EXPECT_GT(legal, test::tries(7500));
  EXPECT_GT(refused, test::tries(1500));
  EXPECT_GT(on_shares, test::tries(300));
  EXPECT_GT(with_halos, test::kSanitized ? 5 : 50);  // few of a fifth of the seeds have any
  RecordProperty("on_shares", std::to_string(on_shares));
  RecordProperty("with_halos", std::to_string(with_halos));
}

/// A case of these types with small numbers as elements.
OpCase case_of(std::string_view op, const std::vector<graph::TensorType>& types,
               graph::Attributes attributes) {
  OpCase made{*graph::Op::find(op), {}, std::move(attributes), 1};
  for (const graph::TensorType& type : types) {
    test::NaiveTensor tensor{type, {}};
    for (std::int64_t e = 0; e < type.shape.elements(); ++e) {
      tensor.elements.push_back(static_cast<long double>(e % 5 + 1));
    }
    made.inputs.emplace_back(std::move(tensor));
  }
  return made;
}

/// Row-major, but with blocks of one dim on the places of a mesh of one axis.
Layout in_blocks(const graph::TensorType& type, int dim, std::int64_t width, std::int64_t places) {
  LayoutSpec spec = Layout::row_major(type.shape, type.dtype)->spec();
  spec.form.mesh = *Shape::make({places});
  std::int64_t stride = 1;
  for (std::size_t d = type.shape.rank(); d-- > 0;) {
    Fold& fold = spec.form.folds[d];
    const std::int64_t extent = type.shape[d];
    const bool is_cut = static_cast<int>(d) == dim;
    fold = {{Term{static_cast<int>(d), 1}}, 0, {}};
    if (is_cut) fold.cuts.push_back({width, (extent + width - 1) / width, Target::mesh(0), 1});
    fold.cuts.push_back({1, is_cut ? width : extent, Target::memory(), stride});
    stride *= is_cut ? width : extent;
  }
  return *Layout::make(std::move(spec));
}

TEST(Propagate, TheLawSeesHalosThatAreTooLarge) {
  const graph::TensorType x{*Shape::make({1, 1, 8}), DType::kF32};
  const OpCase made = case_of(
      "max_pool", {x},
      {{"kernel", std::vector<std::int64_t>{3}}, {"pads", std::vector<std::int64_t>{1, 1}}});
  const auto types = made.types();
  const graph::Call call(made.op, types, made.attributes, 1);
  const Question question{&call, {in_blocks(x, 2, 4, 2)}, {}};
  Answer answer = *propagate(question);
  ASSERT_TRUE(answer.legal) << answer.reason;
  ASSERT_EQ(answer.halos[0][2], (Halo{1, 1}));
  EXPECT_EQ(test::propagate_law(made, question, answer), "");
  answer.halos[0][2].before = 2;
  EXPECT_NE(test::propagate_law(made, question, answer), "");
  answer.halos[0][2] = {1, 2};
  EXPECT_NE(test::propagate_law(made, question, answer), "");
  answer.halos[0][2] = {1, 0};
  EXPECT_NE(test::propagate_law(made, question, answer), "");
}

/// A dilated window passes over the last element of a dim. Position 0 reads 0, 2 and 4 on place 0,
/// which has 0 and 1; position 1 reads 4, 6 and nothing behind them on place 1, which has 2 and 3.
TEST(Propagate, HalosEndWithTheLastElementThatIsRead) {
  const graph::TensorType x{*Shape::make({1, 1, 8}), DType::kF32};
  const OpCase made = case_of("max_pool", {x},
                              {{"kernel", std::vector<std::int64_t>{3}},
                               {"dilations", std::vector<std::int64_t>{2}},
                               {"strides", std::vector<std::int64_t>{4}},
                               {"pads", std::vector<std::int64_t>{0, 1}}});
  const auto types = made.types();
  const graph::Call call(made.op, types, made.attributes, 1);
  const Question question{&call, {in_blocks(x, 2, 2, 4)}, {}};
  const Answer answer = *propagate(question);
  ASSERT_TRUE(answer.legal) << answer.reason;
  EXPECT_EQ(answer.halos[0][2], (Halo{0, 3}));
  EXPECT_EQ(test::propagate_law(made, question, answer), "");
}

/// Blocks may be shorter than the steps of a window, and behind its last position.
TEST(Propagate, HalosOfWindowsObeyTheLawOnBlocksOfAnyWidth) {
  std::uint64_t with_halos = 0;
  for (std::uint64_t seed = 0; seed < test::tries(900); ++seed) {
    Dice dice(seed * 7013 + 5);
    constexpr std::string_view kOps[] = {"max_pool", "average_pool", "conv"};
    const OpCase made = test::random_call(dice, kOps[seed % 3]);
    const auto types = made.types();
    const graph::Call call(made.op, types, made.attributes, made.outputs);
    const graph::TensorType& x = made.inputs[0]->type;
    const std::int64_t width = dice.between(1, 3);
    const std::int64_t places = (x.shape[2] + width - 1) / width + dice.below(2);
    Question question{&call, {}, {}};
    question.inputs.resize(made.inputs.size());
    question.inputs[0] = in_blocks(x, 2, width, places);
    const Result<Answer> answer = propagate(question);
    ASSERT_TRUE(answer) << made.text() << ": " << answer.error().message;
    EXPECT_EQ(test::propagate_law(made, question, *answer), "")
        << made.text() << "\nseed " << seed << " blocks of " << width;
    if (answer->legal && !(answer->halos[0][2] == Halo{})) ++with_halos;
  }
  EXPECT_GT(with_halos, test::tries(200));
}

/// The last place has 2 of 5 values of k and one slot of padding: a product that adds it up is
/// wrong, unless a rule says that the padding has to be 0. relu does not read it.
TEST(Propagate, TheLawSeesPaddingThatMustNotBeRead) {
  const test::PaddingRule needs_nothing = [](const graph::Call& call, const graph::Types& outputs,
                                             const Loops& loops,
                                             const std::vector<PaddingStates>& inputs) {
    Result<PaddingFlow> flow = padding_of(call, outputs, loops, inputs);
    if (!flow) return flow;
    flow->refilled = inputs;
    for (auto& needs : flow->needs) needs.assign(needs.size(), PaddingNeed::nothing());
    return flow;
  };
  const graph::TensorType a{*Shape::make({2, 5}), DType::kF32};
  const graph::TensorType b{*Shape::make({5, 3}), DType::kF32};
  {
    const OpCase made = case_of("matmul", {a, b}, {});
    const auto types = made.types();
    const graph::Call call(made.op, types, made.attributes, 1);
    const Question question{&call, {in_blocks(a, 1, 3, 2), in_blocks(b, 0, 3, 2)}, {}};
    const Answer answer = *propagate(question);
    ASSERT_TRUE(answer.legal) << answer.reason;
    EXPECT_EQ(test::propagate_law(made, question, answer), "");
    EXPECT_NE(test::propagate_law(made, question, answer, needs_nothing), "");
  }
  const OpCase made = case_of("relu", {a}, {});
  const auto types = made.types();
  const graph::Call call(made.op, types, made.attributes, 1);
  const Question question{&call, {in_blocks(a, 1, 3, 2)}, {}};
  EXPECT_EQ(test::propagate_law(made, question, *propagate(question), needs_nothing), "");
}

/// A window over two blocks on the last places of a mesh runs there, with halos between them.
TEST(Propagate, WindowsRunWhereASubMeshBegins) {
  const graph::TensorType x{*Shape::make({1, 1, 8}), DType::kF32};
  const std::vector<const graph::TensorType*> types = {&x};
  const graph::Attributes attributes = {{"kernel", std::vector<std::int64_t>{3}},
                                        {"pads", std::vector<std::int64_t>{1, 1}}};
  const graph::Call call(*graph::Op::find("max_pool"), types, attributes, 1);
  LayoutSpec spec = Layout::row_major(x.shape, DType::kF32)->spec();
  spec.form.mesh = *Shape::make({4});
  spec.form.folds = {{{Term{2, 1}}, 0, {{4, 2, Target::mesh(0), 1}, {1, 4, Target::memory(), 1}}}};
  spec.form.fills = {Fill::fixed(0, 2)};
  const Answer answer = *propagate({&call, {*Layout::make(std::move(spec))}, {}});
  ASSERT_TRUE(answer.legal) << answer.reason;
  EXPECT_EQ(answer.halos[0][2], (Halo{1, 1}));
  EXPECT_EQ(answer.outputs[0].locate({0, 0, 3})->places, (std::vector<Place>{{2}}));
  EXPECT_EQ(answer.outputs[0].locate({0, 0, 4})->places, (std::vector<Place>{{3}}));
}

/// Replicas on two of three places: the work is repeated there, and the third place is idle.
TEST(Propagate, RepeatsWorkOnReplicasOnAPartOfTheMesh) {
  const graph::TensorType x{*Shape::make({4}), DType::kF32};
  const std::vector<const graph::TensorType*> types = {&x};
  const graph::Attributes attributes;
  const graph::Call call(*graph::Op::find("relu"), types, attributes, 1);
  LayoutSpec spec = Layout::row_major(x.shape, DType::kF32)->spec();
  spec.form.mesh = *Shape::make({3});
  spec.form.fills = {Fill::replicate(0, 2)};
  const Answer answer = *propagate({&call, {*Layout::make(std::move(spec))}, {}});
  ASSERT_TRUE(answer.legal) << answer.reason;
  EXPECT_EQ(answer.outputs[0].locate({3})->places, (std::vector<Place>{{0}, {1}}));
}

/// Replicas on places 1 and 3, and on 2 and 3: the work is where both are.
TEST(Propagate, RepeatsWorkWhereAllOperandsAre) {
  const graph::TensorType x{*Shape::make({4}), DType::kF32};
  const auto replicas = [&](std::int64_t first, std::int64_t count, std::int64_t stride) {
    LayoutSpec spec = Layout::row_major(x.shape, DType::kF32)->spec();
    spec.form.mesh = *Shape::make({4});
    spec.form.fills = {Fill::replicate(0, count, stride), Fill::fixed(0, first)};
    return *Layout::make(std::move(spec));
  };
  const std::vector<const graph::TensorType*> types = {&x, &x};
  const graph::Attributes attributes;
  const graph::Call call(*graph::Op::find("add"), types, attributes, 1);
  const auto places = [&](const Layout& a, const Layout& b) {
    const Answer answer = *propagate({&call, {a, b}, {}});
    return answer.legal ? answer.outputs[0].locate({3})->places : std::vector<Place>();
  };
  EXPECT_EQ(places(replicas(1, 2, 2), replicas(2, 2, 1)), (std::vector<Place>{{3}}));
  EXPECT_EQ(places(replicas(1, 3, 1), replicas(1, 2, 2)), (std::vector<Place>{{1}, {3}}));
  EXPECT_EQ(places(replicas(0, 2, 2), replicas(1, 2, 2)), std::vector<Place>());
}

/// Parts of 5 and 3 elements, each whole on a place of its own: the whole is in blocks of 5.
TEST(Propagate, PartsOfAConcatDecideForThemselves) {
  const auto part = [](std::int64_t extent, std::int64_t place) {
    LayoutSpec spec = Layout::row_major(*Shape::make({extent}), DType::kF32)->spec();
    spec.form.mesh = *Shape::make({2});
    spec.form.fills = {Fill::fixed(0, place)};
    return *Layout::make(std::move(spec));
  };
  const graph::TensorType first{*Shape::make({5}), DType::kF32};
  const graph::TensorType second{*Shape::make({3}), DType::kF32};
  const graph::Attributes attributes = {{"axis", std::int64_t{0}}};
  const std::vector<const graph::TensorType*> types = {&first, &second};
  const graph::Call call(*graph::Op::find("concat"), types, attributes, 1);
  const Answer answer = *propagate({&call, {part(5, 0), part(3, 1)}, {}});
  ASSERT_TRUE(answer.legal) << answer.reason;
  EXPECT_EQ(answer.outputs[0].locate({4})->places, (std::vector<Place>{{0}}));
  EXPECT_EQ(answer.outputs[0].locate({5})->places, (std::vector<Place>{{1}}));
  EXPECT_FALSE(propagate({&call, {part(5, 1), part(3, 0)}, {}})->legal);
}

TEST(Propagate, NoDivisionOfTheWorkWouldDoWhereItRefuses) {
  std::uint64_t refused = 0;
  std::uint64_t tried = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    // Parts of a concat seldom lie where blocks of the whole would lie.
    const std::uint64_t seeds = test::tries(op == "concat" ? 1600 : 160);
    for (std::uint64_t n = 0; n < 2 * seeds; ++n) {
      const std::uint64_t seed = n / 2;
      const bool any_shards = n % 2 == 1;
      Dice dice(seed * 104729 + 17);
      const OpCase made = test::random_call(dice, op);
      const auto types = made.types();
      const graph::Call call(made.op, types, made.attributes, made.outputs);
      const Shape mesh = *Shape::make({dice.between(1, 2), dice.between(1, 3)});
      Question question{&call, {}, {}};
      for (const auto& input : made.inputs) {
        question.inputs.emplace_back();
        if (!input || !dice.chance(80)) continue;
        question.inputs.back() = any_shards ? test::random_shards(dice, input->type, mesh)
                                            : test::random_division(dice, input->type, mesh);
      }
      const Result<Answer> answer = propagate(question);
      if (!answer || answer->legal) continue;
      if (std::ranges::count_if(answer->loops.factors,
                                [](const Factor& factor) { return factor.extent > 1; }) > 4) {
        continue;
      }
      const Result<graph::Types> outputs = made.infer();
      ASSERT_TRUE(outputs);
      // A division of which no layout can say where it leaves an output is of no use.
      const auto has_outputs = [&](const Form& form) {
        const Result<WorkMap> work = WorkMap::make(answer->loops, form);
        for (std::size_t o = 0; work && o < outputs->size(); ++o) {
          const Access& access = answer->loops.outputs[o];
          if (!layout_for_output(answer->loops, access, (*outputs)[o], *work)) return false;
        }
        return work.ok();
      };
      const auto found = test::any_division(question, answer->loops, has_outputs, tried);
      EXPECT_FALSE(found) << made.text() << "\n"
                          << answer->loops.to_string() << "\nseed " << seed << " any shards "
                          << any_shards << " mesh " << mesh.to_string()
                          << "\nrefused: " << answer->reason << "\nfound: " << *found;
      ++refused;
    }
  }
  EXPECT_GT(refused, test::tries(1000));
  EXPECT_GT(tried, test::tries(50000));
  RecordProperty("refused", std::to_string(refused));
  RecordProperty("tried", std::to_string(tried));
}

}  // namespace
}  // namespace tessera::ops
