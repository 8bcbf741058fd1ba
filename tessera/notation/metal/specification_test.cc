// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "tessera/base/text.h"
#include "tessera/notation/metal/metal.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_metal.h"
#include "tessera/testing/notation/rule_ttnn.h"

/// Every layout and number of the tt-mlir layout specification, with its known errors corrected,
/// against the rule and against the library.
namespace tessera::notation {
namespace {

using test::Dice;
using test::MetalRule;
using test::Numbers;
using test::RuleResult;

RuleResult dim(std::size_t d, std::int64_t coef = 1) { return RuleResult{{{d, coef}}}; }

MetalRule metal(Numbers shape, std::vector<RuleResult> linear, Numbers grid, Numbers tile = {}) {
  MetalRule rule;
  rule.shape = std::move(shape);
  rule.linear = std::move(linear);
  rule.grid = std::move(grid);
  rule.storage = tile.empty() ? "f32" : "bfp_bf8";
  rule.tile = std::move(tile);
  return rule;
}

const std::vector<RuleResult> kRowsOf2x3x64 = {{{{0, 192}, {1, 64}, {2, 1}}}, dim(3)};

/// The memref that the rule derives and the library requires, and 4000 places and slots of each.
TEST(MetalSpecification, EveryExample) {
  struct Case {
    MetalRule rule;
    Numbers extents;
    Numbers memref;
  };
  const Numbers tile = {32, 32};
  const std::vector<RuleResult> batches = {{{{0, 64}, {1, 1}}}, dim(2)};
  const std::vector<Case> cases = {
      {metal({2, 3, 64, 128}, kRowsOf2x3x64, {1, 1}), {384, 128}, {384, 128}},
      {metal({2, 3, 64, 128}, kRowsOf2x3x64, {2, 4}), {384, 128}, {192, 32}},
      {metal({8, 300}, {dim(0), dim(1)}, {1, 2}), {8, 300}, {8, 150}},
      {metal({8, 96, 32}, {{{{0, 96}, {1, 1}}}, dim(2)}, {2, 1}), {768, 32}, {384, 32}},
      {metal({8, 96, 32}, {{{{0, 96}, {1, 1}}}, dim(1), dim(2)}, {2, 1, 2}),
       {768, 96, 32},
       {384, 96, 16}},
      {metal({3, 64, 128}, batches, {3, 2}), {192, 128}, {64, 64}},
      {metal({3, 64, 128}, batches, {3, 2}, tile), {192, 128}, {2, 2}},
      {metal({53, 63}, {dim(0), dim(1)}, {3, 2}), {53, 63}, {18, 32}},
      {metal({53, 63}, {dim(0), dim(1)}, {3, 2}, tile), {53, 63}, {1, 1}},
      {metal({2, 8, 32}, {{{{0, 8}, {1, 1}}}, dim(2)}, {1, 2}), {16, 32}, {16, 16}},
      {metal({2, 8, 32}, {{{{0, 8}, {1, 1}}}, dim(2)}, {1, 2}, tile), {16, 32}, {1, 1}},
      // The bumped stride puts the second batch into a separate tile: 32 + 8 rows.
      {metal({2, 8, 32}, {{{{0, 32}, {1, 1}}}, dim(2)}, {1, 2}, tile), {40, 32}, {2, 1}},
      {metal({2, 3, 64, 128}, {dim(0), {{{1, 64}, {2, 1}}}, dim(3)}, {2, 2, 4}, tile),
       {2, 192, 128},
       {1, 3, 1}},
  };
  Dice dice(53);
  for (const Case& example : cases) {
    const std::string text = example.rule.text();
    SCOPED_TRACE(text);
    EXPECT_EQ(example.rule.extents(), example.extents);
    EXPECT_EQ(example.rule.memref(), example.memref);
    EXPECT_EQ(test::sampled_mistake(grid_of(example.rule), text, dice, 4000), "");
    EXPECT_EQ(test::print_mistake(text), "");
    EXPECT_EQ(test::raise_mistake(text), "");
  }
}

/// 5x3x2x2x7x32x32: the largest of the specification, 430,080 elements.
TEST(MetalSpecification, SevenDims) {
  const MetalRule rule =
      metal({5, 3, 2, 2, 7, 32, 32},
            {{{{0, 2688}, {1, 896}, {2, 448}, {3, 224}, {4, 32}, {5, 1}}}, dim(4), dim(5), dim(6)},
            {3, 2, 2, 2});
  EXPECT_EQ(rule.extents(), (Numbers{13440, 7, 32, 32}));
  EXPECT_EQ(rule.memref(), (Numbers{4480, 4, 16, 16}));
  Dice dice(7);
  EXPECT_EQ(test::sampled_mistake(grid_of(rule), rule.text(), dice, 4000), "");
  EXPECT_EQ(test::print_mistake(rule.text()), "");
  EXPECT_EQ(test::raise_mistake(rule.text()), "");
}

/// Erratum 24: dims in two results are legal and allocate 96 and 256 times the data.
TEST(MetalSpecification, DimsInTwoResultsAllocateManyTimesTheData) {
  const auto factor = [](const std::string& text) {
    const Result<Tensor> tensor = parse_tensor(text);
    EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
    if (!tensor) return std::int64_t{0};
    return tensor->layout().places() * tensor->layout().slots() /
           tensor->layout().shape().elements();
  };
  EXPECT_EQ(factor("tensor<8x96x32xf32, #tt.metal_layout<(d0, d1, d2) -> (d0 * 96 + d1, d1, d2), "
                   "undef, <2x1x2>, memref<384x96x16xf32, #tt.memory_space<l1>>>>"),
            96);
  EXPECT_EQ(
      factor("tensor<5x3x2x2x7x32x32xf32, #tt.metal_layout<(d0, d1, d2, d3, d4, d5, d6) -> (d0 * "
             "2688 + d1 * 896 + d2 * 448 + d3 * 224 + d4 * 32 + d5, d4, d5, d6), undef, "
             "<3x2x2x2>, memref<4480x4x16x16xf32, #tt.memory_space<l1>>>>"),
      256);
}

/// As the specification spells them: on several lines, with `32 x 32`.
TEST(MetalSpecification, SpelledAsThere) {
  const std::string text = R"(tensor<2x3x64x128xf32,
  #tt.metal_layout<
    (d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3),
    undef,
    <1x1>,
    memref<384x128xf32, #tt.memory_space<l1>>
  >
>)";
  const Result<Tensor> tensor = parse_tensor(text);
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
  const Result<Location> found = tensor->layout().locate({1, 1, 6, 100});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->slot, 262 * 128 + 100);  // (262, 100) of 384x128 in the specification
  EXPECT_EQ(found->places, (std::vector<Place>{{0, 0}}));

  const std::string tiled = R"(tensor<3x64x128xf32, #tt.metal_layout<
    (d0, d1, d2) -> (d0 * 64 + d1, d2), undef, <3x2>,
    memref<2x2x!tt.tile<32 x 32, bfp_bf8>, #tt.memory_space<l1>>>>)";
  const Result<Tensor> tiles = parse_tensor(tiled);
  ASSERT_TRUE(tiles.ok()) << render(tiles.error(), tiled);
  // Row 1·64 + 40 is row 40 of core row 1: tile row 1, row 8; column 70 is column 6 of core 1.
  EXPECT_EQ(tiles->layout().locate({1, 40, 70})->slot, 2 * 1024 + 8 * 32 + 6);
  EXPECT_EQ(tiles->layout().locate({1, 40, 70})->places, (std::vector<Place>{{1, 1}}));
  EXPECT_EQ(tiles->layout().shard_bytes(), 4 * 1088);
}

/// Slots of one place by cause; "" counts data.
std::map<std::string, int> causes_at(const Layout& layout, const Place& place) {
  std::map<std::string, int> counts;
  for (std::int64_t slot = 0; slot < layout.slots(); ++slot) {
    const Result<Slot> found = layout.element_at(place, slot);
    EXPECT_TRUE(found.ok());
    const Padding* padding = found ? std::get_if<Padding>(&*found) : nullptr;
    ++counts[padding ? std::string(cause_name(padding->cause)) : ""];
  }
  return counts;
}

/// "1 scalar row of padding on the last row of cores and 1 scalar column on the last column"; in
/// tiles "14 rows of padding except for the last row of cores which has 15".
TEST(MetalSpecification, PaddingOf53x63) {
  using Counts = std::map<std::string, int>;
  const Result<Tensor> plain = parse_tensor(metal({53, 63}, {dim(0), dim(1)}, {3, 2}).text());
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(causes_at(plain->layout(), {0, 0}), (Counts{{"", 18 * 32}}));
  EXPECT_EQ(causes_at(plain->layout(), {2, 0}), (Counts{{"", 17 * 32}, {"grid", 32}}));
  EXPECT_EQ(causes_at(plain->layout(), {0, 1}), (Counts{{"", 18 * 31}, {"grid", 18}}));
  EXPECT_EQ(causes_at(plain->layout(), {2, 1}), (Counts{{"", 17 * 31}, {"grid", 32 + 17}}));

  const Result<Tensor> tiled =
      parse_tensor(metal({53, 63}, {dim(0), dim(1)}, {3, 2}, {32, 32}).text());
  ASSERT_TRUE(tiled.ok());
  EXPECT_EQ(causes_at(tiled->layout(), {0, 0}), (Counts{{"", 18 * 32}, {"tile", 14 * 32}}));
  EXPECT_EQ(causes_at(tiled->layout(), {2, 0}),
            (Counts{{"", 17 * 32}, {"grid", 32}, {"tile", 14 * 32}}));
  EXPECT_EQ(causes_at(tiled->layout(), {2, 1}),
            (Counts{{"", 17 * 31}, {"grid", 32 + 17}, {"tile", 14 * 32}}));
}

/// The rows that each row of cores holds, from the first column.
std::vector<Numbers> rows_of(const Layout& layout) {
  std::vector<Numbers> rows(static_cast<std::size_t>(layout.mesh()[0]));
  for (std::int64_t row = 0; row < layout.shape()[0]; ++row) {
    const Place place = layout.locate({row, 0})->places.at(0);
    rows[static_cast<std::size_t>(place[0])].push_back(row);
  }
  return rows;
}

/// Erratum 26: one tensor, one grid, four rules. First and last row of each row of cores, and the
/// same by the naive rule.
TEST(MetalSpecification, FourReadingsOf53x63On3x2) {
  const auto ends = [](const std::string& text) {
    const Result<Tensor> tensor = parse_tensor(text);
    EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
    std::vector<Numbers> out;
    if (!tensor) return out;
    for (const Numbers& rows : rows_of(tensor->layout())) {
      out.push_back(rows.empty() ? Numbers{} : Numbers{rows.front(), rows.back()});
    }
    return out;
  };
  using Ends = std::vector<Numbers>;

  const MetalRule specified = metal({53, 63}, {dim(0), dim(1)}, {3, 2}, {32, 32});
  EXPECT_EQ(ends(specified.text()), (Ends{{0, 17}, {18, 35}, {36, 52}}));
  EXPECT_EQ(test::rule_mistake(ruled(specified)), "");

  const test::TtnnRule ttnn{{53, 63}, "f32", {32, 32},        "f32",
                            {3, 2},   "l1",  "block_sharded", {{0, 0, 1, 2}}};
  EXPECT_EQ(ends(ttnn.text()), (Ends{{0, 31}, {32, 52}, {}}));
  EXPECT_EQ(test::rule_mistake(ruled(ttnn)), "");

  const test::TermsRule terms{{53, 63}, "f32", {3339, 63, 1}, {18, 32}, {32, 32}};
  EXPECT_EQ(terms.grid(), (Numbers{3, 2}));
  EXPECT_EQ(ends(terms.text()), (Ends{{0, 17}, {18, 35}, {36, 52}}));
  EXPECT_EQ(test::rule_mistake(ruled(terms)), "");
  // Cut at 20 instead, the grid is still 3x2, and rows fall elsewhere.
  const test::TermsRule wider{{53, 63}, "f32", {3339, 63, 1}, {20, 40}, {32, 32}};
  EXPECT_EQ(wider.grid(), (Numbers{3, 2}));
  EXPECT_EQ(ends(wider.text()), (Ends{{0, 19}, {20, 39}, {40, 52}}));
  EXPECT_EQ(test::rule_mistake(ruled(wider)), "");

  // In metal_today, 53 must be aligned to a multiple of 3 tiles, and 63 to one of 2.
  test::TodayRule today;
  today.shape = {53, 63};
  today.alignments = {96, 64};
  today.intervals = {{0, 1}, {1, 2}};
  today.grid = {3, 2};
  today.tile = {32, 32};
  EXPECT_EQ(today.shard(), (Numbers{1, 1}));
  EXPECT_EQ(ends(today.text()), (Ends{{0, 31}, {32, 52}, {}}));
  EXPECT_EQ(test::rule_mistake(ruled(today)), "");
  today.alignments = {32, 32};
  const Result<Tensor> unaligned = parse_tensor(today.text({1, 1}));
  ASSERT_FALSE(unaligned.ok());
  EXPECT_TRUE(unaligned.error().span.has_value());
}

/// Erratum 25 and the four joins of the specification, with shapes whose products show which dims
/// were joined.
TEST(MetalSpecification, CollapseIntervals) {
  struct Case {
    Numbers shape;
    CollapseIntervals intervals;
    std::string map;
  };
  const std::vector<Case> cases = {
      {{2, 3, 5}, {{0, -1}}, "(d0, d1, d2) -> (d0 * 3 + d1, d2)"},
      {{2, 3, 5, 7}, {{1, -1}}, "(d0, d1, d2, d3) -> (d0, d1 * 5 + d2, d3)"},
      {{2, 3, 5, 7}, {{0, 2}}, "(d0, d1, d2, d3) -> (d0 * 3 + d1, d2, d3)"},
      {{2, 3, 5, 7, 11, 13, 17},
       {{0, 3}, {-3, -1}},
       "(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 15 + d1 * 5 + d2, d3, d4 * 13 + d5, d6)"},
  };
  for (const Case& join : cases) {
    const Result<AffineMap> map = collapse(*Shape::make(join.shape), join.intervals);
    ASSERT_TRUE(map.ok()) << map.error().message;
    EXPECT_EQ(write_affine_map(*map), join.map);
  }
}

/// "Instead of striding by the number of logical rows, 8, we bump the stride up to 32".
TEST(MetalSpecification, BumpedStride) {
  const MetalRule packed = metal({2, 8, 32}, {{{{0, 8}, {1, 1}}}, dim(2)}, {1, 2}, {32, 32});
  const MetalRule bumped = metal({2, 8, 32}, {{{{0, 32}, {1, 1}}}, dim(2)}, {1, 2}, {32, 32});
  const Result<Tensor> tensor = parse_tensor(packed.text());
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), packed.text());
  const auto& words = std::get<MetalLayout>(terms_of(*tensor));
  const Result<AffineMap> map = bump_stride(words.linear, 0, 32);
  ASSERT_TRUE(map.ok()) << map.error().message;
  EXPECT_EQ(write_affine_map(*map), "(d0, d1, d2) -> (d0 * 32 + d1, d2)");
  const Result<MetalLayout> made = with_linear(words, tensor->layout().shape(), *map);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(test::tensor_text(bumped.shape, "f32", write(*made)), bumped.text());
  // Each batch begins a tile: 1024 slots apart, and the 24 rows between are a gap.
  const Result<Layout> layout = lower(*made, tensor->layout().shape(), DType::kF32);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(layout->locate({1, 0, 0})->slot, 1024);
  EXPECT_EQ(*layout->element_at({0, 0}, std::int64_t{8} * 32), Slot(Padding{Cause::kGap}));
  // The 8 rows of the second batch end the line of 40; below them the tile is not filled, and
  // columns 16 to 31 do not belong to this core.
  EXPECT_EQ(*layout->element_at({0, 0}, 1024 + 8 * 32), Slot(Padding{Cause::kTile}));
  EXPECT_EQ(*layout->element_at({0, 0}, 16), Slot(Padding{Cause::kTile}));
}

/// Random intervals: without alignment, those of metal_today are those of metal.
TEST(MetalSpecification, RandomCollapsesAndTheAttributesMadeFromThem) {
  Dice dice(25);
  for (int i = 0; i < 2000; ++i) {
    test::TodayRule today = random_today(dice);
    today.tile = {};
    for (std::int64_t& extent : today.shape) extent = std::max<std::int64_t>(extent, 1);
    today.alignments.assign(today.shape.size(), 1);
    MetalRule rule;
    rule.shape = today.shape;
    for (const auto& group : today.groups()) rule.linear.push_back(today.result(group));
    for (std::size_t k = 0; k < rule.linear.size(); ++k) rule.grid.push_back(dice.between(1, 5));
    const Shape shape = *Shape::make(rule.shape);
    const Result<AffineMap> map = collapse(shape, today.intervals);
    ASSERT_TRUE(map.ok()) << today.intervals_text() << ": " << map.error().message;
    ASSERT_EQ(write_affine_map(*map), test::map_text(rule.shape.size(), rule.linear))
        << today.intervals_text();
    if (rule.grid.size() >= 2 && dice.chance(50)) rule.tile = {4, 2};
    const Atom element =
        rule.tile.empty() ? Atom::scalar(DType::kF32) : Atom::tile(4, 2, DType::kF32);
    const Result<MetalLayout> made = make_metal(shape, today.intervals, rule.grid, element, "l1");
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_EQ(test::tensor_text(rule.shape, "f32", write(*made)), rule.text());
  }
}

/// The four memory spaces, and a 1x64 grid on 8x8 cores: place [0, i] is core [i div 8, i mod 8].
TEST(MetalSpecification, SpacesAndVirtualGrids) {
  for (const std::string space : {"system", "mmio", "dram", "l1"}) {
    MetalRule rule = metal({8, 300}, {dim(0), dim(1)}, {1, 2});
    rule.space = space;
    const Result<Tensor> tensor = parse_tensor(rule.text());
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), rule.text());
    EXPECT_EQ(tensor->layout().spec().space, space);
  }
  MetalRule wide = metal({32, 2048}, {dim(0), dim(1)}, {1, 64}, {32, 32});
  wide.device = MetalRule::Device{{8, 8}, {{{{1, 1}}, 0, 0, 8}, {{{1, 1}}, 0, 8, 1}}};
  const Result<Tensor> tensor = parse_tensor(wide.text());
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), wide.text());
  EXPECT_EQ(print_tensor(*tensor), wide.text());
  const Layout& layout = tensor->layout();
  for (std::int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(layout.spec().device_map.map(layout.mesh(), {0, i}).place, (Place{i / 8, i % 8}));
  }
}

}  // namespace
}  // namespace tessera::notation
