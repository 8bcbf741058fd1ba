// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tessera/base/result.h"

/// check/: input is the text of an MLIR file; output is the list of contradictions in its layouts.
/// It looks only at tensors and their layout attributes; all other ops, dialects and attributes are
/// skipped. It uses no files, streams or terminals: the `check` verb does.
namespace tessera::target {
struct Machine;
}  // namespace tessera::target

namespace tessera::check {

enum class Severity : std::uint8_t { kError, kWarning };

/// A replacement of one byte range of the file.
struct Edit {
  Span span;
  std::string text;
  friend bool operator==(const Edit&, const Edit&) = default;
};

/// One error, or something that is probably not intended. Spans are byte ranges of the file.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string code;     ///< "contradiction", "syntax", ..; warnings: "waste", "empty_cores", ..
  Span span;            ///< what is wrong; may be in the definition of an alias
  std::string message;  ///< one sentence with the numbers
  std::string help;
  std::optional<Span> tensor;  ///< the tensor that contradicts it, if that is elsewhere
  /// The correction. Only if it is right for every tensor that uses the text.
  std::optional<Edit> fix;
  std::int64_t occurrences = 1;  ///< how often the file has this code, message and correction
};

/// What two diagnostics share if they are the same finding at two positions: severity, code,
/// message and correction. Valid as long as the diagnostic.
using FindingKey = std::tuple<Severity, std::string_view, std::string_view, std::string_view>;
FindingKey finding_key(const Diagnostic& diagnostic);

struct CheckOptions {
  const target::Machine* target = nullptr;  ///< also checks the rules of this machine
  double most_waste = 4;  ///< warns above this many allocated bytes per byte of data
};

/// The result for a file.
struct CheckReport {
  std::vector<Diagnostic> diagnostics;  ///< in file order, each once
  std::int64_t tensors = 0;             ///< with a layout attribute that Tessera knows
  std::int64_t unknown = 0;             ///< with another attribute, or with unknown content
  std::int64_t silenced = 0;            ///< diagnostics silenced by a comment
  std::int64_t expected = 0;            ///< diagnostics in negative tests
};

/// Checks every layout of an .mlir text against its tensor.
///
///   aliases    `#l1 = ..`, `#layout = ..`, `!t = tensor<..>`, which may use each other and may be
///              used before their definition. They are valid up to the next `// -----`, where a new
///              module begins, unless the file has no other definition of that name
///   skipped    comments, strings, dynamic shapes, attributes and dialects that Tessera does not
///              know, and unknown parts of those that it knows: a newer item, an unknown element
///              type
///   silenced   `// tessera: allow(contradiction)`, or `allow` alone for every code, on the line of
///              the diagnostic, of the tensor or of the alias, or on a line of its own right above;
///              `// tessera: allow-file(..)` anywhere
///   expected   diagnostics in a negative test (negative_tests.h), which exists to be refused; they
///              are counted, not reported, and no fix changes text that such a test uses
///
/// A layout is parsed like a TENSOR text. If a contradiction has a correction, the layout is parsed
/// again with that correction, so that one layout may have several diagnostics. Memory is bounded
/// by the text: kTextTooLong beyond 64 MiB. Time grows with the length of the text, not with its
/// numbers. Beyond 65,536 diagnostics, or if aliases expand to far more text than the file has, one
/// "too_large" diagnostic states that the rest may be unchecked.
Result<CheckReport> check_mlir(std::string_view text, const CheckOptions& options = {});

/// The text with the fixes of these diagnostics applied. A fix that overlaps an applied one is left
/// for the next run.
/// Law: checking the result again finds none of the diagnostics whose fix was applied.
std::string fixed_text(std::string_view text, const std::vector<Diagnostic>& diagnostics);

/// Line and column of a byte, both counted from 1; columns count bytes.
struct LineColumn {
  std::int64_t line = 1;
  std::int64_t column = 1;
};

/// The line starts of a text, for repeated lookups.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);
  LineColumn at(std::int64_t byte) const;
  /// Without its newline.
  std::string_view line(std::int64_t number) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> begins_;
};

}  // namespace tessera::check
