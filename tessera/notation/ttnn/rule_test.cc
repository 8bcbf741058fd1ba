// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/ttnn/ttnn.h"
#include "tessera/testing/notation/rule_laws.h"
#include "tessera/testing/notation/rule_ttnn.h"
#include "tessera/testing/process.h"

/// TTNN's attribute and the terms of the TTNN layout document against their own rules, evaluated by
/// plain loops.
namespace tessera::notation {
namespace {

using test::Dice;
using test::Failures;
using test::NotationNumbers;
using test::NotationRule;
using test::Numbers;
using test::RuleCase;
using test::RuleLaws;
using test::TermsRule;
using test::TtnnRule;
using test::WrongNumber;
using ::testing::Values;

constexpr int kLayouts = test::kSanitized ? 1000 : 10000;

/// Physical places against the cores that the text names.
std::string cores_mistake(const TtnnRule& rule, const Layout& layout) {
  const std::vector<Numbers> cores = test::cores_of(rule);
  const std::vector<Numbers> places = test::all_tuples(layout.mesh().extents());
  if (places.size() != cores.size()) return "another number of cores";
  for (std::size_t i = 0; i < places.size(); ++i) {
    const PhysicalPlace found = layout.spec().device_map.map(layout.mesh(), places[i]);
    if (found.place != cores[i] || found.layer != 0) {
      return cat("place ", bracketed(places[i]), " is on core ", bracketed(found.place),
                 ", expected ", bracketed(cores[i]));
    }
  }
  return {};
}

std::string facts_mistake(const TtnnRule& rule, const Tensor& tensor) {
  const auto& words = std::get<TtnnLayout>(terms_of(tensor));
  const Result<TtnnFacts> facts = facts_of(words, tensor.layout().shape());
  if (!facts) return facts.error().message;
  if (facts->physical_shape != rule.physical()) {
    return cat("physical shape ", bracketed(facts->physical_shape));
  }
  const Numbers memref = rule.memref();
  if (words.memref.shape != memref) return "another memref";
  const std::int64_t atoms = memref[0] * memref[1];
  if (share_bytes(words) !=
      *tensor.layout().atom().bytes(atoms * tensor.layout().atom().elements())) {
    return cat(share_bytes(words), " bytes a share");
  }
  return {};
}

RuleCase attribute_case(const TtnnRule& rule) {
  return {rule.text(), [rule] {
            std::string found = mistake(ruled(rule));
            if (!found.empty()) return found;
            const Result<Tensor> tensor = parse_tensor(rule.text());
            if (!rule.interleaved()) found = cores_mistake(rule, tensor->layout());
            if (found.empty()) found = facts_mistake(rule, *tensor);
            return found.empty() ? found : cat(rule.text(), "\n  ", found);
          }};
}
RuleCase random_attribute(Dice& dice) { return attribute_case(test::random_ttnn(dice)); }
RuleCase large_attribute(Dice& dice) { return attribute_case(test::random_ttnn_32x32(dice)); }
/// An empty tensor whose map leaves out its empty dim allocates slots, and is not raised:
/// tensor<0x7xi32, #ttnn.ttnn_layout<(d0, d1) -> (0, d1), <5x1>, memref<1x7xi32, ..>, ..>>.
INSTANTIATE_TEST_SUITE_P(Ttnn, NotationRule,
                         Values(RuleLaws{.notation = "ttnn",
                                         .random = random_attribute,
                                         .large = large_attribute,
                                         .space = "dram",
                                         .unraised_slips = 1}));

WrongNumber wrong_memref(Dice& dice) {
  const TtnnRule rule = test::random_ttnn(dice);
  return wrong_number(dice, rule, rule.memref());
}
INSTANTIATE_TEST_SUITE_P(Ttnn, NotationNumbers, Values(wrong_memref));

std::string terms_mistake(const TermsRule& rule) {
  std::string found = mistake(ruled(rule));
  if (!found.empty()) return found;
  const Result<Tensor> tensor = parse_tensor(rule.text());
  const Result<TtnnFacts> facts =
      facts_of(std::get<TtnnTerms>(terms_of(*tensor)), tensor->layout().shape());
  if (!facts) return facts.error().message;
  const Numbers padded = {test::round_up(rule.shard[0], rule.tile[0]),
                          test::round_up(rule.shard[1], rule.tile[1])};
  if (facts->grid_shape != rule.grid() || facts->stride != rule.stride ||
      facts->physical_shape != rule.physical() || facts->shard_shape != rule.shard ||
      facts->physical_shard_shape != padded) {
    return rule.text() + "\n  other facts";
  }
  return {};
}

RuleCase random_terms_case(Dice& dice) {
  const TermsRule rule = test::random_terms(dice);
  return {rule.text(), [rule] { return terms_mistake(rule); }};
}
/// Strides that skip rows before a dim of extent 1 are not always found again.
INSTANTIATE_TEST_SUITE_P(TtnnTerms, NotationRule,
                         Values(RuleLaws{.notation = "ttnn",
                                         .random = random_terms_case,
                                         .space = "dram",
                                         .refused_percent = 1,
                                         .may_be_empty = false}));

/// A layout of one kind, expressed in the other if possible, is the same function.
template <typename Words>
std::string other_form_mistake(const Layout& layout, const Result<Words>& words, int& said) {
  if (!words && words.error().code == ErrorCode::kNotSupported) return {};
  if (!words) return words.error().message;
  const Result<Layout> again = lower(*words, layout.shape(), layout.dtype());
  if (!again) return again.error().message;
  ++said;
  if (again->slots() != layout.slots() || again->atom() != layout.atom()) return "other slots";
  const Result<Comparison> same = same_function(layout, *again);
  if (!same) return same.error().message;
  return same->equal ? "" : "another function";
}

TEST(TtnnRule, TermsAndAttributeSayTheSameWhereBothCan) {
  Dice dice(29);
  Failures failures;
  int said = 0;
  for (int i = 0; i < kLayouts / 4; ++i) {
    for (const bool terms : {false, true}) {
      const std::string text = terms ? random_terms(dice).text() : random_ttnn(dice).text();
      const Result<Tensor> tensor = parse_tensor(text);
      ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
      const Layout& layout = tensor->layout();
      const std::string found = terms ? other_form_mistake(layout, raise_ttnn(layout), said)
                                      : other_form_mistake(layout, raise_ttnn_terms(layout), said);
      if (!found.empty()) failures.add(cat(text, "\n  ", found));
    }
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
  EXPECT_GT(said, kLayouts / 40);
}

/// The map, the memref and the cores that TTNN derives for a tensor are the rule's.
TEST(TtnnRule, MakingAnAttributeFollowsTheRule) {
  Dice dice(32);
  for (int i = 0; i < kLayouts / 5; ++i) {
    TtnnRule rule = random_ttnn(dice);
    rule.storage = rule.dtype;
    if (rule.memory == "block_sharded") {
      rule.cores = {{0, 0, rule.grid[1] - 1, rule.grid[0] - 1}};
    } else if (!rule.interleaved()) {
      const std::int64_t places = rule.grid[0] * rule.grid[1];
      rule.cores = test::cores_row_by_row(places);
      if (rule.space == "dram") rule.cores = {{0, 0, places - 1, 0}};  // banks are in one row
    }
    const Result<Tensor> tensor = parse_tensor(rule.text());
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), rule.text());
    const auto& words = std::get<TtnnLayout>(terms_of(*tensor));
    const Shape& shape = tensor->layout().shape();
    const Result<AffineMap> map = ttnn_collapse(shape, words.memref.element);
    ASSERT_TRUE(map.ok()) << rule.text();
    EXPECT_EQ(write_affine_map(*map), test::map_text(rule.shape.size(), rule.linear()));
    const Result<TtnnLayout> made =
        make_ttnn(shape, words.memref.element, words.memref.space, words.memory, rule.grid);
    ASSERT_TRUE(made.ok()) << rule.text() << "\n" << made.error().message;
    EXPECT_EQ(cat("tensor<", test::times(rule.shape), rule.shape.empty() ? "" : "x", rule.dtype,
                  ", ", write(*made), ">"),
              rule.text());
    if (HasFailure()) return;
  }
}

/// Erratum 27: the grid of an interleaved tensor moves nothing.
TEST(TtnnRule, InterleavedTensorsIgnoreTheirGrid) {
  TtnnRule rule{{70, 40}, "bf16", {32, 32}, "bf16", {1, 1}, "l1"};
  const Result<Tensor> alone = parse_tensor(rule.text());
  ASSERT_TRUE(alone.ok()) << render(alone.error(), rule.text());
  for (const Numbers& grid : {Numbers{8, 8}, Numbers{2, 3}, Numbers{1, 64}}) {
    rule.grid = grid;
    const Result<Tensor> spread = parse_tensor(rule.text());
    ASSERT_TRUE(spread.ok()) << render(spread.error(), rule.text());
    EXPECT_TRUE(same_function(alone->layout(), spread->layout())->equal) << rule.text();
  }
}

/// Real layouts with the numbers worked out by hand.
TEST(TtnnRule, VendorsLayouts) {
  struct Case {
    TtnnRule rule;
    Numbers memref;
  };
  const std::vector<Case> cases = {
      // 64x128 in 32x32 tiles is 2x4 of them.
      {{{64, 128}, "bf16", {32, 32}, "bf16"}, {2, 4}},
      // 30 rows per batch are padded to 32: 30 batches are 960 rows, 30 tiles; 64 columns are 2
      // tiles.
      {{{1, 30, 30, 64}, "bf16", {32, 32}, "bf16"}, {30, 2}},
      // Row-major keeps 900 rows.
      {{{1, 30, 30, 64}, "bf16", {}, "bf16", {1, 1}, "system_memory", ""}, {900, 64}},
      // 32x2048 is 64 tiles, one for each of 64 cores; row-major 65536 elements, 1024 per core.
      {{{32, 2048}, "bf16", {32, 32}, "bf16", {8, 8}, "l1"}, {1, 1}},
      {{{32, 2048}, "bf16", {}, "bf16", {8, 8}, "l1"}, {1, 1024}},
      // 12 batches of 32 rows, 64 columns, one batch per core: 8 cores and 4 more.
      {{{1, 12, 32, 64},
        "bf16",
        {32, 32},
        "bf16",
        {12, 1},
        "l1",
        "height_sharded",
        test::cores_row_by_row(12)},
       {1, 2}},
      // 784 rows are padded to 800, 25 tiles; ceil(800 / 7) = 115 rows are 4 tiles; 512 / 8 = 64.
      {{{1, 1, 784, 512}, "f32", {32, 32}, "f32", {7, 8}, "l1", "block_sharded", {{0, 0, 7, 6}}},
       {4, 2}},
      // A vector is one row: (d0) -> (0, d0).
      {{{1}, "i32", {}, "i32"}, {1, 1}},
  };
  Dice dice(1);
  for (const Case& expected : cases) {
    SCOPED_TRACE(expected.rule.text());
    EXPECT_EQ(expected.rule.memref(), expected.memref);
    const Result<Tensor> tensor = parse_tensor(expected.rule.text());
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), expected.rule.text());
    EXPECT_EQ(print_tensor(*tensor), expected.rule.text());
    EXPECT_EQ(facts_mistake(expected.rule, *tensor), "");
    if (!expected.rule.interleaved()) {
      EXPECT_EQ(cores_mistake(expected.rule, tensor->layout()), "");
      EXPECT_EQ(test::sampled_mistake(grid_of(expected.rule), expected.rule.text(), dice, 2000),
                "");
    }
  }
}

/// What the vendor's own verifier rejects, and numbers that no rule allows.
TEST(TtnnRule, ContradictionsOfTheAttribute) {
  const std::string map = "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), ";
  const std::string tile = "x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<";
  struct Case {
    std::string layout;
    std::string marked;  ///< what the span must touch
  };
  const std::vector<Case> cases = {
      {map + "<8x8>, memref<1x1" + tile + "dram>>, <interleaved>>", "8x8"},
      {map + "<3x4>, memref<1x1" + tile + "system_memory>>>", "3x4"},
      {map + "<1x1>, memref<1x1" + tile +
           "dram>>, <block_sharded>, core_ranges = "
           "<[#ttnn.core_range<(0,0), (0,0)>]>>",
       "block_sharded"},
      {map + "<1x1>, memref<1x1" + tile + "system_memory>>, <interleaved>>", "interleaved"},
      {map + "<1x1>, memref<1x1" + tile + "l1>>>", ""},
      {map + "<1x8>, memref<1x1" + tile + "l1>>, <width_sharded>>", ""},
      {map + "<1x8>, memref<1x1" + tile +
           "l1>>, <width_sharded>, core_ranges = "
           "<[#ttnn.core_range<(0,0), (6,0)>]>>",
       "core_range"},
      {map + "<1x2>, memref<1x1" + tile +
           "l1>>, <width_sharded>, core_ranges = "
           "<[#ttnn.core_range<(0,0), (0,0)>, #ttnn.core_range<(0,0), (0,0)>]>>",
       "core_range"},
      {map + "<1x1>, memref<1x1" + tile +
           "l1>>, <width_sharded>, core_ranges = "
           "<[#ttnn.core_range<(-1,0), (-1,0)>]>>",
       "-1"},
      {map + "<1x2>, memref<1x1" + tile +
           "l1>>, <width_sharded>, core_ranges = "
           "<[#ttnn.core_range<(1,0), (0,0)>]>>",
       "(1,0)"},
      {map + "<0x1>, memref<1x1" + tile + "l1>>, <interleaved>>", "0x1"},
      {map + "<1x1x1>, memref<1x1" + tile + "dram>>, <interleaved>>", "1x1x1"},
      {map + "<1x1>, memref<1x1x1" + tile + "dram>>, <interleaved>>", "1x1x1"},
      {map + "<1x1>, memref<1x1" + tile + "drm>>, <interleaved>>", "drm"},
      {map + "<1x1>, memref<1x1" + tile + "dram>>, <interleafed>>", "interleafed"},
      {"#ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1" + tile + "dram>>, <interleaved>>",
       "(d0)"},
      {"#ttnn.ttnn_layout<(d0, d1) -> (d0, d2), <1x1>, memref<1x1" + tile +
           "dram>>, <interleaved>>",
       "d2"},
  };
  for (const Case& refused : cases) {
    const std::string text = test::tensor_text({32, 32}, "f32", refused.layout);
    EXPECT_EQ(test::marked_mistake(text, refused.marked), "");
  }
}

}  // namespace
}  // namespace tessera::notation
