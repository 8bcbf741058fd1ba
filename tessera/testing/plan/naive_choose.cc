// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/plan/naive_choose.h"

#include <algorithm>

namespace tessera::test {
namespace {

using choose::Edge;
using choose::kForbidden;
using choose::Node;
using choose::Problem;

/// The largest usage at any moment: moments at which a life begins suffice.
std::int64_t peak_of(const Problem& problem, const std::vector<std::int64_t>& choices) {
  std::int64_t peak = 0;
  for (const Node& at : problem.nodes) {
    if (at.life.from >= at.life.to) continue;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      const Node& node = problem.nodes[i];
      const bool alive = node.life.from <= at.life.from && at.life.from < node.life.to;
      if (alive) sum += node.usages[static_cast<std::size_t>(choices[i])];
    }
    peak = std::max(peak, sum);
  }
  return peak;
}

/// The next choice in the order of an odometer; false after the last.
bool advance(const Problem& problem, std::vector<std::int64_t>& choices) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (++choices[i] < std::ssize(problem.nodes[i].costs)) return true;
    choices[i] = 0;
  }
  return false;
}

int number(std::mt19937_64& random, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random);
}
bool chance(std::mt19937_64& random, double probability) {
  return std::uniform_real_distribution<double>(0, 1)(random) < probability;
}

}  // namespace

std::optional<std::int64_t> naive_cost(const Problem& problem,
                                       const std::vector<std::int64_t>& choices) {
  std::int64_t cost = 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::int64_t own = problem.nodes[i].costs[static_cast<std::size_t>(choices[i])];
    if (own >= kForbidden) return std::nullopt;
    cost += own;
  }
  for (const Edge& edge : problem.edges) {
    const std::int64_t width = std::ssize(problem.nodes[edge.b].costs);
    const std::int64_t pair =
        edge.costs[static_cast<std::size_t>(choices[edge.a] * width + choices[edge.b])];
    if (pair >= kForbidden) return std::nullopt;
    cost += pair;
  }
  if (problem.usage_limit && peak_of(problem, choices) > *problem.usage_limit) return std::nullopt;
  return cost;
}

std::optional<NaiveChoice> naive_choice(const Problem& problem) {
  std::optional<NaiveChoice> best;
  std::vector<std::int64_t> choices(problem.nodes.size());
  do {
    const std::optional<std::int64_t> cost = naive_cost(problem, choices);
    if (cost && (!best || *cost < best->cost)) best = NaiveChoice{*cost, choices};
  } while (advance(problem, choices));
  return best;
}

Problem random_choice_problem(std::mt19937_64& random, const ChoiceFamily& family) {
  Problem problem;
  const int nodes = number(random, 1, family.most_nodes);
  const int same = number(random, 1, family.most_strategies);  // matchings need equal counts
  for (int i = 0; i < nodes; ++i) {
    Node& node = problem.nodes.emplace_back();
    const int count = chance(random, 0.5) ? same : number(random, 1, family.most_strategies);
    node.life.from = number(random, 0, family.most_time);
    node.life.to = node.life.from + number(random, -1, family.most_time);
    for (int k = 0; k < count; ++k) {
      node.costs.push_back(chance(random, 0.03) ? kForbidden : number(random, 0, family.most_cost));
      node.usages.push_back(number(random, 0, family.most_usage));
    }
  }
  const int edges = nodes < 2 ? 0 : static_cast<int>(family.edges_per_node * nodes);
  for (int e = 0; e < edges; ++e) {
    Edge& edge = problem.edges.emplace_back();
    edge.a = static_cast<std::size_t>(number(random, 0, nodes - 1));
    do {
      edge.b = static_cast<std::size_t>(number(random, 0, nodes - 1));
    } while (edge.b == edge.a);
    const std::size_t rows = problem.nodes[edge.a].costs.size();
    const std::size_t columns = problem.nodes[edge.b].costs.size();
    const bool is_matching = rows == columns && chance(random, family.matchings);
    const auto turn = static_cast<std::size_t>(number(random, 0, family.most_strategies));
    const bool is_flat = chance(random, 0.15);
    for (std::size_t k = 0; k < rows; ++k) {
      for (std::size_t l = 0; l < columns; ++l) {
        const bool forbids =
            is_matching ? (k + turn) % columns != l : chance(random, family.forbidden);
        const std::int64_t cost =
            is_flat ? static_cast<std::int64_t>(k + l) : number(random, 0, family.most_cost);
        edge.costs.push_back(forbids && !is_flat ? kForbidden : cost);
      }
    }
  }
  // A choice at random, or the least usage of every node, sets the limit.
  std::vector<std::int64_t> sample(problem.nodes.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const std::vector<std::int64_t>& usages = problem.nodes[i].usages;
    sample[i] = chance(random, 0.6)
                    ? std::min_element(usages.begin(), usages.end()) - usages.begin()
                    : number(random, 0, static_cast<int>(usages.size()) - 1);
  }
  const std::int64_t peak = peak_of(problem, sample);
  if (!chance(random, 0.1)) {
    problem.usage_limit = std::max<std::int64_t>(0, peak + number(random, -1, 2));
  }
  return problem;
}

}  // namespace tessera::test
