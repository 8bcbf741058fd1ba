// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/model/baselines.h"

#include <algorithm>

#include "tessera/base/checked.h"

namespace tessera::plan {
namespace {

/// An edge as one of its ends sees it; the node is always end `a` (decisions.cc).
std::int64_t cost(const choose::Problem& problem, const choose::Edge& edge, std::int64_t work,
                  std::int64_t layout) {
  const auto layouts = static_cast<std::int64_t>(problem.nodes[edge.b].costs.size());
  return edge.costs[static_cast<std::size_t>(work * layouts + layout)];
}

std::int64_t strategies(const choose::Problem& problem, std::size_t decision) {
  return static_cast<std::int64_t>(problem.nodes[decision].costs.size());
}

std::int64_t added(std::int64_t a, std::int64_t b) {
  return std::min((Checked(a) + b).saturated(), choose::kForbidden);
}

/// The edges of each node.
std::vector<std::vector<const choose::Edge*>> edges_of_nodes(const Decisions& decisions) {
  std::vector<std::vector<const choose::Edge*>> edges(decisions.graph().nodes.size());
  for (const choose::Edge& edge : decisions.problem().edges) {
    edges[edge.a - decisions.values()].push_back(&edge);
  }
  return edges;
}

std::int64_t best_layout(const choose::Problem& problem, const choose::Edge& edge,
                         std::int64_t work) {
  std::int64_t best = 0;
  for (std::int64_t l = 1; l < strategies(problem, edge.b); ++l) {
    if (cost(problem, edge, work, l) < cost(problem, edge, work, best)) best = l;
  }
  return best;
}

/// Each node takes the work that costs least with what is decided, and decides what is not.
/// `is_fixed` says whether an edge's layout is taken as decided.
template <typename IsFixed>
Choice one_by_one(const Decisions& decisions, const IsFixed& is_fixed) {
  const choose::Problem& problem = decisions.problem();
  const auto edges = edges_of_nodes(decisions);
  Choice choice(problem.nodes.size(), -1);
  for (std::size_t n = 0; n < edges.size(); ++n) {
    const std::size_t decision = decisions.values() + n;
    std::int64_t best = 0;
    std::int64_t least = INT64_MAX;
    for (std::int64_t w = 0; w < strategies(problem, decision); ++w) {
      std::int64_t sum = problem.nodes[decision].costs[static_cast<std::size_t>(w)];
      for (const choose::Edge* edge : edges[n]) {
        const bool fixed = choice[edge->b] >= 0 && is_fixed(n, edge->b);
        const std::int64_t l = fixed ? choice[edge->b] : best_layout(problem, *edge, w);
        sum = added(sum, cost(problem, *edge, w, l));
      }
      if (sum >= least) continue;
      least = sum;
      best = w;
    }
    choice[decision] = best;
    const std::vector<graph::ValueId>& outputs = decisions.graph().nodes[n].outputs;
    for (const choose::Edge* edge : edges[n]) {
      const bool makes = std::ranges::find(outputs, edge->b) != outputs.end();
      if (makes || choice[edge->b] < 0) choice[edge->b] = best_layout(problem, *edge, best);
    }
  }
  for (std::int64_t& each : choice) each = std::max<std::int64_t>(each, 0);
  return choice;
}

}  // namespace

Choice greedy_forward(const Decisions& decisions) {
  return one_by_one(decisions, [](std::size_t, std::size_t) { return true; });
}

Choice each_op_alone(const Decisions& decisions) {
  return one_by_one(decisions, [](std::size_t, std::size_t) { return false; });
}

std::optional<double> cycles_of(const Decisions& decisions, const Choice& choice) {
  const choose::Problem& problem = decisions.problem();
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < choice.size(); ++d) {
    sum = added(sum, problem.nodes[d].costs[static_cast<std::size_t>(choice[d])]);
  }
  for (const choose::Edge& edge : problem.edges) {
    sum = added(sum, cost(problem, edge, choice[edge.a], choice[edge.b]));
  }
  if (sum >= choose::kForbidden) return std::nullopt;
  return static_cast<double>(sum) / decisions.units_per_cycle();
}

std::vector<std::optional<OtherWork>> runners_up(const Decisions& decisions, const Choice& choice) {
  const choose::Problem& problem = decisions.problem();
  const auto edges = edges_of_nodes(decisions);
  std::vector<std::optional<OtherWork>> list(edges.size());
  for (std::size_t n = 0; n < edges.size(); ++n) {
    const std::size_t decision = decisions.values() + n;
    const auto with = [&](std::int64_t w) {
      std::int64_t sum = problem.nodes[decision].costs[static_cast<std::size_t>(w)];
      for (const choose::Edge* edge : edges[n]) {
        sum = added(sum, cost(problem, *edge, w, choice[edge->b]));
      }
      return sum;
    };
    const std::int64_t chosen = with(choice[decision]);
    std::int64_t least = choose::kForbidden;
    for (std::int64_t w = 0; w < strategies(problem, decision); ++w) {
      if (w == choice[decision]) continue;
      const std::int64_t sum = with(w);
      if (sum >= least) continue;
      least = sum;
      list[n] = OtherWork{w, static_cast<double>(sum - chosen) / decisions.units_per_cycle()};
    }
  }
  return list;
}

}  // namespace tessera::plan
