// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_laws.h"
#include "tessera/testing/notation/rule_spyre.h"
#include "tessera/testing/notation/rule_spyre_laws.h"
#include "tessera/testing/process.h"

/// Spyre's notation against Spyre's rule (testing/notation/rule_spyre.h): random layouts and texts
/// with mistakes.
namespace tessera::notation {
namespace {

using test::Dice;
using test::Failures;
using test::NotationRule;
using test::Numbers;
using test::RuleCase;
using test::RuleLaws;
using test::SpyreRule;
using Form = SpyreRule::Form;

constexpr std::int64_t kCases = test::kSanitized ? 1'000 : 10'000;

RuleCase random_case(Dice& dice) {
  const SpyreRule rule = test::random_spyre(dice);
  return {test::tensor_text(rule.shape, rule.dtype, rule.text()),
          [rule] { return spyre_mistake(rule); }};
}

std::string accepted_mistake(const std::string& text, const Tensor& tensor) {
  const auto& words = std::get<SpyreLayout>(terms_of(tensor));
  // Offsets that the plain loops below cannot add up are left to the library.
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const auto far = [](std::int64_t number) { return number > kFar || number < -kFar; };
  for (const Numbers& numbers : {words.host_stride.value_or(Numbers{}), words.map}) {
    if (std::any_of(numbers.begin(), numbers.end(), far)) return {};
  }
  const test::Ruled ruled =
      test::ruled(test::rule_of(words, tensor.layout().shape(), tensor.layout().dtype()));
  return ruled.text.empty() ? text + "\n  the rule loses elements" : test::mistake(ruled);
}
INSTANTIATE_TEST_SUITE_P(Spyre, NotationRule,
                         ::testing::Values(RuleLaws{.notation = "spyre",
                                                    .random = random_case,
                                                    .accepted = accepted_mistake}));

/// A stride_map with one number changed: if it is accepted, every element must be where its host
/// offset requires, for any strides. Raising may reject a few that fuse dims over gaps.
TEST(SpyreRule, OddStridesKeepTheHostOffset) {
  Failures failures;
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  std::int64_t raised = 0;
  for (std::int64_t seed = 0; seed < kCases; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 9'000'000);
    SpyreRule rule = test::random_spyre(dice);
    if (rule.form != Form::kStrideMap || test::product(rule.shape) == 0) continue;
    auto& number =
        rule.map[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(rule.map.size())))];
    if (number > 0) number = std::max<std::int64_t>(number + dice.between(-3, 3), 1);
    const std::string text = test::tensor_text(rule.shape, rule.dtype, rule.text());
    const Result<Tensor> tensor = parse_tensor(text);
    if (!tensor) continue;
    ++accepted;
    const std::string positions = test::rule_mistake(test::ruled(rule));
    failures.add(positions.empty() ? positions : cat(text, "\n  ", positions));
    failures.add(test::stranger_mistake(tensor->layout(), "spyre", raised));
    refused += test::raise_mistake(text).empty() ? 0 : 1;
  }
  EXPECT_GT(accepted, kCases / 20);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(failures.count(), 0) << failures.report();
}

/// Layouts of other notations that Spyre can express too: whole sticks, in any order of dims.
TEST(SpyreFacts, TheSameLayoutInOtherWords) {
  for (const char* text : {
           "tensor<5x64xf16, strided<[64, 1]>>",
           "tensor<64x5xf16, strided<[1, 64]>>",
           "tensor<3x4x32xf32, strided<[128, 32, 1]>>",
           "tensor<15x96xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(32))]>",
           "tensor<6x128xi8, pyflame.SinglePE()>",
           ("tensor<5x100xf16, native<{d0} / (1 -> mem*64), {d1} / (64 -> mem*320, 1 -> mem), "
            "slots=640>>"),
       }) {
    EXPECT_EQ(test::equivalent_mistake(text, "spyre"), "");
  }
}

TEST(SpyreFacts, Refusals) {
  for (const std::string layout : {
           "spyre<device_size=[4, 5, 32], dim_map=[1, 0, 1]>",   // a stick of f16 is 64
           "spyre<device_size=[3, 5, 64], dim_map=[1, 0, 1]>",   // 192 < 240
           "spyre<device_size=[4, 4, 64], dim_map=[1, 0, 1]>",   // 4 < 5
           "spyre<device_size=[4, 5, 64], dim_map=[1, 0]>",      // a map that is too short
           "spyre<device_size=[4, 5, 64], dim_map=[1, 2, 1]>",   // no such dim
           "spyre<device_size=[4, 5, 64], dim_map=[1, -2, 1]>",  //
           "spyre<device_size=[4, 5, 64], dim_map=[1, 1, 1]>",   // dim 0 is missing
           "spyre<device_size=[4, 5, 64]>",                      //
           "spyre<dim_map=[1, 0, 1]>",                           //
           "spyre<device_size=[], dim_map=[]>",                  //
           "spyre<device_size=[-4, 5, 64], dim_map=[1, 0, 1]>",  //
           "spyre<device_size=[4, 5, 64], dim_map=[1, 0, 1], stride_map=[64, 240, 1]>",
           "spyre<device_size=[4, 5, 64], dim_map=[1, 0, 1], cores=[1, 1, 2]>",  // cuts the stick
           "spyre<device_size=[4, 5, 64], dim_map=[1, 0, 1], cores=[1, 1]>",     //
           "spyre<device_size=[4, 5, 64], dim_map=[1, 0, 1], cores=[0, 1, 1]>",  //
           "spyre<device_size=[4, 5, 64], dim_map=[1, 0, 1], host_stride=[240]>",
           "spyre<device_size=[4, 5, 64], stride_map=[64, 240, 1], storage_offset=-1>",
           "spyre<device_size=[4, 5, 64], stride_map=[64, 64, 1]>",  // two dims, one step
           "spyre.default(dim_order=[0, 0])",                        //
           "spyre.default(dim_order=[0])",                           //
           "spyre.default(dim_order=[0, 2])",                        //
           "spyre.default(era=then)",                                //
           "spyre.default(sparse=maybe)",                            //
           "spyre.defualt()",                                        //
           "spyre<device_sise=[4, 5, 64], dim_map=[1, 0, 1]>",       //
       }) {
    const std::string text = test::tensor_text({5, 240}, "f16", layout);
    EXPECT_FALSE(parse_tensor(text).ok()) << text;
    EXPECT_EQ(test::hostile_mistake(text), "");
  }
  EXPECT_FALSE(parse_tensor("tensor<5x240xf64, spyre.default()>").ok());
}

}  // namespace
}  // namespace tessera::notation
