// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/mlir/affine_map.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tessera/layout/form.h"
#include "tessera/notation/mlir/affine_map_algebra.h"
#include "tessera/notation/mlir/memref.h"

namespace tessera::notation {
namespace {

Result<AffineMap> read(std::string_view text) {
  Cursor cursor(text);
  Result<AffineMap> map = read_affine_map(cursor);
  if (!map) return map;
  TESSERA_CHECK_OK(cursor.expect_end());
  return map;
}

std::string normal(std::string_view text) {
  const Result<AffineMap> map = read(text);
  return map ? write_affine_map(*map) : "error: " + map.error().message;
}

/// The law of reading: the text's value, computed by `expect`, is the map's at every index of a
/// 9x7 box around the origin, negative numbers included.
template <typename Value>
void check_values(std::string_view text, Value expect) {
  const Result<AffineMap> map = read(text);
  ASSERT_TRUE(map.ok()) << text << ": " << map.error().message;
  for (std::int64_t a = -20; a <= 20; ++a) {
    for (std::int64_t b = -9; b <= 9; ++b) {
      ASSERT_EQ(map->results[0].at({a, b}), expect(a, b)) << text << " at " << a << ", " << b;
    }
  }
  EXPECT_EQ(read(write_affine_map(*map)).value(), *map) << text;
}

std::int64_t fdiv(std::int64_t a, std::int64_t b) {
  std::int64_t q = 0;
  while (q * b > a) --q;
  while ((q + 1) * b <= a) ++q;
  return q;
}
std::int64_t fmod(std::int64_t a, std::int64_t b) { return a - b * fdiv(a, b); }

TEST(AffineMap, TextsComeBack) {
  for (const std::string_view text :
       {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0 * 64 + d1, 0)", "() -> (0, 0)", "(d0) -> ()",
        "(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3)", "(d0) -> (-d0 + 63)",
        "(d0, d1) -> (d0 - d1 * 2 + 14)", "(d0) -> (d0 * -64 + 640)",
        "(d0, d1) -> (d1 floordiv 8, d1 mod 8)", "(d0, d1) -> (d0, (d0 + d1) mod 8)",
        "(d0) -> ((d0 mod 64) floordiv 8)", "(d0) -> ((-d0) mod 8)", "(d0) -> ((d0 * 3) mod 8)",
        "(d0) -> ((d0 + 5) floordiv 8)"}) {
    EXPECT_EQ(normal(text), text);
  }
}

TEST(AffineMap, OtherSpellingsAreBroughtIntoOne) {
  EXPECT_EQ(normal("affine_map<(d0,d1)->(64*d0+d1,0)>"), "(d0, d1) -> (d0 * 64 + d1, 0)");
  EXPECT_EQ(normal("(d0, d1) -> (d1 + d0 * 8)"), "(d0, d1) -> (d0 * 8 + d1)");
  EXPECT_EQ(normal("(d0) -> ((d0 floordiv 2) floordiv 3)"), "(d0) -> (d0 floordiv 6)");
  EXPECT_EQ(normal("(d0) -> (d0 floordiv 2 mod 3)"), "(d0) -> ((d0 mod 6) floordiv 2)");
  EXPECT_EQ(normal("(d0) -> (d0 ceildiv 4)"), "(d0) -> ((d0 + 3) floordiv 4)");
  EXPECT_EQ(normal("(d0, d1) -> (d0 floordiv 4 + d1)"), "(d0, d1) -> ((d0 + d1 * 4) floordiv 4)");
  EXPECT_EQ(normal("(d0) -> (d0 * 8 floordiv 4, d0 mod 1, d0 - d0)"), "(d0) -> (d0 * 2, 0, 0)");
  EXPECT_EQ(normal("(d0) -> (d0 mod 24 mod 8)"), "(d0) -> (d0 mod 8)");
  EXPECT_EQ(normal("(d0) -> (d0 mod 8 mod 12)"), "(d0) -> (d0 mod 8)");
  EXPECT_EQ(normal("(d0) -> (d0 mod 8 floordiv 8)"), "(d0) -> (0)");
  EXPECT_EQ(normal("(d0) -> ((d0 mod 8) * 2)"), "(d0) -> ((d0 * 2) mod 16)");
}

TEST(AffineMap, EveryRewritingKeepsTheValue) {
  check_values("(d0, d1) -> (3 * (d0 - 2 * d1) + 5)",
               [](auto a, auto b) { return 3 * (a - 2 * b) + 5; });
  check_values("(d0, d1) -> ((d0 * 2 + 3) floordiv 2)",
               [](auto a, auto) { return fdiv(a * 2 + 3, 2); });
  check_values("(d0, d1) -> ((6 * d0 + 4 * d1 - 3) floordiv 10)",
               [](auto a, auto b) { return fdiv(6 * a + 4 * b - 3, 10); });
  check_values("(d0, d1) -> ((6 * d0 + 4 * d1 - 3) mod 10 floordiv 4)",
               [](auto a, auto b) { return fdiv(fmod(6 * a + 4 * b - 3, 10), 4); });
  check_values("(d0, d1) -> (((d0 floordiv 3) mod 4) floordiv 2)",
               [](auto a, auto) { return fdiv(fmod(fdiv(a, 3), 4), 2); });
  check_values("(d0, d1) -> ((d0 ceildiv 3) ceildiv 4)",
               [](auto a, auto) { return -fdiv(-(-fdiv(-a, 3)), 4); });
  check_values("(d0, d1) -> (d0 floordiv 3 - d1 + 1)",
               [](auto a, auto b) { return fdiv(a, 3) - b + 1; });
  check_values("(d0, d1) -> ((d0 + d1) mod 8 * 3)",
               [](auto a, auto b) { return fmod(a + b, 8) * 3; });
  check_values("(d0, d1) -> (-(-d0) * -2)", [](auto a, auto) { return -2 * a; });
}

// Law of `simplified`: the same value at every index of the shape.
TEST(AffineMap, WhatAShapeMakesIdleIsLeftOut) {
  const Shape shape = Shape::make({5, 12}).value();
  const auto simple = [&](std::string_view text) {
    const AffineMap map = read(text).value();
    AffineMap result{2, {affine::simplified(map.results[0], shape)}};
    Index x(2, 0);
    do {
      EXPECT_EQ(result.results[0].at(x), map.results[0].at(x)) << text;
    } while (shape.next(x));
    return write_affine_map(result);
  };
  EXPECT_EQ(simple("(d0, d1) -> ((d0 * 96 + d1) floordiv 12)"), "(d0, d1) -> (d0 * 8)");
  EXPECT_EQ(simple("(d0, d1) -> ((d0 * 96 + d1) floordiv 8)"),
            "(d0, d1) -> ((d0 * 96 + d1) floordiv 8)");
  EXPECT_EQ(simple("(d0, d1) -> ((d0 + 20) mod 10)"), "(d0, d1) -> (d0)");
  EXPECT_EQ(simple("(d0, d1) -> ((d0 * 24 + d1) mod 12)"), "(d0, d1) -> (d1)");
  EXPECT_EQ(simple("(d0, d1) -> ((d0 * 12 + d1) mod 24 floordiv 12)"), "(d0, d1) -> (d0 mod 2)");
  EXPECT_EQ(simple("(d0, d1) -> ((d0 - 7) floordiv 8)"), "(d0, d1) -> (-1)");
}

TEST(AffineMap, RefusalsAreTypedAndPoint) {
  struct Case {
    std::string text;
    ErrorCode code;
    std::string at;  ///< the part of the text that the span covers
  };
  std::string deep = "(d0) -> (";
  for (int i = 0; i < 70; ++i) deep += "(";
  const std::vector<Case> cases = {
      {"(d0, d1) -> (d0 * d1)", ErrorCode::kNotSupported, "d0 * d1"},
      {"(d0, d1) -> (d0 mod 4 + d1)", ErrorCode::kNotSupported, "d0 mod 4 + d1"},
      {"(d0, d1) -> (d0 floordiv 4 + d1 floordiv 2)", ErrorCode::kNotSupported,
       "d0 floordiv 4 + d1 floordiv 2"},
      {"(d0) -> (d0 floordiv 4 * 4)", ErrorCode::kNotSupported, "d0 floordiv 4 * 4"},
      {"(d0) -> (d0 mod 12 mod 8)", ErrorCode::kNotSupported, "d0 mod 12 mod 8"},
      {"(d0) -> (-(d0 mod 8))", ErrorCode::kNotSupported, "-(d0 mod 8)"},
      {"(d0) -> (d0 floordiv 0)", ErrorCode::kOutOfRange, "0"},
      {"(d0) -> (d0 mod -8)", ErrorCode::kOutOfRange, "-8"},
      {"(d0) -> (8 mod d0)", ErrorCode::kOutOfRange, "d0"},
      {"(d0) -> (d1)", ErrorCode::kUnknownName, "d1"},
      {"(d1) -> (d1)", ErrorCode::kSyntax, "d1"},
      {"(d0) -> (d0", ErrorCode::kSyntax, ""},
      {"(d0) -> (d0 d0)", ErrorCode::kSyntax, "d0"},
      {"(d0) (d0)", ErrorCode::kSyntax, "("},
      {"(d0)[s0] -> (d0)", ErrorCode::kNotSupported, "["},
      {"(d0) -> (d0 * 9223372036854775807 * 2)", ErrorCode::kOverflow,
       "d0 * 9223372036854775807 * 2"},
      {"(d0) -> (d0 * 9223372036854775808)", ErrorCode::kBadNumber, "9223372036854775808"},
      {deep, ErrorCode::kTooLarge, "("},
  };
  for (const Case& c : cases) {
    const Result<AffineMap> map = read(c.text);
    ASSERT_FALSE(map.ok()) << c.text;
    EXPECT_EQ(map.error().code, c.code) << c.text << ": " << map.error().message;
    ASSERT_TRUE(map.error().span.has_value()) << c.text;
    const auto from = static_cast<std::size_t>(map.error().span->from);
    EXPECT_EQ(c.text.substr(from, static_cast<std::size_t>(map.error().span->to) - from), c.at)
        << c.text << ": " << map.error().message;
    EXPECT_FALSE(map.error().help.empty()) << c.text;
  }
}

TEST(AffineMap, LinesAreAsLongAsTheirValuesReach) {
  const Shape shape = Shape::make({8, 96}).value();
  const auto length = [&](std::string_view text) {
    return line_length(read(text)->results[0], shape);
  };
  EXPECT_EQ(*length("(d0, d1) -> (d0 * 96 + d1)"), 768);
  EXPECT_EQ(*length("(d0, d1) -> (3)"), 4);
  EXPECT_EQ(*length("(d0, d1) -> (7 - d0)"), 8);
  EXPECT_EQ(*length("(d0, d1) -> (d1 mod 10)"), 10);
  EXPECT_EQ(*length("(d0, d1) -> (d0 mod 10)"), 8);
  EXPECT_EQ(*length("(d0, d1) -> ((d0 + 20) mod 10)"), 8);
  EXPECT_EQ(*length("(d0, d1) -> (d1 floordiv 10)"), 10);
  EXPECT_EQ(*line_length({{{0, 5}}, 3, 0, 1}, Shape::make({0}).value()), 0);
  EXPECT_EQ(length("(d0, d1) -> (-d0)").error().code, ErrorCode::kBadFold);
  EXPECT_EQ(line_length({{{4, 1}}, 0, 0, 1}, shape).error().code, ErrorCode::kOutOfRange);
}

/// Law of fold_of: the digits of the placed cuts are those of cutting the value.
TEST(AffineMap, FoldsCutTheValue) {
  const Shape shape = Shape::make({5, 7}).value();
  for (const std::string_view text :
       {"(d0, d1) -> (d0 * 7 + d1)", "(d0, d1) -> (4 - d0)", "(d0, d1) -> ((d0 + d1) mod 4)",
        "(d0, d1) -> ((d0 * 7 + d1) floordiv 3)", "(d0, d1) -> (((d0 * 7 + d1) mod 20) floordiv 3)",
        "(d0, d1) -> ((d1 - d0) mod 5)", "(d0, d1) -> ((d0 - d1) mod 6 floordiv 2)",
        "(d0, d1) -> (9)", "(d0, d1) -> (d0 ceildiv 2)"}) {
    const AffineResult result = read(text)->results[0];
    const Fold fold = fold_of(result, shape,
                              {{6, 9, Target::memory(), 100, Cause::kGrid},
                               {4, 9, Target::memory(), 10, Cause::kTile},
                               {1, 9, Target::memory(), 1, Cause::kTile}})
                          .value();
    ASSERT_TRUE(fold.check(shape, 0).ok()) << text << ": " << fold.check(shape, 0).error().message;
    const Form form{shape, {}, {fold}, {}, 0};
    Index x(2, 0);
    do {
      const std::int64_t value = result.at(x);
      Place place;
      std::int64_t slot = 0;
      form.evaluate(x, place, slot);
      EXPECT_EQ(slot, value / 6 * 100 + value % 6 / 4 * 10 + value % 6 % 4) << text;
    } while (shape.next(x));
  }
}

TEST(MemRef, SpacesAndAliases) {
  constexpr std::array<std::string_view, 4> kSpaces = {"system", "mmio", "dram", "l1"};
  const auto space = [&](std::string_view text) -> std::string {
    Cursor cursor(text);
    const Result<MemRef> memref = read_memref(cursor, kSpaces);
    if (!memref) return std::string(code_name(memref.error().code));
    const std::string again = write_memref(*memref, "tt");
    Cursor second(again);
    EXPECT_EQ(read_memref(second, kSpaces).value(), *memref) << text;
    return memref->space;
  };
  EXPECT_EQ(space("memref<18x32xf32, #tt.memory_space<l1>>"), "l1");
  EXPECT_EQ(space("memref<1x1x!tt.tile<32 x 32, bfp_bf8>, #ttcore.memory_space<dram>>"), "dram");
  EXPECT_EQ(space("memref<4xf32, #ttnn.buffer_type<system_memory>>"), "system");
  EXPECT_EQ(space("memref<4xf32, <mmio>>"), "mmio");
  for (const std::string_view l1 : {"#l1", "#l1_", "#l1_1", "#l1_alias", "#l1_ttnn", "#l12"}) {
    EXPECT_EQ(space("memref<4xf32, " + std::string(l1) + ">"), "l1") << l1;
  }
  EXPECT_EQ(space("memref<4xf32, #dram2>"), "dram");
  EXPECT_EQ(space("memref<4xf32, #system>"), "system");
  EXPECT_EQ(space("memref<4xf32, #system_memory>"), "system");
  EXPECT_EQ(space("memref<4xf32, #sysmem>"), "system");
  EXPECT_EQ(space("memref<4xf32, #mmio>"), "mmio");
  EXPECT_EQ(space("memref<xf32, #l1>"), "bad_dtype");
  EXPECT_EQ(space("memref<4xf32, #l2>"), "unknown_name");
  EXPECT_EQ(space("memref<4xf32, #tt.memory_space<l2>>"), "unknown_name");
  EXPECT_EQ(space("memref<4xf32, #tk.memory_space<l1>>"), "unknown_name");
  EXPECT_EQ(space("memref<4xf32>"), "syntax");
  EXPECT_EQ(space("memref<4xf32, #l1"), "syntax");
}

}  // namespace
}  // namespace tessera::notation
