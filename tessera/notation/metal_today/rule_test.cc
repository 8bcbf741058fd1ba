// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tessera/notation/metal_today/metal_today.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/notation/rule_laws.h"
#include "tessera/testing/notation/rule_metal.h"
#include "tessera/testing/process.h"

/// metal_today layouts against their own rule, evaluated by plain loops.
namespace tessera::notation {
namespace {

using test::Dice;
using test::NotationNumbers;
using test::NotationRule;
using test::Numbers;
using test::RuleCase;
using test::RuleLaws;
using test::TodayRule;
using test::WrongNumber;
using ::testing::Values;

constexpr int kLayouts = test::kSanitized ? 1000 : 10000;

RuleCase today_case(const TodayRule& rule) {
  return {rule.text(), [rule] { return mistake(ruled(rule)); }};
}
RuleCase random_case(Dice& dice) { return today_case(test::random_today(dice)); }
RuleCase large_case(Dice& dice) { return today_case(test::random_today_32x32(dice)); }
/// The metal attribute can express every metal_today layout, strides included, if lines are not
/// aligned past their last element: its shard is ceil(extent / grid).
INSTANTIATE_TEST_SUITE_P(MetalToday, NotationRule,
                         Values(RuleLaws{.notation = "metal-today",
                                         .random = random_case,
                                         .large = large_case,
                                         .elsewhere = "metal"}));

WrongNumber wrong_shard(Dice& dice) {
  const TodayRule rule = test::random_today(dice);
  return wrong_number(dice, rule, rule.shard());
}
INSTANTIATE_TEST_SUITE_P(MetalToday, NotationNumbers, Values(wrong_shard));

TEST(MetalTodayRule, AGridThatDoesNotDivideIsRefused) {
  Dice dice(15);
  int refused = 0;
  for (int i = 0; i < kLayouts / 5; ++i) {
    TodayRule rule = random_today(dice);
    const Numbers collapsed = rule.collapsed();
    const std::size_t line =
        static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(collapsed.size())));
    rule.grid[line] = dice.between(2, 9);
    if (collapsed[line] % rule.grid[line] == 0) continue;
    ++refused;
    const std::string text = rule.text();
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_FALSE(tensor.ok()) << text;
    EXPECT_TRUE(tensor.error().span.has_value()) << text;
    EXPECT_FALSE(tensor.error().help.empty()) << render(tensor.error(), text);
  }
  EXPECT_GT(refused, kLayouts / 20);
}

/// Layouts of the vendor's tests; lines and shards worked out by hand.
TEST(MetalTodayRule, VendorsLayouts) {
  struct Case {
    TodayRule rule;
    Numbers shard;
  };
  const std::vector<Case> cases = {
      // 43 → 64; 9 · 64 = 576 → 768 = 8 · 96.
      {{{9, 43, 7}, {256, 32, 32}, {{0, 2}, {2, 3}}, "", {8, 1}}, {96, 32}},
      // 7 · 64 = 448 → 512 = 8 · 64.
      {{{7, 43, 7}, {256, 32, 32}, {{0, 2}, {2, 3}}, "", {8, 1}}, {64, 32}},
      // 3 · 64 = 192 = 6 · 32.
      {{{3, 43, 7}, {1, 32, 32}, {{0, 2}, {2, 3}}, "", {6, 1}}, {32, 32}},
      {{{8, 32, 32}, {1, 32, 32}, {{0, 2}, {2, 3}}, "", {8, 1}}, {32, 32}},
      {{{32, 28}, {32, 32}, {}, "", {1, 1}}, {32, 32}},
      {{{1, 64, 64, 32}, {1, 1, 32, 32}, {}, "", {1, 1, 1, 1}}, {1, 64, 64, 32}},
      {{{64, 64}, {32, 32}, {{0, -1}}, "", {1, 1}, {32, 32}}, {2, 2}},
      {{{50, 50}, {32, 32}, {{0, 1}, {1, 2}}, "", {1, 1}, {32, 32}}, {2, 2}},
      // Rank 1 in tiles has a line of 32 before it.
      {{{32}, {32}, {{0, 1}}, "", {1, 1}, {32, 32}}, {1, 1}},
      {{{100}, {64}, {{0, 1}}, "", {1, 2}, {32, 32}}, {1, 2}},
  };
  Dice dice(17);
  for (const Case& expected : cases) {
    SCOPED_TRACE(expected.rule.text());
    EXPECT_EQ(expected.rule.shard(), expected.shard);
    EXPECT_EQ(test::sampled_mistake(grid_of(expected.rule), expected.rule.text(), dice, 3000), "");
    EXPECT_EQ(test::print_mistake(expected.rule.text()), "");
    EXPECT_EQ(test::raise_mistake(expected.rule.text()), "");
  }
}

/// What the vendor's verifier rejects, and a grid with more axes than there are lines.
TEST(MetalTodayRule, ContradictionsOfTheAttribute) {
  const auto layout = [](std::string_view shape, std::string_view alignments,
                         std::string_view intervals, std::string_view end = "l1, sharded>") {
    return cat("#ttcore.metal_layout<logical_shape = ", shape, ", dim_alignments = ", alignments,
               ", collapsed_intervals = ", intervals, ", ", end);
  };
  const std::string each = "dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>";
  struct Case {
    std::string layout;
    std::string marked;
  };
  const std::vector<Case> cases = {
      {layout("32x32", "1x32x32", each), "1x32x32"},
      {layout("32x32", "0x32", each), "0x32"},
      {layout("32x32", "32x-1", each), "-1"},
      {layout("32x32", "32x32", "dense<[0, 1]> : tensor<2xi64>"), "0, 1"},
      {layout("32x32", "32x32", "dense<[[0, 1, 2]]> : tensor<1x3xi64>"), "0, 1, 2"},
      {layout("32x32", "32x32", "dense<[[5, 6]]> : tensor<1x2xi64>"), "5, 6"},
      {layout("32x32", "32x32", "dense<[[0, 10]]> : tensor<1x2xi64>"), "0, 10"},
      {layout("32x32", "32x32", "dense<[[1, 0]]> : tensor<1x2xi64>"), "1, 0"},
      {layout("32x32", "32x32", "dense<[[-10, 2]]> : tensor<1x2xi64>"), "-10"},
      {layout("32x32", "32x32", "dense<[[0, 2], [1, 2]]> : tensor<2x2xi64>"), "1, 2"},
      {layout("32x32", "32x32", "dense<[[0, 1], [1, 2]]> : tensor<3x2xi64>"), "3x2"},
      {layout("32x32", "32x32", each, "l2, sharded>"), "l2"},
      {layout("32x32", "32x32", each, "l1, shraded>"), "shraded"},
      {layout("32x32x32", "32x32x32", each), ""},
      {layout("32x99999999999999999999", "32x32", each), "99999999999999999999"},
      {layout("9223372036854775807x32", "32x32", each), ""},
  };
  for (const Case& refused : cases) {
    const std::string text = cat("tensor<1x1x1x1x!ttcore.tile<32x32, f32>, ", refused.layout, ">");
    EXPECT_EQ(test::marked_mistake(text, refused.marked), "");
  }
}

}  // namespace
}  // namespace tessera::notation
