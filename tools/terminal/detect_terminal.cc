// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "tools/terminal/terminal.h"

namespace tessera::tools {

Terminal detect_terminal() {
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  std::optional<int> width;
  winsize size = {};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  }
  Terminal terminal =
      terminal_from(is_terminal, width, [](const char* name) { return std::getenv(name); });
  terminal.shows_progress = isatty(STDERR_FILENO) == 1;
  return terminal;
}

}  // namespace tessera::tools
