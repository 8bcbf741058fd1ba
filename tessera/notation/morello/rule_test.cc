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
#include "tessera/testing/notation/rule_laws.h"
#include "tessera/testing/notation/rule_morello.h"
#include "tessera/testing/process.h"

/// Morello's notation against Morello's rule (testing/notation/rule_morello.h): random layouts, and
/// every example and number of the Morello documentation, with its known errors corrected.
namespace tessera::notation {
namespace {

using test::Dice;
using test::Failures;
using test::MorelloPart;
using test::MorelloRule;
using test::NotationRule;
using test::Numbers;
using test::RuleCase;
using test::RuleLaws;
using Kind = MorelloPart::Kind;

constexpr std::int64_t kCases = test::kSanitized ? 1'000 : 10'000;

/// Physical sizes and the indexing expression agree with the rule.
std::string words_mistake(const MorelloRule& rule, const Numbers& extents,
                          const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return text + "\n  refused";
  const auto* words = std::get_if<MorelloLayout>(&terms_of(*tensor));
  if (words == nullptr) return text + "\n  has other words";
  const Result<std::vector<std::int64_t>> sizes = physical_sizes(*words, tensor->layout().shape());
  if (!sizes) return cat(text, "\n  physical sizes: ", sizes.error().message);
  if (*sizes != test::morello_sizes(rule, extents)) {
    return cat(text, "\n  physical sizes ", bracketed(*sizes), ", expected ",
               bracketed(*test::morello_sizes(rule, extents)));
  }
  const Result<std::string> expression = index_expression(*words, tensor->layout().shape());
  if (!expression) return cat(text, "\n  expression: ", expression.error().message);
  for (const Numbers& index : test::all_tuples(extents)) {
    const auto value = test::evaluate_expression(*expression, index);
    if (!value) return cat(text, "\n  not an expression: ", *expression);
    const std::int64_t slot = test::morello_slot(rule, extents, index);
    if (*value != slot) {
      return cat(text, "\n  ", *expression, " at ", bracketed(index), " is ", *value, ", expected ",
                 slot);
    }
  }
  return {};
}

/// All laws of a text (rule_check.h); physical_sizes are the rule's, and the indexing expression
/// gives the slot of every index.
std::string morello_mistake(const MorelloRule& rule, const Numbers& extents) {
  const test::Ruled expected = ruled(rule, extents, "f32");
  const std::string failure = mistake(expected);
  return failure.empty() ? words_mistake(rule, extents, expected.text) : failure;
}

RuleCase random_case(Dice& dice) {
  const Numbers shape = test::random_shape(dice, 5, 100);
  const MorelloRule rule = test::random_morello(dice, shape);
  return {test::tensor_text(shape, "f32", rule.text()),
          [=] { return morello_mistake(rule, shape); }};
}

std::string accepted_mistake(const std::string& text, const Tensor& tensor) {
  MorelloRule rule;
  for (const MorelloDim& dim : std::get<MorelloLayout>(terms_of(tensor)).dims) {
    rule.parts.push_back({dim.dim, static_cast<Kind>(dim.kind), dim.size});
  }
  const Numbers& shape = tensor.layout().shape().extents();
  if (test::product(shape) == 0) return {};  // the rule speaks of packs of something
  if (!test::morello_sizes(rule, shape)) return text + "\n  the rule refuses this shape";
  test::Ruled ruled = test::ruled(rule, shape, std::string(dtype_name(tensor.layout().dtype())));
  ruled.text = text;
  const std::string failure = test::rule_mistake(ruled);
  return failure.empty() ? failure : cat(text, "\n  ", failure);
}

INSTANTIATE_TEST_SUITE_P(Morello, NotationRule,
                         ::testing::Values(RuleLaws{.notation = "morello",
                                                    .random = random_case,
                                                    .accepted = accepted_mistake}));

/// The slots of a matrix, row after row.
Numbers slots(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  Numbers out;
  if (!tensor) return out;
  for (const Numbers& index : test::all_tuples(tensor->layout().shape().extents())) {
    out.push_back(tensor->layout().locate(index)->slot);
  }
  return out;
}

std::string expression_of(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return tensor.error().message;
  const auto expression =
      index_expression(std::get<MorelloLayout>(terms_of(*tensor)), tensor->layout().shape());
  return expression ? *expression : expression.error().message;
}

/// Morello documentation: offset N·d0 + d1 of a 6x8 matrix; row_major(2) is an abbreviation of two
/// Dynamics.
TEST(MorelloDocument, RowMajor) {
  Numbers expected;
  for (std::int64_t i = 0; i < 48; ++i) expected.push_back(i);
  EXPECT_EQ(slots("tensor<6x8xf32, morello.row_major()>"), expected);
  EXPECT_EQ(slots("tensor<6x8xf32, morello.row_major(2)>"), expected);
  EXPECT_EQ(test::print_mistake("tensor<6x8xf32, morello.row_major(2)>"), "");
  EXPECT_FALSE(parse_tensor("tensor<6x8xf32, morello.row_major(3)>").ok());
  EXPECT_EQ(slots("tensor<6x8xf32, morello[(0, Dynamic), (1, Dynamic)]>"), expected);
  MorelloRule rule{{{0, Kind::kDynamic, 0}, {1, Kind::kDynamic, 0}}, ""};
  EXPECT_EQ(morello_mistake(rule, {6, 8}), "");
  rule.builder = "row_major";
  EXPECT_EQ(morello_mistake(rule, {6, 8}), "");
  EXPECT_EQ(expression_of("tensor<6x8xf32, morello.row_major()>"), "8*d0 + d1");
}

/// Morello documentation: column-major is written with dim 1 first.
TEST(MorelloDocument, ColumnMajor) {
  const std::string text = "tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic)]>";
  EXPECT_EQ(slots(text), slots("tensor<6x8xf32, morello.col_major()>"));
  EXPECT_EQ(slots(text)[1], 6);  // (0, 1): one column further
  EXPECT_EQ(slots(text)[8], 1);  // (1, 0): one row further
  MorelloRule rule{{{1, Kind::kDynamic, 0}, {0, Kind::kDynamic, 0}}, ""};
  EXPECT_EQ(morello_mistake(rule, {6, 8}), "");
}

/// The Morello documentation, corrected: b = (d1 mod 4) + 4·d0 + 24·floor(d1 / 4).
TEST(MorelloDocument, Packed) {
  const std::string text = "tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>";
  const MorelloRule rule{{{1, Kind::kDynamic, 0}, {0, Kind::kDynamic, 0}, {1, Kind::kPacked, 4}},
                         ""};
  EXPECT_EQ(test::tensor_text({6, 8}, "f32", rule.text()), text);
  EXPECT_EQ(morello_mistake(rule, {6, 8}), "");
  Numbers expected;
  for (std::int64_t d0 = 0; d0 < 6; ++d0) {
    for (std::int64_t d1 = 0; d1 < 8; ++d1) expected.push_back(d1 % 4 + 4 * d0 + 24 * (d1 / 4));
  }
  EXPECT_EQ(slots(text), expected);
  // The picture of the documentation: the first row of the packed matrix.
  EXPECT_EQ(Numbers(expected.begin(), expected.begin() + 8), (Numbers{0, 1, 2, 3, 24, 25, 26, 27}));
  EXPECT_EQ(expression_of(text), "4*d0 + 24*(d1/4) + d1%4");
}

/// Morello documentation: NCHW, NHWC and the packed NCHWc of its reference are reorderings.
TEST(MorelloDocument, ImageLayouts) {
  MorelloRule nhwc{{{0, Kind::kDynamic, 0},
                    {2, Kind::kDynamic, 0},
                    {3, Kind::kDynamic, 0},
                    {1, Kind::kDynamic, 0}},
                   "nhwc"};
  EXPECT_EQ(morello_mistake(nhwc, {2, 3, 5, 7}), "");
  nhwc.builder.clear();
  EXPECT_EQ(morello_mistake(nhwc, {2, 3, 5, 7}), "");
  const MorelloRule packed{{{0, Kind::kDynamic, 0},
                            {1, Kind::kDynamic, 0},
                            {2, Kind::kDynamic, 0},
                            {3, Kind::kDynamic, 0},
                            {1, Kind::kPacked, 4}},
                           ""};
  EXPECT_EQ(morello_mistake(packed, {2, 8, 3, 5}), "");
  EXPECT_FALSE(parse_tensor("tensor<2x3xf32, morello.nhwc()>").ok());
}

/// Even indices first.
TEST(MorelloFacts, OddEven) {
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, OddEven(8))]>"), (Numbers{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(morello_mistake({{{0, Kind::kDynamic, 0}, {0, Kind::kOddEven, 16}}, ""}, {48}), "");
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, Dynamic), (0, OddEven(4))]>"),
            (Numbers{0, 2, 1, 3, 4, 6, 5, 7}));
}

/// Above an inner pack, OddEven deinterleaves floor(x / v) mod n.
TEST(MorelloFacts, OddEvenAboveAPack) {
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, OddEven(4)), (0, Packed(2))]>"),
            (Numbers{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(morello_mistake({{{0, Kind::kDynamic, 0},
                              {1, Kind::kDynamic, 0},
                              {0, Kind::kOddEven, 4},
                              {0, Kind::kPacked, 3}},
                             ""},
                            {24, 5}),
            "");
}

/// Layouts of other notations that Morello can express too.
TEST(MorelloFacts, TheSameLayoutInOtherWords) {
  for (const char* text : {
           "tensor<6x8xf32, strided<[8, 1]>>",
           "tensor<6x8xf32, strided<[1, 6]>>",
           "tensor<2x3x5xf32, strided<[3, 1, 6]>>",
           "tensor<6x8xf32, pyflame.SinglePE()>",
           "tensor<512x256xf16, spyre.default()>",  // (1, Dynamic), (0, Dynamic), (1, Packed(64))
           "tensor<f32, strided<[]>>",
           "tensor<48xf32, native<{d0} / (16 -> mem*16, 2 -> mem, 1 -> mem*8)>>",  // OddEven(16)
           "tensor<1x7x1xf32, strided<[7, 1, 1]>>",
       }) {
    EXPECT_EQ(test::equivalent_mistake(text, "morello"), "");
  }
}

/// A pack larger than what remains is clamped, once per dim; everything divides exactly.
TEST(MorelloFacts, PacksDivideOrAreClampedOnce) {
  EXPECT_EQ(morello_mistake({{{0, Kind::kPacked, 4}}, ""}, {3}), "");
  EXPECT_EQ(morello_mistake({{{0, Kind::kDynamic, 0}, {0, Kind::kPacked, 8}}, ""}, {5}), "");
  EXPECT_EQ(
      morello_mistake({{{0, Kind::kPacked, 8}, {1, Kind::kDynamic, 0}, {0, Kind::kPacked, 3}}, ""},
                      {15, 2}),
      "");
  for (const std::string layout : {
           "morello[(0, Dynamic), (1, Dynamic), (1, Packed(4))]",    // 4 does not divide 6
           "morello[(0, Packed(4)), (1, Dynamic), (0, Packed(9))]",  // clamped twice
           "morello[(0, Dynamic)]",                                  // dim 1 is not covered
           "morello[(0, Packed(2)), (1, Dynamic)]",                  // half of dim 0 is
       }) {
    const std::string text = test::tensor_text({8, 6}, "f32", layout);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_FALSE(tensor.ok()) << text;
    EXPECT_EQ(code_name(tensor.error().code), "invalid_shape") << render(tensor.error(), text);
    EXPECT_EQ(test::hostile_mistake(text), "");
  }
  for (const std::string layout :
       {"morello[(0, Packed(4)), (0, Dynamic), (1, Dynamic)]",  // Dynamic is outermost
        "morello[(0, Dynamic), (0, Dynamic), (1, Dynamic)]",    // and once per dim
        "morello[(2, Dynamic), (0, Dynamic), (1, Dynamic)]", "morello[(-1, Dynamic)]",
        "morello[(0, Packed(0)), (1, Dynamic)]", "morello[(0, Packed(-2)), (1, Dynamic)]",
        "morello[(0, Packd(2)), (1, Dynamic)]", "morello[(0, Packed), (1, Dynamic)]",
        "morello[(0, Dynamic(2)), (1, Dynamic)]", "morello.rowmajor()",
        "morello[(0, OddEven(6)), (0, Packed(0)), (1, Dynamic)]", "morello[0, 1]"}) {
    const std::string text = test::tensor_text({8, 6}, "f32", layout);
    EXPECT_FALSE(parse_tensor(text).ok()) << text;
    EXPECT_EQ(test::hostile_mistake(text), "");
  }
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

/// A tile of 3 in a pack of 4 is not contiguous; never report a run that is not one.
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
