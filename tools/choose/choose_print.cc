// SPDX-License-Identifier: Apache-2.0
#include "tools/choose/choose_print.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include "tessera/base/text.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

using choose::Obstacle;
using choose::Outcome;
using choose::Solution;

constexpr std::size_t kMostChoices = 16;
constexpr double kShownSeconds = 1;

std::string decimals(double value, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

Json obstacle_json(const ChooseAnswer& answer) {
  if (!answer.solution.obstacle) return {};
  const Obstacle& obstacle = *answer.solution.obstacle;
  Json json = Json::object();
  json["node"] = obstacle.node;
  json["from"] = obstacle.when ? Json(obstacle.when->from) : Json();
  json["to"] = obstacle.when ? Json(obstacle.when->to) : Json();
  json["needed"] = obstacle.when ? Json(obstacle.needed) : Json();
  json["limit"] = answer.problem.usage_limit;
  json["excess"] =
      obstacle.when ? Json(obstacle.needed - answer.problem.usage_limit.value_or(0)) : Json();
  json["proven"] = obstacle.node.has_value() || obstacle.is_bound;
  return json;
}

std::string obstacle_text(const ChooseAnswer& answer) {
  if (!answer.solution.obstacle) return "";
  const Obstacle& obstacle = *answer.solution.obstacle;
  if (obstacle.node) {
    return cat("  node ", *obstacle.node,
               ": each of its strategies is forbidden, or forbidden with every strategy of another "
               "node\n");
  }
  if (!obstacle.when) return "";
  const std::int64_t limit = answer.problem.usage_limit.value_or(0);
  return cat("  in [", obstacle.when->from, ", ", obstacle.when->to, ") ",
             obstacle.is_bound ? "every choice needs at least " : "the nearest attempt needs ",
             obstacle.needed, " bytes, ", obstacle.needed - limit, " more than the limit ", limit,
             "\n");
}

std::string choices_text(std::span<const std::int64_t> choices) {
  const std::size_t shown = std::min(choices.size(), kMostChoices);
  std::string out = "  choices";
  for (std::size_t i = 0; i < shown; ++i) out += cat(" ", choices[i]);
  if (shown < choices.size()) out += cat(" .. (", choices.size(), " in all; --json prints them)");
  return out + "\n";
}

}  // namespace

std::string choose_json(const ChooseAnswer& answer) {
  const Solution& solution = answer.solution;
  const bool is_chosen = solution.outcome == Outcome::kChosen;
  Json json = Json::object();
  json["cost"] = is_chosen ? Json(solution.cost) : Json();
  json["lower_bound"] = is_chosen ? Json(solution.lower_bound) : Json();
  json["gap"] = is_chosen ? Json(solution.gap()) : Json();
  json["optimal"] = solution.optimal;
  json["choices"] = is_chosen ? Json(solution.choices) : Json();
  json["seconds"] = solution.seconds;
  json["found_by"] = solution.found_by;
  json["outcome"] = choose::outcome_name(solution.outcome);
  json["first_seconds"] = is_chosen ? Json(solution.first_seconds) : Json();
  json["rounds"] = solution.rounds;
  json["interrupted"] = answer.interrupted;
  json["obstacle"] = obstacle_json(answer);
  return dump(json);
}

std::string choose_text(const ChooseAnswer& answer) {
  const Solution& solution = answer.solution;
  const std::string size = cat(count_of(std::ssize(answer.problem.nodes), "node"), " and ",
                               count_of(std::ssize(answer.problem.edges), "edge"));
  std::string end;
  if (solution.seconds >= kShownSeconds) end += cat(", ", decimals(solution.seconds, 1), " s");
  if (answer.interrupted) end += "; interrupted";
  switch (solution.outcome) {
    case Outcome::kChosen:
      return cat("cost ", solution.cost, " for ", size, "\n  lower bound ", solution.lower_bound,
                 ", gap ", decimals(100 * solution.gap(), 3), " %",
                 solution.optimal ? "; no choice costs less" : "", "\n  found by ",
                 solution.found_by, end, "\n", choices_text(solution.choices));
    case Outcome::kInfeasible:
      return cat("infeasible: no choice for ", size, " is allowed and within the limit\n",
                 obstacle_text(answer), "  found by ", solution.found_by, end, "\n");
    case Outcome::kUnknown:
      break;
  }
  return cat("unknown: no choice for ", size, " was found, but none was excluded\n",
             obstacle_text(answer), "  search ended", end, "\n");
}

}  // namespace tessera::tools
