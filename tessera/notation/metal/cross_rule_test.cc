// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/notation/rule_metal.h"
#include "tessera/testing/notation/rule_ttnn.h"
#include "tessera/testing/process.h"

/// Laws across Tenstorrent's notations: raising depends on the layout, not on how it was written; a
/// layout means the same in every notation that can express it; blanks and short names change
/// nothing; large numbers follow the rule as small ones do.
namespace tessera::notation {
namespace {

using test::Dice;
using test::Failures;
using test::MetalRule;
using test::Numbers;

constexpr int kLayouts = test::kSanitized ? 400 : 4000;
constexpr std::array<std::string_view, 4> kNames = {"metal", "metal-today", "ttnn", "native"};

std::string random_text(Dice& dice) {
  switch (dice.below(4)) {
    case 0:
      return random_metal(dice).text();
    case 1:
      return random_today(dice).text();
    case 2:
      return random_ttnn(dice).text();
    default:
      return random_terms(dice).text();
  }
}

/// The raised text must read back as the same function on the same slots of the same atoms.
std::string raised_mistake(const Layout& layout, std::string_view name, bool& said) {
  const Result<std::string> raised = print_tensor(layout, **find_notation(name));
  said = raised.ok();
  if (!raised) {
    return raised.error().code == ErrorCode::kNotSupported ? "" : raised.error().message;
  }
  const Result<Tensor> again = parse_tensor(*raised);
  if (!again) return cat(*raised, " is refused: ", again.error().message);
  if (again->layout().slots() != layout.slots()) return *raised + " has other slots";
  if (again->layout().atom() != layout.atom()) return *raised + " has another atom";
  const Result<Comparison> same = same_function(layout, again->layout());
  if (!same) return cat(*raised, ": ", same.error().message);
  return same->equal ? "" : *raised + " is another function";
}

TEST(MetalCross, EveryNotationThatSaysALayoutSaysTheSame) {
  Dice dice(40);
  Failures failures;
  std::array<int, kNames.size()> counts = {};
  for (int i = 0; i < kLayouts; ++i) {
    const std::string text = random_text(dice);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    for (std::size_t n = 0; n < kNames.size(); ++n) {
      bool said = false;
      const std::string found = raised_mistake(tensor->layout(), kNames[n], said);
      if (!found.empty()) failures.add(cat(text, "\n  as ", kNames[n], ": ", found));
      counts[n] += said ? 1 : 0;
    }
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
  for (std::size_t n = 0; n < kNames.size(); ++n) {
    EXPECT_GT(counts[n], kLayouts / 5) << kNames[n];
  }
  EXPECT_EQ(counts.back(), kLayouts) << "native says every layout";
}

TEST(MetalCross, ALayoutIsRaisedByWhatItIs) {
  Dice dice(41);
  Failures failures;
  int tried = 0;
  int refused = 0;
  for (int i = 0; i < kLayouts; ++i) {
    const std::string text = random_text(dice);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    LayoutSpec spec = tensor->layout().spec();
    spec.slots = tensor->layout().slots();
    spec.form = rewrite(dice, spec.form);
    if (spec.form.mesh != tensor->layout().mesh()) continue;
    const Result<Layout> other = Layout::make(spec);
    if (!other || !same_function(*other, tensor->layout())->equal) continue;
    ++tried;
    bool said = false;
    const std::string found = raised_mistake(*other, tensor->notation, said);
    if (!found.empty()) {
      failures.add(cat(text, "\n  written as ", print_native(*other), "\n  ", found));
    }
    refused += said ? 0 : 1;
  }
  EXPECT_EQ(refused, 0) << "of " << tried;
  EXPECT_EQ(failures.count(), 0) << "of " << tried << "\n" << failures.report();
  EXPECT_GT(tried, kLayouts / 4);
}

std::string respaced(Dice& dice, const std::string& text) {
  static constexpr std::array<std::string_view, 4> kBlanks = {" ", "\n", "\t", "  "};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool arrow = text.compare(i, 2, "->") == 0;
    const bool symbol = arrow || std::string_view("<>[](),=*+:").find(text[i]) < 11;
    const auto blank = [&] {
      if (dice.chance(30)) out += kBlanks[static_cast<std::size_t>(dice.below(kBlanks.size()))];
    };
    if (symbol) blank();
    out += text[i];
    if (arrow) out += text[++i];
    if (symbol) blank();
  }
  return out;
}

TEST(MetalCross, BlanksChangeNothing) {
  Dice dice(42);
  for (int i = 0; i < kLayouts; ++i) {
    const std::string text = random_text(dice);
    const std::string spelling = respaced(dice, text);
    const Result<Tensor> tensor = parse_tensor(spelling);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), spelling);
    ASSERT_EQ(print_tensor(*tensor), text);
  }
}

/// Files define #l1 = #ttnn.buffer_type<l1> and use the short name; tiles are written `32 x 32`.
TEST(MetalCross, ShortNamesAndSpacedTiles) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, "
       "#ttnn.buffer_type<dram>>, <interleaved>>",
       "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!tt.tile<32 x 32, bf16>, #dram>, "
       "<interleaved>>"},
      {"#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x128xbf16, "
       "#ttnn.buffer_type<system_memory>>>",
       "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<64x128xbf16, #system_memory>>"},
      {"#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x1>, memref<1x4x!ttcore.tile<32x32, bf16>, "
       "#ttnn.buffer_type<l1>>, <height_sharded>, core_ranges = <[#ttnn.core_range<(0,0), "
       "(1,0)>]>>",
       "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x1>, memref<1x4x!ttcore.tile<32x32, bf16>, "
       "#l1>, <height_sharded>, core_ranges = #ttnn.core_range_set<[#ttnn.core_range<(0, 0), (1, "
       "0)>]>>"},
      {"#tt.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, memref<2x4x!tt.tile<32x32, bf16>, "
       "#tt.memory_space<l1>>>",
       "#ttcore.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, memref<2x4x!ttcore.tile<32 x 32, "
       "bf16>, #l1_>>"},
  };
  for (const auto& [full, brief] : pairs) {
    const std::string text = test::tensor_text({64, 128}, "bf16", full);
    const std::string other = test::tensor_text({64, 128}, "bf16", brief);
    const Result<Tensor> a = parse_tensor(text);
    const Result<Tensor> b = parse_tensor(other);
    ASSERT_TRUE(a.ok()) << render(a.error(), text);
    ASSERT_TRUE(b.ok()) << render(b.error(), other);
    EXPECT_TRUE(a->layout() == b->layout()) << other;
  }
}

/// The rule by its formulas alone, for tensors of up to 2^60 elements.
TEST(MetalCross, LargeTensorsFollowTheRule) {
  Dice dice(43);
  for (int i = 0; i < kLayouts / 4; ++i) {
    MetalRule rule;
    std::vector<test::RuleResult> linear(2);
    const std::int64_t rank = dice.between(2, 4);
    Numbers stride = {1, 1};
    for (std::int64_t d = rank; d-- > 0;) {
      const std::size_t line = d + 1 == rank ? 1 : 0;
      const std::int64_t extent = dice.between(1, d + 1 == rank ? 1 << 20 : 1 << 9);
      rule.shape.insert(rule.shape.begin(), extent);
      linear[line].parts.insert(linear[line].parts.begin(),
                                {static_cast<std::size_t>(d), stride[line]});
      stride[line] *= extent + (dice.chance(20) ? dice.below(50) : 0);
    }
    rule.linear = linear;
    rule.grid = {dice.between(1, 1 << 10), dice.between(1, 1 << 10)};
    if (dice.chance(60)) rule.tile = {32, 32};
    Numbers extent;
    Numbers shard;
    Numbers memref;
    for (std::size_t k = 0; k < 2; ++k) {
      extent.push_back(last_plus_one(linear[k], rule.shape));
      shard.push_back(test::ceil_divide(extent[k], rule.grid[k]));
      memref.push_back(test::ceil_divide(shard[k], rule.tile.empty() ? 1 : 32));
    }
    const std::string text = rule.text(memref);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    ASSERT_EQ(print_tensor(*tensor), text);
    for (int sample = 0; sample < 20; ++sample) {
      Numbers index;
      for (const std::int64_t n : rule.shape) index.push_back(dice.below(n));
      std::int64_t slot = 0;
      std::int64_t rest = 0;
      Place place;
      for (std::size_t k = 0; k < 2; ++k) {
        const std::int64_t p = linear[k].at(index);
        const std::int64_t tile = rule.tile.empty() ? 1 : 32;
        place.push_back(p / shard[k]);
        slot = slot * memref[k] + p % shard[k] / tile;
        rest = rest * tile + p % shard[k] % tile;
      }
      slot = slot * (rule.tile.empty() ? 1 : 1024) + rest;
      const Result<Location> found = tensor->layout().locate(index);
      ASSERT_TRUE(found.ok()) << text;
      ASSERT_EQ(found->places, std::vector<Place>{place}) << text << " at " << bracketed(index);
      ASSERT_EQ(found->slot, slot) << text << " at " << bracketed(index);
      const Result<Slot> back = tensor->layout().element_at(place, slot);
      ASSERT_TRUE(back.ok()) << text << ": " << back.error().message;
      ASSERT_EQ(*back, Slot(index)) << text;
    }
    bool said = false;
    ASSERT_EQ(raised_mistake(tensor->layout(), "metal", said), "") << text;
    ASSERT_TRUE(said) << text;
  }
}

}  // namespace
}  // namespace tessera::notation
