// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/plan_report.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/tensor.h"
#include "tessera/target/fit.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"
#include "tools/terminal/times.h"

namespace tessera::tools {
namespace {

/// Cycles as seconds of the machine; null without a clock.
Json seconds_json(const Machine& machine, const std::optional<double>& cycles) {
  if (!cycles || !machine.clock_hz) return {};
  return *cycles / static_cast<double>(*machine.clock_hz);
}

std::string layout_text(const Layout& layout) {
  std::string text = print_native(Placement(layout));
  const std::size_t comma = text.find(", ");
  if (comma == std::string::npos) return text;
  return text.substr(comma + 2, text.size() - comma - 3);
}

std::string value_line(const graph::Value& value, const Layout& layout) {
  return cat("  ", printable(value.name), " ", value.type.to_string(), "  ", layout_text(layout),
             "\n");
}

}  // namespace

std::string plan_text(const plan::ModelPlan& plan, const graph::Graph& graph,
                      const Machine& machine, const Terminal& terminal) {
  const std::string name = graph.name.empty() ? "graph" : printable(graph.name);
  std::string out = paint(terminal, Paint::kHeading,
                          cat(name, " on ", machine.name, ": ", cycles_text(plan.cycles), " cycles",
                              plan.seconds ? cat(", ", seconds_text(*plan.seconds)) : ""));
  char gap[32];
  (void)std::snprintf(gap, sizeof gap, "%.3f %%", plan.gap * 100);
  out += cat("\n  of ", plan.work_candidates, " divisions of work and ", plan.layout_candidates,
             " layouts none takes less than ", cycles_text(plan.lower_bound_cycles), ", gap ", gap,
             "\n");
  for (const plan::Baseline& each : plan.baselines) {
    out += cat("  ", each.name, ": ", cycles_text(each.cycles), "\n");
  }
  for (const run::SpaceNeed& need : plan.spaces) {
    out += cat("  ", need.space, ": ", need.peak_bytes, " bytes");
    if (need.capacity_bytes) out += cat(" of ", *need.capacity_bytes);
    const target::MemorySpace* const space = machine.find_space(need.space);
    if (space != nullptr) out += cat(" ", target::each_owner(space->owner));
    out += "\n";
  }
  for (const std::string& text : plan.assumed) out += cat("  assumed: ", text, "\n");
  out += paint(terminal, Paint::kHeading, "given") + "\n";
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].kind == graph::Kind::kComputed) continue;
    out += value_line(graph.values[v], plan.layouts[v]);
  }
  out += paint(terminal, Paint::kHeading, "ops") + "\n";
  for (const plan::PlannedOp& op : plan.ops) {
    const graph::Node& node = graph.nodes[op.node];
    out += cat("  ", node.op.name(), " ", printable(graph.values[node.outputs[0]].name), ": ",
               op.work_text, "; bring ", cycles_text(op.bring_cycles), ", compute ",
               cycles_text(op.compute_cycles), ", settle ", cycles_text(op.settle_cycles), "\n");
    for (const plan::PlannedMove& move : op.moves) {
      out += cat("      ", printable(move.from), " -> ", printable(move.to), " by ", move.algorithm,
                 ": ", cycles_text(move.cycles), "\n");
    }
    if (op.runner_up) {
      out += cat("      instead ", op.runner_up->work, ": ",
                 cycles_text(std::max(op.runner_up->more_cycles, 0.0)), " more\n");
    }
    for (const graph::ValueId v : node.outputs) {
      out += "    " + value_line(graph.values[v], plan.layouts[v]);
    }
  }
  out += cat("planned in ", seconds_text(plan.plan_seconds), ", ", plan.moves_priced,
             " moves priced\n");
  return out;
}

std::string plan_answer(const plan::ModelPlan& plan, const graph::Graph& graph,
                        const Machine& machine) {
  Json json;
  json["fits"] = true;
  json["seconds_predicted"] = plan.seconds;
  json["cycles_predicted"] = plan.cycles;
  json["lower_bound"] = seconds_json(machine, plan.lower_bound_cycles);
  json["lower_bound_cycles"] = plan.lower_bound_cycles;
  json["gap"] = plan.gap;
  json["optimal"] = plan.is_optimal;
  json["peak_bytes"] = Json::object();
  for (const run::SpaceNeed& need : plan.spaces) json["peak_bytes"][need.space] = need.peak_bytes;
  json["transforms"] = plan.moves;
  json["moved_bytes"] = plan.moved_bytes;
  json["plan_seconds"] = plan.plan_seconds;
  json["candidates"]["work"] = plan.work_candidates;
  json["candidates"]["layouts"] = plan.layout_candidates;
  json["candidates"]["moves"] = plan.moves_priced;
  json["baselines"] = Json::object();
  json["baseline_cycles"] = Json::object();
  for (const plan::Baseline& each : plan.baselines) {
    json["baselines"][each.name] = seconds_json(machine, each.cycles);
    json["baseline_cycles"][each.name] = each.cycles;
  }
  json["assumed"] = plan.assumed;
  json["values"] = Json::array();
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    Json each;
    each["name"] = graph.values[v].name;
    each["layout"] = print_native(Placement(plan.layouts[v]));
    each["space"] = plan.buffers[v].space;
    json["values"].push_back(std::move(each));
  }
  json["ops"] = Json::array();
  for (const plan::PlannedOp& op : plan.ops) {
    const graph::Node& node = graph.nodes[op.node];
    Json each;
    each["name"] = node.name;
    each["op"] = node.op.name();
    each["seconds"] = seconds_json(machine, op.cycles());
    each["cycles"]["bring"] = op.bring_cycles;
    each["cycles"]["compute"] = op.compute_cycles;
    each["cycles"]["settle"] = op.settle_cycles;
    each["divided"] = op.work_text;
    each["reason"] =
        op.runner_up ? cat("any other division of its work takes ",
                           cycles_text(std::max(op.runner_up->more_cycles, 0.0)), " cycles more")
                     : "there is no other division of its work";
    each["runner_up"] = Json();
    if (op.runner_up) {
      each["runner_up"]["divided"] = op.runner_up->work;
      each["runner_up"]["more_cycles"] = op.runner_up->more_cycles;
    }
    json["ops"].push_back(std::move(each));
  }
  return dump(json);
}

std::string findings_text(const std::vector<plan::PlanFinding>& findings) {
  if (findings.empty()) return "the plan is right: layouts, work, memory, prices and sums\n";
  std::string out;
  for (const plan::PlanFinding& each : findings) {
    out += cat(plan::flaw_name(each.flaw), ": ", printable(each.message), "\n");
  }
  return out;
}

std::string findings_json(const std::vector<plan::PlanFinding>& findings) {
  Json json;
  json["valid"] = findings.empty();
  json["findings"] = Json::array();
  for (const plan::PlanFinding& each : findings) {
    Json finding;
    finding["flaw"] = plan::flaw_name(each.flaw);
    finding["message"] = each.message;
    json["findings"].push_back(std::move(finding));
  }
  return dump(json);
}

}  // namespace tessera::tools
