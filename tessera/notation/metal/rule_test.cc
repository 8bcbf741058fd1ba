// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tessera/notation/metal/metal.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_laws.h"
#include "tessera/testing/notation/rule_metal.h"
#include "tessera/testing/process.h"

/// Metal layouts of the tt-mlir layout specification against their rule, evaluated by plain loops.
namespace tessera::notation {
namespace {

using test::Dice;
using test::MetalRule;
using test::NotationNumbers;
using test::NotationRule;
using test::Numbers;
using test::RuleCase;
using test::RuleLaws;
using test::RuleResult;
using test::WrongNumber;
using ::testing::Values;

constexpr int kLayouts = test::kSanitized ? 1000 : 10000;

std::string device_mistake(const MetalRule& rule) {
  const Result<Tensor> tensor = parse_tensor(rule.text());
  if (!tensor) return tensor.error().message;
  const Layout& layout = tensor->layout();
  const std::vector<Numbers> expected = physical_places(rule);
  const std::vector<Numbers> places = test::all_tuples(rule.grid);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const PhysicalPlace found = layout.spec().device_map.map(layout.mesh(), places[i]);
    if (found.place == expected[i] && found.layer == 0) continue;
    return cat("place ", bracketed(places[i]), " is at ", bracketed(found.place), ", expected ",
               bracketed(expected[i]));
  }
  return {};
}

RuleCase metal_case(const MetalRule& rule) {
  return {rule.text(), [rule] {
            std::string found = mistake(ruled(rule));
            if (!found.empty()) return found;
            found = device_mistake(rule);
            return found.empty() ? found : cat(rule.text(), "\n  ", found);
          }};
}
RuleCase random_case(Dice& dice) { return metal_case(test::random_metal(dice)); }
RuleCase large_case(Dice& dice) { return metal_case(test::random_metal_32x32(dice)); }
INSTANTIATE_TEST_SUITE_P(Metal, NotationRule,
                         Values(RuleLaws{.notation = "metal",
                                         .random = random_case,
                                         .large = large_case,
                                         .elsewhere = "metal-today"}));

WrongNumber wrong_memref(Dice& dice) {
  const MetalRule rule = test::random_metal(dice);
  return wrong_number(dice, rule, rule.memref());
}
INSTANTIATE_TEST_SUITE_P(Metal, NotationNumbers, Values(wrong_memref));

TEST(MetalRule, TwoElementsInOneSlotAreRefused) {
  Dice dice(5);
  int refused = 0;
  for (int i = 0; i < kLayouts / 5; ++i) {
    MetalRule rule = random_metal(dice);
    RuleResult& result = rule.linear[static_cast<std::size_t>(
        dice.below(static_cast<std::int64_t>(rule.linear.size())))];
    if (result.parts.empty()) continue;
    auto& part = result.parts[static_cast<std::size_t>(
        dice.below(static_cast<std::int64_t>(result.parts.size())))];
    part.coef = std::max<std::int64_t>(part.coef - dice.between(1, 3), 1);
    if (!rule.rises() || total_slots(rule.lines()) > 4000) continue;
    const bool injective = contents(ruled(rule)).has_value();
    const Result<Tensor> tensor = parse_tensor(rule.text());
    EXPECT_EQ(tensor.ok(), injective) << rule.text() << (tensor.ok() ? "" : tensor.error().message);
    if (!tensor.ok()) {
      EXPECT_EQ(code_name(tensor.error().code), "not_injective") << rule.text();
      EXPECT_TRUE(tensor.error().span.has_value()) << rule.text();
    }
    refused += tensor.ok() ? 0 : 1;
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, kLayouts / 200);
}

/// Each with one mistake, and what the span must touch.
TEST(MetalRule, ContradictionsOfTheAttribute) {
  struct Case {
    std::string layout;
    std::string marked;
  };
  const std::string end = ", #tt.memory_space<l1>>>";
  const std::string map = "#tt.metal_layout<(d0, d1) -> (d0, d1), undef, ";
  const std::vector<Case> cases = {
      {"#tt.metal_layout<(d0) -> (d0, 0), undef, <3x2>, memref<18x32xf32" + end, "(d0)"},
      {"#tt.metal_layout<(d0, d1, d2) -> (d0, d1), undef, <3x2>, memref<18x32xf32" + end, "d2"},
      {"#tt.metal_layout<(d0, d1) -> (d0 * 63 + d1), undef, <3x2>, memref<18x32xf32" + end, "3x2"},
      {map + "<3>, memref<18x32xf32" + end, "<3>"},
      {map + "<3x2x1>, memref<18x32xf32" + end, "3x2x1"},
      {map + "<3x2>, memref<18xf32" + end, "18x"},
      {map + "<3x2>, memref<18x32x1xf32" + end, "18x32x1"},
      {map + "<0x2>, memref<18x32xf32" + end, "0x2"},
      {map + "<-3x2>, memref<18x32xf32" + end, "-3"},
      {map + "<3x2>, memref<-18x32xf32" + end, "-18"},
      {map + "<3x99999999999999999999>, memref<18x32xf32" + end, "99999999999999999999"},
      {map + "<3x2>, memref<18x99999999999999999999xf32" + end, "99999999999999999999"},
      {map + "<3x2>, memref<1x1x!tt.tile<0x32, f32>" + end, "0x32"},
      {map + "<3x2>, memref<1x1x!tt.tile<16x16, bfp_bf8>" + end, "16x16"},
      {map + "<3x2>, memref<18x32xbfp_bf8" + end, "bfp_bf8"},
      {map + "<3x2>, memref<18x32xf33" + end, "f33"},
      {map + "<3x2>, memref<18x32xf32, #tt.memory_space<l2>>>", "l2"},
      {map + "<3x2>, memrf<18x32xf32" + end, "memrf"},
      {"#tt.metal_layout<(d0, d1) -> (d0, d1), undefined, <3x2>, memref<18x32xf32" + end,
       "undefined"},
      {"#tt.metal_layot<(d0, d1) -> (d0, d1), undef, <3x2>, memref<18x32xf32" + end, "metal_layot"},
      {"#tt.metal_layout<(d0, d1) -> (d0, d5), undef, <3x2>, memref<18x32xf32" + end, "d5"},
      {"#tt.metal_layout<(d0, d1) -> (d0 * 9223372036854775807, d1), undef, <3x2>, "
       "memref<18x32xf32" +
           end,
       "9223372036854775807"},
      {"#tt.metal_layout<(d0, d1) -> (d0 - 1, d1), undef, <3x2>, memref<18x32xf32" + end, "d0 - 1"},
      {map +
           "<3x2>, memref<18x32xf32, #tt.memory_space<l1>>, device = <1x1, (d0, d1) -> (d0, d1)>>",
       "d0, d1"},
      {map +
           "<3x2>, memref<18x32xf32, #tt.memory_space<l1>>, device = <8x8, (d0, d1) -> (d0, d0)>>",
       "d0, d0"},
  };
  for (const Case& refused : cases) {
    const std::string text = test::tensor_text({53, 63}, "f32", refused.layout);
    EXPECT_EQ(test::marked_mistake(text, refused.marked), "");
  }
}

/// Building, dividing again, tilizing and untilizing derive what the rule derives.
TEST(MetalRule, MadeAndChangedAttributesFollowTheRule) {
  Dice dice(8);
  for (int i = 0; i < kLayouts / 5; ++i) {
    MetalRule rule = random_metal(dice);
    rule.device.reset();
    const Result<Tensor> tensor = parse_tensor(rule.text());
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), rule.text());
    const Shape& shape = tensor->layout().shape();
    const auto& words = std::get<MetalLayout>(terms_of(*tensor));
    for (std::int64_t& places : rule.grid) places = dice.between(1, 9);
    const Result<MetalLayout> regridded = with_grid(words, shape, rule.grid);
    ASSERT_TRUE(regridded.ok()) << regridded.error().message;
    EXPECT_EQ(test::tensor_text(rule.shape, rule.dtype, write(*regridded)), rule.text());
    const Result<MetalFacts> facts = facts_of(*regridded, shape);
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    EXPECT_EQ(facts->linear, test::map_text(rule.shape.size(), rule.linear));
    EXPECT_EQ(facts->grid, rule.grid);
    EXPECT_EQ(facts->shard_shape, rule.shards()) << rule.text();

    rule.tile = {};
    rule.storage = rule.dtype;
    const Result<MetalLayout> untilized =
        with_element(*regridded, shape, Atom::scalar(tensor->layout().dtype()));
    ASSERT_TRUE(untilized.ok()) << untilized.error().message;
    EXPECT_EQ(test::tensor_text(rule.shape, rule.dtype, write(*untilized)), rule.text());
    if (rule.grid.size() >= 2) {
      rule.tile = {32, 32};
      rule.storage = "bfp_bf8";
      const Result<MetalLayout> tilized =
          with_element(*untilized, shape, Atom::tile(32, 32, DType::kBfpBf8));
      ASSERT_TRUE(tilized.ok()) << tilized.error().message;
      EXPECT_EQ(test::tensor_text(rule.shape, rule.dtype, write(*tilized)), rule.text());
    }
    if (HasFailure()) return;
  }
}

/// 32x32 tiles of every type: f32 u32 i32 4096; f16 bf16 u16 2048; u8 1024; bfp8 1088;
/// bfp4 576; bfp2 320.
TEST(MetalRule, BytesOfATile) {
  const std::vector<std::pair<std::string, std::int64_t>> bytes = {
      {"f32", 4096},    {"ui32", 4096},  {"i32", 4096},    {"si32", 4096},    {"f16", 2048},
      {"bf16", 2048},   {"ui16", 2048},  {"ui8", 1024},    {"bfp_bf8", 1088}, {"bfp_f8", 1088},
      {"bfp_bf4", 576}, {"bfp_f4", 576}, {"bfp_bf2", 320}, {"bfp_f2", 320}};
  for (const auto& [storage, expected] : bytes) {
    MetalRule rule;
    rule.shape = {53, 63};
    rule.linear = {RuleResult{{{0, 1}}}, RuleResult{{{1, 1}}}};
    rule.grid = {1, 1};
    rule.tile = {32, 32};
    rule.storage = storage;
    const Result<Tensor> tensor = parse_tensor(rule.text());
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), rule.text());
    EXPECT_EQ(tensor->layout().shard_bytes(), 4 * expected) << storage;  // 2x2 tiles
    const bool block = storage.starts_with("bfp");
    EXPECT_EQ(tensor->layout().locate({0, 1})->byte.has_value(), !block) << storage;
  }
}

}  // namespace
}  // namespace tessera::notation
