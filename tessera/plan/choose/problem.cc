// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/problem.h"

#include <algorithm>

#include "tessera/base/text.h"

namespace tessera::choose {
namespace {

constexpr std::int64_t kMostUsage = std::int64_t{1} << 62;

/// Adds up the largest allowed costs and the largest usages.
class Totals {
 public:
  void add_cost(std::int64_t cost) { costs_ += cost; }
  void add_usage(std::int64_t usage) { usages_ += usage; }

  Status check() const {
    if (costs_ >= kForbidden) return too_large("allowed costs", "10^18", "costs");
    if (usages_ >= kMostUsage) return too_large("usages", "2^62", "usages");
    return ok_status();
  }

 private:
  static Error too_large(std::string_view what, std::string_view most, std::string_view unit) {
    return Error{ErrorCode::kOverflow,
                 cat("the largest ", what, " of all nodes and edges add up to ", most, " or more"),
                 std::nullopt, cat("give the ", unit, " in a larger unit")};
  }

  __int128 costs_ = 0;
  __int128 usages_ = 0;
};

class Checker {
 public:
  Checker(const Problem& problem, Place& place) : problem_(problem), place_(place) {}

  Status run() {
    for (std::size_t i = 0; i < problem_.nodes.size(); ++i) TESSERA_CHECK_OK(node(i));
    for (std::size_t i = 0; i < problem_.edges.size(); ++i) TESSERA_CHECK_OK(edge(i));
    place_ = {Part::kLimit, 0, {}};
    if (problem_.usage_limit.value_or(0) < 0) {
      return bad(cat("the limit ", *problem_.usage_limit, " is negative"),
                 "the limit is a number of bytes, 0 or more");
    }
    return totals_.check();
  }

 private:
  static Error bad(std::string message, std::string help) {
    return Error{ErrorCode::kBadProblem, std::move(message), std::nullopt, std::move(help)};
  }

  /// Negative entries are errors. The largest allowed entry of a list of costs counts.
  Status numbers(Part part, std::size_t index, std::string_view owner,
                 const std::vector<std::int64_t>& list) {
    std::int64_t largest = 0;
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (list[k] < 0) {
        place_ = {part, index, k};
        return bad(cat(part == Part::kNodeUsages ? "usage " : "cost ", k, " of ", owner, " ", index,
                       " is ", list[k]),
                   "costs and usages are 0 or more");
      }
      if (part == Part::kNodeUsages || list[k] < kForbidden) largest = std::max(largest, list[k]);
    }
    if (part == Part::kNodeUsages) {
      totals_.add_usage(largest);
    } else {
      totals_.add_cost(largest);
    }
    return ok_status();
  }

  Status node(std::size_t i) {
    const Node& node = problem_.nodes[i];
    place_ = {Part::kNodeCosts, i, {}};
    if (node.costs.empty()) {
      return bad(cat("node ", i, " has no strategies"), "give at least one cost and one usage");
    }
    if (node.usages.size() != node.costs.size()) {
      place_ = {Part::kNodeUsages, i, {}};
      return bad(cat("node ", i, " has ", node.usages.size(), " usages for ", node.costs.size(),
                     " strategies"),
                 cat("expected ", node.costs.size(), " usages, one for each of its costs"));
    }
    TESSERA_CHECK_OK(numbers(Part::kNodeCosts, i, "node", node.costs));
    return numbers(Part::kNodeUsages, i, "node", node.usages);
  }

  Status edge(std::size_t i) {
    const Edge& edge = problem_.edges[i];
    place_ = {Part::kEdge, i, {}};
    for (const std::size_t end : {edge.a, edge.b}) {
      if (end >= problem_.nodes.size()) {
        return bad(cat("edge ", i, " names node ", end, ", and there are ", problem_.nodes.size(),
                       " nodes"),
                   "nodes are numbered from 0");
      }
    }
    if (edge.a == edge.b) {
      return bad(cat("edge ", i, " joins node ", edge.a, " with itself"),
                 "add its diagonal to the costs of the node");
    }
    const std::size_t rows = problem_.nodes[edge.a].costs.size();
    const std::size_t columns = problem_.nodes[edge.b].costs.size();
    place_ = {Part::kEdgeCosts, i, {}};
    if (edge.costs.size() != rows * columns) {
      return bad(cat("edge ", i, " has ", edge.costs.size(), " costs for ", rows, " x ", columns,
                     " pairs of strategies"),
                 cat("expected ", rows * columns, " costs, row by row: ", rows,
                     " strategies of node ", edge.a, ", ", columns, " of node ", edge.b));
    }
    return numbers(Part::kEdgeCosts, i, "edge", edge.costs);
  }

  const Problem& problem_;
  Place& place_;
  Totals totals_;
};

}  // namespace

Status check(const Problem& problem, Place* place) {
  Place unused;
  return Checker(problem, place == nullptr ? unused : *place).run();
}

}  // namespace tessera::choose
