// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tools/command/command.h"
#include "tools/terminal/text.h"

namespace tessera::tools {

const std::vector<Verb>& command_tree() {
  static const std::vector<Verb> tree = {
      show_verb(),    locate_verb(),    diff_verb(),       convert_verb(), relayout_verb(),
      reshard_verb(), alloc_verb(),     choose_verb(),     check_verb(),   targets_verb(),
      graph_verb(),   propagate_verb(), plan_verb(),       price_verb(),   run_verb(),
      view_verb(),    bench_verb(),     completion_verb(), man_verb(),     help_verb()};
  return tree;
}

Result<const Verb*> find_verb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Verb& verb : command_tree()) {
    if (verb.name == name) return &verb;
    names.push_back(verb.name);
  }
  return Error{ErrorCode::kUnknownName, cat("there is no verb ", quote(name)), std::nullopt,
               did_you_mean(name, names, "`tessera help` lists the verbs")};
}

}  // namespace tessera::tools
