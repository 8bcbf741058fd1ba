// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// tools/terminal/: text for terminals. Values and the properties of the screen come in, finished
/// strings (wrapped, coloured, drawn) go out; only the progress bar writes to a stream. Nothing
/// here parses arguments or knows a verb.
namespace tessera::tools {

/// The capabilities of the user's screen. The default suits a file or a pipe.
struct Terminal {
  bool colour = false;          ///< escape sequences are allowed
  bool unicode = false;         ///< box drawing characters are allowed
  int width = 80;               ///< columns; only command lines to paste are longer
  bool wraps = true;            ///< sentences are broken at the width; pictures always keep to it
  bool shows_progress = false;  ///< standard error is a terminal, where progress can be drawn
};

inline constexpr int kMinWidth = 20;

using Environment = std::function<const char*(const char* name)>;

/// Colour only on a terminal and only while NO_COLOR is unset or empty; box drawing only in a UTF-8
/// locale; the width is COLUMNS, else that of the screen, else 80, and at least kMinWidth.
/// Sentences are wrapped on a terminal, or where COLUMNS is set: programs that read a pipe want
/// whole lines.
Terminal terminal_from(bool is_terminal, std::optional<int> screen_width,
                       const Environment& environment);

/// The terminal behind standard output, and whether there is one behind standard error.
Terminal detect_terminal();

enum class Paint { kHeading, kWarning, kError, kFaint };
/// `text` in a colour when the terminal supports colour, and unchanged otherwise.
std::string paint(const Terminal& terminal, Paint paint, std::string_view text);

/// Columns that `text` occupies: one per code point.
std::size_t columns_of(std::string_view text);

/// `text` broken at spaces into lines of at most `width` columns, the first beginning with `first`
/// and the others with `rest`; words that are too long are broken anywhere. Ends with a newline.
std::string wrap(std::string_view text, int width, std::string_view first, std::string_view rest);
/// The same at the width of a terminal; one line where it does not wrap.
std::string wrap(std::string_view text, const Terminal& terminal, std::string_view first,
                 std::string_view rest);

}  // namespace tessera::tools
