// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/names.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tessera {
namespace {

TEST(Names, QuotesAreShortAndPlain) {
  EXPECT_EQ(quote_name("l1"), "'l1'");
  EXPECT_EQ(quote_name("a\x1b[2J"), "'a\\x1b[2J'");
  EXPECT_EQ(quote_name(std::string(1000, 'a')), "'aaaaaaaaaaaaaaaaaaaaaaaa...'");
}

TEST(Names, TheNearestIsASlipAway) {
  constexpr std::array<std::string_view, 4> kNames = {"mesh", "replicate", "partial", "pad"};
  EXPECT_EQ(nearest_name("msh", kNames), "mesh");
  EXPECT_EQ(nearest_name("mehs", kNames), "mesh");  // two letters swapped
  EXPECT_EQ(nearest_name("replicated", kNames), "replicate");
  EXPECT_EQ(nearest_name("pda", kNames), "pad");
  EXPECT_EQ(nearest_name("repl", kNames), "replicate");  // cut short
  EXPECT_EQ(nearest_name("banana", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'm'), kNames), std::nullopt);
  EXPECT_EQ(did_you_mean("banana", kNames), "one of mesh, replicate, partial, pad");
}

}  // namespace
}  // namespace tessera
