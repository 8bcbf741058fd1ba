// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/testing/command_testing.h"

// What the command prints about itself: completions and the manual page name every verb and flag.
namespace tessera::tools {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Printed, CompletionNamesEveryVerbAndFlag) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Answer answer = run({"completion", shell});
    EXPECT_EQ(answer.status, 0);
    for (const Verb& verb : command_tree()) {
      EXPECT_TRUE(has(answer.out, std::string(verb.name))) << shell << " " << verb.name;
      for (const Flag& flag : flags_of(verb)) {
        const std::string name = (shell == "fish" ? "-l " : "--") + std::string(flag.name);
        EXPECT_TRUE(has(answer.out, name)) << shell << " " << name;
      }
    }
  }
}

TEST(Printed, ManualNamesEveryVerbAndFlag) {
  const Answer answer = run({"man"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out.rfind(".TH TESSERA 1", 0), 0U);
  for (const Verb& verb : command_tree()) {
    EXPECT_TRUE(has(answer.out, ".SS " + std::string(verb.name) + "\n")) << verb.name;
    for (const Flag& flag : flags_of(verb)) {
      std::string name = "\\-\\-";
      for (const char c : flag.name) name += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_TRUE(has(answer.out, name)) << flag.name;
    }
  }
}

TEST(Printed, ManualHasNoStrayRequests) {
  const std::vector<std::string> requests = {".TH", ".SH", ".SS", ".B",  ".TP", ".PP",
                                             ".br", ".nf", ".fi", ".RS", ".RE"};
  for (const std::string& line : run({"man"}).lines()) {
    ASSERT_FALSE(line.empty());
    EXPECT_NE(line[0], '\'');
    if (line[0] != '.') continue;
    const std::string request = line.substr(0, line.find(' '));
    EXPECT_NE(std::find(requests.begin(), requests.end(), request), requests.end()) << line;
  }
}

TEST(Printed, EveryVerbIsComplete) {
  for (const Verb& verb : command_tree()) {
    EXPECT_FALSE(verb.summary.empty()) << verb.name;
    EXPECT_FALSE(verb.description.empty()) << verb.name;
    EXPECT_NE(verb.run, nullptr) << verb.name;
    for (const Flag& flag : flags_of(verb)) {
      EXPECT_FALSE(flag.help.empty()) << flag.name;
      EXPECT_EQ(flag.kind == ValueKind::kSwitch, flag.placeholder.empty()) << flag.name;
    }
  }
}

}  // namespace
}  // namespace tessera::tools
