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

/// "1,2", "1, 2" or "[1, 2]"; "" and "[]" are the empty list (the index of a scalar).
Result<std::vector<std::int64_t>> parse_numbers(std::string_view text);
Result<std::int64_t> parse_number(std::string_view text);
/// A number of bytes: an integer, or one followed by K, M, G or T (also KB or KiB), which multiply
/// it by powers of 1024 in either case. "48K" is 49152.
Result<std::int64_t> parse_bytes(std::string_view text);
/// The value of a flag that takes a number: a number of bytes if its placeholder is BYTES.
Result<std::int64_t> parse_number_of(const Flag& flag, std::string_view text);
Result<std::vector<std::int64_t>> parse_numbers_of(const Flag& flag, std::string_view text);

/// kUnknownName for a word that is not one of the choices of its positional.
Status check_word(const Positional& positional, const std::string& word);

/// Reads the arguments after the verb. `--flag value` and `--flag=value` are the same, `--` ends
/// the flags, and a flag takes the next argument as its value even when it begins with '-'. Missing
/// positionals are an error unless --help or --batch is given.
Result<Request> parse_arguments(const Verb& verb, const std::vector<std::string>& args);

/// Whether the argument for a tensor is instead the name of a file that the verb reads itself: one
/// that ends as the positional's choices say.
bool is_file_instead(const Positional& positional, std::string_view argument);

/// An error, and the text that its span refers to.
struct Failure {
  Error error;
  std::string source;
};

/// The text of a tensor positional: `-` stands for the content of standard input and `@path` for
/// the content of the file, both without trailing white space; anything else stands for itself.
Result<std::string> text_of(const std::string& argument, std::istream& in);

/// Parses the given texts of the tensor positionals of `request` and stores the tensors in it.
std::vector<Failure> read_tensors(const Verb& verb,
                                  const std::vector<std::pair<std::string, std::string>>& texts,
                                  Request& request);

}  // namespace tessera::tools
