// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tools/testing/page_snippets.h"

/// docs/cpp.md, docs/device.md and the C++ of README.md: every snippet is code that the tests
/// compile and run, and the table of public headers is complete.
namespace tessera::tools {
namespace {

constexpr const char* kPage = "docs/cpp.md";

struct Snippet {
  std::string where;  ///< page:line
  std::vector<std::string> lines;
};

/// The text between ```cpp and ```.
std::vector<Snippet> snippets_of(const std::string& path) {
  std::vector<Snippet> snippets;
  bool inside = false;
  std::size_t number = 0;
  for (const std::string& line : lines_of(path)) {
    ++number;
    if (line.starts_with("```")) {
      inside = line == "```cpp";
      if (inside) snippets.push_back({path + ":" + std::to_string(number), {}});
    } else if (inside) {
      snippets.back().lines.push_back(line);
    }
  }
  return snippets;
}

TEST(CppPage, EverySnippetIsCodeThatRuns) {
  const std::vector<std::string> reference = lines_of("examples/cpp/reference.cc");
  const std::vector<std::string> device = lines_of("examples/cpp/device.cc");
  const std::vector<std::string> mpi = lines_of("cmake/consumer/mpi.cc");
  std::size_t snippets = 0;
  for (const std::string page : {kPage, "docs/device.md", "README.md"}) {
    for (const Snippet& snippet : snippets_of(page)) {
      EXPECT_TRUE(stands_in(snippet.lines, reference) || stands_in(snippet.lines, device) ||
                  stands_in(snippet.lines, mpi))
          << snippet.where << " is not in the examples";
      ++snippets;
    }
  }
  EXPECT_GT(snippets, 0U);
}

/// The headers that begin a row of the page's table, in order.
std::vector<std::string> listed_headers() {
  std::vector<std::string> headers;
  for (const std::string& line : lines_of(kPage)) {
    if (!line.starts_with("| `tessera/")) continue;
    headers.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return headers;
}

/// The headers that the build installs.
std::vector<std::string> installed_headers() {
  std::vector<std::string> headers = {"tessera/version.h"};
  for (const std::string& line : lines_of("cmake/install.cmake")) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const std::size_t from = word.find("tessera/");
      const std::size_t to = word.find(".h");
      if (from == std::string::npos || to == std::string::npos) continue;
      headers.push_back(word.substr(from, to + 2 - from));
    }
  }
  std::sort(headers.begin(), headers.end());
  headers.erase(std::unique(headers.begin(), headers.end()), headers.end());
  return headers;
}

TEST(CppPage, ListsThePublicHeaders) {
  std::vector<std::string> listed = listed_headers();
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, installed_headers());
}

}  // namespace
}  // namespace tessera::tools
