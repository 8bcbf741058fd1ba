// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/mlir_scan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

namespace tessera::check {
namespace {

constexpr std::string_view kSeparator = "// -----";
constexpr std::string_view kRemark = "tessera:";

constexpr std::array<bool, 256> table_of(std::string_view characters) {
  std::array<bool, 256> table{};
  for (const char c : characters) table[static_cast<unsigned char>(c)] = true;
  return table;
}

/// The bytes at which the scan stops; all others are skipped.
constexpr std::array<bool, 256> kStops = table_of("\"/#!t,()[]{}<>");

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_mlir_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_mlir_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// The text after `// tessera:`, at the start of a comment or after other text of a comment.
std::optional<std::string_view> remark_of(std::string_view comment) {
  for (std::size_t at = 0; at != std::string_view::npos; at = comment.find("//", at)) {
    at += 2;
    while (at < comment.size() && is_mlir_blank(comment[at])) ++at;
    const std::string_view text = comment.substr(at);
    if (text.starts_with(kRemark)) return without_blanks(text.substr(kRemark.size()));
  }
  return std::nullopt;
}

/// A longer row of dashes is decoration; aliases stay valid after it.
bool separates(std::string_view comment) {
  return comment.starts_with(kSeparator) && !comment.substr(kSeparator.size()).starts_with('-');
}

bool directs_test(std::string_view comment) {
  return comment.find(kRunDirective) != std::string_view::npos ||
         comment.find(kErrorDirective) != std::string_view::npos;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  MlirScan run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (!kStops[static_cast<unsigned char>(c)]) {
        ++at_;
      } else if (c == '"') {
        at_ = end_of_string(text_, at_);
      } else if (c == '/') {
        slash();
      } else if (c == '#' || c == '!') {
        name();
      } else if (c == 't') {
        word();
      } else if (c == ',') {
        comma();
      } else {
        bracket();
      }
    }
    leave_section(text_.size());
    // Tensors were added in the order of their '>', unclosed ones late.
    std::sort(scan_.tensors.begin(), scan_.tensors.end(),
              [](const MlirTensor& a, const MlirTensor& b) { return a.span.from < b.span.from; });
    return std::move(scan_);
  }

 private:
  struct OpenTensor {
    std::size_t from;
    std::size_t depth;  // of brackets inside it
    std::size_t comma = 0;
    bool counts = true;
  };

  bool starts_line(std::size_t at) const {
    while (at > 0 && (text_[at - 1] == ' ' || text_[at - 1] == '\t')) --at;
    return at == 0 || text_[at - 1] == '\n' || text_[at - 1] == '\r';
  }

  void slash() {
    if (text_.substr(at_, 2) != "//") {
      ++at_;
      return;
    }
    const std::size_t end = end_of_comment(text_, at_);
    const std::string_view comment = text_.substr(at_, end - at_);
    if (const std::optional<std::string_view> remark = remark_of(comment)) {
      scan_.remarks.push_back({*remark, at_, starts_line(at_)});
    } else if (separates(comment) && starts_line(at_)) {
      leave_section(at_);
      scan_.splits.push_back(at_);
    }
    if (directs_test(comment)) scan_.directives.push_back(comment);
    at_ = end;
  }

  /// Ends every alias and tensor that is still open.
  void leave_section(std::size_t at) {
    end_alias(at);
    abandon(0, at);
    brackets_.clear();
    names_.clear();
    ++section_;
  }

  void end_alias(std::size_t at) {
    if (!scan_.aliases.empty() && scan_.aliases.back().limit == 0) scan_.aliases.back().limit = at;
  }

  /// `#name =`, `#name`, `#dialect.name`
  void name() {
    const std::size_t from = at_++;
    while (at_ < text_.size() && is_mlir_word(text_[at_])) ++at_;
    if (at_ == from + 1) return;
    const std::size_t next = skip_blanks(text_, at_, text_.size());
    if (next >= text_.size() || text_[next] != '=' || text_.substr(next, 2) == "==") return;
    const std::string_view name = text_.substr(from, at_ - from);
    if (names_.contains(name)) {
      leave_section(from);
    } else {
      end_alias(from);
      abandon(0, from);
      brackets_.clear();
    }
    names_.insert(name);
    scan_.aliases.push_back({name,
                             Span{static_cast<std::int64_t>(from), static_cast<std::int64_t>(at_)},
                             next + 1, 0, section_});
  }

  /// `tensor` `<`, not a part of a longer name.
  void word() {
    const std::size_t from = at_++;
    if (text_.substr(from, 6) != "tensor") return;
    if (from > 0) {
      const char before = text_[from - 1];
      if (is_mlir_word(before) || before == '.' || before == '-' || before == '@' ||
          before == '%' || before == '^') {
        return;
      }
    }
    at_ = from + 6;
    const std::size_t next = skip_blanks(text_, at_, text_.size());
    if (next >= text_.size() || text_[next] != '<') return;
    // An element type that is a tensor has no layout.
    if (!open_.empty() && open_.back().comma == 0) open_.back().counts = false;
    at_ = next + 1;
    brackets_.take(text_, next);
    open_.push_back({from, brackets_.depth()});
  }

  void comma() {
    if (!open_.empty() && open_.back().comma == 0 && open_.back().depth == brackets_.depth()) {
      open_.back().comma = at_;
    }
    ++at_;
  }

  void bracket() {
    const std::size_t before = brackets_.depth();
    const std::size_t closed = brackets_.take(text_, at_);
    ++at_;
    if (closed == 0) return;
    const std::size_t left = before - closed;
    // The bracket itself closes the outermost one; the brackets inside it were not closed.
    abandon(left + 1, at_ - 1);
    if (!open_.empty() && open_.back().depth == left + 1) finish(at_, true);
  }

  /// Gives up on open tensors deeper than `depth`.
  void abandon(std::size_t depth, std::size_t at) {
    while (!open_.empty() && open_.back().depth > depth) finish(at, false);
  }

  void finish(std::size_t end, bool closed) {
    const OpenTensor tensor = open_.back();
    open_.pop_back();
    if (tensor.comma == 0) return;
    if (!open_.empty()) open_.back().counts = false;
    if (!tensor.counts || is_dynamic(tensor)) return;
    scan_.tensors.push_back(
        {Span{static_cast<std::int64_t>(tensor.from), static_cast<std::int64_t>(end)}, tensor.comma,
         section_, closed});
  }

  bool is_dynamic(const OpenTensor& tensor) const {
    std::size_t at = skip_blanks(text_, tensor.from + 6, tensor.comma) + 1;
    for (; at < tensor.comma; ++at) {
      const char c = text_[at];
      if (c == '?' || c == '*') return true;
      if (c != 'x' && !is_mlir_blank(c) && (c < '0' || c > '9')) return false;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t section_ = 0;
  BracketStack brackets_;
  std::vector<OpenTensor> open_;
  std::unordered_set<std::string_view> names_;
  MlirScan scan_;
};

}  // namespace

bool is_mlir_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_mlir_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

std::size_t end_of_comment(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\n') return at;
    if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n') ++at;
  }
  return text.size();
}

std::size_t skip_blanks(std::string_view text, std::size_t at, std::size_t end) {
  while (at < end) {
    if (is_mlir_blank(text[at])) {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(end_of_comment(text, at), end);
    } else {
      break;
    }
  }
  return at;
}

MlirScan scan_mlir(std::string_view text) { return Scanner(text).run(); }

}  // namespace tessera::check
