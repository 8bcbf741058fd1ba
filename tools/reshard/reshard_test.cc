// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

std::string tensor(const std::string& type, const std::string& layout) {
  return cat("tensor<", type, ", ", layout, ">");
}
std::string flame(const std::string& type, const std::string& layout) {
  return tensor(type, "pyflame." + layout);
}

Json ask(const std::string& a, const std::string& b, std::vector<std::string> flags = {}) {
  std::vector<std::string> args = {"reshard", a, b, "--json"};
  args.insert(args.end(), flags.begin(), flags.end());
  const Answer answer = run(args);
  EXPECT_EQ(answer.status, 0) << answer.out;
  return answer.json();
}

/// The documented figures in their order: a row of a table of cases.
struct Figures {
  std::string kind;
  std::int64_t bytes, local_bytes, messages, wavelets, hops, max_link, max_ramp, longest, cycles;
};

void expect_figures(const Json& json, const Figures& expected) {
  EXPECT_EQ(json["kind"], expected.kind);
  EXPECT_EQ(json["bytes"], expected.bytes);
  EXPECT_EQ(json["local_bytes"], expected.local_bytes);
  EXPECT_EQ(json["messages"], expected.messages);
  EXPECT_EQ(json["wavelets"], expected.wavelets);
  EXPECT_EQ(json["hops"], expected.hops);
  EXPECT_EQ(json["max_link_wavelets"], expected.max_link);
  EXPECT_EQ(json["max_ramp_wavelets"], expected.max_ramp);
  EXPECT_EQ(json["longest_distance"], expected.longest);
  // Where routes are static, these are the cycles of wavelets that carry their destination, unless
  // a schedule takes even fewer.
  const Json& bound = json["lower_bound_cycles"];
  const auto cycles = json["cycles"].get<std::int64_t>();
  if (bound.is_null()) {
    EXPECT_EQ(cycles, expected.cycles);
  } else {
    EXPECT_EQ(bound, std::min(cycles, expected.cycles));
  }
}

/// A's tile (i, j) has rows 4i..4i+3 and columns 2j, 2j+1; B's (k, l) rows 2k, 2k+1 and columns
/// 4l..4l+3. Each half of a tile of A, 2x2 elements in 4 wavelets, goes to (2i or 2i+1, j div 2).
/// Steps, first and second half:
///     (0,0) 0 1   (0,1) 1 2   (0,2) 1 2   (0,3) 2 3
///     (1,0) 1 2   (1,1) 2 3   (1,2) 2 3   (1,3) 3 4      32 in all, one half stays
/// The link west of (0,2) carries the halves of (0,2) and (0,3): 16. The link south of (1,0)
/// carries those of (1,0) and (1,1): 16. Each place sends and receives at most two halves: 8.
/// max(8, 16 + 4) + 2·2 + 1 = 25.
const std::string kWide = flame("8x8xf32", "Grid(2, 4)");
const std::string kTall = flame("8x8xf32", "Grid(4, 2)");
const Figures kWideToTall = {"RESHARD", 240, 16, 15, 60, 128, 16, 8, 4, 25};

TEST(ReshardVerb, FiguresOfAnotherGrid) {
  const Json json = ask(kWide, kTall, {"--target", "wse2"});
  expect_figures(json, kWideToTall);
  EXPECT_EQ(json["link_hops"], 128);
  EXPECT_EQ(json["depth"], 1);
  double seconds = 0;
  for (const Json& step : json["steps"]) seconds += step["seconds"].get<double>();
  EXPECT_DOUBLE_EQ(json["seconds"].get<double>(), seconds);
  EXPECT_GE(seconds, json["cycles"].get<double>() / 850e6 * (1 - 1e-9));
  EXPECT_EQ(json["target"], "wse2");
  EXPECT_EQ(json["mesh"], Json({994, 750}));
  EXPECT_FALSE(json.contains("pairs"));
  EXPECT_FALSE(json.contains("heat"));
  // No wavelet can arrive before its link has carried its whole load.
  EXPECT_GE(json["simulated_cycles"].get<std::int64_t>(), 16);
}

TEST(ReshardVerb, WithoutATargetTheMeshIsJustLargeEnough) {
  const Json json = ask(kWide, kTall);
  expect_figures(json, kWideToTall);
  EXPECT_TRUE(json["target"].is_null());
  EXPECT_TRUE(json["seconds"].is_null());
  EXPECT_EQ(json["mesh"], Json({4, 4}));
  const Answer text = run({"reshard", kWide, kTall});
  EXPECT_NE(text.lines()[0].find("4x4"), std::string::npos) << text.out;
}

/// Section 7.1 of the PyFlame document: c is on Grid(4, 4) and a was on Grid(2, 8). [64, 64] f32:
/// A's tiles are 32x8, B's 16x16; each half of a tile, 16x8 elements in 128 wavelets, goes from (i,
/// j) to (2i or 2i+1, j div 2). Steps west: j - j div 2 = 0 1 1 2 2 3 3 4, 16 in a row of 8. Steps
/// south: from row 0 to 0 or 1, from row 1 to 2 or 3: 0 1 1 2.
///   messages   32 halves, of which (0,0) to (0,0) stays
///   hops       128 · (4 · 16 + 8 · (0 + 1 + 1 + 2)) = 128 · 96
///   link       the link west of (0,4) carries both halves of the 4 tiles j = 4 .. 7, to columns 2
///              and 3: 8 · 128; south of (1,0): the halves of 2 tiles for rows
///              2 and 3: 4 · 128
///   ramp       two halves in, two out: 256
///   longest    (1,7) to (3,3): 4 + 2 = 6
TEST(ReshardVerb, ThePyFlamePropagationExample) {
  constexpr std::int64_t kHalf = 128;
  const Json json =
      ask(flame("64x64xf32", "Grid(2, 8)"), flame("64x64xf32", "Grid(4, 4)"), {"--target", "wse2"});
  expect_figures(json, {"RESHARD", 4 * kHalf * 31, 4 * kHalf, 31, 31 * kHalf, 96 * kHalf, 8 * kHalf,
                        2 * kHalf, 6, 8 * kHalf + 6 + 5});
}

/// Section 5.1 of the PyFlame document: A [1024, 512] by rows on column 0. For a matmul on 4x4 PEs
/// each row of PEs needs its rows of A: three copies of 256·512 elements from (i, 0), one multicast
/// per row.
///   wavelets   4 rows · 3 · 131072; hops: distances 1 + 2 + 3 per row; over links once each
///   link       131072, ramp 131072, longest 3
TEST(ReshardVerb, ThePyFlameMatmulExample) {
  constexpr std::int64_t kTile = 131072;  // 256 · 512
  const Json json = ask(flame("1024x512xf32", "RowPartition(4)"),
                        flame("1024x512xf32", "Grid(4, 4, replicate=[1], dim_to_pe=[0, -1])"));
  expect_figures(json, {"REPLICATE", 12 * kTile * 4, 4 * kTile * 4, 12, 12 * kTile, 24 * kTile,
                        kTile, kTile, 3, kTile + 3 + 5});
  EXPECT_EQ(json["link_hops"], 12 * kTile);
}

/// The worked example of reshard.h: (0,0) and (1,0) each send two elements to the three others.
/// Steps 1 + 1 + 2 of each: 16 wavelet-hops, over 3 links of each tree 12. (0,1) and (1,1) receive
/// from both: 4. max(4, 2 + 2) + 5 = 9.
TEST(ReshardVerb, AMulticastGoesOnceOverEachLink) {
  const Json json =
      ask(flame("4xf32", "RowPartition(2)"), flame("4xf32", "Grid(2, 2, replicate=[0, 1])"));
  expect_figures(json, {"RESHARD", 48, 16, 6, 12, 16, 2, 4, 2, 9});
  EXPECT_EQ(json["link_hops"], 12);
}

/// Four elements over one link: 4 + 1 cycles and (2·2 + 1) by the model. Simulated, the last of
/// them leaves in cycle 3 and arrives 2·2 + 1 later: 9 cycles from the first to the last.
TEST(ReshardVerb, SimulatedCycles) {
  const std::string one = flame("8xf32", "SinglePE()");
  const std::string two = flame("8xf32", "RowPartition(2)");
  const Json json = ask(one, two);
  expect_figures(json, {"SCATTER", 16, 16, 1, 4, 4, 4, 4, 1, 10});
  EXPECT_EQ(json["simulated_cycles"], 9);
  EXPECT_EQ(json["simulation"]["hops"], 4);
  const Json colours = ask(one, two, {"--mode", "colours"});
  EXPECT_EQ(colours["simulated_cycles"], 9);
  EXPECT_EQ(colours["simulation"]["colours"], 1);
  EXPECT_EQ(colours["simulation"]["phases"], 1);
  const Json never = ask(one, two, {"--simulate", "never"});
  EXPECT_TRUE(never["simulated_cycles"].is_null());
  EXPECT_FALSE(never["why_not_simulated"].get<std::string>().empty());
  // 2^24 wavelets over one link are too many to be simulated without a request.
  const Json large =
      ask(flame("33554432xf32", "SinglePE()"), flame("33554432xf32", "RowPartition(2)"));
  EXPECT_EQ(large["wavelets"], 1 << 24);
  EXPECT_TRUE(large["simulated_cycles"].is_null());
}

/// 50000 routes each of 1, 3, .., 99999 links in either direction: 5·10^9 hops.
TEST(ReshardVerb, ASimulationWithoutEndIsRefusedAtOnce) {
  const Answer answer =
      run({"reshard", tensor("100000xf32", "native<mesh=[100000], {d0} / (1 -> m0)>"),
           tensor("100000xf32", "native<mesh=[100000], {-d0 + 99999} / (1 -> m0)>"), "--json",
           "--simulate", "always"});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.json()["error"]["code"], "too_large");
  EXPECT_EQ(facts_in(answer.json()["error"]["message"].get<std::string>()),
            "5000000000 2147483648");
}

TEST(ReshardVerb, NothingToMove) {
  const Json json = ask(kWide, kWide);
  expect_figures(json, {"IDENTITY", 0, 256, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(json["simulated_cycles"], 0);
  const Answer text = run({"reshard", kWide, kWide});
  EXPECT_TRUE(text.out.starts_with("IDENTITY")) << text.out;
  // There are no messages, and no picture of them.
  EXPECT_EQ(run({"reshard", kWide, kWide, "--no-heat"}).out, text.out);
}

TEST(ReshardVerb, Kinds) {
  const std::vector<std::pair<std::string, std::pair<std::string, std::string>>> cases = {
      {"IDENTITY", {"Grid(4, 1)", "RowPartition(4)"}},
      {"REDUCE", {"Grid(4, 4, partial=[1:sum], dim_to_pe=[0, -1])", "RowPartition(4)"}},
      {"SCATTER", {"SinglePE()", "Grid(2, 2)"}},
      {"GATHER", {"Grid(2, 2)", "SinglePE()"}},
      {"REPLICATE", {"RowPartition(4)", "Grid(4, 2, replicate=[1], dim_to_pe=[0, -1])"}},
      {"TRANSPOSE", {"Grid(2, 4)", "Grid(4, 2, dim_to_pe=[1, 0])"}},
      {"REDISTRIBUTE", {"Grid(2, 2)", "Grid(2, 2, origin=(1, 1))"}},
      {"RESHARD", {"Grid(2, 2)", "Grid(4, 1)"}},
  };
  for (const auto& [kind, layouts] : cases) {
    const Json json = ask(flame("8x8xf32", layouts.first), flame("8x8xf32", layouts.second));
    EXPECT_EQ(json["kind"], kind) << layouts.first << " to " << layouts.second;
  }
}

/// 5 bf16 on one place to two: the second needs elements 3 and 4 (rows 3, 2): 4 bytes, 1 wavelet.
TEST(ReshardVerb, PairsArePhysicalAndAddUp) {
  const Json small = ask(flame("5xbf16", "SinglePE()"),
                         flame("5xbf16", "RowPartition(2, origin=(3, 7))"), {"--pairs"});
  EXPECT_EQ(dump(small["pairs"]),
            "[{\"source\":[0,0],\"destination\":[3,7],\"bytes\":6},"
            "{\"source\":[0,0],\"destination\":[4,7],\"bytes\":4}]");
  EXPECT_EQ(small["wavelets"], 2 + 1);
  const Json json = ask(kWide, kTall, {"--pairs"});
  ASSERT_EQ(json["pairs"].size(), 15U);
  std::int64_t bytes = 0;
  std::int64_t hops = 0;
  for (const Json& pair : json["pairs"]) {
    bytes += pair["bytes"].get<std::int64_t>();
    const auto from = pair["source"].get<std::vector<std::int64_t>>();
    const auto to = pair["destination"].get<std::vector<std::int64_t>>();
    hops += pair["bytes"].get<std::int64_t>() / 4 *
            (std::abs(from[0] - to[0]) + std::abs(from[1] - to[1]));
  }
  EXPECT_EQ(bytes, json["bytes"]);
  EXPECT_EQ(hops, json["hops"]);
  const Answer text = run({"reshard", kWide, kTall, "--pairs"});
  EXPECT_NE(text.out.find("[0, 0] to [1, 0]: 16 "), std::string::npos) << text.out;
  const Answer many = run({"reshard", flame("64x64xf32", "Grid(8, 8)"),
                           flame("64x64xf32", "RowPartition(16)"), "--pairs", "--no-heat"});
  EXPECT_NE(many.lines().back().find("--json"), std::string::npos) << many.out;
}

TEST(ReshardVerb, OnANetworkOfPacketsThereAreNoWavelets) {
  const Json json = ask(flame("64x64xf32", "RowPartition(4)"),
                        flame("64x64xf32", "ColPartition(4)"), {"--target", "wormhole"});
  // Place (i, 0) keeps its part of column tile 0 only if i = 0; 4 · 4 pieces of 16x16, one stays.
  EXPECT_EQ(json["bytes"], 15 * 1024);
  EXPECT_EQ(json["messages"], 15);
  EXPECT_EQ(json["wavelets"], 15 * 256);
  for (const char* field : {"hops", "link_hops", "max_link_wavelets", "max_ramp_wavelets",
                            "longest_distance", "depth", "simulated_cycles"}) {
    ASSERT_TRUE(json.contains(field)) << field;
    EXPECT_TRUE(json[field].is_null()) << field;
  }
  EXPECT_GT(json["cycles"].get<std::int64_t>(), 200);
  EXPECT_GT(json["seconds"].get<double>(), 200e-9);
  const Answer text = run({"reshard", flame("64x64xf32", "RowPartition(4)"),
                           flame("64x64xf32", "ColPartition(4)"), "--target", "wormhole"});
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.out.find(" hops"), std::string::npos) << text.out;
  const Answer always =
      run({"reshard", kWide, kTall, "--target", "wormhole", "--simulate", "always", "--json"});
  EXPECT_EQ(always.error_code(), "not_supported");
  EXPECT_EQ(always.status, 1);
}

TEST(ReshardVerb, TheHeatMapIsInTextAndOnRequestInJson) {
  const Answer text = run({"reshard", kWide, kTall});
  // Rows 0 and 1 carry tiles west: 8, 16 and 8 wavelets from columns 1, 2 and 3; columns 0 and 1
  // carry halves south: 8, 16 and 8 from rows 0, 1 and 2. A step of the scale is 2.
  const std::string map =
      "\n0 4 4 8 4\n"
      "1 8 8 8 4\n"
      "2 4 4 . .\n"
      "3 . . . .\n";
  EXPECT_NE(text.out.find(map), std::string::npos) << text.out;
  EXPECT_EQ(run({"reshard", kWide, kTall, "--no-heat"}).out.find(map), std::string::npos);
  const Json json = ask(kWide, kTall, {"--heat"});
  EXPECT_EQ(dump(json["heat"]["wavelets"]), "[[8,8,16,8],[16,16,16,8],[8,8,0,0],[0,0,0,0]]");
}

TEST(ReshardVerb, AMeshTooLargeForAHeatMapIsAWarningUnlessRequested) {
  const std::string a = tensor("4xf32", "native<mesh=[8192, 8192], {d0} / (1 -> m0), fixed(m1=0)>");
  const std::string b = tensor("4xf32", "native<mesh=[8192, 8192], {d0} / (1 -> m1), fixed(m0=0)>");
  const Answer text = run({"reshard", a, b});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("warning[too_large]: "), std::string::npos) << text.out;
  const Answer requested = run({"reshard", a, b, "--json", "--heat"});
  EXPECT_EQ(requested.status, 1);
  EXPECT_EQ(requested.json()["error"]["code"], "too_large");
}

TEST(ReshardVerb, RelabellingFindsATransposeThatMovesNothing) {
  const std::string a = flame("8x8xf32", "Grid(2, 2)");
  const std::string b = flame("8x8xf32", "Grid(2, 2, dim_to_pe=[1, 0])");
  // (0,1) and (1,0) exchange 16 elements each.
  EXPECT_EQ(ask(a, b)["bytes"], 2 * 64);
  const Json json = ask(a, b, {"--relabel"});
  EXPECT_EQ(json["bytes"], 0);
  EXPECT_EQ(json["relabel"]["bytes_before"], 128);
  EXPECT_EQ(json["relabel"]["bytes_after"], 0);
  EXPECT_EQ(json["relabel"]["saved_bytes"], 128);
  EXPECT_EQ(json["relabel"]["changed"], true);
  // The printed tensor is that B.
  const Json again = ask(a, json["relabel"]["tensor"].get<std::string>());
  EXPECT_EQ(again["bytes"], 0);
  const Json same = ask(a, a, {"--relabel"});
  EXPECT_EQ(same["relabel"]["changed"], false);
  EXPECT_NE(run({"reshard", a, b, "--relabel"}).out.find("tensor<8x8xf32, native<"),
            std::string::npos);
}

/// The example of chunks.h: 63/64 of 16 KB arrive, 4 rounds of 16 rows with 4096 bytes each.
TEST(ReshardVerb, StagingGivesRounds) {
  const std::string a = flame("64x64xf32", "Grid(8, 8)");
  const std::string b = flame("64x64xf32", "SinglePE()");
  const Json json = ask(a, b, {"--staging", "4096"});
  EXPECT_EQ(json["chunks"]["rounds"], 4);
  EXPECT_EQ(json["chunks"]["whole_bytes"], 16384 - 256);
  EXPECT_EQ(json["chunks"]["staging_bytes"], 4096);
  EXPECT_EQ(dump(json["chunks"]["cuts"]), "[{\"dim\":0,\"parts\":4,\"dealt\":false}]");
  EXPECT_EQ(ask(a, b, {"--staging", "20000"})["chunks"]["rounds"], 1);
  const Answer none = run({"reshard", a, b, "--staging", "3", "--json"});
  EXPECT_EQ(none.error_code(), "does_not_fit");
  EXPECT_EQ(none.status, 1);
}

TEST(ReshardVerb, AGatherThatDoesNotFitIsNo) {
  const std::string a = flame("1024x1024xf32", "Grid(32, 32)");
  const std::string b = flame("1024x1024xf32", "SinglePE()");
  const Answer answer = run({"reshard", a, b, "--target", "wse2", "--json"});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.error_code(), "does_not_fit");
  const auto message = answer.json()["error"]["message"].get<std::string>();
  EXPECT_NE(message.find("4 MB"), std::string::npos) << message;
  EXPECT_NE(message.find("36 KB"), std::string::npos) << message;
  EXPECT_FALSE(answer.json()["error"]["help"].get<std::string>().empty());
  // Without a machine, memory is unknown.
  EXPECT_EQ(ask(a, b)["kind"], "GATHER");
}

TEST(ReshardVerb, OtherKindsThatDoNotFitAreWarnedOf) {
  // 128x512 elements, 256 KB per place.
  const Json json = ask(flame("512x512xf32", "Grid(4, 1)"), flame("512x512xf32", "Grid(1, 4)"),
                        {"--target", "wse2"});
  ASSERT_EQ(json["warnings"].size(), 1U);
  EXPECT_EQ(json["warnings"][0]["code"], "does_not_fit");
  EXPECT_EQ(json["messages"], 15);
  const Json fits = ask(kWide, kTall, {"--target", "wse2"});
  EXPECT_TRUE(fits["warnings"].empty());
  EXPECT_EQ(fits["memory"]["from_bytes"], 32);
  EXPECT_EQ(fits["memory"]["to_bytes"], 32);
  EXPECT_EQ(fits["memory"]["available_bytes"], 36 * 1024);
}

TEST(ReshardVerb, BadInput) {
  const auto code = [](std::vector<std::string> args, int status) {
    args.insert(args.begin(), "reshard");
    args.emplace_back("--json");
    const Answer answer = run(args);
    EXPECT_EQ(answer.status, status) << answer.out;
    return answer.error_code();
  };
  const std::string grid = flame("8x8xf32", "Grid(2, 2)");
  EXPECT_EQ(code({grid, flame("8x9xf32", "Grid(2, 2)")}, 2), "shape_mismatch");
  EXPECT_EQ(code({grid, flame("8x8xbf16", "Grid(2, 2)")}, 2), "bad_dtype");
  const std::string outside = flame("8x8xf32", "Grid(2, 2, origin=(993, 0))");
  EXPECT_EQ(code({grid, outside, "--target", "wse2"}, 2), "out_of_range");
  EXPECT_EQ(code({grid, grid, "--target", "wse9"}, 2), "unknown_target");
  EXPECT_EQ(code({grid, grid, "--simulate", "allways"}, 2), "unknown_name");
  EXPECT_EQ(code({grid, grid, "--mode", "colors"}, 2), "unknown_name");
  EXPECT_EQ(code({grid, grid, "--mode", "ideal", "--simulate", "never"}, 2), "usage");
  EXPECT_EQ(code({grid, grid, "--trace", "t.json", "--simulate", "never"}, 2), "usage");
  EXPECT_EQ(code({grid, grid, "--trace", ""}, 2), "usage");
  EXPECT_EQ(code({grid, grid, "--heat", "--no-heat"}, 2), "usage");
  EXPECT_EQ(code({grid, grid, "--staging", "0"}, 2), "usage");
  EXPECT_EQ(code({grid}, 2), "usage");
  const Answer near = run({"reshard", grid, grid, "--simulate", "allways"});
  EXPECT_NE(near.err.find("'always'"), std::string::npos) << near.err;
}

TEST(ReshardVerb, Batch) {
  const Json request = {{"a", kWide}, {"b", kTall}, {"target", "wse2"}, {"pairs", true}};
  const Json bad = {{"a", kWide}, {"b", flame("8x9xf32", "Grid(2, 2)")}};
  const Json staged = {{"a", kWide}, {"b", kTall}, {"staging", 16}, {"simulate", "never"}};
  const Answer answer = run({"reshard", "--batch"}, dump(request) + "\n" + dump(bad) + "\n" +
                                                        dump(staged) + "\n{\"c\": 1}\n");
  EXPECT_EQ(answer.status, 0);
  const std::vector<std::string> lines = answer.lines();
  ASSERT_EQ(lines.size(), 4U);
  expect_figures(parsed(lines[0]), kWideToTall);
  EXPECT_EQ(parsed(lines[0])["pairs"].size(), 15U);
  EXPECT_EQ(parsed(lines[1])["error"]["code"], "shape_mismatch");
  // Each place of B receives two halves of 16 bytes.
  EXPECT_EQ(parsed(lines[2])["chunks"]["rounds"], 2);
  EXPECT_EQ(parsed(lines[3])["error"]["code"], "unknown_name");
}

/// The former name of a flag is accepted in arguments and in requests, but listed nowhere.
TEST(ReshardVerb, WarnsWhereDeviceNumbersMeetCoordinates) {
  const std::string numbered = "tensor<64x64xf32, gspmd{devices=[2,2]<=[4]}>";
  const std::string grid = flame("64x64xf32", "Grid(2, 2)");
  const auto codes = [](const Json& json) {
    std::vector<std::string> list;
    for (const Json& warning : json["warnings"]) list.push_back(warning["code"].get<std::string>());
    return list;
  };
  const std::vector<std::string> expected = {"numbered_places"};
  EXPECT_EQ(codes(ask(numbered, grid, {"--target", "wse2"})), expected);
  EXPECT_EQ(codes(ask(grid, numbered, {"--target", "wse2"})), expected);
  EXPECT_TRUE(codes(ask(numbered, grid)).empty());
  EXPECT_TRUE(codes(ask(grid, grid, {"--target", "wse2"})).empty());
  EXPECT_TRUE(codes(ask(numbered, numbered, {"--target", "wse2"})).empty());
}

TEST(ReshardVerb, AliasesOfFlags) {
  const auto error = [](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"reshard", kWide, kTall, "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args).json()["error"];
  };
  // Both names are the same flag, which needs --mpi.
  for (const std::string flag : {"--timeout", "--patience"}) {
    EXPECT_EQ(error({flag, "3"})["code"], "usage");
    EXPECT_EQ(facts_in(error({flag, "3"})["message"].get<std::string>()), "--timeout") << flag;
    EXPECT_EQ(error({flag, "soon"})["code"], "bad_number") << flag;
  }
  EXPECT_EQ(error({"--timeout", "3", "--patience", "3"})["code"], "usage");
  const Json request = {{"a", kWide}, {"b", kTall}};
  const auto answer = [&](const std::vector<std::string>& keys) {
    Json line = request;
    for (const std::string& key : keys) line[key] = 3;
    return run({"reshard", "--batch"}, dump(line) + "\n").json()["error"];
  };
  for (const std::string key : {"timeout", "patience"}) {
    EXPECT_EQ(answer({key})["code"], "usage") << key;
    EXPECT_EQ(facts_in(answer({key})["message"].get<std::string>()), "--timeout") << key;
  }
  EXPECT_EQ(answer({"timeout", "patience"})["code"], "bad_json");
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"help", "reshard"}, {"man"}, {"completion", "bash"}, {"completion", "zsh"}}) {
    const std::string out = run(args).out;
    EXPECT_NE(out.find("timeout"), std::string::npos) << args[0];
    EXPECT_EQ(out.find("patience"), std::string::npos) << args[0];
  }
}

}  // namespace
}  // namespace tessera::tools
