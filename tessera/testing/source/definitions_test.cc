// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/source/definitions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace tessera::test {
namespace {

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> out;
  for (const TypeDefinition& type : type_definitions(text)) {
    out.push_back(type.scope + "::" + type.name);
  }
  return out;
}

using Names = std::vector<std::string>;

TEST(Definitions, FindsTypesAtNamespaceScope) {
  EXPECT_EQ(
      names("namespace a { struct B {}; class C final : public B { int x; struct In {}; }; }"),
      (Names{"a::B", "a::C"}));
  EXPECT_EQ(names("namespace a::b { enum class E : int { kOne }; union U {}; using V = int; }"),
            (Names{"a::b::E", "a::b::U", "a::b::V"}));
  EXPECT_EQ(
      names("template <class T, class U = B<T>> struct X {}; template <> struct X<int, int> {};"),
      (Names{"::X", "::X<int,int>"}));
  EXPECT_EQ(names("struct alignas(64) Wide {}; class [[nodiscard]] Kept {};"),
            (Names{"::Wide", "::Kept"}));
  EXPECT_EQ(names("extern \"C\" { struct Plain {}; }"), Names{"::Plain"});
}

TEST(Definitions, LeavesOutWhatIsNotDefinedHere) {
  EXPECT_EQ(names("namespace a { struct B; class C; enum class E; }"), Names{});
  EXPECT_EQ(names("namespace { struct Mine {}; } void f() { struct Local {}; }"), Names{});
  EXPECT_EQ(names("struct B f(struct C* c); struct D g() { return {}; }"), Names{});
  EXPECT_EQ(names("// struct A {};\n/* struct B {}; */ const char* s = \"struct C {};\";"),
            Names{});
  EXPECT_EQ(names("const char* s = R\"x(struct C {};)x\"; char c = '\"'; struct D {};"),
            Names{"::D"});
  EXPECT_EQ(names("#define A \\\n struct B {\nstruct C {};"), Names{"::C"});
}

TEST(Definitions, KnowsTheLine) {
  const auto types = type_definitions("\n/* two\nlines */\nstruct A {};\n");
  ASSERT_EQ(types.size(), 1U);
  EXPECT_EQ(types[0].line, 4);
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Two types of one name in one namespace are undefined behaviour when two translation units of a
/// program each use one of them: the linker keeps one set of functions for both.
TEST(Definitions, EveryNameIsDefinedOnceInTheTree) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> places;
  std::size_t files = 0;
  for (const char* folder : {"tessera", "tools", "bench", "examples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      ++files;
      for (const TypeDefinition& type : type_definitions(content(entry.path()))) {
        if (type.scope.empty()) continue;  // each example is a separate program
        places[{type.scope, type.name}].push_back(entry.path().string() + ":" +
                                                  std::to_string(type.line));
      }
    }
  }
  EXPECT_GT(files, 500U);
  EXPECT_GT(places.size(), 500U);
  for (const auto& [name, where] : places) {
    if (where.size() < 2) continue;
    std::string list;
    for (const std::string& place : where) list += "\n  " + place;
    ADD_FAILURE() << name.first << "::" << name.second << " is defined more than once:" << list;
  }
}

}  // namespace
}  // namespace tessera::test
