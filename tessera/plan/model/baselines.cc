// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/model/baselines.h"

#include <algorithm>

#include "tessera/base/checked.h"

namespace tessera::plan {
namespace {

/// An edge as one of its ends sees it; the node is always end `a` (decision_costs.cc).
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

/// The numbers of the edges of each node.
std::vector<std::vector<std::size_t>> edges_of_nodes(const Decisions& decisions) {
  std::vector<std::vector<std::size_t>> edges(decisions.graph().nodes.size());
  const std::vector<choose::Edge>& all = decisions.problem().edges;
  for (std::size_t e = 0; e < all.size(); ++e) {
    edges[all[e].a - decisions.values()].push_back(e);
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

/// Work, and a layout for each edge of its node.
struct Best {
  std::int64_t work = 0;
  std::vector<std::int64_t> layouts;
};

/// Each node takes the work that costs least with what is decided, and decides what is not.
/// `is_fixed` says whether an edge's layout is taken as decided.
template <typename IsFixed>
Choice one_by_one(Decisions& decisions, const IsFixed& is_fixed) {
  const choose::Problem& problem = decisions.problem();
  const auto edges = edges_of_nodes(decisions);
  Choice choice(problem.nodes.size(), -1);
  const auto best_of = [&](std::size_t n) {
    const std::size_t decision = decisions.values() + n;
    Best best;
    std::int64_t least = INT64_MAX;
    for (std::int64_t w = 0; w < strategies(problem, decision); ++w) {
      std::int64_t sum = problem.nodes[decision].costs[static_cast<std::size_t>(w)];
      std::vector<std::int64_t> layouts;
      for (const std::size_t e : edges[n]) {
        const choose::Edge& edge = problem.edges[e];
        const bool fixed = choice[edge.b] >= 0 && is_fixed(n, edge.b);
        layouts.push_back(fixed ? choice[edge.b] : best_layout(problem, edge, w));
        sum = added(sum, cost(problem, edge, w, layouts.back()));
      }
      if (sum >= least) continue;
      least = sum;
      best = {w, std::move(layouts)};
    }
    return best;
  };
  for (std::size_t n = 0; n < edges.size(); ++n) {
    Best best = best_of(n);
    // What looks best may cost more than its bound, and then something else is best.
    for (bool is_changed = true; is_changed;) {
      std::vector<Decisions::Pair> pairs;
      for (std::size_t k = 0; k < edges[n].size(); ++k) {
        pairs.push_back({edges[n][k], best.work, best.layouts[k]});
      }
      is_changed = decisions.price_pairs(pairs);
      if (is_changed) best = best_of(n);
    }
    choice[decisions.values() + n] = best.work;
    const std::vector<graph::ValueId>& outputs = decisions.graph().nodes[n].outputs;
    for (std::size_t k = 0; k < edges[n].size(); ++k) {
      const std::size_t value = problem.edges[edges[n][k]].b;
      const bool makes = std::ranges::find(outputs, value) != outputs.end();
      if (makes || choice[value] < 0) choice[value] = best.layouts[k];
    }
  }
  for (std::int64_t& each : choice) each = std::max<std::int64_t>(each, 0);
  return choice;
}

}  // namespace

Choice greedy_forward(Decisions& decisions) {
  return one_by_one(decisions, [](std::size_t, std::size_t) { return true; });
}

Choice each_op_alone(Decisions& decisions) {
  return one_by_one(decisions, [](std::size_t, std::size_t) { return false; });
}

std::optional<double> cycles_of(Decisions& decisions, const Choice& choice) {
  if (!decisions.price(choice)) return std::nullopt;
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

std::vector<std::optional<OtherWork>> runners_up(Decisions& decisions, const Choice& choice) {
  const choose::Problem& problem = decisions.problem();
  const auto edges = edges_of_nodes(decisions);
  std::vector<std::optional<OtherWork>> list(edges.size());
  for (std::size_t n = 0; n < edges.size(); ++n) {
    const std::size_t decision = decisions.values() + n;
    const auto with = [&](std::int64_t w) {
      std::int64_t sum = problem.nodes[decision].costs[static_cast<std::size_t>(w)];
      for (const std::size_t e : edges[n]) {
        const choose::Edge& edge = problem.edges[e];
        sum = added(sum, cost(problem, edge, w, choice[edge.b]));
      }
      return sum;
    };
    const auto best_other = [&] {
      std::optional<std::int64_t> best;
      std::int64_t least = choose::kForbidden;
      for (std::int64_t w = 0; w < strategies(problem, decision); ++w) {
        if (w == choice[decision] || with(w) >= least) continue;
        least = with(w);
        best = w;
      }
      return best;
    };
    std::optional<std::int64_t> other = best_other();
    for (bool is_changed = other.has_value(); is_changed;) {
      std::vector<Decisions::Pair> pairs;
      for (const std::size_t e : edges[n]) {
        pairs.push_back({e, *other, choice[problem.edges[e].b]});
      }
      is_changed = decisions.price_pairs(pairs);
      if (is_changed) other = best_other();
      is_changed = is_changed && other.has_value();
    }
    if (!other) continue;
    const std::int64_t more = with(*other) - with(choice[decision]);
    list[n] = OtherWork{*other, static_cast<double>(more) / decisions.units_per_cycle()};
  }
  return list;
}

}  // namespace tessera::plan
