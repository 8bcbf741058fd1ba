// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/morello/contiguity.h"
#include "tessera/notation/morello/morello.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_morello.h"
#include "tessera/testing/notation/rule_morello_laws.h"
#include "tessera/testing/sanitized.h"

/// Morello's notation against Morello's rule (testing/notation/rule_morello.h): random layouts and
/// texts with mistakes.
namespace tessera::notation {
namespace {

using test::Dice;
using test::Failures;
using test::MorelloPart;
using test::MorelloRule;
using test::Numbers;
using Kind = MorelloPart::Kind;

constexpr std::int64_t kCases = test::kSanitized ? 1'000 : 10'000;

TEST(MorelloRule, RandomLayoutsAreWhereTheRuleSays) {
  Failures failures;
  for (std::int64_t seed = 0; seed < kCases; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 3'000'000);
    const Numbers shape = test::random_shape(dice, 5, 100);
    failures.add(test::morello_mistake(test::random_morello(dice, shape), shape));
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
}

/// Texts with mistakes that are still accepted follow the rule as well.
std::string accepted_mistake(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor || tensor->notation != "morello" || !test::is_small(tensor->layout())) return {};
  MorelloRule rule;
  for (const MorelloDim& dim : std::get<MorelloLayout>(terms_of(*tensor)).dims) {
    rule.parts.push_back({dim.dim, static_cast<Kind>(dim.kind), dim.size});
  }
  const Numbers& shape = tensor->layout().shape().extents();
  if (test::product(shape) == 0) return {};  // the rule speaks of packs of something
  if (!test::morello_sizes(rule, shape)) return text + "\n  the rule refuses this shape";
  test::Ruled ruled = test::ruled(rule, shape, std::string(dtype_name(tensor->layout().dtype())));
  ruled.text = text;
  const std::string failure = test::rule_mistake(ruled);
  return failure.empty() ? failure : cat(text, "\n  ", failure);
}

TEST(MorelloRule, LayoutsAreRaisedByWhatTheyAre) {
  Failures failures;
  for (std::int64_t seed = 0; seed < kCases / 2; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 12'000'000);
    const Numbers shape = test::random_shape(dice, 4, 60);
    const std::string text =
        test::tensor_text(shape, "f32", test::random_morello(dice, shape).text());
    failures.add(test::rewritten_mistake(dice, text));
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
}

TEST(MorelloRule, StrangersAreRaisedExactlyOrRefused) {
  EXPECT_EQ(test::strangers_mistake("morello", kCases / 2), "");
}

TEST(MorelloRule, SlipsAreTypedErrorsInsideTheText) {
  Failures failures;
  for (std::int64_t seed = 0; seed < kCases; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 4'000'000);
    const Numbers shape = test::random_shape(dice, 4, 100);
    std::string text = test::tensor_text(shape, "f32", test::random_morello(dice, shape).text());
    for (std::int64_t slips = dice.between(1, 3); slips > 0; --slips) {
      text = test::mutated(dice, text);
    }
    failures.add(test::hostile_mistake(text));
    failures.add(accepted_mistake(text));
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
}

/// The slots of a box of elements.
Numbers tile_slots(const MorelloRule& rule, const Numbers& extents, const Numbers& tile,
                   const Numbers& origin) {
  Numbers slots;
  for (Numbers index : test::all_tuples(tile)) {
    bool inside = true;
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
      index[dim] += origin[dim];
      inside = inside && index[dim] < extents[dim];
    }
    if (inside) slots.push_back(test::morello_slot(rule, extents, index));
  }
  std::sort(slots.begin(), slots.end());
  return slots;
}

/// By grouping slots: the largest number of innermost physical dims whose slots, if all other dims
/// agree, are one run, and the greatest common divisor of the lengths of these runs.
TileContiguity naive_contiguity(const Numbers& sizes, const Numbers& slots) {
  TileContiguity best;
  std::int64_t volume = 1;
  for (std::size_t dims = 0; dims <= sizes.size(); ++dims) {
    if (dims > 0) volume *= sizes[sizes.size() - dims];
    std::map<std::int64_t, Numbers> groups;
    for (const std::int64_t slot : slots) groups[slot / volume].push_back(slot);
    bool runs = true;
    std::int64_t length = 0;
    for (const auto& [outer, group] : groups) {
      const auto count = static_cast<std::int64_t>(group.size());
      runs = runs && group.back() - group.front() + 1 == count;
      length = std::gcd(length, count);
    }
    if (runs) best = {dims == sizes.size(), dims, length};
  }
  return best;
}

/// FACTS 32: a tile of 3 in a pack of 4 is not contiguous; never report a run that is not one.
TEST(MorelloRule, ContiguityOfRandomTiles) {
  Failures failures;
  for (std::int64_t seed = 0; seed < kCases; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 8'000'000);
    const Numbers shape = test::random_shape(dice, 4, 60);
    const MorelloRule rule = test::random_morello(dice, shape);
    if (test::product(shape) == 0) continue;
    Numbers tile;
    Numbers origin;
    for (const std::int64_t extent : shape) {
      tile.push_back(dice.between(1, extent));
      origin.push_back(dice.between(0, extent - tile.back()));
    }
    const std::string text = test::tensor_text(shape, "f32", rule.text());
    const Result<Tensor> tensor = parse_tensor(text);
    if (!tensor) {
      failures.add(text + "\n  refused");
      continue;
    }
    const auto& words = std::get<MorelloLayout>(terms_of(*tensor));
    const Shape& all = tensor->layout().shape();
    const std::string where = cat(text, "\n  tile ", bracketed(tile), " at ", bracketed(origin));
    const TileContiguity expected =
        naive_contiguity(*test::morello_sizes(rule, shape), tile_slots(rule, shape, tile, origin));
    const auto found = tile_contiguity(words, all, *Shape::make(tile), origin);
    if (!found) {
      failures.add(cat(where, ": ", found.error().message));
    } else if (!(*found == expected)) {
      failures.add(cat(where, ": expected ", expected.dims, " dims, run ", expected.run, ", found ",
                       found->dims, " dims, run ", found->run));
    }
    bool everywhere = true;
    Numbers counts;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      counts.push_back(test::ceil_divide(shape[dim], tile[dim]));
    }
    for (Numbers at : test::all_tuples(counts)) {
      for (std::size_t dim = 0; dim < at.size(); ++dim) at[dim] *= tile[dim];
      const Numbers slots = tile_slots(rule, shape, tile, at);
      everywhere =
          everywhere && slots.back() - slots.front() + 1 == static_cast<std::int64_t>(slots.size());
    }
    const auto tiled = tile_contiguity(words, all, *Shape::make(tile));
    if (!tiled || tiled->contiguous != everywhere) {
      failures.add(cat(where, ": all its tiles are ", everywhere ? "" : "not ", "contiguous"));
    }
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
}

/// Random parts for random shapes: a text is read if and only if the rule covers the shape.
TEST(MorelloRule, ShapesAreRefusedExactlyWhenTheRuleDoes) {
  Failures failures;
  std::int64_t refused = 0;
  for (std::int64_t seed = 0; seed < kCases; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 5'000'000);
    Numbers shape(static_cast<std::size_t>(dice.between(1, 2)));
    for (std::int64_t& extent : shape) extent = dice.between(1, 24);
    MorelloRule rule;
    for (std::int64_t i = dice.between(1, 4); i > 0; --i) {
      const auto dim = dice.below(static_cast<std::int64_t>(shape.size()));
      if (dice.chance(40)) {
        rule.parts.push_back({dim, Kind::kDynamic, 0});
      } else {
        rule.parts.push_back({dim, Kind::kPacked, dice.between(2, 8)});
      }
    }
    const std::string text = test::tensor_text(shape, "f32", rule.text());
    const bool covers = test::morello_sizes(rule, shape).has_value();
    const Result<Tensor> tensor = parse_tensor(text);
    refused += covers ? 0 : 1;
    if (tensor.ok() != covers) {
      failures.add(text + (covers ? "\n  refused: " + tensor.error().message : "\n  accepted"));
    }
  }
  EXPECT_GT(refused, kCases / 10);
  EXPECT_EQ(failures.count(), 0) << failures.report();
}

}  // namespace
}  // namespace tessera::notation
