// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/search_line.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

namespace tessera::tools {
namespace {

const std::string kErasedLine = "\r\x1b[K";

std::string search_words(int width) { return "words in " + std::to_string(width); }

TEST(SearchLine, IsDrawnAfterASecondAndRemovedAtTheEnd) {
  std::ostringstream err;
  {
    SearchLine line(err, true, 60);
    EXPECT_TRUE(line.update(0.5, search_words));
    EXPECT_EQ(err.str(), "");
    EXPECT_TRUE(line.update(1.0, search_words));
    EXPECT_TRUE(line.update(1.1, search_words));  // too soon
    EXPECT_EQ(err.str(), kErasedLine + "words in 60");
    EXPECT_TRUE(line.update(1.3, search_words));
    EXPECT_EQ(err.str(), kErasedLine + "words in 60" + kErasedLine + "words in 60");
  }
  EXPECT_TRUE(err.str().ends_with("60" + kErasedLine));
}

TEST(SearchLine, DrawsNothingInAPipe) {
  std::ostringstream err;
  {
    SearchLine line(err, false, 60);
    EXPECT_TRUE(line.update(5, search_words));
  }
  EXPECT_EQ(err.str(), "");
}

TEST(SearchLine, AsksTheSearchToStopAfterAnInterrupt) {
  std::ostringstream err;
  {
    SearchLine line(err, false, 60);
    EXPECT_FALSE(line.interrupted());
    std::raise(SIGINT);
    EXPECT_TRUE(line.interrupted());
    EXPECT_FALSE(line.update(0, search_words));
  }
  const SearchLine next(err, false, 60);
  EXPECT_FALSE(next.interrupted());
}

}  // namespace
}  // namespace tessera::tools
