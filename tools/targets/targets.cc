// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/target/fit.h"
#include "tessera/target/machine.h"
#include "tools/command/command.h"
#include "tools/json/json.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// The machine as JSON, so that the output can be read back as a target.
Json machine_json(const Machine& machine) {
  return parse_json(target::to_json(machine)).value_or(Json());
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += cat(out.empty() ? "" : ", ", word);
  return out;
}

/// "sram: 48 KB per place, 36 KB of it for data (taken: 8 KB code, 4 KB stack)".
std::string space_text(const target::MemorySpace& space) {
  std::string text = cat(space.name, ": ");
  if (space.owner == target::MemorySpace::Owner::kShared) text += "shared by all places, ";
  if (space.banks) text += cat(count_of(*space.banks, "bank"), ", ");
  text += space.bytes ? cat(target::size_text(*space.bytes), " ", target::each_owner(space.owner))
                      : "size not given";
  const std::optional<std::int64_t> data = space.data_bytes();
  if (data && data != space.bytes) text += cat(", ", target::size_text(*data), " of it for data");
  std::vector<std::string> reserves;
  for (const target::Reserve& reserve : space.reserved) {
    reserves.push_back(cat(target::size_text(reserve.bytes), " ", reserve.name));
  }
  if (!reserves.empty()) text += cat(" (taken: ", joined(reserves), ")");
  if (space.align_bytes != 1) text += cat(", aligned to ", count_of(space.align_bytes, "byte"));
  return text;
}

std::string links_text(const target::Links& links) {
  std::string text = cat("links: ", target::network_name(links.network));
  if (!links.ports.empty()) text += cat(" (", joined(links.ports), ")");
  if (links.hop_cycles) text += cat(", ", count_of(*links.hop_cycles, "cycle"), " per hop");
  if (links.bits_per_cycle) {
    text += cat(", ", count_of(*links.bits_per_cycle, "bit"), " per cycle in each direction");
  }
  if (links.ramp_cycles) {
    text += cat(", ", count_of(*links.ramp_cycles, "cycle"), " between processor and router");
  }
  const bool bare = !links.hop_cycles && !links.bits_per_cycle && !links.ramp_cycles;
  return bare ? cat(text, ", figures not given") : text;
}

/// 850000000 is "0.85 GHz".
std::string clock_text(const Machine& machine) {
  if (!machine.clock_hz) return "clock: not given";
  constexpr std::int64_t kGiga = 1'000'000'000;
  std::string fraction = std::to_string(kGiga + *machine.clock_hz % kGiga).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return cat("clock: ", *machine.clock_hz / kGiga, fraction.empty() ? "" : ".", fraction, " GHz");
}

std::vector<std::string> rule_sentences(const target::Rules& rules) {
  std::vector<std::string> out;
  if (rules.wavelet_bits) out.push_back(cat("wavelets of ", count_of(*rules.wavelet_bits, "bit")));
  if (rules.colours) {
    out.push_back(count_of(*rules.colours, "colour"));
    if (!rules.reserved_colours.empty()) {
      out.back() += cat(", of which ", join(rules.reserved_colours, ", "), " are reserved");
    }
  }
  if (rules.fabric) {
    const target::Fabric& fabric = *rules.fabric;
    out.push_back(cat("the mesh begins at x = ", fabric.offset_x, ", y = ", fabric.offset_y,
                      " of a fabric ", fabric.width, " wide and ", fabric.height, " high"));
  }
  if (rules.tile) out.push_back(cat("tiles of ", rules.tile->rows, "x", rules.tile->cols));
  if (rules.stick_bytes) out.push_back(cat("sticks of ", count_of(*rules.stick_bytes, "byte")));
  if (rules.span_limit_bytes) {
    out.push_back(cat("one place reaches at most ", target::size_text(*rules.span_limit_bytes),
                      " of one tensor"));
  }
  return out;
}

std::string explain(const Machine& machine, const Terminal& terminal) {
  const auto heading = [&](std::string_view text) {
    const std::string lines = wrap(text, terminal, "", "  ");
    return cat(paint(terminal, Paint::kHeading, lines.substr(0, lines.size() - 1)), "\n");
  };
  const auto paragraph = [&](std::string_view text) { return wrap(text, terminal, "  ", "    "); };
  const std::string title = machine.title.empty() ? "" : cat(", ", machine.title);
  std::string out = heading(cat(machine.name, title));
  out += heading("mesh");
  for (const target::MeshLevel& level : machine.mesh) {
    const std::string axes = level.axes.empty() ? "" : cat(" (", joined(level.axes), ")");
    out += paragraph(cat(level.name, ": ", join(level.extents, "x"), axes));
    if (level.links) out += paragraph(links_text(*level.links));
  }
  std::string places = cat(count_of(machine.places(), "place"), " in total");
  if (!machine.dead.empty()) places += cat(", ", machine.dead_places().size(), " of them dead");
  out += paragraph(places);
  out += paragraph(clock_text(machine));
  out += heading("memory");
  for (const target::MemorySpace& space : machine.memory) out += paragraph(space_text(space));
  if (machine.memory.size() > 1) {
    out += paragraph(cat("tensors are in ", machine.data_space,
                         " unless their layout specifies another memory"));
  }
  if (const auto rules = rule_sentences(machine.rules); !rules.empty()) {
    out += heading("rules");
    for (const std::string& rule : rules) out += paragraph(rule);
  }
  if (!machine.notes.empty()) {
    out += heading("notes");
    for (const target::Note& note : machine.notes)
      out += paragraph(cat(note.about, ": ", note.text));
  }
  return out;
}

/// "wse2: 994x750 places, sram 48 KB per place: Cerebras WSE-2 ..".
std::string summary(const Machine& machine, const Terminal& terminal) {
  const std::string title = machine.title.empty() ? "" : cat("; ", machine.title);
  return wrap(cat(machine.name, ": ", machine.shape().to_string(), " places, ",
                  space_text(machine.memory[0]), title),
              terminal, "", "  ");
}

Result<Verdict> run(const Request& request, Console& console) {
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
      "(it has a '/' or ends in .json), explains that machine: mesh, links, memories, rules, and "
      "the sources of the figures. 1 KB is 1024 bytes. With --json, one machine is printed as a "
      "file that --target accepts, and all of them under the key targets.";
  verb.positionals = {{"target", Positional::Kind::kWord, "a machine's name, or a path", {}, true}};
  verb.examples = {"tessera targets", "tessera targets wse2",
                   "tessera targets wormhole --json > mine.json"};
  verb.answers_json = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
