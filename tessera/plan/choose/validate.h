// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/plan/choose/problem.h"

namespace tessera::choose {

/// The ways in which an answer can be wrong.
enum class Flaw : std::uint8_t {
  kWrongCount,      ///< not one strategy per node
  kNoSuchStrategy,  ///< a number that is not a strategy of the node
  kForbiddenNode,   ///< a strategy whose own cost is forbidden
  kForbiddenEdge,   ///< a pair of strategies whose cost is forbidden
  kTooMuchMemory,   ///< a moment at which the usages exceed the limit
  kWrongCost,       ///< the stated cost is not that of the choice
  kWrongBound,      ///< the stated lower bound is above the cost of the choice
};
std::string_view flaw_name(Flaw flaw);  ///< "wrong_count", "no_such_strategy", ..

struct Finding {
  Flaw flaw = Flaw::kWrongCount;
  std::size_t index = 0;  ///< the node or edge; 0 for a moment and for the stated numbers
  std::string message;    ///< with the numbers
};

/// What an answer states about its choice.
struct Claim {
  std::optional<std::int64_t> cost = {};
  std::optional<std::int64_t> lower_bound = {};
};

/// Everything that is wrong with a choice, at most `most` findings. Follows the definition in
/// problem.h literally: it adds up costs node by node and edge by edge, and usages moment by moment
/// between the ends of lives. Shares no code with the solver.
std::vector<Finding> validate(const Problem& problem, std::span<const std::int64_t> choices,
                              const Claim& claim = {}, std::size_t most = 64);

}  // namespace tessera::choose
