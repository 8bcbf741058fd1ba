// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/plan/choose/problem.h"

namespace tessera::choose {

/// Nodes whose strategies determine each other, joined to one decision.
///
/// Where an edge forbids all pairs but a matching of strategies, choosing one end chooses the
/// other. Law: the choices of `nodes` and the feasible choices of the problem correspond one to one
/// (except for those that can be excluded by pairs alone), with the same costs and usages.
struct Joined {
  /// Usages of a decision in a part of time, one per strategy.
  struct Piece {
    std::uint32_t from = 0, to = 0;  ///< moments
    std::vector<std::int64_t> usage;
  };
  struct Decision {
    std::vector<std::int64_t> costs;
    std::vector<Piece> pieces;
    std::size_t first_member = 0;  ///< the smallest node of the problem in it
  };
  /// A node of the problem: its decision, and the strategy for each strategy of the decision.
  struct Member {
    std::size_t decision = 0;
    std::vector<std::uint32_t> strategies;
  };
  struct Edge {
    std::size_t a = 0, b = 0;  ///< decisions, a < b
    std::vector<std::int64_t> table;
  };

  std::vector<Decision> decisions;
  std::vector<Edge> edges;         ///< at most one for two decisions
  std::vector<Member> members;     ///< one per node
  std::vector<std::int64_t> ends;  ///< moment m is the time [ends[m], ends[m + 1])
  std::vector<std::int64_t> room;  ///< the limit at every moment; empty without a limit
  /// The node that has no strategy left, when pairs alone exclude every choice.
  std::optional<std::size_t> impossible = {};
};

Joined join(const Problem& problem);

}  // namespace tessera::choose
