// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

/// docs/design.md draws the tree and says which room may include which. These tests compare it with
/// the tree.
namespace tessera::test {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> all_matches(const std::string& text, const char* pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    found.push_back((*it)[1].str());
  }
  return found;
}

/// The part of the page between the heading `title` and the next heading of its level.
std::string section(const std::string& page, const std::string& title) {
  const std::size_t from = page.find("\n## " + title + "\n");
  if (from == std::string::npos) return "";
  return page.substr(from, page.find("\n## ", from + 1) - from);
}

/// "tessera/reshard/flows/flows.h" is in the room "reshard", "tools/show/show.cc" in "tools".
std::string room_of(const std::string& path) {
  const std::size_t slash = path.find('/');
  std::string first = path.substr(0, slash);
  if (first != "tessera") return first;
  const std::size_t second = path.find('/', slash + 1);
  return second == std::string::npos ? "" : path.substr(slash + 1, second - slash - 1);
}

bool is_test(const std::string& path) {
  static const std::regex kTest("_(test|sweep)\\.cc$|^tools/testing/");
  return std::regex_search(path, kTest);
}

/// Room → the rooms that its row of the table names. "all but x" is every room except x.
std::map<std::string, std::set<std::string>> table_of_rooms(const std::string& page) {
  std::map<std::string, std::set<std::string>> table;
  std::istringstream lines(section(page, "Rooms"));
  std::vector<std::pair<std::string, std::string>> rows;
  static const std::regex kRow(R"(^\| `(\w+)/` \|([^|]*)\|.*)");
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, kRow)) rows.emplace_back(match[1].str(), match[2].str());
  }
  for (const auto& [room, includes] : rows) {
    const std::vector<std::string> named = all_matches(includes, "`(\\w+)/`");
    std::set<std::string>& allowed = table[room];
    if (includes.find("all but") == std::string::npos) {
      allowed.insert(named.begin(), named.end());
    } else {
      for (const auto& [other, unused] : rows) {
        if (std::find(named.begin(), named.end(), other) == named.end()) allowed.insert(other);
      }
    }
    allowed.insert("base");
    allowed.insert(room);
  }
  return table;
}

std::vector<std::string> source_files() {
  std::vector<std::string> files;
  for (const char* folder : {"tessera", "tools", "bench", "python"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".h" || extension == ".cc" || extension == ".inc") {
        files.push_back(entry.path().generic_string());
      }
    }
  }
  return files;
}

TEST(Rooms, IncludeOnlyWhatTheTableNames) {
  const auto table = table_of_rooms(content("docs/design.md"));
  ASSERT_GE(table.size(), 15U);
  std::size_t lines = 0;
  for (const std::string& file : source_files()) {
    const std::string room = room_of(file);
    if (room.empty() || is_test(file)) continue;
    ASSERT_TRUE(table.contains(room)) << file << " is in a room that docs/design.md does not list";
    for (const std::string& include :
         all_matches(content(file), "#include \"((?:tessera|tools|bench)/[^\"]+)\"")) {
      ++lines;
      const std::string other = room_of(include);
      if (other.empty()) continue;  // tessera/version.h, tessera/tessera.h
      EXPECT_TRUE(table.at(room).contains(other))
          << file << " includes " << include << ", but the row of " << room
          << "/ in docs/design.md does not name " << other << "/";
    }
  }
  EXPECT_GT(lines, 1000U);
}

TEST(Rooms, SharedPartsOfTheCommandKnowNoVerb) {
  static const std::regex kShared("^tools/(command|files|terminal|json)/");
  std::size_t lines = 0;
  for (const std::string& file : source_files()) {
    if (!std::regex_search(file, kShared) || is_test(file)) continue;
    for (const std::string& include : all_matches(content(file), "#include \"(tools/[^\"]+)\"")) {
      ++lines;
      EXPECT_TRUE(std::regex_search(include, kShared)) << file << " includes " << include;
    }
  }
  EXPECT_GT(lines, 40U);
}

TEST(Rooms, AreDrawnInFull) {
  const std::string tree = section(content("docs/design.md"), "The tree");
  const std::vector<std::string> drawn = all_matches(tree, "([\\w/]+)/(?=[\\s;]|$)");
  const std::set<std::string> names(drawn.begin(), drawn.end());
  // Folders that hold no file, or only what an interpreter left behind, are not part of the tree.
  static const std::set<std::string> kExtensions = {".cc", ".cmake", ".h",   ".inc",
                                                    ".md", ".mlir",  ".svg", ".txt"};
  std::set<fs::path> folders;
  for (const char* top : {"tessera", "tools", "bench", "examples", "docs", "cmake"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (kExtensions.contains(entry.path().extension().string())) {
        folders.insert(entry.path().parent_path());
      }
    }
  }
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    EXPECT_TRUE(names.contains(name) || names.contains(folder.generic_string()) ||
                names.contains(folder.parent_path().filename().string() + "/" + name))
        << "docs/design.md does not draw " << folder;
  }
  EXPECT_GT(folders.size(), 50U);
}

TEST(Rooms, PublicHeadersAreNamed) {
  const std::string page = section(content("docs/design.md"), "Public headers");
  const std::string install = content("cmake/install.cmake");
  const std::vector<std::string> headers =
      all_matches(install.substr(0, install.find("foreach(")), "tessera/(\\w+/[\\w/]+\\.h)");
  EXPECT_GT(headers.size(), 30U);
  for (const std::string& header : headers) {
    EXPECT_TRUE(fs::exists("tessera/" + header)) << header;
    const std::size_t slash = header.find('/');
    const std::string row = "| `" + header.substr(0, slash) + "/` |";
    const std::size_t at = page.find(row);
    ASSERT_NE(at, std::string::npos) << row;
    const std::string line = page.substr(at, page.find('\n', at) - at);
    EXPECT_NE(line.find("`" + header.substr(slash + 1) + "`"), std::string::npos)
        << "docs/design.md does not name " << header;
  }
}

TEST(Rooms, CommandsPassThroughFilesThatExist) {
  const std::string page = section(content("docs/design.md"), "Three commands, file by file");
  const std::vector<std::string> files =
      all_matches(page, "`((?:tessera|tools)/[\\w/]+\\.(?:cc|h))`");
  EXPECT_GT(files.size(), 50U);
  for (const std::string& file : files) EXPECT_TRUE(fs::exists(file)) << file;
}

}  // namespace
}  // namespace tessera::test
