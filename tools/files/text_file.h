// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera::tools {

/// The whole file, which may also be a pipe, as in `tessera check <(tool)`. Errors: kIo, with
/// `help`; kTextTooLong beyond `most_bytes`, with the size of the file, where it has one.
Result<std::string> read_text_file(const std::string& name, std::size_t most_bytes,
                                   std::string_view help = "name a file that can be read");

/// The same for standard input, read from `in`.
Result<std::string> read_text_stream(std::istream& in, std::size_t most_bytes);

/// "cannot read 'a.mlir': No such file or directory": kIo, or kOutOfMemory for ENOMEM.
Error file_error(std::string_view what, const std::string& name, int error_number,
                 std::string help);

/// kTextTooLong for a text of which at most `most_bytes` are read. `size`: how long it is, where
/// that is known.
Error text_too_long(const std::string& name, std::size_t most_bytes,
                    std::optional<std::int64_t> size);

}  // namespace tessera::tools
