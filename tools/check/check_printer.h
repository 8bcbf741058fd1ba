// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/check/check.h"
#include "tools/command/command.h"

/// tools/check/: the verb `check`. Files and folders come in; diagnostics and fixed files go out.
/// What is wrong is decided by tessera/check alone: nothing here judges a layout.
///
/// This header: how `check` prints what it finds, with one printer each for text, JSON and SARIF. A
/// printer receives the files in order and prints at once, so that it keeps only counts.
namespace tessera::tools {

/// A range of a file; lines and columns from 1, columns in bytes, the end exclusive.
struct Region {
  check::LineColumn from;
  check::LineColumn to;
};

/// A text that was checked, with the name that is printed.
struct CheckedText {
  std::string name;
  std::string_view text;
  check::LineIndex lines;

  CheckedText(std::string file, std::string_view content)
      : name(std::move(file)), text(content), lines(content) {}
  /// The part of the span that lies inside the text; all other members use it in the same way.
  Span inside(Span span) const;
  Region region(Span span) const;
  std::string_view at(Span span) const;
};

/// A diagnostic that was fixed, with its position in the text that still had it.
struct Fixed {
  check::Diagnostic diagnostic;
  Region where;
  Region edit;
  std::string before;  ///< the text that the fix replaced
};

struct CheckTotals {
  std::int64_t files = 0;
  std::int64_t failed = 0;  ///< could not be read or written
  std::int64_t tensors = 0;
  std::int64_t errors = 0;
  std::int64_t warnings = 0;
  std::int64_t silenced = 0;
  std::int64_t expected = 0;
  std::int64_t unknown = 0;
  std::int64_t fixed = 0;
};

class CheckPrinter {
 public:
  CheckPrinter() = default;
  CheckPrinter(const CheckPrinter&) = delete;
  CheckPrinter& operator=(const CheckPrinter&) = delete;
  virtual ~CheckPrinter() = default;

  /// All diagnostics of a file, called once per file.
  virtual void found(const CheckedText& file,
                     const std::vector<check::Diagnostic>& diagnostics) = 0;
  virtual void fixed(const std::string& name, const Fixed& fixed) = 0;
  /// After the fixes of a file: where its former text is kept.
  virtual void kept(const std::string& name, const std::string& backup) = 0;
  /// A file that could not be read or written.
  virtual void failed(const std::string& name, const Error& error) = 0;
  virtual void finish(const CheckTotals& totals) = 0;
};

/// "a.mlir:3:15: error[contradiction]: ..", the line with carets, help, fix, and the tensor where
/// it is elsewhere. A finding that repeats is printed once, with the lines of its repeats; a line
/// of totals at the end. Failures go to the console's `err`.
std::unique_ptr<CheckPrinter> check_text(Console& console);
/// One JSON object per line: a diagnostic {file, line, column, severity, code, message, fix, ..},
/// or {"error": ..} for a file that failed.
std::unique_ptr<CheckPrinter> check_json(Console& console, bool fixing);
/// One SARIF 2.1.0 log. It does not contain what was fixed; a failure is a notification.
std::unique_ptr<CheckPrinter> check_sarif(Console& console);

std::string_view severity_name(check::Severity severity);
/// What a code means, in one sentence, for lists of rules.
std::string_view code_meaning(std::string_view code);

}  // namespace tessera::tools
