// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/plan/choose/solver/join.h"

namespace tessera::choose {

/// A range of time in which even the least usages exceed the limit.
struct Shortage {
  Interval when;
  std::int64_t needed = 0;  ///< bytes, at least
  std::int64_t limit = 0;
};

/// Joined decisions with everything removed that an optimal choice can do without, exactly:
///
///   strategies   that no other choice allows: forbidden pairs, or memory that nobody can spare;
///                and dominated ones, for which another costs no more whatever the others do, and
///                uses no more at any moment that matters
///   edges        whose costs are a sum of one term per end; those become costs of the ends
///   moments      at which even the largest usages are within the limit, or which another moment
///                implies
///   nodes        with a single strategy; and without memory and with at most two edges: the best
///                strategy follows from the neighbours (folding)
///
/// Law: the least cost is unchanged, and from an optimal choice of what is left `folds` and
/// `origin` restore one of the whole.
struct Simplified {
  struct Node {
    std::vector<std::int64_t> costs;
    std::vector<std::uint32_t> origin;  ///< the decision's strategy for each strategy left
    std::vector<Joined::Piece> pieces;  ///< the least usage of each is 0
    std::vector<std::size_t> edges;
    bool is_gone = false;  ///< folded; its costs and origin stay as they were then
  };
  struct Edge {
    std::size_t a = 0, b = 0;
    std::vector<std::int64_t> table;
    bool is_gone = false;
  };
  /// A node whose strategy is the best one for its neighbours', by the tables of its edges as they
  /// were when it was folded. Later folds are restored first.
  struct Fold {
    struct Side {
      std::size_t edge = 0;
      std::vector<std::uint32_t> origin;  ///< of the neighbour, at that time
    };
    std::size_t node = 0;
    std::vector<Side> sides;
  };

  std::int64_t constant = 0;
  std::vector<Node> nodes;  ///< by decision
  std::vector<Edge> edges;
  std::vector<Fold> folds;
  std::vector<std::int64_t> room;
  std::vector<std::uint32_t> moments;          ///< the joined moment of each moment left
  std::optional<Shortage> shortage = {};       ///< proven: memory never suffices
  std::optional<std::size_t> impossible = {};  ///< a decision without strategies
};

Simplified simplify(Joined joined);

}  // namespace tessera::choose
