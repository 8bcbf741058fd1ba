// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/field_path.h"

#include <algorithm>

namespace tessera::target {

std::vector<std::string_view> path_steps(std::string_view path) {
  std::vector<std::string_view> steps;
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(step.size() + 1, path.size()));
    if (step.empty()) continue;
    const bool only_network = step == "links" && steps.size() == 2 && steps[0] == "mesh";
    steps.emplace_back(only_network ? "networks" : step);
    if (only_network) steps.emplace_back("0");
  }
  return steps;
}

}  // namespace tessera::target
