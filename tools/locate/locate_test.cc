// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/terminal/replicas.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

Json ask(std::vector<std::string> args) {
  args.insert(args.begin(), "locate");
  args.emplace_back("--json");
  return run(args).json();
}

TEST(Locate, AnElement) {
  // Row 40 = 2·18 + 4, column 33 = 1·32 + 1: place [2, 1], slot 4·32 + 1. No byte in block floats.
  EXPECT_EQ(ask({kTiled, "--index", "40,33"}),
            parsed(R"({"index": [40, 33], "places": [[2, 1]], "slot": 129, "byte": null})"));
  EXPECT_EQ(ask({kRowMajor, "--index", "2,3"}),
            parsed(R"({"index": [2, 3], "places": [[]], "slot": 15, "byte": 60})"));
  EXPECT_EQ(facts_in(run({"locate", kRowMajor, "--index", "2,3"}).out), "2 3 15 60");
}

TEST(Locate, ASlot) {
  EXPECT_EQ(ask({kTiled, "--place", "2,1", "--slot", "129"}),
            parsed(R"({"place": [2, 1], "slot": 129, "index": [40, 33]})"));
  // Tile row 18 of the first place; row 17 of the last (53 = 2·18 + 17).
  EXPECT_EQ(ask({kTiled, "--place", "0,0", "--slot", "576"}),
            parsed(R"({"place": [0, 0], "slot": 576, "padding": "tile"})"));
  EXPECT_EQ(ask({kTiled, "--place", "2,0", "--slot", "544"}),
            parsed(R"({"place": [2, 0], "slot": 544, "padding": "grid"})"));
  EXPECT_EQ(ask({kRowMajor, "--place", "", "--slot", "15"}),
            parsed(R"({"place": [], "slot": 15, "index": [2, 3]})"));
  EXPECT_EQ(facts_in(run({"locate", kTiled, "--place", "0,0", "--slot", "576"}).out), "576 0 0");
}

TEST(Locate, AScalar) {
  EXPECT_EQ(ask({"tensor<f32, strided<[]>>", "--index", ""}),
            parsed(R"({"index": [], "places": [[]], "slot": 0, "byte": 0})"));
  EXPECT_EQ(ask({"tensor<f32, strided<[]>>", "--all"}),
            parsed(R"({"elements": [{"index": [], "places": [[]], "slot": 0}]})"));
}

TEST(Locate, AllElements) {
  EXPECT_EQ(ask({"tensor<2x2xi16, strided<[1, 2]>>", "--all"}), parsed(R"({"elements": [
      {"index": [0, 0], "places": [[]], "slot": 0}, {"index": [0, 1], "places": [[]], "slot": 2},
      {"index": [1, 0], "places": [[]], "slot": 1}, {"index": [1, 1], "places": [[]], "slot": 3}]})"));
  EXPECT_EQ(ask({"tensor<0x4xf32, strided<[4, 1]>>", "--all"}), parsed(R"({"elements": []})"));
  EXPECT_EQ(run({"locate", "tensor<2xf32, strided<[3]>>", "--all"}).out,
            "[0]  place []  slot 0\n[1]  place []  slot 3\n");
}

const std::string kUneven = "tensor<3xf32, native<mesh=[2], {d0} / (2 -> m0, 1 -> mem)>>";

TEST(Locate, AllSlots) {
  EXPECT_EQ(ask({kUneven, "--slots"}), parsed(R"({"slots": [
      {"place": [0], "slot": 0, "index": [0]}, {"place": [0], "slot": 1, "index": [1]},
      {"place": [1], "slot": 0, "index": [2]}, {"place": [1], "slot": 1, "padding": "grid"}]})"));
}

/// locate --all and --slots agree on every element.
TEST(Locate, BothWaysAgree) {
  const Json all = ask({kTiled, "--all"})["elements"];
  const Json slots = ask({kTiled, "--slots"})["slots"];
  EXPECT_EQ(all.size(), 53U * 63U);
  EXPECT_EQ(slots.size(), 6U * 1024U);
  std::size_t found = 0;
  for (const Json& slot : slots) {
    if (!slot.contains("index")) continue;
    const Json& element =
        all[slot["index"][0].get<std::size_t>() * 63 + slot["index"][1].get<std::size_t>()];
    EXPECT_EQ(element["index"], slot["index"]);
    EXPECT_EQ(element["places"][0], slot["place"]);
    EXPECT_EQ(element["slot"], slot["slot"]);
    ++found;
  }
  EXPECT_EQ(found, all.size());
}

TEST(Locate, CopiesOnListedDevices) {
  // Tile 0 is on devices 2, 0 and 3, tile 1 on 1, 5 and 4.
  const char* listed = "tensor<7xf32, gspmd{devices=[2,3]2,0,3,1,5,4 last_tile_dim_replicate}>";
  EXPECT_EQ(ask({listed, "--index", "5"}),
            parsed(R"({"index": [5], "places": [[1], [4], [5]], "slot": 1, "byte": 4})"));
  EXPECT_EQ(ask({listed, "--place", "3", "--slot", "2"}),
            parsed(R"({"place": [3], "slot": 2, "index": [2]})"));
  EXPECT_EQ(ask({listed, "--place", "5", "--slot", "3"}),
            parsed(R"({"place": [5], "slot": 3, "padding": "grid"})"));
  const Json slots = ask({listed, "--slots"})["slots"];
  ASSERT_EQ(slots.size(), 24U);
  for (std::size_t device = 0; device < 6; ++device) {
    const Json& first = slots[device * 4];
    EXPECT_EQ(first["place"], Json::array({device}));
    EXPECT_EQ(first["index"][0], device == 0 || device == 2 || device == 3 ? 0 : 4);
  }
  EXPECT_EQ(ask({listed, "--all"})["elements"][3]["places"], parsed("[[0], [2], [3]]"));
  EXPECT_EQ(run({"locate", listed, "--place", "6", "--slot", "0"}).status, 2);
  EXPECT_EQ(run({"relayout", listed, "tensor<7xf32, strided<[1]>>", "--json"}).error_code(),
            "not_supported");
}

TEST(Locate, ReplicasAreListed) {
  const std::string text =
      "tensor<3xf32, native<mesh=[2, 2], {d0} / (2 -> m0, 1 -> mem), replicate(m1)>>";
  EXPECT_EQ(ask({text, "--index", "2"}),
            parsed(R"({"index": [2], "places": [[1, 0], [1, 1]], "slot": 0, "byte": 0})"));
}

TEST(Locate, ManyReplicasAreRectangles) {
  const auto replicated = [](const std::string& mesh) {
    return "tensor<3xf32, native<mesh=" + mesh +
           ", {d0} / (1 -> mem), replicate(m0), replicate(m1)>>";
  };
  EXPECT_EQ(ask({replicated("[8, 8]"), "--index", "1"})["places"].size(), 64U);
  EXPECT_EQ(ask({replicated("[5, 13]"), "--index", "1"})["places"],
            parsed(R"([{"from": [0, 0], "to": [4, 12]}])"));
  // More places than memory could hold as a list.
  EXPECT_EQ(ask({replicated("[1000000, 1000000]"), "--index", "1"})["places"],
            parsed(R"([{"from": [0, 0], "to": [999999, 999999]}])"));
}

/// The rectangles contain each replica once, for any strides of the fills.
TEST(Locate, RectanglesCoverTheReplicas) {
  Form form;
  form.shape = *Shape::make({1});
  form.mesh = *Shape::make({24, 30});
  form.folds = {};
  form.fills = {Fill::replicate(0, 3, 8), Fill::replicate(0, 4, 2), Fill::replicate(1, 5, 2),
                Fill::replicate(1, 2, 1), Fill::replicate(1, 3, 10)};
  const auto rectangles = replica_rectangles(form, {0, 0});
  ASSERT_TRUE(rectangles.ok());
  std::vector<Place> places;
  for (const PlaceRectangle& r : *rectangles) {
    for (std::int64_t i = r.from[0]; i <= r.to[0]; ++i) {
      for (std::int64_t j = r.from[1]; j <= r.to[1]; ++j) places.push_back({i, j});
    }
  }
  std::sort(places.begin(), places.end());
  std::vector<Place> expected;  // even rows, all columns
  for (std::int64_t i = 0; i < 24; i += 2) {
    for (std::int64_t j = 0; j < 30; ++j) expected.push_back({i, j});
  }
  EXPECT_EQ(places, expected);
}

TEST(Locate, PhysicalPlaces) {
  // Places 0..5 of a strip, folded onto 2x3 row by row.
  const std::string text =
      "tensor<6xf32, native<mesh=[6], {d0} / (1 -> m0), device=folded([2, 3], {d0} / (3 -> m0, 1 "
      "-> m1))>>";
  EXPECT_EQ(ask({text, "--index", "4", "--physical"}),
            parsed(R"({"index": [4], "places": [[4]], "physical": [[1, 1]], "slot": 0,
                       "byte": 0})"));
  EXPECT_EQ(ask({text, "--place", "5", "--slot", "0", "--physical"}),
            parsed(R"({"place": [5], "physical": [1, 2], "slot": 0, "index": [5]})"));
  // Pages distributed over 2 banks: page 5 is the third of bank 1.
  const std::string banks =
      "tensor<6xf32, native<mesh=[6], {d0} / (1 -> m0), device=folded([2], {d0} / (2 -> mem, 1 -> "
      "m0))>>";
  EXPECT_EQ(ask({banks, "--index", "5", "--physical"}),
            parsed(R"({"index": [5], "places": [[5]], "physical": [[1]], "layers": [2], "slot": 0,
                       "byte": 0})"));
}

TEST(Locate, BadQuestions) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad = {
      {{kTiled}, "usage"},
      {{kTiled, "--all", "--slots"}, "usage"},
      {{kTiled, "--index", "1,2", "--all"}, "usage"},
      {{kTiled, "--place", "0,0"}, "usage"},
      {{kTiled, "--slot", "0"}, "usage"},
      {{kTiled, "--index", "53,0"}, "out_of_range"},
      {{kTiled, "--index", "-1,0"}, "out_of_range"},
      {{kTiled, "--index", "1"}, "out_of_range"},
      {{kTiled, "--index", ""}, "out_of_range"},
      {{kTiled, "--place", "3,0", "--slot", "0"}, "out_of_range"},
      {{kTiled, "--place", "0", "--slot", "0"}, "out_of_range"},
      {{kTiled, "--place", "0,0", "--slot", "1024"}, "out_of_range"},
      {{kTiled, "--place", "0,0", "--slot", "-1"}, "out_of_range"},
      {{"tensor<4097x4096xf32, strided<[4096, 1]>>", "--all"}, "too_large"},
      {{"tensor<4097x4096xf32, strided<[4096, 1]>>", "--slots"}, "too_large"},
  };
  for (const auto& [args, code] : bad) {
    std::vector<std::string> line = args;
    line.insert(line.begin(), "locate");
    EXPECT_EQ(run(line).status, 2) << testing::PrintToString(args);
    EXPECT_EQ(run(line).out, "");
    line.emplace_back("--json");
    EXPECT_EQ(run(line).error_code(), code) << testing::PrintToString(args);
  }
}

}  // namespace
}  // namespace tessera::tools
