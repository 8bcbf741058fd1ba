// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tessera/testing/pages/doc_examples.h"
#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The output of the command; errors as they appear below the command.
std::string printed(const DocExample& example, const Terminal& terminal) {
  const Answer answer = run(example.args, "", terminal);
  return answer.out + answer.err;
}

/// Every `$ tessera ..` in the pages prints what the page shows: in a plain terminal, and in
/// README.md in one with box drawing characters, which most readers have. With TESSERA_UPDATE_DOCS
/// set, the pages are rewritten instead; review the difference before you commit it.
TEST(Docs, EveryExampleOfEveryPagePrintsWhatThePageShows) {
  std::size_t examples = 0;
  std::vector<std::filesystem::path> pages = {"README.md"};
  for (const auto& entry : std::filesystem::directory_iterator("docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  for (const std::filesystem::path& path : pages) {
    const std::string page = read_file(path);
    const Terminal terminal{.unicode = path == "README.md"};
    std::vector<std::string> outputs;
    for (const DocExample& example : doc_examples(page)) {
      // Absolute times differ from run to run.
      const bool timed = !example.args.empty() && example.args.front() == "bench";
      outputs.push_back(timed ? example.output : printed(example, terminal));
      ++examples;
      if (std::getenv("TESSERA_UPDATE_DOCS") != nullptr) continue;
      EXPECT_EQ(outputs.back(), example.output) << path << ":" << example.line;
    }
    if (std::getenv("TESSERA_UPDATE_DOCS") != nullptr) {
      std::ofstream(path) << with_outputs(page, outputs);
    }
  }
  EXPECT_GT(examples, 0U);
}

TEST(Docs, ExamplesAreFoundAndReplaced) {
  const std::string page =
      "text\n```\n$ tessera show 'a\n b' \\\n    --json\nout 1\n$ tessera help\n```\n$ tessera "
      "no\n";
  const std::vector<DocExample> examples = doc_examples(page);
  ASSERT_EQ(examples.size(), 2U);
  EXPECT_EQ(examples[0].line, 3);
  EXPECT_EQ(examples[0].args, (std::vector<std::string>{"show", "a\n b", "--json"}));
  EXPECT_EQ(examples[0].output, "out 1\n");
  EXPECT_EQ(examples[1].args, (std::vector<std::string>{"help"}));
  EXPECT_EQ(examples[1].output, "");
  EXPECT_EQ(with_outputs(page, {"new\n", "x\ny\n"}),
            "text\n```\n$ tessera show 'a\n b' \\\n    --json\nnew\n$ tessera help\nx\ny\n```\n"
            "$ tessera no\n");
}

}  // namespace
}  // namespace tessera::tools
