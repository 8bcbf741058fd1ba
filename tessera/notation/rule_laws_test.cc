// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_laws.h"

#include "tessera/base/text.h"
#include "tessera/testing/process.h"

namespace tessera::test {
namespace {

constexpr std::int64_t kCases = kSanitized ? 1'000 : 10'000;

/// The dice of one case of one law.
Dice dice_of(std::int64_t law, std::int64_t number) {
  return Dice(static_cast<std::uint64_t>(law * 1'000'000 + number));
}

TEST_P(NotationRule, RandomLayoutsAreWhereTheRuleSays) {
  Failures failures;
  std::int64_t empty = 0;
  for (std::int64_t i = 0; i < kCases; ++i) {
    Dice dice = dice_of(1, i);
    const RuleCase random = GetParam().random(dice);
    failures.add(random.mistake());
    const Result<Tensor> tensor = parse_tensor(random.text);
    empty += tensor && tensor->shape().empty() ? 1 : 0;
  }
  for (std::int64_t i = 0; GetParam().large && i < kCases / 200; ++i) {
    Dice dice = dice_of(2, i);
    failures.add(GetParam().large(dice).mistake());
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
  EXPECT_EQ(empty > kCases / 1000, GetParam().may_be_empty) << empty;
}

TEST_P(NotationRule, LayoutsAreRaisedByWhatTheyAre) {
  Failures failures;
  Failures refusals;
  std::int64_t raised = 0;
  for (std::int64_t i = 0; i < kCases / 2; ++i) {
    Dice dice = dice_of(3, i);
    const std::int64_t before = raised;
    const std::string failure = rewritten_mistake(dice, GetParam().random(dice).text, raised);
    (raised == before ? refusals : failures).add(failure);
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
  EXPECT_LE(refusals.count(), raised * GetParam().refused_percent / 100) << refusals.report();
  EXPECT_GT(raised, kCases / 3);
}

TEST_P(NotationRule, StrangersAreRaisedExactlyOrRefused) {
  Failures failures;
  std::int64_t raised = 0;
  for (std::int64_t i = 0; i < kCases / 2; ++i) {
    Dice dice = dice_of(10, i);
    const auto random = random_layout(dice, Limits{});
    if (!random) continue;
    LayoutSpec spec = random->spec();
    if (spec.space.empty()) spec.space = GetParam().space;
    const Result<Layout> layout = Layout::make(std::move(spec));
    ASSERT_TRUE(layout.ok()) << layout.error().message;
    failures.add(stranger_mistake(*layout, GetParam().notation, raised));
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
  EXPECT_GT(raised, 0);
}

TEST_P(NotationRule, AnotherNotationSaysTheSame) {
  Failures failures;
  std::int64_t said = 0;
  for (std::int64_t i = 0; i < kCases / 2; ++i) {
    Dice dice = dice_of(4, i);
    const std::string text = GetParam().random(dice).text;
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    const std::string failure = stranger_mistake(tensor->layout(), GetParam().elsewhere, said);
    if (!failure.empty()) failures.add(cat(text, "\n  ", failure));
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
  EXPECT_GT(said, kCases / 20);
}

/// Whether the text is accepted, but not what its layout is raised to.
bool is_unraised(const Result<Tensor>& tensor) {
  return tensor && !print_tensor(tensor->layout(), **find_notation(tensor->notation));
}

/// Up to three mistakes, checked after each.
TEST_P(NotationRule, SlipsAreTypedErrorsInsideTheText) {
  const RuleLaws& laws = GetParam();
  Failures failures;
  Failures unraised;
  for (std::int64_t i = 0; i < 2 * kCases; ++i) {
    Dice dice = dice_of(5, i);
    std::string text = laws.random(dice).text;
    for (std::int64_t slips = dice.between(1, 3); slips > 0; --slips) {
      text = mutated(dice, text);
      const std::string failure = hostile_mistake(text);
      const Result<Tensor> tensor = parse_tensor(text);
      (!failure.empty() && is_unraised(tensor) ? unraised : failures).add(failure);
      const bool is_ours = tensor && tensor->notation == laws.notation;
      if (!laws.accepted || !is_ours || !is_small(tensor->layout())) continue;
      failures.add(laws.accepted(text, *tensor));
    }
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
  EXPECT_LE(unraised.count(), laws.unraised_slips) << unraised.report();
}

TEST_P(NotationNumbers, AWrongOneIsToldTheRightOne) {
  for (std::int64_t i = 0; i < kCases / 5; ++i) {
    Dice dice = dice_of(6, i);
    const auto [text, wrong, right] = GetParam()(dice);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_FALSE(tensor.ok()) << text;
    const Error& error = tensor.error();
    EXPECT_EQ(code_name(error.code), "contradiction") << render(error, text);
    EXPECT_NE((error.message + error.help).find(right), std::string::npos)
        << "expected " << right << "\n"
        << render(error, text);
    ASSERT_TRUE(error.span.has_value()) << text;
    const std::string marked =
        text.substr(static_cast<std::size_t>(error.span->from),
                    static_cast<std::size_t>(error.span->to - error.span->from));
    EXPECT_NE(marked.find(wrong), std::string::npos) << render(error, text);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::test
