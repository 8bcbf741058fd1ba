// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/fabric/topology.h"
#include "tessera/moves/price.h"
#include "tessera/moves/rates.h"
#include "tessera/moves/stored.h"

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

/// Appends the step that copies `bytes` inside the parts of a memory, at most `most` in one of
/// them; nothing if there are none.
void add_relayout(Rates& rates, std::size_t memory, std::int64_t bytes, std::int64_t most,
                  std::vector<Step>& steps);

}  // namespace tessera::moves
