// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/target/machine.h"
#include "tools/command/command.h"
#include "tools/json/json.h"
#include "tools/targets/explain.h"
#include "tools/targets/fit_target.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {
namespace {

/// The machine as JSON, so that the output can be read back as a target.
Json machine_json(const Machine& machine) {
  return parse_json(target::to_json(machine)).value_or(Json());
}

/// "wse2: 994x750 places, sram 48 KB per place: Cerebras WSE-2 ..".
std::string summary(const Machine& machine, const Terminal& terminal) {
  const std::string title = machine.title.empty() ? "" : cat("; ", machine.title);
  return wrap(cat(machine.name, ": ", machine.shape().to_string(), " places, ",
                  space_text(machine.memory[0]), title),
              terminal, "", "  ");
}

Result<Verdict> run(const Request& request, Console& console) {
  if (request.has(kFitFlag)) return fit_target(request, console);
  if (request.has(kOutFlag)) {
    return Error{ErrorCode::kUsage, "--out is only for --fit", std::nullopt,
                 "print a machine as a file with: tessera targets NAME --json > mine.json"};
  }
  if (request.has("target")) {
    TESSERA_TRY(const Machine machine, read_target(request.text("target")));
    console.out << (console.json ? dump(machine_json(machine)) + "\n"
                                 : explain(machine, console.terminal));
    return Verdict::kYes;
  }
  if (!console.json) {
    for (const Machine& machine : machines()) console.out << summary(machine, console.terminal);
    return Verdict::kYes;
  }
  Json json;
  json["targets"] = Json::array();
  for (const Machine& machine : machines()) json["targets"].push_back(machine_json(machine));
  console.out << dump(json) << '\n';
  return Verdict::kYes;
}

}  // namespace

Verb targets_verb() {
  Verb verb;
  verb.name = "targets";
  verb.summary = "list the machines that layouts can be checked against, or explain one";
  verb.description =
      "Without an argument, lists the built-in machines. With a name, or the path of a JSON file "
      "(it has a '/' or ends in .json), explains that machine: mesh, networks, memories, "
      "arithmetic, rules, and the sources of the figures: published, measured, fitted or assumed. "
      "1 KB is 1024 bytes. With --json, one machine is printed as a file that --target accepts, "
      "and all of them under the key targets.\n\n"
      "With --fit, the figures of the machine's transfers are fitted to a table of measurements: "
      "overhead, cycles per transaction, bytes per cycle and cycles per receiver of each "
      "mechanism, "
      "and cycles per hop. The errors of what the machine predicts are reported, and --out writes "
      "the fitted machine as a file that --target accepts.";
  verb.positionals = {{"target", Positional::Kind::kWord, "a machine's name, or a path", {}, true}};
  verb.flags = {{kFitFlag, ValueKind::kText, "TABLE.csv",
                 "fit the machine to the measurements of a table (docs/targets.md)"},
                {kOutFlag, ValueKind::kText, "FILE.json", "with --fit: write the fitted machine"}};
  verb.examples = {"tessera targets", "tessera targets wse2",
                   "tessera targets wormhole --json > mine.json",
                   "tessera targets --fit examples/measured.csv wormhole"};
  verb.answers_json = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
