// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "tools/command/run.h"
#include "tools/files/descriptor_stream.h"

int main(int argc, char** argv) try {
  namespace tools = tessera::tools;
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  tools::DescriptorBuffer buffer(/*descriptor=*/1);
  std::ostream out(&buffer);
  const int status = tools::run_command(args, std::cin, out, std::cerr, tools::detect_terminal());
  // When the reader stops early (`| head`), no error is printed.
  if (buffer.error() != 0 && buffer.error() != EPIPE) {
    std::cerr << "error[io]: cannot write standard output: " << std::strerror(buffer.error())
              << '\n';
  }
  return status;
} catch (const std::bad_alloc&) {  // for the arguments themselves
  std::cerr << "error[out_of_memory]: out of memory\n";
  return tessera::tools::kExitBadInput;
}
