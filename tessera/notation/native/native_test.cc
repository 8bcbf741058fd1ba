// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

/// A text in the printed form and the spec that it must mean, which is written by hand.
void expect_golden(const std::string& text, const LayoutSpec& spec) {
  SCOPED_TRACE(text);
  const Result<Layout> layout = Layout::make(spec);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(print_native(*layout), text);
  const Result<Tensor> tensor = parse_tensor(text);
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
  EXPECT_EQ(tensor->notation, "native");
  EXPECT_TRUE(tensor->layout().spec() == spec);
}

LayoutSpec spec_of(std::vector<std::int64_t> shape, std::vector<std::int64_t> mesh,
                   std::vector<Fold> folds, DType dtype = DType::kF32) {
  LayoutSpec spec;
  spec.form.shape = *Shape::make(std::move(shape));
  spec.form.mesh = *Shape::make(std::move(mesh));
  spec.form.folds = std::move(folds);
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  return spec;
}

constexpr Target kMem = Target::memory();
constexpr Target kNone = Target::nothing();
constexpr Cause kAlign = Cause::kAlignment;
Target axis(int a) { return Target::mesh(a); }

TEST(Native, RowMajor) {
  expect_golden("tensor<4x6xf32, native<{d0} / (1 -> mem*6), {d1} / (1 -> mem)>>",
                spec_of({4, 6}, {},
                        {Fold{{{0, 1}}, 0, {{1, 4, kMem, 6, kAlign}}},
                         Fold{{{1, 1}}, 0, {{1, 6, kMem, 1, kAlign}}}}));
}

TEST(Native, RankZero) {
  expect_golden("tensor<bf16, native<>>", spec_of({}, {}, {}, DType::kBF16));
}

TEST(Native, EmptyTensor) {
  // No element needs a slot: the digit of d0 has no values.
  expect_golden("tensor<0x6xi8, native<{d0} / (1 -> mem*6), {d1} / (1 -> mem)>>",
                spec_of({0, 6}, {},
                        {Fold{{{0, 1}}, 0, {{1, 0, kMem, 6, kAlign}}},
                         Fold{{{1, 1}}, 0, {{1, 6, kMem, 1, kAlign}}}},
                        DType::kI8));
}

TEST(Native, TiledOnAMesh) {
  // 53 rows on 3 cores are 18 each, 63 columns on 2 cores 32 each; both kept in 32x32 tiles. The
  // line of 53 needs 3 pieces of 18, one tile of 32 for each and 18 rows in it; 32 are allocated,
  // so that count is given. The line of 63 needs 2, 1 and 32: no count is given.
  LayoutSpec spec = spec_of({53, 63}, {3, 2},
                            {Fold{{{0, 1}},
                                  0,
                                  {{18, 3, axis(0), 1, Cause::kGrid},
                                   {32, 1, kMem, 1024, Cause::kTile},
                                   {1, 32, kMem, 32, Cause::kTile}}},
                             Fold{{{1, 1}},
                                  0,
                                  {{32, 2, axis(1), 1, Cause::kGrid},
                                   {32, 1, kMem, 1024, kAlign},
                                   {1, 32, kMem, 1, kAlign}}}});
  spec.atom = Atom::tile(32, 32, DType::kBfpBf8);
  spec.space = "l1";
  spec.padding = PaddingValue::of(0);
  spec.slots = 1024;
  expect_golden(
      "tensor<53x63xf32, native<mesh=[3, 2], "
      "{d0} / (18 -> m0, 32 -> mem*1024!tile, 1#32 -> mem*32!tile), "
      "{d1} / (32 -> m1, 32 -> mem*1024, 1 -> mem), "
      "slots=1024, atom=tile(32x32, bfp_bf8), pad=0, space=l1>>",
      spec);
}

TEST(Native, JoinedFlippedAndShiftedLines) {
  // 6·x0 + x1 over 4x6 is a line of 24 in pieces of 5: 5 places.
  expect_golden("tensor<4x6xf32, native<mesh=[5], {6*d0 + d1} / (5 -> m0, 1 -> mem)>>",
                spec_of({4, 6}, {5},
                        {Fold{{{0, 6}, {1, 1}},
                              0,
                              {{5, 5, axis(0), 1, Cause::kGrid}, {1, 5, kMem, 1, kAlign}}}}));
  // A flip of 4 rows starts at 3; a start of 2 before 6 columns makes a line of 8.
  expect_golden("tensor<4x6xf32, native<{-d0 + 3} / (1 -> mem*8), {d1 + 2} / (1 -> mem)>>",
                spec_of({4, 6}, {},
                        {Fold{{{0, -1}}, 3, {{1, 4, kMem, 8, kAlign}}},
                         Fold{{{1, 1}}, 2, {{1, 8, kMem, 1, kAlign}}}}));
  expect_golden("tensor<4x6xf32, native<{-6*d0 - d1 + 23} / (1 -> mem)>>",
                spec_of({4, 6}, {}, {Fold{{{0, -6}, {1, -1}}, 23, {{1, 24, kMem, 1, kAlign}}}}));
}

TEST(Native, SyntheticDigitsAndDigitsOfNothing) {
  // Sparse sticks: a fold without dims has a line of one point; 64 values are allocated for it.
  expect_golden("tensor<4xf16, native<{d0} / (1 -> mem*64), {} / (1#64 -> mem)>>",
                spec_of({4}, {},
                        {Fold{{{0, 1}}, 0, {{1, 4, kMem, 64, kAlign}}},
                         Fold{{}, 0, {{1, 64, kMem, 1, Cause::kSynthetic}}}},
                        DType::kF16));
  // A digit may be unplaced; the second fold is then only a check.
  expect_golden(
      "tensor<4xf32, native<{d0} / (1 -> mem), {d0 + 5} / (8 -> none, 1 -> none*0!gap)>>",
      spec_of({4}, {},
              {Fold{{{0, 1}}, 0, {{1, 4, kMem, 1, kAlign}}},
               Fold{{{0, 1}}, 5, {{8, 2, kNone, 1, kAlign}, {1, 8, kNone, 0, Cause::kGap}}}}));
}

TEST(Native, Fills) {
  LayoutSpec spec = spec_of({4}, {4, 6, 3, 2}, {Fold{{{0, 1}}, 0, {{1, 4, kMem, 1, kAlign}}}});
  spec.form.fills = {Fill::replicate(0, 4), Fill::replicate(1, 3, 2),
                     Fill::partial(1, 2, Reduction::kMax), Fill::fixed(2, 1),
                     Fill::partial(3, 2, Reduction::kSum)};
  expect_golden(
      "tensor<4xf32, native<mesh=[4, 6, 3, 2], {d0} / (1 -> mem), replicate(m0), "
      "replicate(m1#3*2), partial(m1#2, max), fixed(m2=1), partial(m3, sum)>>",
      spec);
}

TEST(Native, PaddingValues) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0.1, "0.1"},
      {-1.5, "-1.5"},
      {1e300, "1e+300"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::infinity(), "inf"},
      {-std::numeric_limits<double>::infinity(), "-inf"}};
  for (const auto& [number, text] : cases) {
    LayoutSpec spec = spec_of({2}, {}, {Fold{{{0, 1}}, 0, {{1, 2, kMem, 1, kAlign}}}});
    spec.padding = PaddingValue::of(number);
    expect_golden("tensor<2xf32, native<{d0} / (1 -> mem), pad=" + text + ">>", spec);
  }
}

TEST(Native, DeviceMaps) {
  // Examples of the header of DeviceMap. 64 places in a row on 8x8: quotient and remainder by 8.
  LayoutSpec spec =
      spec_of({64}, {1, 64}, {Fold{{{0, 1}}, 0, {{1, 64, axis(1), 1, Cause::kGrid}}}});
  spec.device_map = DeviceMap::folded(
      *Shape::make({9, 8}),
      {Fold{{{1, 1}}, 0, {{8, 8, axis(0), 1, Cause::kGrid}, {1, 8, axis(1), 1, Cause::kGrid}}}},
      {1, 0});
  expect_golden(
      "tensor<64xf32, native<mesh=[1, 64], {d0} / (1 -> m1), "
      "device=folded([9, 8], {d1} / (8 -> m0, 1 -> m1), origin=[1, 0])>>",
      spec);
  // 30 pages over 12 banks: the bank is the remainder, the layer the quotient.
  spec = spec_of({30}, {30}, {Fold{{{0, 1}}, 0, {{1, 30, axis(0), 1, Cause::kGrid}}}});
  spec.device_map = DeviceMap::folded(
      *Shape::make({12}),
      {Fold{{{0, 1}}, 0, {{12, 3, kMem, 1, kAlign}, {1, 12, axis(0), 1, Cause::kGrid}}}});
  expect_golden(
      "tensor<30xf32, native<mesh=[30], {d0} / (1 -> m0), "
      "device=folded([12], {d0} / (12 -> mem, 1 -> m0))>>",
      spec);
  spec = spec_of({3}, {3}, {Fold{{{0, 1}}, 0, {{1, 3, axis(0), 1, Cause::kGrid}}}});
  spec.device_map = DeviceMap::table(*Shape::make({2, 2}), {{1, 1}, {0, 0}, {1, 0}});
  expect_golden(
      "tensor<3xf32, native<mesh=[3], {d0} / (1 -> m0), "
      "device=table([2, 2], [[1, 1], [0, 0], [1, 0]])>>",
      spec);
}

TEST(Native, ItemsStandInAnyOrderAndDefaultsMayBeSaid) {
  const std::string_view printed =
      "tensor<53x63xf32, native<mesh=[3, 2], {d0} / (18 -> m0, 1 -> mem*32), "
      "{d1} / (32 -> m1, 1 -> mem), offset=4>>";
  for (const std::string_view text : {
           "tensor<53x63xf32, native<offset=4, {d0} / (18 -> m0, 1 -> mem*32), mesh=[3, 2], "
           "{d1} / (32 -> m1, 1 -> mem)>>",
           "tensor<53 x 63 x f32,native<mesh=[3,2],{d0}/(18->m0,1->mem*32),{d1}/(32->m1,1->mem),"
           "offset=4>>",
           " tensor < 53x63 xf32 , native < mesh = [ 3 , 2 ] , { 1 * d0 + 0 } / ( 18 # 3 -> m0 * 1 "
           "! grid , 1 # 18 -> mem * 32 ! alignment ) , { 0 + d1 } / ( 32 -> m1 , 1 -> mem ) , "
           "offset = 4 , atom = f32 , pad = undef , device = identity > > ",
       }) {
    SCOPED_TRACE(text);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    EXPECT_EQ(print_native(tensor->layout()), printed);
  }
}

TEST(Native, ShapesAndTypes) {
  for (const auto& [text, printed] :
       std::vector<std::pair<std::string, std::string>>{{"1xf32", "1xf32"},
                                                        {"1x1xbf16", "1x1xbf16"},
                                                        {"1xbool", "1xi1"},
                                                        {"1 x u32", "1xui32"}}) {
    const std::string tensor = "tensor<" + text + ", native<>>";
    const Result<Tensor> parsed = parse_tensor(tensor);
    ASSERT_TRUE(parsed.ok()) << render(parsed.error(), tensor);
    EXPECT_EQ(print_native(parsed->layout()), "tensor<" + printed + ", native<>>");
  }
}

TEST(Native, TheSayingOfSlotsIsKept) {
  // 2x2 uses 4 slots: stating this is not the same description as omitting it.
  const std::string text = "tensor<4xf32, native<{d0} / (1 -> mem), slots=4>>";
  const Result<Tensor> tensor = parse_tensor(text);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->layout().spec().slots, 4);
  EXPECT_EQ(print_native(tensor->layout()), text);
}

TEST(Registry, NotationsAreFoundByName) {
  ASSERT_FALSE(notations().empty());
  EXPECT_EQ(notations().front().name, "native");
  for (const Notation& notation : notations()) {
    const Result<const Notation*> found = find_notation(notation.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ((*found)->keywords, notation.keywords);
    const Result<Tensor> example = parse_tensor(notation.example);
    ASSERT_TRUE(example.ok()) << render(example.error(), notation.example);
    EXPECT_EQ(example->notation, notation.name);
    const Result<std::string> printed = print_tensor(example->layout(), notation);
    ASSERT_TRUE(printed.ok());
    EXPECT_EQ(*printed, notation.example);
  }
  const Result<const Notation*> unknown = find_notation("natve");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownNotation);
  EXPECT_EQ(unknown.error().help, "did you mean 'native'?");
}

TEST(Docs, EveryExampleReadsAndPrintsAsItStands) {
  std::ifstream page("docs/native.md");
  ASSERT_TRUE(page) << "tests run in the root of the source tree";
  int examples = 0;
  for (std::string line; std::getline(page, line);) {
    const std::size_t end = line.find(">>");
    if (!line.starts_with("    tensor<") || end == std::string::npos) continue;
    const std::string text = line.substr(4, end + 2 - 4);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    const Result<std::string> printed =
        print_tensor(tensor->placement, **find_notation(tensor->notation));
    ASSERT_TRUE(printed.ok()) << printed.error().message;
    EXPECT_EQ(*printed, text);
    ++examples;
  }
  EXPECT_GE(examples, 14);
}

TEST(Tensor, AMissingLayoutIsHelpedWithRowMajorOfThisShape) {
  const Result<Tensor> tensor = parse_tensor("tensor<53x63xf32>");
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().help, "row-major is tensor<53x63xf32, strided<[63, 1]>>");
}

TEST(Native, ViewsMayShareSlotsAndSayNothingOfMemory) {
  const std::string text = "tensor<4x6xf32, native.view<{d0} / (1 -> none), {d1} / (1 -> mem)>>";
  const Result<Tensor> tensor = parse_tensor(text);
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
  ASSERT_NE(tensor->placement.view(), nullptr);
  EXPECT_EQ(print_tensor(*tensor), text);
  EXPECT_EQ(tensor->placement.slots(), 6);
  for (std::int64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(tensor->placement.locate({row, 5})->slot, 5);
  }
  const std::string more = "tensor<2xf32, native.view<{d0} / (1 -> none), slots=3>>";
  EXPECT_EQ(print_tensor(*parse_tensor(more)), more);
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<2xf32, native.view<{d0} / (1 -> none), space=l1>>",  //
            "                                                    ^^", ErrorCode::kNotSupported,
            "a view does not specify its memory's space"},
           {"tensor<2xf32, native.veiw<{d0} / (1 -> none)>>",  //
            "                     ^^^^", ErrorCode::kUnknownName,
            "no native layout is called 'native.veiw'"},
           {"tensor<2xf32, native.view<{d0} / (1 -> mem), slots=1>>",  //
            "                                                   ^", ErrorCode::kSlotsTooFew,
            "1 slots are allocated but slot 1 is used"}}) {
    expect_refused(refusal);
  }
}

TEST(Native, PiecesAreBoxesWithALayoutEach) {
  // 5 elements on 2x2 as chunks of chunks: 0 1 | 2 | 3 | 4.
  const std::string text =
      "tensor<5xf32, native.pieces<[0:3] native<mesh=[2, 2], {d0} / (2 -> m1, 1 -> mem), "
      "fixed(m0=0)>, [3:5] native<mesh=[2, 2], {d0} / (1 -> m1), fixed(m0=1)>>>";
  const Result<Tensor> tensor = parse_tensor(text);
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
  ASSERT_NE(tensor->placement.pieces(), nullptr);
  EXPECT_EQ(print_tensor(*tensor), text);
  const std::vector<Place> places = {{0, 0}, {0, 0}, {0, 1}, {1, 0}, {1, 1}};
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(tensor->placement.locate({i})->places,
              std::vector<Place>{places[static_cast<std::size_t>(i)]});
  }
  const std::string scalar = "tensor<f32, native.pieces<[] native<>>>";
  EXPECT_EQ(print_tensor(*parse_tensor(scalar)), scalar);
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4xf32, native.pieces<[0:2] native<{d0} / (1 -> mem)>>>",  //
            "              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kBadPieces,
            "pieces cover 2 of 4 elements"},
           {"tensor<4xf32, native.pieces<[0:4, 0:1] native<{d0} / (1 -> mem)>>>",  //
            "              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kBadPieces, "piece 0 has rank 2 (expected 1)"},
           {"tensor<4xf32, native.pieces<[4:0] native<{d0} / (1 -> mem)>>>",  //
            "                            ^^^^^", ErrorCode::kBadShape,
            "dim 0 has the negative extent -4"},
           {"tensor<4xf32, native.pieces<[0 4] native<>>>",  //
            "                               ^", ErrorCode::kSyntax, "expected ':', found '4'"},
           {"tensor<4xf32, native.pieces<[0:4] strided<[1]>>>",  //
            "                                  ^^^^^^^", ErrorCode::kSyntax,
            "expected 'native', found 'strided'"},
           {"tensor<4xf32, native.pieces<>>",  //
            "                            ^", ErrorCode::kSyntax, "expected '[', found '>'"}}) {
    expect_refused(refusal);
  }
}

}  // namespace
}  // namespace tessera::notation
