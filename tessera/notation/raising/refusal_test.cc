// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/refusal.h"

#include <gtest/gtest.h>

namespace tessera::notation {
namespace {

TEST(Refusal, WordsAreBuiltFromFacts) {
  const Obstacle what = obstacle(
      "example", "dims {dims:and} of {shape:x} at {index} in {slot} as {dtype} by xla{1,0}",
      {fact("dims", 0, 1), fact("shape", std::vector<std::int64_t>{3, 2}), fact("index", 4, 5),
       fact("slot", std::size_t{6}), fact("dtype", "f32"), fact("unused", 7)});
  EXPECT_EQ(what.words, "dims 0 and 1 of 3x2 at [4, 5] in 6 as f32 by xla{1,0}");
  EXPECT_EQ(what.reason.name, "example");
  EXPECT_EQ(what.reason.number("slot"), 6);
  EXPECT_EQ(what.reason.number("unused"), 7);
}

TEST(Refusal, ErrorsKeepTheirReasons) {
  const Error error = cannot_express(
      "xla", obstacle(why::kFirstSlot, "an offset of {slot} slots", {fact("slot", 5)}));
  EXPECT_EQ(error.code, ErrorCode::kNotSupported);
  EXPECT_EQ(error.message, "xla cannot express an offset of 5 slots");
  ASSERT_EQ(error.reasons.size(), 1U);
  EXPECT_EQ(obstacle_of(error).reason, error.reasons.front());
  // The error of a text has no reason but its code.
  const Obstacle refused = obstacle_of(Error{ErrorCode::kInvalidShape, "too long"}, "this: ");
  EXPECT_EQ(refused.words, "this: too long");
  EXPECT_EQ(refused.reason, (Reason{why::kNoText, {{"code", "invalid_shape"}}}));
}

}  // namespace
}  // namespace tessera::notation
