// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_steps.h"

#include <cmath>
#include <cstdint>
#include <optional>

#include "tessera/base/text.h"
#include "tessera/moves/endpoints.h"
#include "tools/reshard/reshard_print.h"
#include "tools/terminal/times.h"

namespace tessera::tools {
namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

/// Rounded up; whole where they come from a count of cycles.
std::int64_t whole_cycles(double cycles) {
  return static_cast<std::int64_t>(std::ceil(cycles - 1e-6));
}

std::string step_line(const moves::Step& step) {
  std::string text = cat(moves::step_name(step.kind), ": ", bytes_text(step.bytes));
  if (!step.algorithm.empty()) text += cat(" by ", step.algorithm);
  text += step.seconds  ? cat(", ", seconds_text(*step.seconds))
          : step.cycles ? cat(", ", whole_cycles(*step.cycles), " cycles")
                        : std::string(", time not known");
  if (!step.dominated_by.empty()) {
    text += cat(", most of it ", step.dominated_by,
                step.busiest.empty() ? std::string() : cat(" (", step.busiest, ")"));
  }
  return text;
}

}  // namespace

void add_steps_json(const moves::Move& move, const Machine& machine, Json& json) {
  json["space_a"] = move.space_a;
  json["space_b"] = move.space_b;
  json["steps"] = Json::array();
  for (const moves::Step& step : move.steps) {
    json["steps"].push_back({{"step", moves::step_name(step.kind)},
                             {"seconds", step.seconds ? Json(*step.seconds) : Json()},
                             {"cycles", step.cycles ? Json(whole_cycles(*step.cycles)) : Json()},
                             {"bytes", step.bytes},
                             {"algorithm", text_or_null(step.algorithm)},
                             {"dominated_by", text_or_null(step.dominated_by)},
                             {"busiest", text_or_null(step.busiest)}});
  }
  json["algorithms"] = Json::array();
  for (const moves::Algorithm& algorithm : move.algorithms) {
    json["algorithms"].push_back(
        {{"name", algorithm.name},
         {"cycles", static_cast<std::int64_t>(std::ceil(algorithm.cycles))}});
  }
  json["missing"] = move.missing;
  json["assumed"] = moves::assumed_figures(move, machine);
}

std::vector<std::string> steps_lines(const moves::Move& move, const Machine& machine) {
  std::vector<std::string> lines;
  for (const moves::Step& step : move.steps) lines.push_back(step_line(step));
  if (move.seconds && move.steps.size() > 1) {
    lines.push_back(cat("together ", seconds_text(*move.seconds)));
  }
  std::string others;
  for (std::size_t i = 1; i < move.algorithms.size(); ++i) {
    others += cat(others.empty() ? "" : ", ", move.algorithms[i].name, " ",
                  static_cast<std::int64_t>(std::ceil(move.algorithms[i].cycles)), " cycles");
  }
  if (!others.empty()) lines.push_back(cat("other ways, relayouts included: ", others));
  for (const std::string& figure : move.missing) lines.push_back(cat("not known: ", figure));
  const std::vector<std::string> assumed = moves::assumed_figures(move, machine);
  if (!assumed.empty()) {
    std::string paths;
    for (const std::string& path : assumed) paths += cat(paths.empty() ? "" : ", ", path);
    lines.push_back(cat("assumed figures of the target: ", paths));
  }
  return lines;
}

Json endpoint_json(const Machine& machine, std::int64_t endpoint) {
  if (endpoint < machine.places()) return machine.shape().delinear(endpoint);
  const moves::EndpointNumbers numbers(machine);
  const std::size_t memory = numbers.memory_at(endpoint);
  Json json;
  json["space"] = machine.memory[memory].name;
  if (machine.memory[memory].banks) json["bank"] = endpoint - numbers.first(memory);
  return json;
}

}  // namespace tessera::tools
