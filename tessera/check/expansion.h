// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/check/alias_table.h"

namespace tessera::check {

/// A stretch of a file with every alias replaced by its value and every comment left out, and the
/// way back to the file.
///
///     #dram = #ttnn.buffer_type<dram>          tensor<64xf32, #l> is expanded to
///     #l = #x.layout<memref<2xf32, #dram>>     tensor<64xf32, #x.layout<memref<2xf32,
///                                              #ttnn.buffer_type<dram>>>>
///
/// A span of the expanded text lies in the innermost text of the file that has all of it: `dram` in
/// the definition of #dram, `memref<..>` in that of #l, where its end is behind `#dram>`.
class Expansion {
 public:
  /// Refuses aliases that lead back to themselves (kSyntax), and texts that grow beyond 64 KiB or
  /// 4096 aliases (kTooLarge); spans of these errors count from the start of the file.
  static Result<Expansion> of(std::string_view file, Span span, std::size_t section,
                              const AliasTable& aliases);

  const std::string& text() const { return text_; }
  /// The aliases that the text is made of, each once, rising.
  const std::vector<std::size_t>& aliases() const { return aliases_; }

  struct Source {
    Span span;                         ///< of the file
    std::optional<std::size_t> alias;  ///< whose value it is a part of; else of the stretch itself
    /// Whether replacing this text of the file replaces that of the expansion, and nothing else.
    bool exact = false;
  };
  Source source(Span expanded) const;
  /// Where a byte of the stretch itself, outside of aliases and comments, stands in the text.
  std::int64_t expanded(std::int64_t byte) const;

 private:
  /// The stretch itself, or an alias in it. Frame 0 is the stretch.
  struct Frame {
    std::size_t parent = 0;
    std::size_t depth = 0;
    Span token;  ///< the alias, as the parent's text names it
    std::optional<std::size_t> alias;
    Span expanded;
  };
  /// Expanded bytes from `at` to the next piece are the file's from `source`.
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
