// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/pages/doc_examples.h"

#include <sstream>
#include <string_view>

namespace tessera {
namespace {

constexpr std::string_view kPrompt = "$ tessera ";

/// Whether a command continues on the next line: inside quotes, or after a backslash.
bool goes_on(std::string_view command) {
  char quote = '\0';
  for (const char c : command) {
    if (quote != '\0' ? c == quote : c == '\'' || c == '"') quote = quote == '\0' ? c : '\0';
  }
  return quote != '\0' || command.ends_with('\\');
}

/// Words of a shell command: separated by blanks, kept together by quotes.
std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0' ? c == quote : c == '\'' || c == '"') {
      quote = quote == '\0' ? c : '\0';
      in_word = true;
    } else if (quote == '\0' && (c == ' ' || c == '\n' || c == '\\')) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

struct PageLine {
  std::string text;
  std::int64_t output_of = -1;   // the example whose output it is
  std::int64_t command_of = -1;  // the example whose command ends here
};

struct Page {
  std::vector<PageLine> lines;
  std::vector<DocExample> examples;
};

Page read_page(const std::string& text) {
  Page page;
  std::istringstream stream(text);
  bool in_fence = false;
  bool in_command = false;
  bool in_output = false;
  std::string command;
  std::int64_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const bool fence = line.starts_with("```");
    const bool prompt = in_fence && line.starts_with(kPrompt);
    if (fence) {
      in_fence = !in_fence;
      in_command = in_output = false;
    } else if (prompt) {
      page.examples.push_back({number, {}, ""});
      command = line.substr(kPrompt.size());
      in_command = true;
    } else if (in_command) {
      command += "\n" + line;
    }
    const bool is_output = in_output && !fence && !prompt;
    if (is_output) page.examples.back().output += line + "\n";
    page.lines.push_back({line, is_output ? std::ssize(page.examples) - 1 : -1, -1});
    if (in_command && !goes_on(command)) {
      page.lines.back().command_of = std::ssize(page.examples) - 1;
      page.examples.back().args = shell_words(command);
      in_command = false;
      in_output = true;
    } else if (prompt) {
      in_output = false;
    }
  }
  return page;
}

}  // namespace

std::vector<DocExample> doc_examples(const std::string& page) { return read_page(page).examples; }

std::string with_outputs(const std::string& page, const std::vector<std::string>& outputs) {
  std::string text;
  for (const PageLine& line : read_page(page).lines) {
    if (line.output_of >= 0) continue;
    text += line.text + "\n";
    if (line.command_of >= 0) text += outputs[static_cast<std::size_t>(line.command_of)];
  }
  return text;
}

}  // namespace tessera
