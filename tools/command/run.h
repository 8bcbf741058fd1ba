// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tools/command/arguments.h"
#include "tools/command/command.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// The whole command, callable without starting a process: `args` are the arguments after the
/// command's name. Returns the exit status: 0 success, 1 the answer is "no", 2 bad usage or input,
/// or an answer that could not be written.
int run_command(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                std::ostream& err, const Terminal& terminal = {});

/// A parsed request; `failure` is set when it is invalid.
struct ParsedRequest {
  Request request;
  std::vector<std::pair<std::string, std::string>> texts;  ///< of tensor positionals, by name
  std::optional<Failure> failure;
};
/// Reads the arguments of a verb and the tensors that they name. With --help or --batch nothing
/// else is read.
ParsedRequest read_request(const Verb& verb, const std::vector<std::string>& args,
                           std::istream& in);

/// Prints an error: as JSON on the stream of the answer, otherwise as text for the reader.
void report(const Failure& failure, bool json, std::ostream& out, std::ostream& err);
/// Whether the arguments have a switch, such as "--json", before any "--".
bool has_switch(const std::vector<std::string>& args, std::string_view dashed);
bool wants_json(const std::vector<std::string>& args);
/// The exit status of an answer, or of an error that a verb returned for a valid request.
int exit_status(const Verb& verb, const Result<Verdict>& verdict);

/// Answers one JSON request of a verb in one line, or with {"error": ..}. `in` is what the verb
/// reads as standard input. Keys and texts: see run_batch.
void answer_request(const Verb& verb, std::string_view request, std::istream& in,
                    std::ostream& out);

/// Answers one JSON request per line until `in` ends: one line per answer, or {"error": ..},
/// flushed so that a co-process can communicate with it. Lines of white space are skipped.
/// Keys are the names of flags and positionals; texts stand for themselves (no `-`, no `@file`).
void run_batch(const Verb& verb, std::istream& in, std::ostream& out);

}  // namespace tessera::tools
