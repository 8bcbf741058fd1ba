// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/places.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_pyflame.h"
#include "tessera/testing/sanitized.h"

/// PyFlame's notation against PyFlame's rule (testing/notation/rule_pyflame.h): random layouts and
/// texts with mistakes.
namespace tessera::notation {
namespace {

using test::Dice;
using test::Failures;
using test::Numbers;
using test::PyflameRule;

constexpr std::int64_t kCases = test::kSanitized ? 1'000 : 10'000;

/// Where on the wafer each PE is, and how many elements it holds.
std::string wafer_mistake(const PyflameRule& rule, const Numbers& shape, const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return text + "\n  refused";
  const Layout& layout = tensor->layout();
  for (const Numbers& place : test::all_tuples(rule.grid)) {
    const Place physical = layout.spec().device_map.map(layout.mesh(), place).place;
    if (physical != test::pyflame_physical(rule, place)) {
      return cat(text, "\n  tile ", bracketed(place), " should be on PE ",
                 bracketed(test::pyflame_physical(rule, place)), ", is on ", bracketed(physical));
    }
    const auto shares = test::pyflame_tile_at(rule, shape, place);
    const std::int64_t held = shares ? test::product(*shares) : 0;
    const Result<Tile> tile = tile_of(layout, place);
    if (!tile || tile->elements != held) {
      return cat(text, "\n  PE ", bracketed(place), " should hold ", held, " elements");
    }
  }
  return {};
}

/// Tiles of a ragged grid have at most 4 sizes that are not 0, block-cyclic ones 9 (FACTS 13).
std::string classes_mistake(const PyflameRule& rule, const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return text + "\n  refused";
  const auto classes = place_classes(tensor->layout());
  if (!classes) return cat(text, "\n  ", classes.error().message);
  std::size_t with_data = 0;
  for (const PlaceClass& each : *classes) with_data += each.elements > 0 ? 1 : 0;
  return with_data <= (rule.block ? 9U : 4U) ? "" : cat(text, "\n  ", with_data, " classes");
}

TEST(PyflameRule, RandomLayoutsAreWhereTheRuleSays) {
  Failures failures;
  for (std::int64_t seed = 0; seed < kCases; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 1'000'000);
    const Numbers shape = test::random_shape(dice, 5, 60);
    const PyflameRule rule = test::random_pyflame(dice, shape);
    const test::Ruled ruled = test::ruled(rule, shape, dice.chance(50) ? "f32" : "bf16");
    std::string failure = test::mistake(ruled);
    if (failure.empty()) failure = wafer_mistake(rule, shape, ruled.text);
    if (failure.empty()) failure = classes_mistake(rule, ruled.text);
    failures.add(failure);
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
}

/// The rule of a layout that was read.
PyflameRule rule_of(const PyflameLayout& words) {
  PyflameRule rule;
  rule.factory = pyflame_factory(words.kind);
  rule.grid = {words.rows, words.cols};
  if (words.kind == PyflameLayout::Kind::kBlockCyclic) {
    rule.block = Numbers{words.block_rows, words.block_cols};
  }
  for (const auto& pe : words.pes) rule.pes.push_back({pe[0], pe[1]});
  rule.dim_to_pe = words.dim_to_pe;
  if (words.origin) rule.origin = Numbers{(*words.origin)[0], (*words.origin)[1]};
  rule.replicate.assign(words.replicate.begin(), words.replicate.end());
  for (const auto& [axis, reduction] : words.partial) {
    rule.partial.emplace_back(axis, reduction_name(reduction));
  }
  return rule;
}

/// Texts with mistakes that are still accepted follow the rule as well.
std::string accepted_mistake(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor || tensor->notation != "pyflame" || !test::is_small(tensor->layout())) return {};
  const PyflameRule rule = rule_of(std::get<PyflameLayout>(terms_of(*tensor)));
  const Numbers& shape = tensor->layout().shape().extents();
  const std::string dtype(dtype_name(tensor->layout().dtype()));
  return test::mistake(test::ruled(rule, shape, dtype));
}

TEST(PyflameRule, LayoutsAreRaisedByWhatTheyAre) {
  Failures failures;
  for (std::int64_t seed = 0; seed < kCases / 2; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 11'000'000);
    const Numbers shape = test::random_shape(dice, 4, 60);
    const std::string text =
        test::tensor_text(shape, "f32", test::random_pyflame(dice, shape).text());
    failures.add(test::rewritten_mistake(dice, text));
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
}

TEST(PyflameRule, StrangersAreRaisedExactlyOrRefused) {
  EXPECT_EQ(test::strangers_mistake("pyflame", kCases / 2), "");
}

TEST(PyflameRule, SlipsAreTypedErrorsInsideTheText) {
  Failures failures;
  for (std::int64_t seed = 0; seed < kCases; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 2'000'000);
    const Numbers shape = test::random_shape(dice, 4, 40);
    std::string text = test::tensor_text(shape, "f32", test::random_pyflame(dice, shape).text());
    for (std::int64_t slips = dice.between(1, 3); slips > 0; --slips) {
      text = test::mutated(dice, text);
    }
    failures.add(test::hostile_mistake(text));
    failures.add(accepted_mistake(text));
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
}

}  // namespace
}  // namespace tessera::notation
