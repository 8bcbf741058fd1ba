// SPDX-License-Identifier: Apache-2.0
#include "tools/targets/read_target.h"

#include <algorithm>
#include <sstream>

#include "tessera/base/text.h"
#include "tessera/target/machine.h"
#include "tools/command/arguments.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/text.h"

namespace tessera::tools {

Error located(Error error, const std::string& path, std::string_view text) {
  const auto from = static_cast<std::size_t>(error.span.value_or(Span{}).from);
  const std::string_view before = text.substr(0, std::min(from, text.size()));
  const std::size_t line_from = before.rfind('\n') + 1;  // npos + 1 is 0
  error.message = cat(quote(path), ":", 1 + std::count(before.begin(), before.end(), '\n'), ":",
                      1 + columns_of(before.substr(line_from)), ": ", error.message);
  error.span.reset();
  return error;
}

Result<Machine> read_target(const std::string& name_or_path) {
  const bool is_path =
      name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json");
  if (!is_path) {
    const Result<const Machine*> machine = find_machine(name_or_path);
    if (machine) return **machine;
    Error error = machine.error();
    error.help += "; a file is named by its path, as in ./mine.json";
    return error;
  }
  std::istringstream nothing;
  TESSERA_TRY(const std::string text, text_of("@" + name_or_path, nothing));
  Result<Machine> machine = parse_machine(text);
  if (!machine) return located(machine.error(), name_or_path, text);
  return machine;
}

}  // namespace tessera::tools
