// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "tools/testing/command_testing.h"

namespace tessera::tools {

/// Runs lines of shell in which $T is the command; standard error is part of the output.
inline Answer run_in_shell(const std::string& lines) {
  const std::string command = std::string("exec 2>&1; T='") + TESSERA_COMMAND + "'; " + lines;
  Answer answer;
  FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): a shell is what is tested
  if (pipe == nullptr) return {-1, "", "no shell"};
  std::array<char, 4096> buffer{};
  while (const std::size_t size = fread(buffer.data(), 1, buffer.size(), pipe)) {
    answer.out.append(buffer.data(), size);
  }
  const int status = pclose(pipe);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return answer;
}

}  // namespace tessera::tools
