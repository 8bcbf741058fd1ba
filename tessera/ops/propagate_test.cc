// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/propagate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tessera/ops/layouts_for.h"
#include "tessera/testing/ops/any_division.h"
#include "tessera/testing/ops/propagate_law.h"
#include "tessera/testing/ops/random_calls.h"

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
    for (std::uint64_t seed = 0; seed < test::tries(100); ++seed) {
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

/// Whether two inputs belong to different ranges of one factor, as those of a concat do.
bool read_ranges_differ(const Question& question, const Answer& answer) {
  std::vector<std::optional<Range>> ranges(answer.loops.factors.size());
  for (std::size_t i = 0; i < question.inputs.size(); ++i) {
    if (!question.inputs[i] || !answer.loops.inputs[i]) continue;
    const Access& access = *answer.loops.inputs[i];
    const auto mine = reading_ranges(answer.loops, access, question.inputs[i]->shape());
    for (std::size_t f = 0; f < mine.size(); ++f) {
      if (!access.has(static_cast<int>(f))) continue;
      if (ranges[f] && (ranges[f]->from != mine[f].from || ranges[f]->to != mine[f].to)) {
        return true;
      }
      ranges[f] = mine[f];
    }
  }
  return false;
}

TEST(Propagate, NoDivisionOfTheWorkWouldDoWhereItRefuses) {
  std::uint64_t refused = 0;
  std::uint64_t tried = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    for (std::uint64_t seed = 0; seed < test::tries(160); ++seed) {
      Dice dice(seed * 104729 + 17);
      const OpCase made = test::random_call(dice, op);
      const auto types = made.types();
      const graph::Call call(made.op, types, made.attributes, made.outputs);
      const Shape mesh = *Shape::make({dice.between(1, 2), dice.between(1, 3)});
      Question question{&call, {}, {}};
      for (const auto& input : made.inputs) {
        question.inputs.emplace_back();
        if (input && dice.chance(80)) {
          question.inputs.back() = test::random_division(dice, input->type, mesh);
        }
      }
      const Result<Answer> answer = propagate(question);
      if (!answer || answer->legal) continue;
      // Parts of a concat that lie by chance where blocks of the whole would lie are not looked
      // for.
      if (read_ranges_differ(question, *answer)) continue;
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
                          << answer->loops.to_string() << "\nseed " << seed << " mesh "
                          << mesh.to_string() << "\nrefused: " << answer->reason
                          << "\nfound: " << *found;
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
