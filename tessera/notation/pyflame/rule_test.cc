// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_laws.h"
#include "tessera/testing/notation/rule_pyflame.h"

/// PyFlame's notation against PyFlame's rule (testing/notation/rule_pyflame.h): random layouts, and
/// every layout example and number of the PyFlame document, with its known errors corrected.
namespace tessera::notation {
namespace {

using test::Dice;
using test::NotationRule;
using test::Numbers;
using test::PyflameRule;
using test::RuleCase;
using test::RuleLaws;

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

/// Tiles of a ragged grid have at most 4 sizes that are not 0, block-cyclic ones 9.
std::string classes_mistake(const PyflameRule& rule, const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return text + "\n  refused";
  const auto classes = place_classes(tensor->layout());
  if (!classes) return cat(text, "\n  ", classes.error().message);
  std::size_t with_data = 0;
  for (const PlaceClass& each : *classes) with_data += each.elements > 0 ? 1 : 0;
  return with_data <= (rule.block ? 9U : 4U) ? "" : cat(text, "\n  ", with_data, " classes");
}

RuleCase random_case(Dice& dice) {
  const Numbers shape = test::random_shape(dice, 5, 60);
  const PyflameRule rule = test::random_pyflame(dice, shape);
  const std::string dtype = dice.chance(50) ? "f32" : "bf16";
  const std::string text = test::tensor_text(shape, dtype, rule.text());
  return {text, [=] {
            std::string failure = mistake(ruled(rule, shape, dtype));
            if (failure.empty()) failure = wafer_mistake(rule, shape, text);
            return failure.empty() ? classes_mistake(rule, text) : failure;
          }};
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

std::string accepted_mistake(const std::string&, const Tensor& tensor) {
  const PyflameRule rule = rule_of(std::get<PyflameLayout>(terms_of(tensor)));
  const std::string dtype(dtype_name(tensor.layout().dtype()));
  return mistake(ruled(rule, tensor.layout().shape().extents(), dtype));
}
INSTANTIATE_TEST_SUITE_P(Pyflame, NotationRule,
                         ::testing::Values(RuleLaws{.notation = "pyflame",
                                                    .random = random_case,
                                                    .accepted = accepted_mistake}));

Tensor read(const std::string& text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor ? *std::move(tensor) : *parse_tensor("tensor<f32, strided<[]>>");
}

PyflameRule grid(std::int64_t rows, std::int64_t cols) {
  PyflameRule rule;
  rule.factory = "Grid";
  rule.grid = {rows, cols};
  return rule;
}

/// The law of a large layout on a sample of its indices.
void expect_sampled(const PyflameRule& rule, const Numbers& shape, const std::string& text) {
  SCOPED_TRACE(text);
  EXPECT_EQ(test::tensor_text(shape, "f32", rule.text()), text);
  EXPECT_EQ(test::print_mistake(text), "");
  EXPECT_EQ(test::raise_mistake(text), "");
  const Layout layout = read(text).layout();
  EXPECT_EQ(layout.mesh().extents(), rule.grid);
  EXPECT_EQ(layout.slots(), test::product(test::pyflame_tile(rule, shape)));
  Dice dice(7);
  for (int sample = 0; sample < 500; ++sample) {
    Index index;
    for (const std::int64_t extent : shape) {
      index.push_back(sample == 0 ? 0 : sample == 1 ? extent - 1 : dice.below(extent));
    }
    const test::RulePosition position = test::pyflame_position(rule, shape, index);
    const Result<Location> found = layout.locate(index);
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->places, position.places) << bracketed(index);
    ASSERT_EQ(found->slot, position.slot) << bracketed(index);
    const Result<Slot> back = layout.element_at(position.places.front(), position.slot);
    ASSERT_TRUE(back.ok());
    ASSERT_EQ(*back, Slot(index));
  }
}

std::int64_t bytes_per_pe(const std::string& text) { return read(text).layout().shard_bytes(); }

/// PyFlame document, section 3.2: 4 MB on one PE of 48 KB.
TEST(PyflameDocument, SinglePE) {
  const std::string text = "tensor<1024x1024xf32, pyflame.SinglePE()>";
  expect_sampled({}, {1024, 1024}, text);
  EXPECT_EQ(bytes_per_pe(text), 4 * 1024 * 1024);
  EXPECT_GT(bytes_per_pe(text), 48 * 1024);
}

/// PyFlame document, section 3.2: rows 0-255 on PE(0,0), 256-511 on PE(1,0), .. 1 MB each.
TEST(PyflameDocument, RowPartition) {
  PyflameRule rule = grid(4, 1);
  rule.factory = "RowPartition";
  const std::string text = "tensor<1024x1024xf32, pyflame.RowPartition(4)>";
  expect_sampled(rule, {1024, 1024}, text);
  EXPECT_EQ(bytes_per_pe(text), 1024 * 1024);
  const Layout layout = read(text).layout();
  for (std::int64_t pe = 0; pe < 4; ++pe) {
    EXPECT_EQ(test::pyflame_tile_at(rule, {1024, 1024}, {pe, 0}), (Numbers{256, 1024}));
    const Result<Tile> tile = tile_of(layout, {pe, 0});
    ASSERT_TRUE(tile.ok());
    EXPECT_EQ(tile->boxes, (std::vector<Box>{{{256 * pe, 0}, {256 * pe + 256, 1024}}}));
  }
}

/// PyFlame document, section 3.2: 1024 PEs x 4 KB = 4 MB; tile (r, c) is the r-th and c-th 32.
TEST(PyflameDocument, Grid) {
  const std::string text = "tensor<1024x1024xf32, pyflame.Grid(32, 32)>";
  expect_sampled(grid(32, 32), {1024, 1024}, text);
  const Layout layout = read(text).layout();
  EXPECT_EQ(layout.places(), 1024);
  EXPECT_EQ(layout.shard_bytes(), 4 * 1024);
  EXPECT_EQ(layout.allocated_bytes(), 4 * 1024 * 1024);
  for (std::int64_t r : {0, 1, 31}) {
    for (std::int64_t c : {0, 1, 31}) {
      const Result<Tile> tile = tile_of(layout, {r, c});
      ASSERT_TRUE(tile.ok());
      EXPECT_EQ(tile->boxes, (std::vector<Box>{{{32 * r, 32 * c}, {32 * r + 32, 32 * c + 32}}}));
    }
  }
}

/// RowPartition(4) of 5 rows: 2, 2, 1, 0. The tiles sum to the tensor.
TEST(PyflameFacts, UnevenSplitsEndInEmptyTiles) {
  PyflameRule rule = grid(4, 1);
  rule.factory = "RowPartition";
  EXPECT_EQ(test::mistake(test::ruled(rule, {5, 3}, "f32")), "");
  const Layout layout = read("tensor<5x3xf32, pyflame.RowPartition(4)>").layout();
  const Numbers rows = {2, 2, 1, 0};
  for (std::int64_t pe = 0; pe < 4; ++pe) {
    const std::int64_t expected = rows[static_cast<std::size_t>(pe)];
    EXPECT_EQ(test::pyflame_tile_at(rule, {5, 3}, {pe, 0}), (Numbers{expected, 3}));
    const Result<Tile> tile = tile_of(layout, {pe, 0});
    ASSERT_TRUE(tile.ok());
    EXPECT_EQ(tile->elements, expected * 3);
  }
}

/// Layouts are compared as functions.
TEST(PyflameFacts, FactoriesThatAreTheSameFunction) {
  const auto same = [](const std::string& a, const std::string& b) {
    const auto answer = same_function(read(a).layout(), read(b).layout());
    EXPECT_TRUE(answer.ok());
    return answer.ok() && answer->equal;
  };
  EXPECT_TRUE(
      same("tensor<53x63xf32, pyflame.Grid(3, 1)>", "tensor<53x63xf32, pyflame.RowPartition(3)>"));
  EXPECT_TRUE(
      same("tensor<53x63xf32, pyflame.Grid(1, 2)>", "tensor<53x63xf32, pyflame.ColPartition(2)>"));
  EXPECT_TRUE(
      same("tensor<53x63xf32, pyflame.Grid(1, 1)>", "tensor<53x63xf32, pyflame.SinglePE()>"));
  // Blocks as long as the ceil-divided tile give one block per PE: 53 = 18 + 18 + 17.
  EXPECT_TRUE(same("tensor<53x63xf32, pyflame.BlockCyclic(3, 2, 18, 32)>",
                   "tensor<53x63xf32, pyflame.Grid(3, 2)>"));
  EXPECT_TRUE(same("tensor<53x63xf32, pyflame.Grid(3, 2, dim_to_pe=[0, 1])>",
                   "tensor<53x63xf32, pyflame.Grid(3, 2)>"));
  EXPECT_FALSE(same("tensor<53x63xf32, pyflame.Grid(3, 1)>",
                    "tensor<53x63xf32, pyflame.Grid(3, 1, replicate=[0])>"));
}

/// Tiles round up: [181, 181] f32 on 2x2 takes 91·91·4 = 33,124 B per PE.
TEST(PyflameFacts, TileBytesRoundUp) {
  EXPECT_EQ(bytes_per_pe("tensor<181x181xf32, pyflame.Grid(2, 2)>"), 33'124);
}

/// A by rows and B by columns, replicated along the other axis; a bias over the rows.
TEST(PyflameFacts, MatmulOperandsAreReplicated) {
  PyflameRule a = grid(4, 4);
  a.replicate = {1};
  EXPECT_EQ(test::mistake(test::ruled(a, {13, 7}, "f32")), "");
  const Layout rows = read("tensor<13x7xf32, pyflame.Grid(4, 4, replicate=[1])>").layout();
  EXPECT_EQ(rows.locate({12, 6})->places, (std::vector<Place>{{3, 0}, {3, 1}, {3, 2}, {3, 3}}));
  EXPECT_EQ(rows.locate({12, 6})->slot, 6);  // rows 12..15 on PE row 3; row 0 of the 4x7 tile

  PyflameRule b = grid(4, 4);
  b.replicate = {0};
  EXPECT_EQ(test::mistake(test::ruled(b, {7, 13}, "f32")), "");

  PyflameRule bias = grid(4, 4);
  bias.dim_to_pe = Numbers{1};
  bias.replicate = {0};
  EXPECT_EQ(test::mistake(test::ruled(bias, {13}, "f32")), "");
  const Layout over_rows =
      read("tensor<13xf32, pyflame.Grid(4, 4, dim_to_pe=[1], replicate=[0])>").layout();
  EXPECT_EQ(over_rows.locate({5})->places, (std::vector<Place>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
}

/// A PE axis that no dim uses is fixed at 0 unless replicated (DESIGN section 2).
TEST(PyflameFacts, AnUnusedAxisIsFixedAtZero) {
  PyflameRule rule = grid(2, 3);
  rule.dim_to_pe = Numbers{-1, 0};
  EXPECT_EQ(test::mistake(test::ruled(rule, {3, 5}, "f32")), "");
  const Layout layout = read("tensor<3x5xf32, pyflame.Grid(2, 3, dim_to_pe=[-1, 0])>").layout();
  EXPECT_EQ(layout.locate({2, 4})->places, (std::vector<Place>{{1, 0}}));
}

/// Blocks larger than the dim, and ones that leave PEs without any.
TEST(PyflameFacts, BlockCyclicByHand) {
  PyflameRule rule = grid(2, 2);
  rule.factory = "BlockCyclic";
  rule.block = Numbers{2, 3};
  EXPECT_EQ(test::mistake(test::ruled(rule, {7, 8}, "f32")), "");
  const Layout layout = read("tensor<7x8xf32, pyflame.BlockCyclic(2, 2, 2, 3)>").layout();
  // Rows 0 1 | 2 3 | 4 5 | 6: blocks 0 and 2 on PE row 0, so row 5 is its fourth; columns 0-2 |
  // 3-5 | 6 7: blocks 0 and 2 on PE column 0, so column 7 is its fifth. The tile is 4 x 6.
  EXPECT_EQ(layout.slots(), 24);
  EXPECT_EQ(layout.locate({5, 7})->places, (std::vector<Place>{{0, 0}}));
  EXPECT_EQ(layout.locate({5, 7})->slot, 3 * 6 + 4);
  EXPECT_EQ(layout.locate({6, 4})->places, (std::vector<Place>{{1, 1}}));
  EXPECT_EQ(layout.locate({6, 4})->slot, 2 * 6 + 1);  // its third row and second column

  // A block larger than the dim is no longer than the dim: 7 rows on PE row 0, none on PE row 1.
  rule.block = Numbers{9, 1};
  EXPECT_EQ(test::mistake(test::ruled(rule, {7, 8}, "f32")), "");
  const Layout large = read("tensor<7x8xf32, pyflame.BlockCyclic(2, 2, 9, 1)>").layout();
  EXPECT_EQ(large.slots(), 7 * 4);
  EXPECT_EQ(*large.element_at({1, 0}, 0), Slot(Padding{Cause::kGrid}));
}

/// Layouts of other notations that PyFlame can express too.
TEST(PyflameFacts, TheSameLayoutInOtherWords) {
  for (const char* text : {
           "tensor<6x8xf32, strided<[8, 1]>>",
           "tensor<6x8xf32, morello.row_major()>",
           "tensor<f32, strided<[]>>",
           "tensor<53x63xf32, native<mesh=[3, 2], {d0} / (18 -> m0, 1 -> mem*32), {d1} / "
           "(32 -> m1, 1 -> mem)>>",
           "tensor<8x63xf32, native<mesh=[2, 1], {d0} / (4 -> mem*126, 2 -> m0, 1 -> mem*63), "
           "{d1} / (1 -> mem)>>",  // block-cyclic rows
           "tensor<7x5xf32, native<mesh=[3, 4], {d0} / (3 -> m0, 1 -> mem*5), {d1} / (1 -> mem), "
           "replicate(m1)>>",
       }) {
    EXPECT_EQ(test::equivalent_mistake(text, "pyflame"), "");
  }
}

/// What the rule rejects, each with a typed error that points into the text.
TEST(PyflameFacts, Refusals) {
  const std::vector<std::string> layouts = {
      "pyflame.Grid(2, 2, dim_to_pe=[0, 0])",                 // two dims on one PE axis
      "pyflame.Grid(2, 2, dim_to_pe=[0])",                    // one entry for two dims
      "pyflame.Grid(2, 2, dim_to_pe=[0, 1, -1])",             // three entries for two dims
      "pyflame.Grid(2, 2, dim_to_pe=[0, 2])",                 // no such PE axis
      "pyflame.Grid(2, 2, dim_to_pe=[0, -2])",                //
      "pyflame.Grid(0, 2)",                                   // no PEs
      "pyflame.Grid(-1, 2)",                                  //
      "pyflame.Grid(2)",                                      //
      "pyflame.Grid(2, 2, 2)",                                //
      "pyflame.RowPartition()",                               //
      "pyflame.RowPartition(2, 2)",                           //
      "pyflame.SinglePE(1)",                                  //
      "pyflame.BlockCyclic(2, 2, 0, 1)",                      // blocks of nothing
      "pyflame.BlockCyclic(2, 2, 1)",                         //
      "pyflame.Custom(2, 2, [(0, 0), (0, 1), (1, 0)])",       // a tile without a PE
      "pyflame.Custom(1, 2, [(0, 0), (0, 0)])",               // two tiles on one PE
      "pyflame.Custom(1, 2, [(0, 0), (0, -1)])",              //
      "pyflame.Grid(2, 2, origin=(-1, 0))",                   //
      "pyflame.Grid(2, 2, replicate=[2])",                    // no such PE axis
      "pyflame.Grid(2, 2, replicate=[0, 0])",                 //
      "pyflame.Grid(2, 2, dim_to_pe=[0, 1], replicate=[1])",  // split and replicated
      "pyflame.Grid(2, 2, replicate=[1], partial=[1:sum])",   // a copy and a share
      "pyflame.Grid(2, 2, partial=[1:mean])",                 //
      "pyflame.Grod(2, 2)",                                   //
      "pyflame.Grid(2, 2, dim_to_pee=[0, 1])",                //
      "pyflame.Grid(2, 2, dim_to_pe=[0, 1], dim_to_pe=[0, 1])",
      "pyflame.Grid(9223372036854775807, 9223372036854775807)",
  };
  for (const std::string& layout : layouts) {
    const std::string text = test::tensor_text({4, 6}, "f32", layout);
    EXPECT_FALSE(parse_tensor(text).ok()) << text;
    EXPECT_EQ(test::hostile_mistake(text), "");
  }
  // A rank too small for the grid, unless the axis is explained.
  for (const std::string layout :
       {"pyflame.Grid(2, 2)", "pyflame.ColPartition(2)", "pyflame.BlockCyclic(2, 2, 1, 1)"}) {
    EXPECT_FALSE(parse_tensor(test::tensor_text({4}, "f32", layout)).ok()) << layout;
  }
  EXPECT_FALSE(parse_tensor("tensor<f32, pyflame.RowPartition(2)>").ok());
  EXPECT_EQ(test::mistake(test::ruled(grid(1, 1), {}, "f32")), "");
}

}  // namespace
}  // namespace tessera::notation
