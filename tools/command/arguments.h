// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// "1,2", "1, 2" or "[1, 2]"; "" and "[]" are no numbers at all (the index of a scalar).
Result<std::vector<std::int64_t>> parse_numbers(std::string_view text);
Result<std::int64_t> parse_number(std::string_view text);

/// Reads what follows the verb. `--flag value` and `--flag=value` are the same, `--` ends the
/// flags, and a flag takes its value even when that begins with '-'. Positionals that are missing
/// are an error unless --help or --batch is among the flags.
Result<Request> parse_arguments(const Verb& verb, const std::vector<std::string>& args);

/// An error, and the text in which its span counts.
struct Failure {
  Error error;
  std::string source;
};

/// The text of a tensor positional: `-` stands for what standard input holds and `@path` for what
/// the file holds, both without trailing white space; anything else for itself.
Result<std::string> text_of(const std::string& argument, std::istream& in);

/// Parses the tensor positionals of `request`, whose texts are given, into it.
std::vector<Failure> read_tensors(const Verb& verb,
                                  const std::vector<std::pair<std::string, std::string>>& texts,
                                  Request& request);

}  // namespace tessera::tools
