// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/check/alias_table.h"

namespace tessera::check {

/// A range of a file with every alias replaced by its value and every comment removed, and the
/// mapping back to the file.
///
///     #dram = #ttnn.buffer_type<dram>          tensor<64xf32, #l> is expanded to
///     #l = #x.layout<memref<2xf32, #dram>>     tensor<64xf32, #x.layout<memref<2xf32,
///                                              #ttnn.buffer_type<dram>>>>
///
/// A span of the expanded text maps to the innermost text of the file that contains all of it:
/// `dram` to the definition of #dram, `memref<..>` to that of #l, where it ends after `#dram>`.
class Expansion {
 public:
  /// Rejects recursive aliases (kSyntax), and texts that grow beyond 64 KiB or 4096 aliases
  /// (kTooLarge). Spans of these errors count from the start of the file.
  static Result<Expansion> of(std::string_view file, Span span, std::size_t section,
                              const AliasTable& aliases);

  const std::string& text() const { return text_; }
  /// The aliases used in the text, each once, in increasing order.
  const std::vector<std::size_t>& aliases() const { return aliases_; }

  struct Source {
    Span span;                         ///< of the file
    std::optional<std::size_t> alias;  ///< whose value contains it; empty for the range itself
    /// Whether replacing this text of the file replaces exactly the text of the expansion.
    bool exact = false;
  };
  Source source(Span expanded) const;
  /// The position in the expanded text of a byte of the range itself, outside of aliases and
  /// comments.
  std::int64_t expanded(std::int64_t byte) const;

 private:
  /// The range itself, or an alias in it. Frame 0 is the range.
  struct Frame {
    std::size_t parent = 0;
    std::size_t depth = 0;
    Span token;  ///< the alias in the parent's text
    std::optional<std::size_t> alias;
    Span expanded;
  };
  /// The expanded bytes from `at` to the next piece are the bytes of the file from `source`.
  struct Piece {
    std::int64_t at = 0;
    std::int64_t source = 0;
    std::size_t frame = 0;
  };
  class Builder;

  std::size_t piece_at(std::int64_t position) const;
  std::int64_t end_of(std::size_t piece) const;

  std::string text_;
  std::vector<Frame> frames_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> aliases_;
};

}  // namespace tessera::check
