// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"

/// plan/: which layouts and algorithms a model uses. Its combinatorial core is plan/choose/.
///
/// plan/choose/: one strategy for every node of a graph, so that all nodes and edges together cost
/// as little as possible and memory suffices at every moment. In: a problem (this header). Out: a
/// choice with a proven lower bound of the cost (solve.h). read_problem.h reads problems from JSON
/// texts, and validate.h judges choices without sharing code with the solver. No files are used
/// here.
namespace tessera::choose {

/// A cost that means "not allowed"; so does any larger cost. Costs below it are allowed and exact.
inline constexpr std::int64_t kForbidden = 1'000'000'000'000'000'000;

/// When a node needs its memory: at every moment t with from <= t < to. Moments are any integers;
/// an interval with from >= to is empty, and its node never needs memory.
struct Interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// A decision: one of its strategies must be chosen.
struct Node {
  Interval life;
  std::vector<std::int64_t> costs;   ///< one per strategy, at least one; 0 or more
  std::vector<std::int64_t> usages;  ///< bytes while it is alive, one per strategy; 0 or more
};

/// What two decisions cost together, such as moving data from one layout to another. Several edges
/// may join the same two nodes, in any order; their costs add up. The two nodes must differ.
struct Edge {
  std::size_t a = 0;
  std::size_t b = 0;
  /// Strategy i of `a` with strategy j of `b` costs costs[i * (strategies of b) + j]; 0 or more.
  std::vector<std::int64_t> costs;
};

/// Law: a choice has one strategy per node. Its cost is the sum of the costs of the chosen
/// strategies and of all edges between them. It is feasible if no cost in that sum is forbidden and
/// if at every moment the usages of the nodes that are alive add up to at most the limit.
///
/// Example: two nodes that are alive together, limit 10,
///
///     node 0: costs 5 1, usages 4 8      node 1: costs 0 2, usages 5 1      edge: 0 0
///                                                                                 3 0
///
/// choice   cost             usage
/// 0, 0     5 + 0 + 0 = 5    9
/// 0, 1     5 + 2 + 0 = 7    5
/// 1, 0     1 + 0 + 3 = 4    13, not feasible
/// 1, 1     1 + 2 + 0 = 3    9, the best
struct Problem {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::optional<std::int64_t> usage_limit = {};  ///< bytes at every moment; without it, any number
};

/// The part of a problem that an error is about, so that a reader of texts can point at it.
enum class Part : std::uint8_t { kNode, kNodeCosts, kNodeUsages, kEdge, kEdgeCosts, kLimit };
struct Place {
  Part part = Part::kNode;
  std::size_t index = 0;                     ///< of the node or edge
  std::optional<std::size_t> strategy = {};  ///< the entry of its list, if it is about one
};

/// Checks everything that the structs above promise. kBadProblem for a node without strategies,
/// lists of different lengths, negative numbers, and edges of missing nodes or of a node with
/// itself; kOverflow when the largest allowed costs of all nodes and edges add up to 10^18 or more,
/// or the largest usages to 2^62, so that no sum in a solver can overflow or look forbidden.
/// `place` receives what the error is about.
Status check(const Problem& problem, Place* place = nullptr);

}  // namespace tessera::choose
