// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/show/show_facts.h"
#include "tools/terminal/picture.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Every field in the documented order.
TEST(Show, FieldsOfATiledTensor) {
  const Answer answer = run({"show", kTiled, "--json"});
  EXPECT_EQ(answer.status, 0) << answer.out;
  const Json json = answer.json();
  EXPECT_EQ(run({"show", json["native"].get<std::string>(), "--json"}).out, answer.out);
  // Bytes: a 32x32 bfp_bf8 tile is 1024 + 64 = 1088. 3339 elements fill 4 tiles of 1024.
  // Padding: rows 18..31 of all 6 tiles are tile: 14·32·6 = 2688. Below them, row 17 of the two
  // places of the last mesh row (2·32) and column 31 of the three of the last mesh column (3·18)
  // are grid, one slot twice: 64 + 54 - 1 = 117. Together 6·1024 - 3339 = 2805.
  Json expected = parsed(R"({
      "shape": [53, 63], "dtype": "f32", "storage_dtype": "bfp_bf8", "notation": "native",
      "folded_shape": [53, 63], "mesh": [3, 2], "shard_shape": [18, 32], "tile": [32, 32],
      "atoms_shape": [1, 1], "places": 6, "slots": 1024, "shard_bytes": 1088, "logical_bytes": 4352,
      "allocated_bytes": 6528, "padding_elements": 2805,
      "padding": {"tile": 2688, "grid": 117}, "fill": [], "memory_space": "l1",
      "warnings": [], "shared_slot": null})");
  expected["native"] = json["native"];
  EXPECT_EQ(json, expected);
}

TEST(Show, FieldsOfAStridedTensor) {
  const Json json = run({"show", kRowMajor, "--json"}).json();
  Json expected = parsed(R"({
      "shape": [4, 6], "dtype": "f32", "storage_dtype": "f32", "notation": "strided",
      "folded_shape": [4, 6], "mesh": [], "shard_shape": [4, 6], "tile": null,
      "atoms_shape": [4, 6], "places": 1, "slots": 24, "shard_bytes": 96, "logical_bytes": 96,
      "allocated_bytes": 96, "padding_elements": 0, "padding": {}, "fill": [],
      "memory_space": null, "warnings": [], "shared_slot": null})");
  expected["native"] = json["native"];
  EXPECT_EQ(json, expected);
}

TEST(Show, Fills) {
  const std::string text =
      "tensor<3xf32, native<mesh=[2, 4, 5], {d0} / (2 -> m0, 1 -> mem), partial(m1, sum), "
      "fixed(m2=3)>>";
  const Json json = run({"show", text, "--json"}).json();
  EXPECT_EQ(json["fill"], parsed(R"([
      {"axis": 1, "kind": "partial", "reduction": "sum", "count": 4, "stride": 1},
      {"axis": 2, "kind": "fixed", "value": 3}])"));
}

std::vector<std::string> warning_codes(const std::string& tensor) {
  std::vector<std::string> codes;
  const Json json = run({"show", tensor, "--json"}).json();
  for (const Json& warning : json["warnings"]) {
    codes.push_back(warning["code"].get<std::string>());
  }
  return codes;
}

TEST(Show, WarnsOfWaste) {
  // The line 96·d0 + d1 is 8·96 long and d1 has another fold: 96 slots per element.
  const std::string text =
      "tensor<8x96x32xf32, native<{96*d0 + d1} / (1 -> mem*3072), {d1} / (1 -> mem*32), "
      "{d2} / (1 -> mem)>>";
  const Json json = run({"show", text, "--json"}).json();
  ASSERT_EQ(json["warnings"].size(), 1U);
  EXPECT_EQ(json["warnings"][0]["code"], "waste");
  EXPECT_EQ(facts_in(json["warnings"][0]["message"].get<std::string>()), "96");
  EXPECT_EQ(json["folded_shape"], Json({768, 96, 32}));
}

TEST(Show, WarnsOfEmptyPlaces) {
  // 5 rows on 4 places by 2: 2, 2, 1, 0.
  const std::string text = "tensor<5xf32, native<mesh=[4], {d0} / (2#4 -> m0, 1 -> mem)>>";
  const Json json = run({"show", text, "--json"}).json();
  ASSERT_EQ(json["warnings"].size(), 2U);
  EXPECT_EQ(json["warnings"][0]["code"], "empty_places");
  EXPECT_EQ(facts_in(json["warnings"][0]["message"].get<std::string>()), "1 4");
  EXPECT_EQ(json["warnings"][1]["code"], "mesh_larger_than_used");
  EXPECT_EQ(facts_in(json["warnings"][1]["message"].get<std::string>()), "0 4 3");
  EXPECT_EQ(json["padding"], parsed(R"({"grid": 3})"));
}

TEST(Show, ReplicationIsNoWaste) {
  EXPECT_TRUE(
      warning_codes("tensor<3xf32, native<mesh=[8], {d0} / (1 -> mem), replicate(m0)>>").empty());
}

TEST(Show, ScalarsAndEmptyTensors) {
  Json scalar = run({"show", "tensor<f32, strided<[]>>", "--json"}).json();
  EXPECT_EQ(scalar["shape"], Json::array());
  EXPECT_EQ(scalar["logical_bytes"], 4);
  EXPECT_EQ(run({"show", "tensor<f32, strided<[]>>"}).status, 0);
  const std::string empty = "tensor<0x5xf32, strided<[5, 1]>>";
  EXPECT_EQ(run({"show", empty, "--json"}).json()["logical_bytes"], 0);
  EXPECT_EQ(run({"show", empty}).status, 0);
}

TEST(Show, PointsOnTheFirstPlaceCountedOneByOne) {
  const auto naive = [](const Fold& fold, std::int64_t extent) {
    std::int64_t points = 0;
    for (std::int64_t p = 0; p < extent; ++p) {
      std::int64_t left = p;
      bool first = true;
      for (const Cut& cut : fold.cuts) {
        if (cut.target.is_mesh() && left / cut.width > 0) first = false;
        left %= cut.width;
      }
      if (first) ++points;
    }
    return points;
  };
  const std::vector<Target> targets = {Target::mesh(0), Target::memory(), Target::nothing()};
  for (const std::int64_t u : {1, 2, 3, 5, 8}) {
    for (const std::int64_t v : {1, 2, 3, 5, 8}) {
      for (const Target a : targets) {
        for (const Target b : targets) {
          for (const std::int64_t extent : {0, 1, 7, 24, 30}) {
            Fold fold;
            fold.cuts = {{u, 99, a, 1, Cause::kGrid},
                         {v, 99, b, 1, Cause::kGrid},
                         {1, 99, Target::memory(), 1, Cause::kGrid}};
            EXPECT_EQ(points_on_first_place(fold, extent), naive(fold, extent))
                << u << " " << v << " " << extent;
          }
        }
      }
    }
  }
}

TEST(Show, TextDescribesEveryDim) {
  const std::string out = run({"show", kTiled}).out;
  const std::string facts = facts_in(out);
  EXPECT_TRUE(has(facts, "18 0 3 17")) << out;  // pieces, mesh axis, places, the last piece
  EXPECT_TRUE(has(out, "(tile 2688, grid 117)")) << out;
  EXPECT_TRUE(has(facts, "1024 1088")) << out;  // slots and bytes per place
}

TEST(Show, PictureNamesTheRangesOfEachPlace) {
  const std::string out = run({"show", kTiled}).out;
  // Rows are cut at 18 and 36, columns at 32.
  for (const char* range : {"d0 0:18", "d0 18:36", "d0 36:53", "d1 0:32", "d1 32:63"}) {
    EXPECT_TRUE(has(out, range)) << range << "\n" << out;
  }
  EXPECT_TRUE(has(out, "+--")) << out;
}

TEST(Show, UnicodeOnlyWhenWelcome) {
  Terminal terminal;
  terminal.unicode = true;
  EXPECT_TRUE(has(run({"show", kTiled}, "", terminal).out, "┌"));
  for (const char c : run({"show", kTiled}).out) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(Show, ColourOnlyWhenWelcome) {
  Terminal terminal;
  terminal.colour = true;
  EXPECT_TRUE(has(run({"show", kTiled}, "", terminal).out, "\x1b["));
  EXPECT_FALSE(has(run({"show", kTiled}).out, "\x1b["));
}

TEST(Show, NoLineIsWiderThanTheTerminal) {
  const std::string wafer =
      "tensor<8192x8192xf32, native<mesh=[994, 750], {d0} / (9#994 -> m0, 1 -> mem*11), "
      "{d1} / (11#750 -> m1, 1 -> mem)>>";
  const std::string cyclic =
      "tensor<800x800xf32, native<mesh=[8, 8], {d0} / (80 -> mem*1000, 10 -> m0, 1 -> mem*100), "
      "{d1} / (80 -> mem*10, 10 -> m1, 1 -> mem)>>";
  // Far too many ranges on each place to list them.
  const std::string dealt =
      "tensor<8192x8192xf32, native<mesh=[8, 8], {d0} / (8 -> mem*1024, 1 -> m0), "
      "{d1} / (8 -> mem, 1 -> m1)>>";
  const std::vector<std::string> tensors = {
      kTiled,
      kRowMajor,
      wafer,
      cyclic,
      dealt,
      "tensor<1000000x1000000xf32, strided<[1000000, 1]>>",
      "tensor<2x3x4x5x6xf32, strided<[360, 120, 30, 6, 1]>>",
      "tensor<64xf32, native<mesh=[64], {d0} / (1 -> m0)>>",
      "tensor<8xf32, native<mesh=[2, 2, 2], {d0} / (4 -> m0, 2 -> m1, 1 -> m2)>>",
  };
  for (const std::string& tensor : tensors) {
    for (const int width : {20, 33, 40, 80, 200}) {
      for (const bool unicode : {false, true}) {
        const Answer answer = run({"show", tensor}, "", {false, unicode, width});
        EXPECT_EQ(answer.status, 0) << answer.err;
        for (const std::string& line : answer.lines()) {
          EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
        }
      }
    }
  }
}

TEST(Show, LargePicturesLeaveOutTheMiddle) {
  EXPECT_EQ(shown_of(3, 6), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(shown_of(10, 4), (std::vector<std::int64_t>{0, 1, -1, 9}));
  EXPECT_EQ(shown_of(10, 1), (std::vector<std::int64_t>{0, -1}));
  const std::string out = run({"show", "tensor<100x100xf32, strided<[100, 1]>>"}).out;
  EXPECT_TRUE(has(out, "...")) << out;
  EXPECT_TRUE(has(out, "9999")) << out;
}

}  // namespace
}  // namespace tessera::tools
