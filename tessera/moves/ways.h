// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/moves/price.h"
#include "tessera/moves/rates.h"

namespace tessera::moves {

/// Both ends of an exchange. Their element types are equal.
struct Ends {
  const Stored& a;
  const Stored& b;
  std::size_t memory_a = 0;  ///< in Machine::memory
  std::size_t memory_b = 0;
};

/// One way to carry out an exchange, with the relayouts that it needs.
struct Way {
  std::string name;
  std::vector<Step> steps;
  std::optional<fabric::NetworkCost> network = std::nullopt;
  std::vector<std::string> used = {};     ///< paths of figures, each once
  std::vector<std::string> missing = {};  ///< figures that it would use and the machine lacks
};

/// The sum of the steps; empty if one is not known.
std::optional<double> total_seconds(const std::vector<Step>& steps);
std::optional<double> total_cycles(const std::vector<Step>& steps);
/// By seconds; where they are not known by cycles, which count as longer. What is not known at all
/// is longest.
bool is_cheaper(const Way& x, const Way& y);

/// All ways, cheapest first; at least one. If nothing changes, a way without steps.
Result<std::vector<Way>> exchange_ways(const MoveModel& model, const Ends& ends, Rates& rates);

}  // namespace tessera::moves
