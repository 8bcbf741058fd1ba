// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/model/priced_memory.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::plan {
namespace {

constexpr int kMostPrices = 14;
constexpr double kFirstPart = 0.01;  ///< of all costs that the whole limit costs at first
constexpr double kStep = 4;          ///< while no choice fits
constexpr double kMostCosts = 4e17;  ///< of priced bytes, below what choose/ allows

/// Bytes at each moment.
std::vector<std::int64_t> bytes_at(const choose::Problem& problem,
                                   const std::vector<std::int64_t>& choices) {
  std::int64_t end = 0;
  for (const choose::Node& node : problem.nodes) end = std::max(end, node.life.to);
  std::vector<std::int64_t> change(static_cast<std::size_t>(end) + 1);
  for (std::size_t n = 0; n < choices.size(); ++n) {
    const choose::Node& node = problem.nodes[n];
    if (node.life.from >= node.life.to) continue;
    const std::int64_t bytes = node.usages[static_cast<std::size_t>(choices[n])];
    change[static_cast<std::size_t>(node.life.from)] += bytes;
    change[static_cast<std::size_t>(node.life.to)] -= bytes;
  }
  for (std::size_t t = 1; t < change.size(); ++t) change[t] += change[t - 1];
  return change;
}

/// The most bytes that all choices together have.
double most_bytes(const choose::Problem& problem) {
  double sum = 1;
  for (const choose::Node& node : problem.nodes) {
    sum += static_cast<double>(*std::ranges::max_element(node.usages));
  }
  return sum;
}

/// The cost of a choice; empty for one with a forbidden pair.
std::optional<std::int64_t> cost_of(const choose::Problem& problem,
                                    const std::vector<std::int64_t>& choices) {
  std::int64_t sum = 0;
  const auto add = [&](std::int64_t cost) {
    if (cost >= choose::kForbidden) return false;
    sum += cost;
    return true;
  };
  for (std::size_t n = 0; n < choices.size(); ++n) {
    if (!add(problem.nodes[n].costs[static_cast<std::size_t>(choices[n])])) return std::nullopt;
  }
  for (const choose::Edge& edge : problem.edges) {
    const auto width = static_cast<std::int64_t>(problem.nodes[edge.b].costs.size());
    const std::int64_t pair = choices[edge.a] * width + choices[edge.b];
    if (!add(edge.costs[static_cast<std::size_t>(pair)])) return std::nullopt;
  }
  return sum;
}

}  // namespace

bool PricedMoments::add(const std::vector<std::int64_t>& bytes, std::int64_t limit) {
  is_priced_.resize(bytes.size());
  bool any = false;
  for (std::size_t t = 0; t < bytes.size(); ++t) {
    if (bytes[t] <= limit) continue;
    any = true;
    is_priced_[t] = true;
  }
  before_.assign(1, 0);
  for (const bool each : is_priced_) before_.push_back(before_.back() + (each ? 1 : 0));
  return any;
}

choose::Problem PricedMoments::priced(const choose::Problem& problem, double price) const {
  constexpr double kLess = 1 - 1e-12;  // so that rounding errors only make less of it
  choose::Problem made = problem;
  made.usage_limit.reset();
  if (price == 0 || before_.back() == 0) return made;
  for (choose::Node& node : made.nodes) {
    if (node.life.from >= node.life.to) continue;
    const auto from = static_cast<std::size_t>(node.life.from);
    const auto to = static_cast<std::size_t>(node.life.to);
    const auto part =
        static_cast<double>(before_[to] - before_[from]) / static_cast<double>(before_.back());
    for (std::size_t k = 0; k < node.costs.size(); ++k) {
      const double more = std::floor(price * part * static_cast<double>(node.usages[k]) * kLess);
      if (node.costs[k] < choose::kForbidden) node.costs[k] += static_cast<std::int64_t>(more);
    }
  }
  return made;
}

Result<choose::Solution> PricedMemory::search(const choose::Problem& problem,
                                              const SearchEffort& effort) {
  double enough_gap = effort.enough_gap;
  choose::SolveOptions options = options_;
  options.seconds = effort.seconds;
  options.progress = [](void* enough, const choose::Progress& progress) {
    if (!progress.cost) return true;
    const auto cost = static_cast<double>(*progress.cost);
    return cost - static_cast<double>(progress.lower_bound) > *static_cast<double*>(enough) * cost;
  };
  options.progress_context = &enough_gap;
  const std::int64_t limit = problem.usage_limit.value_or(INT64_MAX);
  choose::Solution best;
  best.lower_bound = INT64_MIN;
  // Where a choice needed a price before, it needs one again.
  double price = effort.is_thorough ? 0 : price_;
  double too_cheap = 0;
  std::optional<double> enough;  // a price at which a choice fits
  const double most_price = kMostCosts / most_bytes(problem);
  for (int k = 0; k < kMostPrices && price <= most_price; ++k) {
    const choose::Problem priced = moments_.priced(problem, price);
    TESSERA_TRY(const choose::Solution found, choose::solve(priced, options));
    if (found.outcome == choose::Outcome::kInfeasible) return found;
    const double whole = std::ceil(price * static_cast<double>(limit) * (1 + 1e-12));
    const std::int64_t bound = found.lower_bound - static_cast<std::int64_t>(whole);
    best.lower_bound = std::max(best.lower_bound, bound);
    if (found.outcome != choose::Outcome::kChosen) break;
    const bool fits = !moments_.add(bytes_at(problem, found.choices), limit);
    if (fits) {
      const std::optional<std::int64_t> cost = cost_of(problem, found.choices);
      if (cost && (best.choices.empty() || *cost < best.cost)) {
        best.choices = found.choices;
        best.cost = *cost;
        best.outcome = choose::Outcome::kChosen;
        best.found_by = found.found_by;
        price_ = price;
      }
      enough = price;
    } else {
      too_cheap = std::max(too_cheap, price);
    }
    best.seconds += found.seconds;
    const auto cost = static_cast<double>(best.cost);
    const double gap = cost - static_cast<double>(best.lower_bound);
    if (fits && (price == 0 || !effort.is_thorough || gap <= enough_gap * cost)) break;
    if (enough) {
      price = (too_cheap + *enough) / 2;
    } else if (price > 0) {
      price *= kStep;
    } else if (price_ > 0) {
      price = price_;
    } else {
      const auto all = static_cast<double>(std::max<std::int64_t>(found.cost, 1));
      price = kFirstPart * all / static_cast<double>(std::max<std::int64_t>(limit, 1));
    }
  }
  if (best.outcome == choose::Outcome::kChosen) {
    best.lower_bound = std::min(best.lower_bound, best.cost);
    best.optimal = best.lower_bound == best.cost;
  }
  return best;
}

}  // namespace tessera::plan
