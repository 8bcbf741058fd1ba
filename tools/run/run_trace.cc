// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run_trace.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tools/json/json.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kLinks = 0;  ///< the track of moves; classes of places follow
constexpr std::size_t kMostClasses = 16;

Json event(std::string_view name, std::int64_t track, double begin, double length) {
  Json json;
  json["name"] = name;
  json["ph"] = "X";
  json["pid"] = 1;
  json["tid"] = track;
  json["ts"] = begin;
  json["dur"] = length;
  return json;
}

Json track_name(std::int64_t track, const std::string& name) {
  Json json;
  json["name"] = "thread_name";
  json["ph"] = "M";
  json["pid"] = 1;
  json["tid"] = track;
  json["args"]["name"] = name;
  return json;
}

}  // namespace

std::string run_trace(const run::Execution& execution, const std::vector<run::StepCycles>& cycles) {
  Json json;
  json["displayTimeUnit"] = "ms";
  Json& events = json["traceEvents"];
  events = Json::array();
  events.push_back(track_name(kLinks, "links"));
  std::size_t tracks = 0;
  for (const run::StepCycles& step : cycles) {
    tracks = std::max(tracks, std::min(step.classes.size(), kMostClasses));
  }
  for (std::size_t t = 0; t < tracks; ++t) {
    events.push_back(track_name(static_cast<std::int64_t>(t) + 1, cat("class of places ", t + 1)));
  }
  double now = 0;
  for (std::size_t k = 0; k < execution.steps.size(); ++k) {
    const run::Step& step = execution.steps[k];
    const graph::Node& node = execution.graph.nodes[step.node];
    const std::string& value = execution.graph.values[node.outputs[0]].name;
    const auto add_moves = [&](std::string_view phase, const std::vector<run::Move>& moves,
                               const std::optional<double>& length) {
      if (moves.empty()) return;
      Json made = event(cat(phase, " ", value), kLinks, now, length.value_or(1));
      made["args"]["cycles"] = length ? Json(*length) : Json();
      Json buffers = Json::array();
      for (const run::Move& move : moves) buffers.push_back(execution.buffers[move.to].name);
      made["args"]["buffers"] = std::move(buffers);
      events.push_back(std::move(made));
      now += length.value_or(1);
    };
    add_moves("bring", step.bring, cycles[k].bring);
    for (std::size_t c = 0; c < std::min(cycles[k].classes.size(), kMostClasses); ++c) {
      const run::ClassCycles& each = cycles[k].classes[c];
      Json made = event(cat(node.op.name(), " ", value), static_cast<std::int64_t>(c) + 1, now,
                        each.cycles);
      made["args"]["places"] = each.places;
      made["args"]["first_place"] = each.example;
      made["args"]["flops"] = each.flops;
      events.push_back(std::move(made));
    }
    if (cycles[k].classes.empty()) {
      events.push_back(event(cat(node.op.name(), " ", value, " (time unknown)"), 1, now, 1));
    }
    now += cycles[k].compute.value_or(1);
    add_moves("settle", step.settle, cycles[k].settle);
  }
  return dump(json) + "\n";
}

}  // namespace tessera::tools
