// SPDX-License-Identifier: Apache-2.0
#include "tools/show/show_target.h"

#include <gtest/gtest.h>

#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const std::string kSinglePe =
    "tensor<1024x1024xf32, native<mesh=[1, 1], {d0} / (1 -> mem*1024), {d1} / (1 -> mem)>>";
const std::string kGrid =
    "tensor<1024x1024xf32, native<mesh=[32, 32], {d0} / (32 -> m0, 1 -> mem*32), "
    "{d1} / (32 -> m1, 1 -> mem)>>";

class ShowTargetFiles : public testing::Test, public TestFolder {};

TEST(ShowTarget, ATensorThatIsTooLarge) {
  const Answer text = run({"show", kSinglePe, "--target", "wse2"});
  EXPECT_EQ(text.status, 1);
  EXPECT_TRUE(has(text.out, "4 MB > 48 KB")) << text.out;
  EXPECT_TRUE(has(text.out, " 114 places")) << text.out;
  const Answer json = run({"show", kSinglePe, "--target", "wse2", "--json"});
  EXPECT_EQ(json.status, 1);
  Json found = json.json()["target"];
  ASSERT_EQ(found["reasons"].size(), 1U);
  EXPECT_EQ(found["reasons"][0]["code"], "exceeds_memory");
  EXPECT_EQ(facts_in(found["reasons"][0]["message"].get<std::string>()), "4 48 36");
  Json expected = parsed(R"({
      "name": "wse2", "fits": false, "space": "sram", "layout_space": null,
      "shard_bytes": 4194304, "held_bytes": 4194304, "capacity_bytes": 49152,
      "usable_bytes": 36864, "share_percent": 11377.8, "needed_places": 114})");
  expected["reasons"] = found["reasons"];
  EXPECT_EQ(found, expected);
}

TEST(ShowTarget, ATensorThatFits) {
  const Answer text = run({"show", kGrid, "--target", "wse2"});
  EXPECT_EQ(text.status, 0);
  for (const char* part : {"wse2", "4 KB", "sram", "11.1 %", "36 KB"}) {
    EXPECT_TRUE(has(text.out, part)) << part << "\n" << text.out;
  }
  const Answer json = run({"show", kGrid, "--target", "wse2", "--json"});
  EXPECT_EQ(json.status, 0);
  EXPECT_EQ(json.json()["target"]["fits"], true);
  EXPECT_EQ(json.json()["target"]["reasons"], Json::array());
  EXPECT_EQ(json.json()["target"]["needed_places"], 114);
  EXPECT_FALSE(run({"show", kGrid, "--json"}).json().contains("target"));
}

TEST(ShowTarget, SpacesOfTheLayout) {
  const Answer l1 = run({"show", kTiled, "--target", "wormhole"});
  EXPECT_EQ(l1.status, 0);
  for (const char* part : {"wormhole", "1088 bytes", "l1", "0.1 %", "1364 KB"}) {
    EXPECT_TRUE(has(l1.out, part)) << part << "\n" << l1.out;
  }
  const Json sram = run({"show", kTiled, "--target", "wse2", "--json"}).json()["target"];
  EXPECT_EQ(sram["space"], "sram");
  EXPECT_EQ(sram["layout_space"], "l1");
  const Answer other = run({"show", kTiled, "--target", "wse2"});
  EXPECT_TRUE(has(other.out, "'l1'") && has(other.out, "sram")) << other.out;
  EXPECT_TRUE(has(run({"show", kRowMajor, "--target", "spyre"}).out, "128 bytes"));
  EXPECT_EQ(
      run({"show", kRowMajor, "--target", "spyre", "--json"}).json()["target"]["capacity_bytes"],
      Json(nullptr));
}

// Facts that only the text of a notation has.
TEST(ShowTarget, InterleavedTensorsAreDealtOut) {
  // 128x128 tiles of 2 KB over 64 cores: 256 tiles per core.
  const Answer l1 = run({"show",
                         "tensor<4096x4096xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, "
                         "memref<1x256x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, "
                         "<interleaved>>>",
                         "--target", "wormhole"});
  EXPECT_EQ(l1.status, 0);
  EXPECT_TRUE(has(l1.out, "512 KB")) << l1.out << l1.err;
}

TEST(ShowTarget, SpansOfSpyreCores) {
  const auto divided = [](const std::string& cores) {
    return run({"show",
                "tensor<32x8192x17408xf16, spyre<device_size=[8192, 272, 32, 64], "
                "dim_map=[1, 2, 0, 2], cores=" +
                    cores + ">>",
                "--target", "spyre"});
  };
  // 256·272·32 sticks of 128 bytes in one contiguous range.
  EXPECT_TRUE(has(divided("[32, 1, 1, 1]").out, "272 MB > 262140 KB"));
  // One of the 32 rows of sticks: few bytes, but from one end of the tensor to the other.
  const Answer across = divided("[1, 1, 32, 1]");
  EXPECT_EQ(across.status, 1);
  EXPECT_TRUE(has(across.out, "9126801536 bytes > 262140 KB")) << across.out << across.err;
}

TEST_F(ShowTargetFiles, AMachineFromAFile) {
  write("mine.json", R"({
  "name": "mine",
  "mesh": [2, 2],
  "memory": [{"name": "sram", "bytes": 64}]
})");
  const Answer answer = run({"show", kTiled, "--target", path("mine.json")});
  EXPECT_EQ(answer.status, 1);
  EXPECT_TRUE(has(answer.out, "1088 bytes > 64 bytes")) << answer.out;
  EXPECT_TRUE(has(answer.out, "3x2 > 2x2")) << answer.out;
}

TEST_F(ShowTargetFiles, InvalidMachineFiles) {
  write("wrong.json", "{\n  \"name\": \"mine\",\n  \"mehs\": [2, 2]\n}\n");
  const Answer text = run({"show", kTiled, "--target", path("wrong.json")});
  EXPECT_EQ(text.status, 2);
  EXPECT_TRUE(has(text.err, "wrong.json':3:3: ")) << text.err;
  EXPECT_TRUE(has(text.err, "'mehs'") && has(text.err, "'mesh'")) << text.err;
  const Answer json = run({"show", kTiled, "--target", path("wrong.json"), "--json"});
  EXPECT_EQ(json.error_code(), "unknown_name");
  EXPECT_EQ(json.json()["error"]["span"], Json(nullptr));
  EXPECT_EQ(run({"show", kTiled, "--target", "./no/such.json", "--json"}).error_code(), "io");
}

TEST(ShowTarget, UnknownNames) {
  const Answer answer = run({"show", kTiled, "--target", "wse-2"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(has(answer.err, "error[unknown_target]: ")) << answer.err;
  EXPECT_TRUE(has(answer.err, "'wse-2'") && has(answer.err, "'wse2'")) << answer.err;
}

TEST(ShowTarget, InABatch) {
  const Answer answer =
      run({"show", "--batch"}, R"({"tensor": "tensor<4x6xf32, strided<[6, 1]>>", "target": "wse3"}
{"tensor": "tensor<4x6xf32, strided<[6, 1]>>", "target": "nothing"}
)");
  EXPECT_EQ(answer.status, 0);
  const std::vector<std::string> lines = answer.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(parsed(lines[0])["target"]["fits"], true);
  EXPECT_EQ(parsed(lines[1])["error"]["code"], "unknown_target");
}

TEST(ShowTarget, NoLineIsWiderThanTheTerminal) {
  for (const int width : {20, 40, 80}) {
    for (const std::string& line :
         run({"show", kSinglePe, "--target", "wse2"}, "", {false, false, width}).lines()) {
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(ShowTarget, UnevenShardsFitByTheLargest) {
  const Answer small = run(
      {"show", "tensor<2x5xf32, dtensor<mesh=[2], [Shard(1)]>>", "--target", "wormhole", "--json"});
  EXPECT_EQ(small.status, 0);
  EXPECT_EQ(small.json()["target"]["fits"], true);
  // The largest shard is 2048x2049 of 4 bytes; all elements are 4096·4097·4 bytes over 36 KB.
  const Answer large =
      run({"show", "tensor<4096x4097xf32, dtensor<mesh=[2,2], [Shard(0), Shard(1)]>>", "--target",
           "wse2", "--json"});
  EXPECT_EQ(large.status, 1);
  EXPECT_EQ(large.json()["target"]["held_bytes"], 16785408);
  EXPECT_EQ(large.json()["target"]["needed_places"], 1821);
  const Answer view =
      run({"show", "tensor<4x6xf32, strided<[0, 1]>>", "--target", "wse2", "--json"});
  EXPECT_EQ(view.status, 2);
  EXPECT_EQ(view.error_code(), "not_supported");
}

}  // namespace
}  // namespace tessera::tools
