// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/validate.h"

#include <algorithm>
#include <utility>

#include "tessera/base/decimal.h"
#include "tessera/base/text.h"

namespace tessera::choose {
namespace {

/// Holds sums of any number of 64-bit numbers.
using Wide = __int128;

class Judge {
 public:
  Judge(const Problem& problem, std::span<const std::int64_t> choices, std::size_t most)
      : problem_(problem), choices_(choices), most_(most) {}

  std::vector<Finding> run(const Claim& claim) {
    if (choices_.size() != problem_.nodes.size()) {
      report(Flaw::kWrongCount, std::min(choices_.size(), problem_.nodes.size()),
             cat("the answer has ", choices_.size(), " choices for ", problem_.nodes.size(),
                 " nodes"));
      return std::move(findings_);
    }
    bool all_exist = true;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const std::int64_t count = std::ssize(problem_.nodes[i].costs);
      if (choices_[i] >= 0 && choices_[i] < count) continue;
      all_exist = false;
      report(
          Flaw::kNoSuchStrategy, i,
          cat("node ", i, " has strategies 0 to ", count - 1, ", and ", choices_[i], " is chosen"));
    }
    if (!all_exist) return std::move(findings_);
    costs(claim);
    memory();
    return std::move(findings_);
  }

 private:
  void report(Flaw flaw, std::size_t index, std::string text) {
    if (findings_.size() < most_) findings_.push_back({flaw, index, std::move(text)});
  }

  void costs(const Claim& claim) {
    Wide total = 0;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const std::int64_t cost = problem_.nodes[i].costs[static_cast<std::size_t>(choices_[i])];
      total += cost;
      if (cost < kForbidden) continue;
      report(Flaw::kForbiddenNode, i,
             cat("strategy ", choices_[i], " of node ", i, " is forbidden"));
    }
    for (std::size_t e = 0; e < problem_.edges.size(); ++e) {
      const Edge& edge = problem_.edges[e];
      const auto row = static_cast<std::size_t>(choices_[edge.a]);
      const auto column = static_cast<std::size_t>(choices_[edge.b]);
      const std::int64_t cost = edge.costs[row * problem_.nodes[edge.b].costs.size() + column];
      total += cost;
      if (cost < kForbidden) continue;
      report(Flaw::kForbiddenEdge, e,
             cat("edge ", e, " forbids strategy ", row, " of node ", edge.a, " with strategy ",
                 column, " of node ", edge.b));
    }
    if (claim.cost && Wide{*claim.cost} != total) {
      report(Flaw::kWrongCost, 0,
             cat("the stated cost is ", *claim.cost, ", and the choice costs ", decimal(total)));
    }
    if (claim.lower_bound && Wide{*claim.lower_bound} > total) {
      report(Flaw::kWrongBound, 0,
             cat("the stated lower bound is ", *claim.lower_bound, ", and the choice costs ",
                 decimal(total)));
    }
  }

  /// One finding per range of moments in which the limit is exceeded.
  void memory() {
    if (!problem_.usage_limit) return;
    const Wide limit = *problem_.usage_limit;
    std::vector<std::pair<std::int64_t, Wide>> changes;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const Node& node = problem_.nodes[i];
      if (node.life.from >= node.life.to) continue;
      const Wide usage = node.usages[static_cast<std::size_t>(choices_[i])];
      changes.emplace_back(node.life.from, usage);
      changes.emplace_back(node.life.to, -usage);
    }
    std::sort(changes.begin(), changes.end());
    Wide alive = 0;
    Wide most_alive = 0;
    std::int64_t since = 0;
    std::int64_t fullest = 0;
    for (std::size_t k = 0; k < changes.size();) {
      const std::int64_t moment = changes[k].first;
      for (; k < changes.size() && changes[k].first == moment; ++k) alive += changes[k].second;
      if (alive > limit) {
        if (most_alive == 0) since = moment;
        if (alive > most_alive) fullest = moment;
        most_alive = std::max(most_alive, alive);
      } else if (most_alive > 0) {
        report(Flaw::kTooMuchMemory, 0,
               cat("in [", since, ", ", moment, ") up to ", decimal(most_alive),
                   " bytes are used, first at moment ", fullest, ", ", decimal(most_alive - limit),
                   " above the limit ", decimal(limit)));
        most_alive = 0;
      }
    }
  }

  const Problem& problem_;
  std::span<const std::int64_t> choices_;
  std::size_t most_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view flaw_name(Flaw flaw) {
  switch (flaw) {
    case Flaw::kWrongCount:
      return "wrong_count";
    case Flaw::kNoSuchStrategy:
      return "no_such_strategy";
    case Flaw::kForbiddenNode:
      return "forbidden_node";
    case Flaw::kForbiddenEdge:
      return "forbidden_edge";
    case Flaw::kTooMuchMemory:
      return "too_much_memory";
    case Flaw::kWrongCost:
      return "wrong_cost";
    case Flaw::kWrongBound:
      return "wrong_bound";
  }
  return "unknown";
}

std::vector<Finding> validate(const Problem& problem, std::span<const std::int64_t> choices,
                              const Claim& claim, std::size_t most) {
  return Judge(problem, choices, most).run(claim);
}

}  // namespace tessera::choose
