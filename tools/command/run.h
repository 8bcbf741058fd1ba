// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tools/command/arguments.h"
#include "tools/command/command.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// The whole command without a process: `args` as after the command's name. Returns the exit
/// status: 0 fine, 1 the answer is "no", 2 bad usage or input, or an answer that could not be
/// written.
int run_command(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                std::ostream& err, const Terminal& terminal = {});

/// What a verb is asked; `failure` says what is wrong with it.
struct Asked {
  Request request;
  std::vector<std::pair<std::string, std::string>> texts;  ///< of tensor positionals, by name
  std::optional<Failure> failure;
};
/// Reads the arguments of a verb and the tensors that they name. With --help and --batch nothing
/// else is read.
Asked read_request(const Verb& verb, const std::vector<std::string>& args, std::istream& in);

/// Prints an error: as JSON where the answer would have gone, else for the reader.
void report(const Failure& failure, bool json, std::ostream& out, std::ostream& err);
bool wants_json(const std::vector<std::string>& args);
/// The exit status of an answer, or of the error of a verb that understood its request.
int exit_status(const Verb& verb, const Result<Verdict>& verdict);

/// Answers one JSON request a line until `in` ends: an answer, or {"error": ..}, a line, flushed so
/// that a co-process can talk to it. Lines of white space are skipped.
/// Keys are the names of flags and positionals; texts stand for themselves (no `-`, no `@file`).
void run_batch(const Verb& verb, std::istream& in, std::ostream& out);

}  // namespace tessera::tools
