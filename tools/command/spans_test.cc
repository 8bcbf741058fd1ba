// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/tensor.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/notation/random_texts.h"
#include "tools/testing/command_testing.h"

/// Spans of errors: positions in the text that the user has written, or none.
namespace tessera::tools {
namespace {

/// One of the numbers of the text replaced by another, or one character by another.
std::string changed(std::string text, test::Dice& dice) {
  constexpr std::array<std::string_view, 9> kNumbers = {
      "0", "1", "5", "6", "4096", "1048577", "1099511627776", "9223372036854775807", "-1"};
  std::vector<std::pair<std::size_t, std::size_t>> numbers;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end > i) numbers.emplace_back(i, end - i);
    i = end;
  }
  if (numbers.empty() || dice.chance(20)) {
    constexpr std::string_view kMarks = "<>[](){},x=0_ ";
    const auto at = static_cast<std::size_t>(dice.below(std::ssize(text)));
    text[at] = kMarks[static_cast<std::size_t>(dice.below(std::ssize(kMarks)))];
    return text;
  }
  const auto& [at, size] = numbers[static_cast<std::size_t>(dice.below(std::ssize(numbers)))];
  return text.replace(at, size,
                      kNumbers[static_cast<std::size_t>(dice.below(std::ssize(kNumbers)))]);
}

/// What the verbs that read tensors are asked about one text.
std::vector<std::vector<std::string>> questions(const std::string& text, test::Dice& dice) {
  const auto& known = notation::notations();
  const auto& to = known[static_cast<std::size_t>(dice.below(std::ssize(known)))];
  return {{"show", text},
          {"locate", text, "--index", "0,0"},
          {"convert", text, "--to", std::string(to.name)},
          {"convert", text, "--to", "native"},
          {"diff", text, text},
          {"relayout", text, text, "--dry-run"},
          {"reshard", text, text}};
}

/// A span lies inside the text; and where the text can be read, no verb has any text to point at.
void expect_span(std::vector<std::string> args, const std::string& text, bool is_read) {
  args.emplace_back("--json");
  const Json answer = run(args).json();
  if (!answer.contains("error") || answer["error"]["span"].is_null()) return;
  const Json& span = answer["error"]["span"];
  const auto from = span[0].get<std::int64_t>();
  const auto to = span[1].get<std::int64_t>();
  EXPECT_TRUE(!is_read && from >= 0 && from <= to && to <= std::ssize(text))
      << args[0] << " " << text << "\n"
      << dump(answer);
}

TEST(Spans, LieInsideTheTextOfTheUser) {
  int refused = 0;
  int read = 0;
  for (const notation::Notation& notation : notation::notations()) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      test::Dice dice(seed * 1009 + notation.name.size());
      const std::string text = changed(test::random_text(notation.name, dice), dice);
      const bool is_read = parse_tensor(text).ok();
      ++(is_read ? read : refused);
      for (const auto& args : questions(text, dice)) expect_span(args, text, is_read);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(read, 100);
}

/// Their shards overlap in a way that takes too long to compare when the native text is read.
TEST(Spans, OfAConvertedTextAreNotTold) {
  const std::string text = "tensor<1099511627776xi8, dtensor<mesh=[5], [_S(0, 6)]>>";
  const Answer answer = run({"convert", text, "--to", "native", "--json"});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.error_code(), "too_large");
  EXPECT_TRUE(answer.json()["error"]["span"].is_null()) << answer.out;
}

}  // namespace
}  // namespace tessera::tools
