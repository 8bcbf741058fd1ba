// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// docs/cpp.md, docs/device.md and the C++ of README.md: every snippet is code that the tests
/// compile and run, and the table of public headers is complete.
namespace tessera::tools {
namespace {

constexpr const char* kPage = "docs/cpp.md";

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream stream(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& line) {
  const std::size_t from = line.find_first_not_of(' ');
  return from == std::string::npos ? "" : line.substr(from);
}

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

/// Whether the lines of a snippet occur in `code` consecutively; indentation may differ.
bool stands_in(const std::vector<std::string>& snippet, const std::vector<std::string>& code) {
  for (std::size_t from = 0; from + snippet.size() <= code.size(); ++from) {
    std::size_t same = 0;
    while (same < snippet.size() && trimmed(code[from + same]) == trimmed(snippet[same])) ++same;
    if (same == snippet.size()) return true;
  }
  return false;
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

TEST(CppPage, ListsThePublicHeaders) {
  const std::vector<std::string> listed = listed_headers();
  const auto is_listed = [&](const std::string& header) {
    return std::find(listed.begin(), listed.end(), header) != listed.end();
  };
  const std::string include = "#include \"";
  for (const std::string& line : lines_of("tessera/tessera.h")) {
    if (!line.starts_with(include)) continue;
    const std::string header = line.substr(include.size(), line.size() - include.size() - 1);
    EXPECT_TRUE(is_listed(header)) << kPage << " does not list " << header;
  }
  for (const std::string& header : listed) {
    const bool made_by_the_build = header == "tessera/version.h";
    EXPECT_TRUE(made_by_the_build || std::filesystem::exists(header)) << header;
  }
}

}  // namespace
}  // namespace tessera::tools
