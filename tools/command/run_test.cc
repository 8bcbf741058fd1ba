// SPDX-License-Identifier: Apache-2.0
#include "tools/command/run.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Run, WithoutArgumentsExplainsItselfAndFails) {
  const Answer answer = run({});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.out, "");
  EXPECT_TRUE(has(answer.err, "usage"));
}

TEST(Run, AFileThatCannotBeReadIsNamedWithTheReason) {
  const Answer none = run({"show", "@/no/such/file", "--json"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.error_code(), "io");
  const auto message = [](const Answer& answer) {
    return answer.json()["error"]["message"].get<std::string>();
  };
  EXPECT_NE(message(none).find("'/no/such/file'"), std::string::npos);
  EXPECT_TRUE(message(none).ends_with(std::strerror(ENOENT))) << message(none);
  const Answer folder = run({"show", "@/", "--json"});
  EXPECT_TRUE(message(folder).ends_with(std::strerror(EISDIR))) << message(folder);
}

TEST(Run, HelpListsEveryVerb) {
  for (const auto& args : {std::vector<std::string>{"--help"}, {"-h"}, {"help"}}) {
    const Answer answer = run(args);
    EXPECT_EQ(answer.status, 0);
    for (const Verb& verb : command_tree()) EXPECT_TRUE(has(answer.out, verb.name)) << verb.name;
  }
}

TEST(Run, HelpOfAVerbListsItsFlags) {
  for (const auto& args : {std::vector<std::string>{"help", "locate"}, {"locate", "--help"}}) {
    const Answer answer = run(args);
    EXPECT_EQ(answer.status, 0);
    for (const char* flag : {"--index", "--place", "--slot", "--all", "--slots", "--physical",
                             "--json", "--batch", "--help"}) {
      EXPECT_TRUE(has(answer.out, flag)) << flag;
    }
  }
  EXPECT_EQ(run({"help", "lcoate"}).status, 2);
}

TEST(Run, Version) {
  const Answer answer = run({"--version"});
  EXPECT_EQ(run({"-V"}).out, answer.out);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out.rfind("tessera ", 0), 0U);
}

TEST(Run, UnknownNamesGetASuggestion) {
  const Answer verb = run({"lcoate"});
  EXPECT_EQ(verb.status, 2);
  EXPECT_TRUE(has(verb.err, "error[unknown_name]"));
  EXPECT_TRUE(has(verb.err, "'locate'"));
  const Answer flag = run({"locate", kRowMajor, "--indx", "1,2"});
  EXPECT_EQ(flag.status, 2);
  EXPECT_TRUE(has(flag.err, "'--index'"));
  const Answer word = run({"completion", "bsah"});
  EXPECT_EQ(word.status, 2);
  EXPECT_TRUE(has(word.err, "'bash'"));
  EXPECT_TRUE(has(run({"frobnicate"}).err, "`tessera help`"));
  EXPECT_EQ(run({"show", "-x", kRowMajor}).status, 2);
}

TEST(Run, FlagsTakeTheirValueBothWays) {
  const std::string expected = run({"locate", kRowMajor, "--index", "2,3"}).out;
  EXPECT_EQ(run({"locate", kRowMajor, "--index=2,3"}).out, expected);
  EXPECT_EQ(run({"locate", "--index", "2,3", kRowMajor}).out, expected);
  EXPECT_EQ(run({"locate", "--index", "[2, 3]", "--", kRowMajor}).out, expected);
}

TEST(Run, BadCommandLines) {
  const std::vector<std::vector<std::string>> bad = {
      {"show"},                                                    // TENSOR is missing
      {"show", kRowMajor, kRowMajor},                              // one too many
      {"locate", kRowMajor, "--all", "--all"},                     // twice
      {"show", kRowMajor, "--json=yes"},                           // takes no value
      {"locate", kRowMajor, "--index"},                            // needs a value
      {"locate", kRowMajor, "--index", "1,x"},                     // not a number
      {"locate", kRowMajor, "--index", "1,"},                      // not a number
      {"locate", kRowMajor, "--index", "99999999999999999999,0"},  // too large
      {"locate", kRowMajor, "--slot", "1.5"},                      // not an integer
      {"show", kRowMajor, "--batch"},  // the tensor is given in the requests
      {"diff", kRowMajor},             // B is missing
      {"completion"},                  // SHELL is missing
      {"bench", "nothing"},            // no such suite
      {"man", "extra"},                // takes nothing
  };
  for (const auto& args : bad) {
    const Answer answer = run(args);
    EXPECT_EQ(answer.status, 2) << testing::PrintToString(args);
    EXPECT_EQ(answer.out, "") << testing::PrintToString(args);
    EXPECT_TRUE(has(answer.err, "error[")) << testing::PrintToString(args);
  }
}

TEST(Run, ErrorsAreJsonWhenTheAnswerWouldBe) {
  const Answer answer = run({"show", "--json", "tensor<4x6xf32, strided<[6, x]>>"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.err, "");
  const Json error = answer.json()["error"];
  EXPECT_EQ(error["code"], "syntax");
  // `x` is byte 28 of tensor<4x6xf32, strided<[6, x]>>.
  EXPECT_EQ(error["span"], Json({28, 29}));
  EXPECT_TRUE(error["message"].is_string());
  EXPECT_TRUE(error["help"].is_string());
  EXPECT_EQ(run({"show", "--json"}).error_code(), "usage");
}

TEST(Run, ErrorsPointWithACaret) {
  const Answer answer = run({"show", "tensor<4x6xf32, strided<[6, x]>>"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(has(answer.err,
                  "  | tensor<4x6xf32, strided<[6, x]>>\n"
                  "  |                             ^"));
}

class RunFiles : public testing::Test, public TestFolder {};

TEST_F(RunFiles, ATensorFromStandardInputOrAFile) {
  const std::string expected = run({"show", kRowMajor}).out;
  EXPECT_EQ(run({"show", "-"}, kRowMajor + "\n").out, expected);
  write("tensor.txt", kRowMajor + "\n");
  EXPECT_EQ(run({"show", "@" + path("tensor.txt")}).out, expected);
  const Answer missing = run({"show", "@" + path("none.txt")});
  EXPECT_EQ(missing.status, 2);
  EXPECT_TRUE(has(missing.err, "error[io]"));
  EXPECT_EQ(run({"show", "@/"}).status, 2);  // a directory
  EXPECT_EQ(run({"show", "-"}, "").status, 2);
}

TEST(Run, HostileArgumentsAreRefusedShortly) {
  const std::size_t size = std::size_t{1} << 20;
  const std::vector<std::string> hostile = {
      std::string(size, 'x'),
      std::string(size, '<'),
      "tensor<" + std::string(size, '9'),
      std::string(size, '\x1b'),
      std::string(size, '\xff'),
      "tensor<4x6xf32, strided<[" + std::string(size, '['),
      "tensor<4x6xf32, native<" + std::string(size, '{'),
  };
  for (const std::string& text : hostile) {
    for (const auto& args : {std::vector<std::string>{"show", text},
                             {text},
                             {"show", "--" + text},
                             {"locate", kRowMajor, "--index", text},
                             {"diff", kRowMajor, text, "--json"},
                             {"completion", text},
                             {"show", kRowMajor, "--target=" + text}}) {
      const Answer answer = run(args);
      EXPECT_EQ(answer.status, 2);
      EXPECT_LT(answer.err.size() + answer.out.size(), 3000U);
      EXPECT_EQ(answer.err.find('\x1b'), std::string::npos);
    }
  }
}

class RefusingBuffer : public std::streambuf {};

TEST(Run, AnAnswerThatCannotBeWrittenIsAFailure) {
  RefusingBuffer buffer;
  std::istringstream in("{}\n{}\n");
  std::ostringstream err;
  for (const auto& args : {std::vector<std::string>{"show", kRowMajor},
                           {"--version"},
                           {"man"},
                           {"locate", kRowMajor, "--all"},
                           {"show", "--batch"}}) {
    std::ostream out(&buffer);
    EXPECT_EQ(run_command(args, in, out, err), 2) << args[0];
  }
}

}  // namespace
}  // namespace tessera::tools
