// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

std::int64_t field(const Json& json, const char* name) { return json[name].get<std::int64_t>(); }

TEST(AllocBlocks, AreThePlan) {
  const Json json = run({"alloc", "examples/buffers.csv", "--json", "--blocks"}).json();
  ASSERT_TRUE(json.contains("blocks"));
  const Json& blocks = json["blocks"];
  ASSERT_GT(blocks.size(), 3U);
  std::int64_t taken = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Json& one = blocks[i];
    EXPECT_LE(field(one, "offset") + field(one, "size"), field(json, "peak"));
    EXPECT_EQ(field(json["offsets"], one["id"].get<std::string>().c_str()), field(one, "offset"));
    taken += field(one, "size") * (field(one, "upper") - field(one, "lower"));
    for (std::size_t j = 0; j < i; ++j) {
      const Json& other = blocks[j];
      const bool together = field(one, "lower") < field(other, "upper") &&
                            field(other, "lower") < field(one, "upper");
      const bool share = field(one, "offset") < field(other, "offset") + field(other, "size") &&
                         field(other, "offset") < field(one, "offset") + field(one, "size");
      EXPECT_FALSE(together && share) << i << " and " << j;
    }
  }
  // What is live over time is what the blocks take.
  for (const Json& range : json["ranges"]) {
    taken -= field(range, "live") * (field(range, "to") - field(range, "from"));
  }
  EXPECT_EQ(taken, 0);
}

TEST(AllocBlocks, AreAPartOfTheJson) {
  EXPECT_FALSE(run({"alloc", "examples/buffers.csv", "--json"}).json().contains("blocks"));
  EXPECT_EQ(run({"alloc", "examples/buffers.csv", "--blocks"}).status, 2);
}

}  // namespace
}  // namespace tessera::tools
