// SPDX-License-Identifier: Apache-2.0
#include "tools/show/show_target.h"

#include <gtest/gtest.h>

#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

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
  const Answer words = run({"show", kSinglePe, "--target", "wse2"});
  EXPECT_EQ(words.status, 1);
  EXPECT_TRUE(has(words.out, "does not fit wse2: 4 MB > 48 KB a place (36 KB for data)\n"))
      << words.out;
  EXPECT_TRUE(has(words.out, "the data alone fill 114 places")) << words.out;
  const Answer json = run({"show", kSinglePe, "--target", "wse2", "--json"});
  EXPECT_EQ(json.status, 1);
  const std::string message = "4 MB > 48 KB a place (36 KB for data)";
  Json expected = parsed(R"({
      "name": "wse2", "fits": false, "space": "sram", "layout_space": null,
      "shard_bytes": 4194304, "held_bytes": 4194304, "capacity_bytes": 49152,
      "usable_bytes": 36864, "share_percent": 11377.8, "needed_places": 114})");
  expected["reasons"] = Json::array({{{"code", "exceeds_memory"}, {"message", message}}});
  EXPECT_EQ(json.json()["target"], expected);
}

TEST(ShowTarget, ATensorThatFits) {
  const Answer words = run({"show", kGrid, "--target", "wse2"});
  EXPECT_EQ(words.status, 0);
  EXPECT_TRUE(has(words.out, "fits wse2: 4 KB a place in sram, 11.1 % of the 36 KB for data\n"))
      << words.out;
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
  EXPECT_TRUE(has(l1.out, "fits wormhole: 1088 bytes a place in l1, 0.1 % of the 1364 KB for data"))
      << l1.out;
  const Answer sram = run({"show", kTiled, "--target", "wse2"});
  EXPECT_TRUE(has(sram.out, "wse2 has no memory 'l1': sram was looked at")) << sram.out;
  const Answer hbm = run({"show", kRowMajor, "--target", "spyre"});
  EXPECT_TRUE(has(hbm.out, "fits spyre: 128 bytes in all in hbm, whose size is not given"))
      << hbm.out;
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
  EXPECT_TRUE(has(l1.out, "fits wormhole: 512 KB a place in l1")) << l1.out << l1.err;
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
  EXPECT_TRUE(
      has(divided("[32, 1, 1, 1]").out, "does not fit spyre: core 0 spans 272 MB > 256 MB"));
  // One of the 32 rows of sticks: few bytes, but from one end of the tensor to the other.
  const Answer across = divided("[1, 1, 32, 1]");
  EXPECT_EQ(across.status, 1);
  EXPECT_TRUE(has(across.out, "does not fit spyre: core 0 spans 9126801536 bytes > 256 MB"))
      << across.out << across.err;
}

TEST_F(ShowTargetFiles, OneOfOnesOwn) {
  write("mine.json", R"({
  "name": "mine",
  "mesh": [2, 2],
  "memory": [{"name": "sram", "bytes": 64}]
})");
  const Answer answer = run({"show", kTiled, "--target", path("mine.json")});
  EXPECT_EQ(answer.status, 1);
  EXPECT_TRUE(has(answer.out, "does not fit mine: 1088 bytes > 64 bytes a place\n")) << answer.out;
  EXPECT_TRUE(has(answer.out, "does not fit mine: a mesh of 3x2 > 2x2 (axis 0: 3 > 2)\n"))
      << answer.out;
}

TEST_F(ShowTargetFiles, OnesThatAreWrong) {
  write("wrong.json", "{\n  \"name\": \"mine\",\n  \"mehs\": [2, 2]\n}\n");
  const Answer words = run({"show", kTiled, "--target", path("wrong.json")});
  EXPECT_EQ(words.status, 2);
  EXPECT_TRUE(has(words.err, "wrong.json':3:3: there is no key 'mehs'")) << words.err;
  EXPECT_TRUE(has(words.err, "did you mean 'mesh'?")) << words.err;
  const Answer json = run({"show", kTiled, "--target", path("wrong.json"), "--json"});
  EXPECT_EQ(json.error_code(), "unknown_name");
  EXPECT_EQ(json.json()["error"]["span"], Json(nullptr));
  EXPECT_EQ(run({"show", kTiled, "--target", "./no/such.json", "--json"}).error_code(), "io");
}

TEST(ShowTarget, UnknownNames) {
  const Answer answer = run({"show", kTiled, "--target", "wse-2"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(has(answer.err, "error[unknown_target]: no target is called 'wse-2'")) << answer.err;
  EXPECT_TRUE(has(answer.err, "did you mean 'wse2'?")) << answer.err;
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
