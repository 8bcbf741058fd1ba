// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/convert.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tessera/notation/raising/one_rule.h"
#include "tessera/notation/raising/refusal.h"
#include "tessera/testing/notation/random_texts.h"
#include "tessera/testing/notation/refusals.h"
#include "tessera/testing/notation/sayable.h"

/// What the sweep over all pairs cannot show by itself: that it would detect errors, and the cases
/// that it found.
namespace tessera::notation {
namespace {

using test::Dice;
using test::Positions;
using test::Refused;

std::string converted(std::string_view text, std::string_view to) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return tensor.error().message;
  const Result<Conversion> conversion = convert(*tensor, **find_notation(to));
  return conversion ? conversion->text : conversion.error().message;
}

/// The reasons why the notation refuses the tensor.
std::vector<Reason> reasons(std::string_view text, std::string_view to) {
  const Result<Conversion> conversion = convert(*parse_tensor(text), **find_notation(to));
  if (conversion) return {};
  EXPECT_EQ(conversion.error().code, ErrorCode::kNotSupported);
  return conversion.error().reasons;
}

/// What counting says about the given reasons.
std::string mistake(std::string_view text, std::string_view notation,
                    const std::vector<Reason>& reasons) {
  const Tensor tensor = *parse_tensor(text);
  const Positions positions = *test::positions_of(tensor);
  return test::refusal_mistake(Refused{tensor, positions, notation}, reasons);
}

TEST(Convert, SaysOnePlaceWhateverTheMesh) {
  EXPECT_EQ(converted("tensor<6xf32, pyflame.SinglePE()>", "metal-today"),
            "tensor<1x6xf32, #ttcore.metal_layout<logical_shape = 6, dim_alignments = 1, "
            "collapsed_intervals = dense<[[0, 1]]> : tensor<1x2xi64>>>");
}

TEST(Convert, SaysLayoutsThatOnlyLookCut) {
  // (3x + 3) div 4 is 0, 1, 2.
  EXPECT_EQ(converted("tensor<3xbf16, native<{3*d0 + 3} / (4 -> mem, 1 -> none)>>", "pyflame"),
            "tensor<3xbf16, pyflame.SinglePE()>");
}

TEST(Convert, SaysBoxesThatAreOneRule) {
  EXPECT_EQ(converted("tensor<7xf32, dtensor<mesh=[2,1], [_StridedShard(0, split_factor=2), "
                      "Replicate()]>>",
                      "pyflame"),
            "tensor<7xf32, pyflame.BlockCyclic(2, 1, 2, 1)>");
  // A box that continues in another way is not part of one rule: 5 elements as [0,2) [2,3) [3,4)
  // [4,5).
  const Tensor chunks = *parse_tensor("tensor<5xf32, dtensor<mesh=[2,2], [Shard(0), Shard(0)]>>");
  ASSERT_NE(chunks.placement.pieces(), nullptr);
  EXPECT_FALSE(one_rule(*chunks.placement.pieces()));
}

TEST(Convert, KeepsPlacesThatHoldNothing) {
  EXPECT_EQ(converted("tensor<2xf32, dtensor<mesh=[3], [Shard(0)]>>", "gspmd"),
            "tensor<2xf32, gspmd{devices=[3]<=[3]}>");
  EXPECT_EQ(reasons("tensor<4xf32, native<mesh=[5], {d0} / (1 -> mem), replicate(m0#3)>>", "gspmd"),
            (std::vector<Reason>{{why::kDevices, {{"devices", 5}, {"expected_devices", 3}}}}));
}

TEST(Convert, SaysOneShareAsTheValue) {
  const Tensor tensor = *parse_tensor("tensor<4xf32, pyflame.RowPartition(1, partial=[0:max])>");
  const Result<Conversion> conversion = convert(tensor, **find_notation("strided"));
  ASSERT_TRUE(conversion.ok()) << conversion.error().message;
  EXPECT_EQ(conversion->text, "tensor<4xf32, strided<[1]>>");
  EXPECT_EQ(conversion->lost, std::vector<std::string>{"the reduction of one share"});
}

TEST(Convert, EmptyTensorsShareNothing) {
  for (const char* text :
       {"tensor<3x0x5xi32, strided<[1, 1, 3]>>", "tensor<5x4x0xf32, cute<(5,4,0):(3,1,1)>>"}) {
    EXPECT_NE(parse_tensor(text)->placement.layout(), nullptr) << text;
  }
}

TEST(Convert, NamesTheElementThatHasNoWords) {
  EXPECT_EQ(reasons("tensor<8xf32, morello[(0, OddEven(8))]>", "strided"),
            (std::vector<Reason>{{why::kElementElsewhere,
                                  {{"index", Index{2}}, {"slot", 1}, {"expected_slot", 8}}}}));
  EXPECT_EQ(reasons("tensor<64xf64, strided<[1]>>", "spyre"),
            (std::vector<Reason>{{why::kStickType, {{"dtype", "f64"}}}}));
}

TEST(Convert, RefusesDeviceMapsThatMovePlaces) {
  const char* moved = "tensor<8x8xf32, pyflame.Grid(2, 2, origin=(4, 4))>";
  // Cores are listed row by row, so a range has no other order.
  const char* transposed =
      "tensor<8x8xf32, pyflame.Custom(2, 2, [(0, 0), (1, 0), (0, 1), (1, 1)])>";
  const char* in_a_row = "tensor<8x8xf32, pyflame.Custom(2, 2, [(0, 0), (0, 1), (0, 2), (0, 3)])>";
  const char* single =
      "tensor<8x8xf32, native<{d0} / (1 -> mem*8), {d1} / (1 -> mem), "
      "device=folded([6, 6], origin=[4, 4])>>";
  for (const auto& [text, to] :
       std::vector<std::pair<const char*, const char*>>{{moved, "dtensor"},
                                                        {moved, "metal-today"},
                                                        {transposed, "metal"},
                                                        {transposed, "ttnn"},
                                                        {in_a_row, "ttnn"},
                                                        {single, "metal"},
                                                        {single, "strided"},
                                                        {single, "gspmd"}}) {
    const std::vector<Reason> found = reasons(text, to);
    ASSERT_EQ(found.size(), 1U) << text << " to " << to;
    EXPECT_EQ(found.front().name, why::kDeviceMap) << text << " to " << to;
    EXPECT_EQ(mistake(text, to, found), "") << text << " to " << to;
  }
}

const Reason kPadded = {why::kPaddedDim, {{"dim", 0}, {"extent", 5}, {"padded_extent", 8}}};

TEST(Refusals, GiveEveryReason) {
  const char* grid = "tensor<5x6xf32, pyflame.Grid(4, 2)>";
  const Reason mesh = {why::kMeshRank,
                       {{"mesh", Index{4, 2}}, {"least_axes", 0}, {"most_axes", 0}}};
  EXPECT_EQ(reasons(grid, "morello"), (std::vector<Reason>{kPadded, mesh}));
  EXPECT_EQ(mistake(grid, "morello", {kPadded, mesh}), "");
}

TEST(Refusals, WrongReasonsAreNoticed) {
  for (const Reason& wrong : std::vector<Reason>{
           {why::kPaddedDim, {{"dim", 0}, {"extent", 6}, {"padded_extent", 8}}},
           {why::kPaddedDim, {{"dim", 1}, {"extent", 6}, {"padded_extent", 6}}},
           {why::kPaddedDim, {{"dim", 0}, {"extent", 5}}},
           {why::kPaddedDim, {{"dim", 0}, {"extent", 5}, {"padded_extent", "8"}}},
           {why::kMeshRank, {{"mesh", Index{2, 4}}, {"least_axes", 0}, {"most_axes", 0}}},
           {why::kMeshRank, {{"mesh", Index{4, 2}}, {"least_axes", 0}, {"most_axes", 2}}},
           {why::kEmptySlots, {{"slots", 48}, {"elements", 31}}},
           {why::kReplicated, {{"places", 2}, {"axis", 0}}},
           {why::kPartialResult, {{"reduction", "sum"}, {"places", 2}}},
           {why::kTiles, {{"rows", 2}, {"cols", 2}}},
           {why::kSharedSlots},
           {why::kBoxes, {{"boxes", 2}}},
           {why::kFirstSlot, {{"slot", 4}}},
           {why::kDeviceMap},
           {why::kDeviceMap, {{"index", Index{0, 0}}}},
           {why::kMeshShape, {{"mesh", Index{2, 4}}, {"expected_mesh", Index{4, 2}}}},
           {why::kMeshShape, {{"mesh", Index{4, 2}}, {"expected_mesh", Index{4, 2}}}},
           {"tired"}}) {
    EXPECT_NE(mistake("tensor<5x6xf32, pyflame.Grid(4, 2)>", "morello", {kPadded, wrong}), "")
        << wrong.name;
  }
  EXPECT_NE(mistake("tensor<5x6xf32, pyflame.Grid(4, 2)>", "morello", {}), "");
}

TEST(Refusals, ASearchContradictsReasonsThatSoundRight) {
  // Each can be expressed, although the given reason is true.
  const char* row_major = "tensor<4x6xf32, strided<[6, 1]>>";
  EXPECT_EQ(mistake(row_major, "strided",
                    {{why::kElementElsewhere,
                      {{"index", Index{1, 1}}, {"slot", 7}, {"expected_slot", 8}}}}),
            "element_elsewhere: a search finds words for it");
  EXPECT_EQ(mistake(row_major, "onednn", {{why::kJoinedDims, {{"dims", Index{0, 1}}}}}),
            "joined_dims: a search finds words for it");
}

/// Every notation's own tensors are found by its own search, if the search covers their kind; no
/// search accepts tensors that lack what its notation needs.
TEST(Refusals, SearchesFindWhatTheirNotationsSay) {
  struct Case {
    const char* notation;
    const char* text;
  };
  for (const Case& known : std::vector<Case>{
           {"strided", "tensor<3x4xf32, strided<[5, -1], offset: 3>>"},
           {"pyflame", "tensor<7x6xf32, pyflame.BlockCyclic(2, 3, 2, 1)>"},
           {"spyre", "tensor<3x70xf16, spyre.default()>"},
           {"metal",
            "tensor<5x6xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <2x3>, memref<3x2xf32, "
            "#tt.memory_space<l1>>>>"},
           {"metal-today",
            "tensor<2x1x3x8xf32, #ttcore.metal_layout<logical_shape = 5x7, dim_alignments = 6x8, "
            "collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, sharded>>"},
           {"ttnn",
            "tensor<5x7xf32, ttnn<stride=[35, 7, 1], shard_shape=[3, 4], tile_shape=[1, "
            "1]>>"},
           {"morello", "tensor<4x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, OddEven(4))]>"},
           {"xla", "tensor<3x5xf32, xla{0,1:T(2,2)}>"},
           {"onednn", "tensor<3x5xf32, onednn.bA2a>"},
           {"cute", "tensor<9x2xf32, cute<((3,3),2):((1,5),20)>>"},
           {"gspmd", "tensor<5x4xf32, gspmd{devices=[2,2]0,2,1,3}>"},
           {"dtensor", "tensor<5xf32, dtensor<mesh=[2,2], [Shard(0), Shard(0)]>>"}}) {
    const Result<Tensor> tensor = parse_tensor(known.text);
    ASSERT_TRUE(tensor.ok()) << known.text << ": " << tensor.error().message;
    EXPECT_TRUE(test::finds_words(known.notation, *test::positions_of(*tensor))) << known.text;
  }
  const Positions downward =
      *test::positions_of(*parse_tensor("tensor<6xf32, strided<[-1], offset: 6>>"));
  for (const Notation& notation : notations()) {
    if (notation.name == "native" || notation.name == "strided") continue;
    EXPECT_FALSE(test::finds_words(notation.name, downward)) << notation.name;
  }
}

TEST(RandomTexts, AreTensorsOfTheirNotation) {
  for (const Notation& notation : notations()) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Dice dice(seed);
      const std::string text = test::random_text(notation.name, dice);
      const Result<Tensor> tensor = parse_tensor(text);
      ASSERT_TRUE(tensor.ok()) << text << ": " << tensor.error().message;
      EXPECT_EQ(tensor->notation, notation.name) << text;
      EXPECT_LE(tensor->shape().elements(), 200) << text;
      EXPECT_LE(tensor->placement.slots() * tensor->placement.places(), 2100) << text;
    }
  }
}

}  // namespace
}  // namespace tessera::notation
