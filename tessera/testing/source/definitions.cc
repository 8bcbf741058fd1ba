// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/source/definitions.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace tessera::test {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Token {
  std::string_view text;
  int line = 0;
};

/// Words, and every other character as a separate token.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\n') ++line;
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    tokens.push_back({text.substr(i, end - i), line});
    i = end;
  }
  return tokens;
}

/// Walks through the tokens and tracks the surrounding braces.
class Reader {
 public:
  explicit Reader(std::string_view text) : tokens_(tokens_of(text)) {}

  std::vector<TypeDefinition> all() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) step();
    return std::move(found_);
  }

 private:
  enum class Brace { kNamespace, kUnnamed, kOther };
  struct Scope {
    Brace brace;
    std::string name;
  };

  std::string_view text(std::size_t i) const {
    return i < tokens_.size() ? tokens_[i].text : std::string_view();
  }

  bool at_namespace_scope() const {
    return std::all_of(scopes_.begin(), scopes_.end(),
                       [](const Scope& s) { return s.brace == Brace::kNamespace; });
  }

  std::string scope() const {
    std::string joined;
    for (const Scope& s : scopes_) {
      if (!joined.empty() && !s.name.empty()) joined += "::";
      joined += s.name;
    }
    return joined;
  }

  void step() {
    const std::string_view token = text(at_);
    if (token == "{") return scopes_.push_back({Brace::kOther, ""});
    if (token == "}") {
      if (!scopes_.empty()) scopes_.pop_back();
      return;
    }
    if (!at_namespace_scope() && token != "namespace") return;
    if (token == "namespace" && text(at_ - 1) != "using") return open_namespace();
    if (token == "extern" && text(at_ + 1) == "{") {  // its "C" is a literal, and blank by now
      ++at_;
      return scopes_.push_back({Brace::kNamespace, ""});
    }
    if (token == "template") return skip_parameters();
    if (token == "using" && text(at_ + 2) == "=") {
      found_.push_back({scope(), std::string(text(at_ + 1)), tokens_[at_].line});
    }
    if (token == "struct" || token == "class" || token == "union" || token == "enum") {
      read_type();
    }
  }

  void open_namespace() {
    std::string name;
    std::size_t i = at_ + 1;
    for (; i < tokens_.size() && text(i) != "{" && text(i) != ";" && text(i) != "="; ++i) {
      if (text(i) != "inline") name += text(i);
    }
    if (text(i) == "{") {
      scopes_.push_back({name.empty() ? Brace::kUnnamed : Brace::kNamespace, name});
    }
    at_ = i;
  }

  /// The parameters of a template name types without defining them.
  void skip_parameters() {
    int depth = 0;
    for (; at_ + 1 < tokens_.size(); ++at_) {
      if (text(at_ + 1) == "<") ++depth;
      if (text(at_ + 1) == ">" && --depth == 0) {
        ++at_;
        return;
      }
    }
  }

  /// From `struct` to its opening brace, unless it is only declared or used as a type.
  void read_type() {
    const int line = tokens_[at_].line;
    std::size_t i = at_ + 1;
    if (text(i) == "class" || text(i) == "struct") ++i;  // enum class
    while (text(i) == "alignas" || text(i) == "[") {     // alignas(..), [[..]]
      const std::string_view close = text(i) == "[" ? "]" : ")";
      while (i < tokens_.size() && text(i) != close) ++i;
      ++i;
      while (text(i) == close) ++i;
    }
    std::string name;
    for (; i < tokens_.size(); ++i) {
      const std::string_view token = text(i);
      if (token == ";" || token == "(" || token == "=") return;
      if (token == "{" || (token == ":" && text(i + 1) != ":" && text(i - 1) != ":")) break;
      if (token != "final") name += token;
    }
    while (i < tokens_.size() && text(i) != "{" && text(i) != ";") ++i;
    if (text(i) != "{") return;
    // Out-of-class definitions of nested types name a scope that is a type.
    if (!name.empty()) found_.push_back({scope(), name, line});
    scopes_.push_back({Brace::kOther, ""});
    at_ = i;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::vector<Scope> scopes_;
  std::vector<TypeDefinition> found_;
};

}  // namespace

std::string without_comments(std::string_view text) {
  std::string out(text);
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, out.size()); ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  };
  bool line_start = true;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    const char c = text[i];
    if (text.substr(i, 2) == "//") {
      end = std::min(text.find('\n', i), text.size());
      blank(i, end);
    } else if (text.substr(i, 2) == "/*") {
      end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      blank(i, end);
    } else if (c == 'R' && text.substr(i + 1, 1) == "\"" && (i == 0 || !is_word(text[i - 1]))) {
      const std::size_t open = text.find('(', i);
      const std::string close = ")" + std::string(text.substr(i + 2, open - i - 2)) + "\"";
      end = std::min(text.find(close, open), text.size() - close.size()) + close.size();
      blank(i, end);
    } else if (c == '"' || (c == '\'' && (i == 0 || !is_word(text[i - 1])))) {
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      ++end;
      blank(i, end);
    } else if (c == '#' && line_start) {
      while (end < text.size() && (text[end] != '\n' || text[end - 1] == '\\')) ++end;
      blank(i, end);
    }
    if (c == '\n') {
      line_start = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      line_start = false;
    }
    i = end;
  }
  return out;
}

std::vector<TypeDefinition> type_definitions(std::string_view text) {
  return Reader(without_comments(text)).all();
}

}  // namespace tessera::test
