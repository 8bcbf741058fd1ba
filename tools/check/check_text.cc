// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <ostream>

#include "tessera/base/text.h"
#include "tools/check/check_printer.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

class Words : public CheckPrinter {
 public:
  explicit Words(Console& console) : console_(console) {}

  void found(const CheckedText& file, const std::vector<check::Diagnostic>& diagnostics) override {
    std::map<check::FindingKey, std::vector<std::int64_t>> lines;
    for (const check::Diagnostic& diagnostic : diagnostics) {
      lines[check::finding_key(diagnostic)].push_back(file.region(diagnostic.span).from.line);
    }
    for (const check::Diagnostic& diagnostic : diagnostics) {
      const auto found = lines.find(check::finding_key(diagnostic));
      if (found == lines.end()) continue;
      print(file, diagnostic);
      repeats(found->second);
      lines.erase(found);
    }
  }

  void fixed(const std::string& name, const Fixed& fixed) override {
    headline(name, fixed.where.from, "fixed", Paint::kHeading, fixed.diagnostic);
    console_.out << "fix: " << change(fixed.before, fixed.diagnostic.fix->text) << '\n';
  }

  void kept(const std::string& name, const std::string& backup) override {
    console_.out << printable(name) << ": rewritten; the former content is in " << printable(backup)
                 << '\n';
  }

  void failed(const std::string&, const Error& error) override {
    console_.err << render(error, "");
  }

  void finish(const CheckTotals& totals) override {
    std::string line =
        cat(count_of(totals.files, "file"), ", ", count_of(totals.tensors, "tensor"), ": ");
    if (totals.fixed > 0) line += cat(totals.fixed, " fixed, ");
    line += cat(count_of(totals.errors, "error"), ", ", count_of(totals.warnings, "warning"), ", ",
                totals.silenced, " silenced, ", count_of(totals.unknown, "unknown layout"));
    if (totals.expected > 0) line += cat(", ", totals.expected, " in negative tests");
    if (totals.failed > 0) line += cat(", ", count_of(totals.failed, "file"), " failed");
    console_.out << line << '\n';
  }

 private:
  static std::string place(const std::string& name, const check::LineColumn& at) {
    return cat(printable(name), ":", at.line, ":", at.column);
  }

  /// "'17x32' becomes '18x32'".
  static std::string change(std::string_view before, std::string_view after) {
    if (before.empty()) return cat("add ", quote(after));
    if (after.empty()) return cat("remove ", quote(before));
    return cat(quote(before), " becomes ", quote(after));
  }

  void print(const CheckedText& file, const check::Diagnostic& diagnostic) {
    const check::LineColumn at = file.region(diagnostic.span).from;
    const Paint colour =
        diagnostic.severity == check::Severity::kError ? Paint::kError : Paint::kWarning;
    headline(file.name, at, severity_name(diagnostic.severity), colour, diagnostic);
    console_.out << excerpt(file.text, diagnostic.span);
    const std::optional<check::Edit>& fix = diagnostic.fix;
    const bool fix_says_it = fix && diagnostic.help == cat("write ", fix->text);
    if (!diagnostic.help.empty() && !fix_says_it) {
      console_.out << "help: " << printable(diagnostic.help) << '\n';
    }
    if (fix && fix->span == diagnostic.span) {
      console_.out << "fix: " << printable(fix->text) << '\n';
    } else if (fix) {
      console_.out << "fix: " << place(file.name, file.region(fix->span).from) << ": "
                   << change(file.at(fix->span), fix->text) << '\n';
    }
    if (diagnostic.tensor) {
      const check::LineColumn tensor = file.region(*diagnostic.tensor).from;
      console_.out << "note: " << place(file.name, tensor) << ": the tensor is here\n"
                   << excerpt(file.text, *diagnostic.tensor);
    }
  }

  /// The lines of a finding that repeats, except the first.
  void repeats(const std::vector<std::int64_t>& lines) {
    constexpr std::size_t kMostLines = 12;
    if (lines.size() == 1) return;
    std::string list;
    for (std::size_t i = 1; i < std::min(lines.size(), kMostLines + 1); ++i) {
      list += cat(i == 1 ? "" : ", ", lines[i]);
    }
    if (lines.size() > kMostLines + 1) list += ", ..";
    console_.out << "note: the same " << count_of(std::ssize(lines) - 1, "more time") << ", in line"
                 << (lines.size() == 2 ? " " : "s ") << list << '\n';
  }

  void headline(const std::string& name, const check::LineColumn& at, std::string_view what,
                Paint colour, const check::Diagnostic& diagnostic) {
    const Terminal& terminal = console_.terminal;
    console_.out << paint(terminal, Paint::kHeading, place(name, at) + ":") << ' '
                 << paint(terminal, colour, cat(what, "[", printable(diagnostic.code), "]:")) << ' '
                 << printable(diagnostic.message) << '\n';
  }

  Console& console_;
};

}  // namespace

Span CheckedText::inside(Span span) const {
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t from = std::clamp<std::int64_t>(span.from, 0, size);
  return {from, std::clamp<std::int64_t>(span.to, from, size)};
}

Region CheckedText::region(Span span) const {
  const Span known = inside(span);
  return {lines.at(known.from), lines.at(known.to)};
}

std::string_view CheckedText::at(Span span) const {
  const Span known = inside(span);
  return text.substr(static_cast<std::size_t>(known.from),
                     static_cast<std::size_t>(known.to - known.from));
}

std::string_view severity_name(check::Severity severity) {
  return severity == check::Severity::kError ? "error" : "warning";
}

std::unique_ptr<CheckPrinter> check_text(Console& console) {
  return std::make_unique<Words>(console);
}

}  // namespace tessera::tools
