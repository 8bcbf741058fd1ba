// SPDX-License-Identifier: Apache-2.0
// Any affine map, the spellings that files use, and layouts of other notations expressed in this
// one.
#include <gtest/gtest.h>

#include <limits>

#include "tessera/notation/metal/metal.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/metal_checks.h"
#include "tessera/testing/notation/reasons.h"

namespace tessera::notation {
namespace {

std::string metal(std::string_view type, std::string_view map, std::string_view grid,
                  std::string_view memref) {
  return cat("tensor<", type, ", #ttcore.metal_layout<", map, ", undef, <", grid, ">, memref<",
             memref, ", #ttcore.memory_space<dram>>>>");
}

NaiveLine line(std::function<std::int64_t(const Index&)> value, std::int64_t extent,
               std::int64_t grid, std::int64_t tile = 1) {
  return {std::move(value), grid, (extent + grid - 1) / grid, tile};
}

void check(std::string_view text, const std::vector<NaiveLine>& lines) {
  SCOPED_TRACE(text);
  const Tensor tensor = parsed(text);
  EXPECT_EQ(print_tensor(tensor), text);
  check_places(tensor.layout(), lines);
  check_round_trip(tensor);
  check_raises(tensor.layout(), "metal");
}

const auto kZero = [](const Index&) -> std::int64_t { return 0; };
const auto kD0 = [](const Index& x) { return x[0]; };
const auto kD1 = [](const Index& x) { return x[1]; };

TEST(MetalMaps, ConstantsAndPermutations) {
  check(metal("7xf32", "(d0) -> (0, d0)", "1x2", "1x4xf32"), {line(kZero, 1, 1), line(kD0, 7, 2)});
  check(metal("70xf32", "(d0) -> (0, d0)", "1x2", "1x2x!ttcore.tile<32x32, f32>"),
        {line(kZero, 1, 1, 32), line(kD0, 70, 2, 32)});
  check(metal("f32", "() -> (0, 0)", "1x1", "1x1xf32"), {line(kZero, 1, 1), line(kZero, 1, 1)});
  check(metal("5xf32", "(d0) -> (2, d0)", "3x1", "1x5xf32"),
        {line([](const Index&) -> std::int64_t { return 2; }, 3, 3), line(kD0, 5, 1)});
  check(metal("4x6xf32", "(d0, d1) -> (d1, d0)", "2x3", "3x2xf32"),
        {line(kD1, 6, 2), line(kD0, 4, 3)});
  check(metal("4x1x6xf32", "(d0, d1, d2) -> (d0, d2)", "2x2", "2x3xf32"),
        {line(kD0, 4, 2), line([](const Index& x) { return x[2]; }, 6, 2)});
}

TEST(MetalMaps, FlipsAndShifts) {
  check(metal("7x3xf32", "(d0, d1) -> (-d0 + 6, d1)", "2x1", "4x3xf32"),
        {line([](const Index& x) { return 6 - x[0]; }, 7, 2), line(kD1, 3, 1)});
  check(metal("7x3xf32", "(d0, d1) -> (-d0 + 8, d1 + 1)", "2x2", "5x2xf32"),
        {line([](const Index& x) { return 8 - x[0]; }, 9, 2),
         line([](const Index& x) { return x[1] + 1; }, 4, 2)});
  check(metal("5xf32", "(d0) -> (d0, -d0 + 4)", "1x1", "5x5xf32"),
        {line(kD0, 5, 1), line([](const Index& x) { return 4 - x[0]; }, 5, 1)});
  check(metal("3x4xf32", "(d0, d1) -> (d0 * 5 + d1 * 20)", "2", "36xf32"),
        {line([](const Index& x) { return x[0] * 5 + x[1] * 20; }, 71, 2)});
}

TEST(MetalMaps, QuotientsAndRemainders) {
  check(metal("20xf32", "(d0) -> (d0 floordiv 4, d0 mod 4)", "2x2", "3x2xf32"),
        {line([](const Index& x) { return x[0] / 4; }, 5, 2),
         line([](const Index& x) { return x[0] % 4; }, 4, 2)});
  check(metal("20xf32", "(d0) -> (d0 mod 4, d0 floordiv 4)", "2x2", "1x1x!ttcore.tile<32x32, f32>"),
        {line([](const Index& x) { return x[0] % 4; }, 4, 2, 32),
         line([](const Index& x) { return x[0] / 4; }, 5, 2, 32)});
  check(metal("12x3xf32", "(d0, d1) -> ((d0 mod 6) floordiv 2, d0 floordiv 6, d0 mod 2, d1)",
              "1x2x1x1", "3x1x2x3xf32"),
        {line([](const Index& x) { return x[0] % 6 / 2; }, 3, 1),
         line([](const Index& x) { return x[0] / 6; }, 2, 2),
         line([](const Index& x) { return x[0] % 2; }, 2, 1), line(kD1, 3, 1)});
}

TEST(MetalMaps, EmptyTensorsAndEmptyShards) {
  check(metal("0x5xf32", "(d0, d1) -> (d0, d1)", "2x2", "0x3xf32"),
        {line(kD0, 0, 2), line(kD1, 5, 2)});
  const Layout empty = parsed(metal("0x5xf32", "(d0, d1) -> (d0, d1)", "2x2", "0x3xf32")).layout();
  EXPECT_EQ(empty.slots(), 0);
  EXPECT_EQ(empty.shard_bytes(), 0);
  // 5 rows on 4 cores: 2, 2, 1 and none.
  check(metal("5x3xf32", "(d0, d1) -> (d0, d1)", "4x1", "2x3xf32"),
        {line(kD0, 5, 4), line(kD1, 3, 1)});
  check(metal("2x3xf32", "(d0, d1) -> (d0, d1)", "9x9", "1x1xf32"),
        {line(kD0, 2, 9), line(kD1, 3, 9)});
}

// Different spellings of one layout in files of tt-mlir.
TEST(MetalMaps, Spellings) {
  const std::string canonical =
      "tensor<64x64xf32, #ttcore.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, "
      "memref<2x2x!ttcore.tile<32x32, f32>, #l1_>>>";
  for (const std::string_view text :
       {"tensor<64x64xf32, #ttcore.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, "
        "memref<2x2x!ttcore.tile<32 x 32, f32>, #l1_>>>",
        "tensor<64x64xf32, #ttcore.metal_layout< (d0,d1)->(d0,d1), undef,\n  <1x1>, "
        "memref<2x2x!tt.tile<32x32, f32>, #l1_> > >",
        "tensor<64x64xf32, #ttcore.metal_layout<affine_map<(d0, d1) -> (d0, d1)>, undef, <1x1>, "
        "memref<2x2x!ttcore.tile<32x32, f32>, #l1_>>>"}) {
    EXPECT_EQ(print_tensor(parsed(text)), canonical);
  }
  const std::string sharded =
      "tensor<64x64xf32, #ttcore.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, "
      "memref<64x64xf32, #l1_>, block_sharded>>";
  EXPECT_EQ(print_tensor(parsed(sharded)), sharded);
  const Tensor tensor = parsed(sharded);
  EXPECT_EQ(std::get<MetalLayout>(terms_of(tensor)).memory_layout, "block_sharded");
}

TEST(MetalMaps, SpacesAndOutOfBoundsValues) {
  const auto text = [](std::string_view oob, std::string_view space) {
    return cat("tensor<4x4xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), ", oob,
               ", <1x1>, memref<4x4xf32, #tt.memory_space<", space, ">>>>");
  };
  for (const std::string_view space : {"system", "mmio", "dram", "l1"}) {
    const Tensor tensor = parsed(text("undef", space));
    EXPECT_EQ(tensor.layout().spec().space, space);
    check_raises(tensor.layout(), "metal");
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<std::string_view, PaddingValue>> values = {
      {"undef", PaddingValue::undef()},
      {"zero", PaddingValue::of(0)},
      {"one", PaddingValue::of(1)},
      {"inf", PaddingValue::of(kInf)},
      {"neginf", PaddingValue::of(-kInf)}};
  for (const auto& [word, value] : values) {
    const Tensor tensor = parsed(text(word, "l1"));
    EXPECT_EQ(tensor.layout().spec().padding, value);
    EXPECT_EQ(print_tensor(tensor), text(word, "l1"));
    check_raises(tensor.layout(), "metal");
  }
}

std::string said(std::string_view text) {
  const Layout layout = parsed(text).layout();
  const Result<std::string> metal = print_tensor(layout, **find_notation("metal"));
  if (metal) check_raises(layout, "metal");
  return metal ? *metal : test::reasons_text(metal.error());
}

TEST(MetalMaps, OtherNotationsAreSaid) {
  EXPECT_EQ(said("tensor<53x63xf32, strided<[63, 1]>>"),
            "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, "
            "memref<53x63xf32>>>");
  EXPECT_EQ(said("tensor<4x6xf32, strided<[8, 1]>>"),
            "tensor<4x6xf32, #tt.metal_layout<(d0, d1) -> (d0 * 8 + d1, 0), undef, <1x1>, "
            "memref<30x1xf32>>>");
  EXPECT_EQ(said("tensor<2x3x64x128xf32, strided<[24576, 8192, 128, 1]>>"),
            "tensor<2x3x64x128xf32, #tt.metal_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, "
            "d3), undef, <1x1>, memref<384x128xf32>>>");
  EXPECT_EQ(said("tensor<53x63xf32, pyflame.Grid(3, 2)>"),
            "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
            "memref<18x32xf32>>>");
  EXPECT_EQ(said("tensor<4x64x32xf32, native<mesh=[2, 1], {d0} / (2 -> m0, 1 -> mem*2048), "
                 "{d1} / (1 -> mem*32), {d2} / (1 -> mem*1)>>"),
            "tensor<4x64x32xf32, #tt.metal_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), undef, "
            "<2x1>, memref<128x32xf32>>>");
}

TEST(MetalMaps, WhatItCannotSayHasAReason) {
  EXPECT_EQ(said("tensor<8xf32, native<mesh=[2], {d0} / (1 -> mem), replicate(m0)>>"),
            "replicated places=2 axis=0");
  EXPECT_EQ(said("tensor<8x8xf32, native<{d0} / (4 -> mem*32, 1 -> mem*4), {d1} / (4 -> mem*16, 1 "
                 "-> mem*1), slots=80>>"),
            "no_text code=not_supported");
}

}  // namespace
}  // namespace tessera::notation
