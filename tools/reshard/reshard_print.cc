// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_print.h"

#include <algorithm>
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/target/fit.h"
#include "tools/json/json.h"
#include "tools/reshard/reshard_heat.h"
#include "tools/reshard/reshard_steps.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMostPairsInWords = 32;

Json chunks_json(const reshard::Chunks& chunks) {
  Json json;
  json["rounds"] = chunks.rounds;
  json["cuts"] = Json::array();
  for (const reshard::ChunkCut& cut : chunks.cuts) {
    json["cuts"].push_back({{"dim", cut.dim}, {"parts", cut.parts}, {"dealt", cut.dealt}});
  }
  json["staging_bytes"] = chunks.staging_bytes;
  json["whole_bytes"] = chunks.whole_bytes;
  return json;
}

Json memory_json(const reshard::Feasibility& memory) {
  Json json;
  json["space"] = memory.space;
  json["place"] = memory.place;
  json["from_bytes"] = memory.from_bytes;
  json["to_bytes"] = memory.to_bytes;
  json["received_bytes"] = memory.received_bytes;
  json["rounds"] = memory.rounds;
  json["available_bytes"] = memory.available_bytes;
  return json;
}

Json simulation_json(const fabric::Simulation& simulation) {
  Json json;
  json["cycles"] = simulation.cycles;
  json["hops"] = simulation.hops;
  json["phases"] = simulation.phases;
  json["colours"] = simulation.colours;
  return json;
}

/// True if the places of the reshard are endpoints: banks and memories besides the places.
bool between_memories(const ReshardAnswer& answer) {
  return answer.machine && answer.physical.mesh != answer.machine->shape();
}

std::string where_text(const ReshardAnswer& answer) {
  const reshard::PhysicalMesh& physical = answer.physical;
  if (between_memories(answer)) {
    const moves::Move& move = *answer.move;
    return move.space_a == move.space_b
               ? cat("in ", move.space_a, " of ", answer.target)
               : cat("from ", move.space_a, " to ", move.space_b, " of ", answer.target);
  }
  const std::string mesh =
      physical.mesh.rank() == 0 ? "one place" : cat(physical.mesh.to_string(), " places");
  return answer.target.empty() ? cat("on ", mesh, ", the smallest mesh for both")
                               : cat("on ", answer.target, " (", mesh, ")");
}

/// An explanation of a kind, for users who do not know the term.
std::string_view kind_text(const ReshardAnswer& answer) {
  switch (answer.kind) {
    case reshard::ReshardKind::kIdentity:
      return "all data are already at their destination";
    case reshard::ReshardKind::kReduce:
      return "partial results are combined";
    case reshard::ReshardKind::kScatter:
      return "one place sends to many";
    case reshard::ReshardKind::kGather:
      return "many places send to one";
    case reshard::ReshardKind::kReplicate:
      return "more copies of the same tiles";
    case reshard::ReshardKind::kTranspose:
      return "the same tiles, rows and columns of places exchanged";
    case reshard::ReshardKind::kRedistribute:
      return "the same tiles on other places";
    case reshard::ReshardKind::kReshard:
      return answer.cost.bytes == 0 ? "elements change slots within their places"
                                    : "tiles are split differently";
  }
  return "";
}

/// One end of a message.
Json end_json(const ReshardAnswer& answer, std::int64_t number) {
  const Shape& mesh = answer.physical.mesh;
  return between_memories(answer) ? endpoint_json(*answer.machine, number)
                                  : Json(mesh.delinear(number));
}

std::string end_text(const ReshardAnswer& answer, std::int64_t number) {
  const Json json = end_json(answer, number);
  if (json.is_array()) return bracketed(json.get<std::vector<std::int64_t>>());
  const std::string space = json["space"].get<std::string>();
  return json.contains("bank") ? cat(space, " bank ", json["bank"].get<std::int64_t>()) : space;
}

class TextPrinter {
 public:
  TextPrinter(std::ostream& out, const Terminal& terminal) : out_(out), terminal_(terminal) {}

  void heading(const std::string& text) {
    const std::string lines = wrap(text, terminal_, "", "  ");
    out_ << paint(terminal_, Paint::kHeading, lines.substr(0, lines.size() - 1)) << '\n';
  }
  void line(const std::string& text) { out_ << wrap(text, terminal_, "  ", "    "); }
  void warning(const std::string& text) {
    const std::string lines = wrap(text, terminal_, "", "  ");
    out_ << paint(terminal_, Paint::kWarning, lines.substr(0, lines.size() - 1)) << '\n';
  }
  void picture(const std::string& text) { out_ << text; }
  const Terminal& terminal() const { return terminal_; }

 private:
  std::ostream& out_;
  const Terminal& terminal_;
};

void print_fabric(const ReshardAnswer& answer, TextPrinter& printer) {
  const reshard::PhysicalMesh& physical = answer.physical;
  if (!answer.cost.fabric) {
    if (!answer.move) {
      printer.line(cat("links, distances and cycles are not known: ", physical.why_no_fabric));
    }
    return;
  }
  const reshard::FabricCost& fabric = *answer.cost.fabric;
  if (answer.cost.messages == 0) return;
  printer.line(
      cat(count_of(fabric.hops, "wavelet-hop"), ", ",
          fabric.link_hops == fabric.hops
              ? std::string()
              : cat(fabric.link_hops, " over links because multicasts cross each link once, "),
          "the longest route has ", count_of(fabric.longest_distance, "step")));
  printer.line(cat("at most ", count_of(fabric.max_link_wavelets, "wavelet"), " over one link, ",
                   fabric.max_ramp_wavelets, " into or out of one place"));
  if (const std::optional<std::int64_t> bound = answer.lower_bound_cycles()) {
    printer.line(cat("at least ", count_of(*bound, "cycle"),
                     ", if wavelets carried their destination; routes are static"));
  }
  if (const std::optional<std::int64_t> cycles = answer.cycles()) {
    printer.line(cat("about ", count_of(*cycles, "cycle")));
  }
  if (answer.simulation) {
    const fabric::Simulation& simulation = *answer.simulation;
    std::string text = cat("simulated: ", count_of(simulation.cycles, "cycle"));
    if (simulation.colours > 0) {
      text += cat(" in ", count_of(simulation.phases, "phase"), " with ",
                  count_of(simulation.colours, "colour"));
    }
    printer.line(text);
  } else {
    printer.line(cat("not simulated: ", answer.why_not_simulated));
  }
}

void print_chunks(const reshard::Chunks& chunks, TextPrinter& printer) {
  if (chunks.rounds == 1) {
    printer.line(cat("one round is enough: at most ", bytes_text(chunks.whole_bytes),
                     " arrive at one place"));
    return;
  }
  std::string how;
  for (const reshard::ChunkCut& cut : chunks.cuts) {
    how += cat(how.empty() ? "" : ", ", "dim ", cut.dim, " in ", cut.parts,
               cut.dealt ? " cyclic parts" : " blocks");
  }
  printer.line(cat("in ", count_of(chunks.rounds, "round"), " (", how, ") at most ",
                   bytes_text(chunks.staging_bytes), " arrive at one place, instead of ",
                   bytes_text(chunks.whole_bytes), " at once"));
}

void print_memory(const reshard::Feasibility& memory, TextPrinter& printer) {
  if (!memory.available_bytes) return;
  printer.line(cat("place ", bracketed(memory.place), " holds ",
                   bytes_text(memory.resident_bytes()), " of A and B together, of ",
                   target::size_text(*memory.available_bytes), " for data in ", memory.space,
                   memory.rounds == 1 ? std::string()
                                      : cat("; the rest of its memory receives the data in ",
                                            count_of(memory.rounds, "round"))));
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  const std::string exact = count_of(bytes, "byte");
  const std::string rounded = target::size_text(bytes);
  return rounded == exact || bytes == 1 ? exact : cat(rounded, " (", exact, ")");
}

Json relabel_json(const reshard::Relabelled& relabelled) {
  Json json;
  json["changed"] = relabelled.changed;
  json["bytes_before"] = relabelled.bytes_before;
  json["bytes_after"] = relabelled.bytes_after;
  json["saved_bytes"] = relabelled.saved_bytes();
  json["optimal"] = relabelled.optimal;
  json["tensor"] = print_native(relabelled.to);
  return json;
}

void print_relabelled(const reshard::Relabelled& relabelled, std::ostream& out,
                      const Terminal& terminal) {
  TextPrinter printer(out, terminal);
  if (!relabelled.changed) {
    printer.line(cat("no other order of B's places moves less",
                     relabelled.optimal ? "" : ", among those examined"));
    return;
  }
  printer.line(cat("with B on other places ", bytes_text(relabelled.bytes_after),
                   " cross instead of ", bytes_text(relabelled.bytes_before),
                   relabelled.optimal ? ": the fewest possible on these places" : ""));
  printer.line(cat("B is then ", print_native(relabelled.to)));
}

void print_reshard_json(const ReshardAnswer& answer, std::ostream& out) {
  const reshard::ReshardCost& cost = answer.cost;
  const auto routed = [&](std::int64_t reshard::FabricCost::* field) {
    return cost.fabric ? Json((*cost.fabric).*field) : Json();
  };
  Json json;
  json["kind"] = reshard::kind_name(answer.kind);
  json["bytes"] = cost.bytes;
  json["local_bytes"] = cost.local_bytes;
  json["messages"] = cost.messages;
  json["wavelets"] = cost.wavelets;
  json["hops"] = routed(&reshard::FabricCost::hops);
  json["link_hops"] = routed(&reshard::FabricCost::link_hops);
  json["max_link_wavelets"] = routed(&reshard::FabricCost::max_link_wavelets);
  json["max_ramp_wavelets"] = routed(&reshard::FabricCost::max_ramp_wavelets);
  json["longest_distance"] = routed(&reshard::FabricCost::longest_distance);
  json["depth"] = routed(&reshard::FabricCost::depth);
  json["cycles"] = answer.cycles();
  json["lower_bound_cycles"] = answer.lower_bound_cycles();
  json["seconds"] = answer.seconds();
  json["simulated_cycles"] = answer.simulation ? Json(answer.simulation->cycles) : Json();
  if (!answer.simulation) json["why_not_simulated"] = answer.why_not_simulated;
  json["target"] = answer.target.empty() ? Json() : Json(answer.target);
  json["mesh"] =
      between_memories(answer) ? answer.machine->shape().extents() : answer.physical.mesh.extents();
  if (answer.move) add_steps_json(*answer.move, *answer.machine, json);
  if (answer.simulation) json["simulation"] = simulation_json(*answer.simulation);
  if (answer.relabelled) json["relabel"] = relabel_json(*answer.relabelled);
  if (answer.chunks) json["chunks"] = chunks_json(*answer.chunks);
  if (answer.memory) json["memory"] = memory_json(*answer.memory);
  if (answer.loads) json["heat"] = heat_json(*answer.loads);
  json["warnings"] = Json::array();
  for (const ReshardWarning& warning : answer.warnings) {
    json["warnings"].push_back(
        {{"code", warning.code}, {"message", warning.message}, {"help", warning.help}});
  }
  std::string text = dump(json);
  if (!answer.pairs) {
    out << text << '\n';
    return;
  }
  // There may be a million of them: each is printed at once.
  text.back() = ',';
  out << text << "\"pairs\":[";
  bool first = true;
  for (const reshard::PairBytes& pair : *answer.pairs) {
    out << (first ? "" : ",") << "{\"source\":" << dump(end_json(answer, pair.source))
        << ",\"destination\":" << dump(end_json(answer, pair.destination))
        << ",\"bytes\":" << pair.bytes << '}';
    first = false;
  }
  out << "]}\n";
}

void print_reshard_text(const ReshardAnswer& answer, std::ostream& out, const Terminal& terminal) {
  TextPrinter printer(out, terminal);
  const reshard::ReshardCost& cost = answer.cost;
  printer.heading(
      cat(reshard::kind_name(answer.kind), ": ", kind_text(answer), ", ", where_text(answer)));
  printer.line(cost.messages == 0 ? std::string("nothing crosses places")
                                  : cat(bytes_text(cost.bytes), " cross places in ",
                                        count_of(cost.messages, "message"), ", ",
                                        count_of(cost.wavelets, "wavelet")));
  if (cost.local_bytes > 0) {
    const bool stay = answer.kind == reshard::ReshardKind::kIdentity;
    printer.line(cat(bytes_text(cost.local_bytes),
                     stay ? " stay where they are" : " are copied inside places"));
  }
  print_fabric(answer, printer);
  if (answer.move) {
    for (const std::string& line : steps_lines(*answer.move, *answer.machine)) {
      printer.line(line);
    }
  }
  if (answer.relabelled) print_relabelled(*answer.relabelled, out, terminal);
  if (answer.chunks) print_chunks(*answer.chunks, printer);
  if (answer.memory) print_memory(*answer.memory, printer);
  for (const ReshardWarning& warning : answer.warnings) {
    printer.warning(cat("warning[", warning.code, "]: ", warning.message));
    if (!warning.help.empty()) printer.line(warning.help);
  }
  if (answer.pairs) {
    const std::size_t shown = std::min(answer.pairs->size(), kMostPairsInWords);
    for (std::size_t i = 0; i < shown; ++i) {
      const reshard::PairBytes& pair = (*answer.pairs)[i];
      printer.line(cat(end_text(answer, pair.source), " to ", end_text(answer, pair.destination),
                       ": ", count_of(pair.bytes, "byte")));
    }
    if (shown < answer.pairs->size()) {
      printer.line(
          cat("and ", answer.pairs->size() - shown, " more pairs (--json lists them all)"));
    }
  }
  if (answer.loads && cost.messages > 0) printer.picture(heat_text(*answer.loads, terminal));
}

}  // namespace tessera::tools
