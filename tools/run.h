// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/terminal.h"

namespace tessera::tools {

/// The whole command without a process: `args` as after the command's name. Returns the exit
/// status: 0 fine, 1 the answer is "no", 2 bad usage or input, or an answer that could not be
/// written.
int run_command(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                std::ostream& err, const Terminal& terminal = {});

/// Answers one JSON request a line until `in` ends: an answer, or {"error": ..}, a line, flushed so
/// that a co-process can talk to it. Lines of white space are skipped.
/// Keys are the names of flags and positionals; texts stand for themselves (no `-`, no `@file`).
void run_batch(const Verb& verb, std::istream& in, std::ostream& out);

}  // namespace tessera::tools
