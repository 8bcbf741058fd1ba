// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/result.h"

/// check/: a file of MLIR text comes in, what its layouts contradict comes out. It looks only for
/// tensors and the attributes that lay them out; every other op, dialect and attribute passes
/// unread. No files, streams or terminals here: the `check` verb has those.
namespace tessera::target {
struct Machine;
}  // namespace tessera::target

namespace tessera::check {

enum class Severity : std::uint8_t { kError, kWarning };

/// A replacement of one stretch of the file.
struct Edit {
  Span span;
  std::string text;
  friend bool operator==(const Edit&, const Edit&) = default;
};

/// One thing that is wrong, or probably not meant. Spans are bytes of the file.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string code;     ///< "contradiction", "syntax", ..; warnings: "waste", "empty_cores", ..
  Span span;            ///< what is wrong; in the definition of an alias when it is there
  std::string message;  ///< one sentence with the numbers
  std::string help;
  std::optional<Span> tensor;  ///< the tensor that needs it otherwise, where that is elsewhere
  /// What would be right. Only when it is right for every tensor that uses the text.
  std::optional<Edit> fix;
};

struct CheckOptions {
  const target::Machine* target = nullptr;  ///< adds the rules of this machine
  double most_waste = 4;  ///< bytes allocated for each byte of data before it is a warning
};

/// What a file holds.
struct CheckReport {
  std::vector<Diagnostic> diagnostics;  ///< in the order of the file, each once
  std::int64_t tensors = 0;             ///< laid out by an attribute that Tessera knows
  std::int64_t unknown = 0;   ///< with an attribute of another kind, or in words that are not known
  std::int64_t silenced = 0;  ///< diagnostics that a comment allows
};

/// Every layout of an .mlir text against its tensor.
///
///   aliases    `#l1 = ..`, `#layout = ..`, `!t = tensor<..>`, used in each other and before their
///              definition; they live to the next `// -----`, where a new module begins, unless the
///              file has no other definition of that name
///   skipped    comments, strings, dynamic shapes, attributes and dialects that are not ours, and
///              what ours say that Tessera has no words for: a newer item, an unknown element type
///   silenced   `// tessera: allow(contradiction)`, or `allow` alone for every code, on the line of
///              the diagnostic, of the tensor or of the alias, or on a line of its own right above;
///              `// tessera: allow-file(..)` anywhere
///
/// A layout is read as TENSOR texts are; when a contradiction names what would be right, the layout
/// is read again with that in place, so that one layout may have several diagnostics.
/// Memory is bounded by the text: kTextTooLong beyond 64 MiB. Time grows with the text, not with
/// what its numbers claim. Beyond 65,536 diagnostics, and where aliases stand for far more text
/// than the file has, one "too_large" says that what follows may be unchecked.
Result<CheckReport> check_mlir(std::string_view text, const CheckOptions& options = {});

/// The text with the fixes of these diagnostics made; overlapping ones are left for the next run.
/// Law: checking the result again finds none of the diagnostics whose fix was made.
std::string fixed_text(std::string_view text, const std::vector<Diagnostic>& diagnostics);

/// Line and column of a byte, both from 1; columns count bytes.
struct LineColumn {
  std::int64_t line = 1;
  std::int64_t column = 1;
};

/// The lines of a text, for many questions.
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
