// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/target/built_in_texts.h"
#include "tessera/target/machine.h"

namespace tessera::target {

const std::vector<Machine>& machines() {
  static const std::vector<Machine> list = [] {
    std::vector<Machine> parsed;
    for (const std::string_view text : built_in_texts()) {
      Result<Machine> machine = parse_machine(text);
      assert(machine.ok() && "a file of targets/ is invalid");
      if (machine.ok()) parsed.push_back(*std::move(machine));
    }
    std::sort(parsed.begin(), parsed.end(),
              [](const Machine& a, const Machine& b) { return a.name < b.name; });
    return parsed;
  }();
  return list;
}

Result<const Machine*> find_machine(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Machine& machine : machines()) {
    if (machine.name == name) return &machine;
    names.push_back(machine.name);
  }
  return Error{ErrorCode::kUnknownTarget, cat("no target is called ", quote_name(name)),
               std::nullopt, did_you_mean(name, names)};
}

}  // namespace tessera::target
