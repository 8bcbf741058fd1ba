// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/negative_tests.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace tessera::check {
namespace {

/// One command of a RUN line.
struct Command {
  std::vector<std::string> words;
  bool piped = false;  ///< reads the output of the command before it
};

/// The commands of a RUN line: words are split at spaces outside quotes, commands at | || && ; &.
std::vector<Command> commands_of(std::string_view line) {
  std::vector<Command> commands(1);
  std::string word;
  bool open = false;  // a word was begun, perhaps with empty quotes
  char quote = 0;
  const auto end_word = [&] {
    if (std::exchange(open, false)) commands.back().words.push_back(std::exchange(word, {}));
  };
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (is_mlir_blank(c)) {
      end_word();
    } else if (c == '|' || c == ';' || (c == '&' && !word.ends_with('>'))) {
      end_word();
      const bool twice = at + 1 < line.size() && line[at + 1] == c;
      commands.push_back({{}, c == '|' && !twice});
      if (twice) ++at;
    } else {
      word += c;
      open = true;
    }
  }
  end_word();
  return commands;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     is_name_character);
}

/// Whether the command must fail on its input. Programs that inspect output are no judges of it.
bool must_fail(const Command& command) {
  static constexpr std::array<std::string_view, 8> kInspectors = {
      "FileCheck", "%FileCheck", "grep", "egrep", "fgrep", "diff", "cmp", "count"};
  bool negated = false;
  for (const std::string& word : command.words) {
    const std::string_view name = file_name(word);
    if (name == "not" || name == "%not" || name == "!") {
      negated = !negated;
    } else if (name != "env" && !is_assignment(word) && !word.starts_with('-')) {
      return negated &&
             std::find(kInspectors.begin(), kInspectors.end(), name) == kInspectors.end();
    }
  }
  return false;
}

/// Whether a word contains `%s`, which stands for the file itself; `%something` does not.
bool names_file(const Command& command) {
  return std::any_of(command.words.begin(), command.words.end(), [](const std::string& word) {
    for (std::size_t at = word.find("%s"); at != std::string::npos; at = word.find("%s", at + 2)) {
      if (at + 2 == word.size() || !is_name_character(word[at + 2])) return true;
    }
    return false;
  });
}

bool refuses_file(std::string_view run) {
  bool reads_file = false;
  for (const Command& command : commands_of(run)) {
    reads_file = names_file(command) || (command.piped && reads_file);
    if (reads_file && must_fail(command)) return true;
  }
  return false;
}

/// The RUN lines; one that ends with a backslash continues in the next.
std::vector<std::string> run_lines(const std::vector<std::string_view>& directives) {
  std::vector<std::string> lines;
  bool continues = false;
  for (const std::string_view comment : directives) {
    const std::size_t at = comment.find(kRunDirective);
    if (at == std::string_view::npos) continue;
    std::string_view rest = comment.substr(at + kRunDirective.size());
    while (!rest.empty() && is_mlir_blank(rest.back())) rest.remove_suffix(1);
    if (!std::exchange(continues, rest.ends_with('\\'))) lines.emplace_back();
    if (continues) rest.remove_suffix(1);
    lines.back() += rest;
  }
  return lines;
}

}  // namespace

NegativeTests::NegativeTests(std::string_view text, const MlirScan& scan) {
  if (scan.directives.empty()) return;
  const auto size = static_cast<std::int64_t>(text.size());
  const std::vector<std::string> runs = run_lines(scan.directives);
  if (std::any_of(runs.begin(), runs.end(), refuses_file)) {
    parts_.push_back({0, size});
    return;
  }
  const bool splits =
      runs.empty() || std::any_of(runs.begin(), runs.end(), [](const std::string& run) {
        return run.find("split-input-file") != std::string::npos;
      });
  for (const std::string_view comment : scan.directives) {
    if (comment.find(kErrorDirective) == std::string_view::npos) continue;
    if (!splits) {
      parts_.push_back({0, size});
      return;
    }
    const auto at = static_cast<std::size_t>(comment.data() - text.data());
    const auto after = std::upper_bound(scan.splits.begin(), scan.splits.end(), at);
    const Span part{after == scan.splits.begin() ? 0 : static_cast<std::int64_t>(*(after - 1)),
                    after == scan.splits.end() ? size : static_cast<std::int64_t>(*after)};
    if (parts_.empty() || parts_.back() != part) parts_.push_back(part);
  }
}

bool NegativeTests::has(std::int64_t byte) const {
  const auto after =
      std::upper_bound(parts_.begin(), parts_.end(), byte,
                       [](std::int64_t value, const Span& part) { return value < part.from; });
  return after != parts_.begin() && byte < (after - 1)->to;
}

}  // namespace tessera::check
