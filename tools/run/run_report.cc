// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/graph.h"
#include "tessera/target/fit.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"
#include "tools/terminal/times.h"

namespace tessera::tools {
namespace {

std::string error_text(double error) {
  if (error == 0) return "0";
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.1e", error);
  return text;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::int64_t kKilo = 1024;
  char text[32];
  if (bytes < kKilo) return cat(bytes, " B");
  if (bytes < kKilo * kKilo) {
    (void)std::snprintf(text, sizeof text, "%.1f KB", static_cast<double>(bytes) / kKilo);
  } else {
    (void)std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / (kKilo * kKilo));
  }
  return text;
}

/// "panels", or "panels+plain" where places differ.
std::string kernels_text(const std::vector<std::string_view>& kernels) {
  std::string text;
  for (const std::string_view name : kernels) text += cat(text.empty() ? "" : "+", name);
  return text.empty() ? "-" : text;
}

Json cycles_json(const std::optional<double>& cycles) { return cycles ? Json(*cycles) : Json(); }

/// Columns of a table, each as wide as its longest text; the first is left-aligned.
std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], columns_of(row[c]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string gap(widths[c] - columns_of(row[c]), ' ');
      line += c == 0 ? row[c] + gap : cat("  ", gap, row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

const graph::Node& node_of(const RunReport& report, const run::StepReport& step) {
  return report.execution->graph.nodes[step.node];
}

}  // namespace

double RunReport::max_error() const {
  double most = 0;
  for (const NodeError& error : errors) most = std::max(most, error.difference);
  return most;
}

bool RunReport::is_within() const { return std::ranges::all_of(errors, &NodeError::is_within); }

std::string needs_text(const run::Execution& execution, const Terminal& terminal) {
  const graph::Graph& graph = execution.graph;
  const std::string name = graph.name.empty() ? "graph" : printable(graph.name);
  std::string out = paint(
      terminal, Paint::kHeading,
      cat(name, " on ", execution.machine.name, ": ", count_of(std::ssize(execution.steps), "op"),
          " on ", count_of(execution.mesh.elements(), "place"), " ",
          bracketed(execution.mesh.extents()), " of ",
          bracketed(execution.machine.shape().extents())));
  out += "\n";
  for (const run::SpaceNeed& need : execution.spaces) {
    out += cat("  ", need.space, ": ", need.peak_bytes, " bytes");
    if (need.capacity_bytes) out += cat(" of ", *need.capacity_bytes);
    const target::MemorySpace* space = execution.machine.find_space(need.space);
    if (space != nullptr) out += cat(" ", target::each_owner(space->owner));
    out += "\n";
  }
  return out;
}

std::string report_text(const RunReport& report, const Terminal& terminal) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"op", "places", "kernel", "messages", "crossing", "here", "moves", "compute"});
  if (report.is_checked) rows.back().emplace_back("error");
  std::int64_t crossing = 0;
  std::int64_t messages = 0;
  for (std::size_t k = 0; k < report.result->steps.size(); ++k) {
    const run::StepReport& step = report.result->steps[k];
    const graph::Node& node = node_of(report, step);
    const graph::TensorType& type = report.execution->graph.values[node.outputs[0]].type;
    const run::StepCycles& cycles = report.cycles[k];
    std::optional<double> moved;
    if (cycles.bring && cycles.settle) moved = *cycles.bring + *cycles.settle;
    rows.push_back(
        {cat(node.op.name(), " ", printable(report.execution->graph.values[node.outputs[0]].name),
             " ", type.to_string()),
         std::to_string(step.places), kernels_text(step.kernels), std::to_string(step.messages),
         bytes_text(step.crossing_bytes),
         seconds_text(step.bring_seconds + step.compute_seconds + step.settle_seconds),
         cycles_text(moved), cycles_text(cycles.compute)});
    if (report.is_checked) {
      const NodeError& error = report.errors[k];
      rows.back().push_back(cat(error_text(error.difference), error.is_within() ? "" : " !"));
    }
    crossing += step.crossing_bytes;
    messages += step.messages;
  }
  std::string out = table_text(rows);
  const std::optional<double> predicted = run::total_cycles(report.cycles);
  out += cat("predicted for ", report.execution->machine.name, ": ", cycles_text(predicted),
             " cycles");
  if (predicted && report.execution->machine.clock_hz) {
    out += cat(", ",
               seconds_text(*predicted / static_cast<double>(*report.execution->machine.clock_hz)));
  }
  out += "\n";
  if (report.simulation.cycles) {
    out += cat("simulated: ", cycles_text(report.simulation.cycles), " cycles, with ",
               report.simulation.simulated, " of ", count_of(report.simulation.moves, "move"),
               " on the network\n");
  }
  out += cat("ran in ", seconds_text(report.result->seconds), " here: ", messages, " messages, ",
             bytes_text(crossing), " between places, ",
             bytes_text(report.result->memory.resident_bytes), " of host memory\n");
  if (report.is_checked) {
    out += report.is_within()
               ? cat("every op agrees with the reference: the largest error is ",
                     error_text(report.max_error()), " of 1 + |number|\n")
               : paint(terminal, Paint::kError, "some ops differ from the reference") + "\n";
  }
  for (std::size_t o = 0; o < report.result->outputs.size(); ++o) {
    const graph::Value& value = report.execution->graph.values[report.execution->graph.outputs[o]];
    out += cat("output ", printable(value.name), " ", value.type.to_string(),
               o < report.files.size() ? cat(" -> ", report.files[o]) : "", "\n");
  }
  return out;
}

std::string report_json(const RunReport& report) {
  const run::Execution& execution = *report.execution;
  Json json;
  json["seconds"] = report.result->seconds;
  json["cycles_predicted"] = cycles_json(run::total_cycles(report.cycles));
  json["cycles_simulated"] = cycles_json(report.simulation.cycles);
  json["moves"] = report.simulation.moves;
  json["moves_simulated"] = report.simulation.simulated;
  json["outputs"] = Json::array();
  for (std::size_t o = 0; o < report.result->outputs.size(); ++o) {
    const graph::Value& value = execution.graph.values[execution.graph.outputs[o]];
    Json each;
    each["name"] = value.name;
    each["shape"] = value.type.shape.extents();
    each["dtype"] = dtype_name(value.type.dtype);
    each["file"] = o < report.files.size() ? Json(report.files[o]) : Json();
    json["outputs"].push_back(std::move(each));
  }
  if (report.is_checked) {
    const double error = report.max_error();
    json["max_error"] = std::isfinite(error) ? Json(error) : Json();
    json["agrees"] = report.is_within();
  }
  json["peak_bytes"] = Json::object();
  for (const run::SpaceNeed& need : execution.spaces) {
    json["peak_bytes"][need.space] = need.peak_bytes;
  }
  json["layouts_from"] = report.layouts_from;
  json["mesh"] = execution.mesh.extents();
  json["host_bytes"] = report.result->memory.resident_bytes;
  json["ops"] = Json::array();
  for (std::size_t k = 0; k < report.result->steps.size(); ++k) {
    const run::StepReport& step = report.result->steps[k];
    const graph::Node& node = node_of(report, step);
    Json each;
    each["node"] = node.name;
    each["op"] = node.op.name();
    each["places"] = step.places;
    each["kernels"] = step.kernels;
    const std::optional<run::Panels>& panels = execution.steps[k].panels;
    each["panels"] = panels ? std::ssize(panels->bring) : 1;
    each["seconds"] = step.bring_seconds + step.compute_seconds + step.settle_seconds;
    each["messages"] = step.messages;
    each["crossing_bytes"] = step.crossing_bytes;
    each["local_bytes"] = step.local_bytes;
    const run::StepCycles& cycles = report.cycles[k];
    each["cycles"]["bring"] = cycles_json(cycles.bring);
    each["cycles"]["compute"] = cycles_json(cycles.compute);
    each["cycles"]["settle"] = cycles_json(cycles.settle);
    if (report.is_checked) {
      const double error = report.errors[k].difference;
      each["error"] = std::isfinite(error) ? Json(error) : Json();
    }
    json["ops"].push_back(std::move(each));
  }
  return dump(json);
}

}  // namespace tessera::tools
