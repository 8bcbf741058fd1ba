// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/propagate.h"

#include <gtest/gtest.h>

#include <string>

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
  int legal = 0;
  int refused = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
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
  EXPECT_GT(legal, 5000);
  RecordProperty("legal", legal);
  RecordProperty("refused", refused);
}

}  // namespace
}  // namespace tessera::ops
