// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/moves/stored.h"
#include "tessera/run/execution.h"
#include "tessera/run/move_prices.h"

namespace tessera::run {

/// What places with equal work of a step take.
struct ClassCycles {
  std::int64_t places = 0;
  Place example;
  std::int64_t flops = 0;  ///< of each
  double cycles = 0;
};

/// What a step takes on the machine, in cycles of its clock; empty where a figure is missing.
/// Panels arrive while kernels run: `bring` has the time that kernels wait for them.
struct StepCycles {
  std::optional<double> bring;
  std::optional<double> compute;
  std::optional<double> settle;
  std::vector<ClassCycles> classes;  ///< those that compute, the slowest first; none if unknown

  /// The phases one after the other; empty if one is.
  std::optional<double> total() const;
};

/// The cycles of every step. Moves are priced one after the other by moves/price.h; computing takes
/// what the busiest place takes: its share of the op's arithmetic, at the slowest rate of the unit
/// that does it (a matrix unit for products, where there is one). Errors: those of
/// MoveModel::make; a move that cannot be priced is empty.
/// Example: matmul [32, 1024]·[1024, 512] f32 in blocks of 4x4 on wse2: 16·1024 multiply-adds on
/// each place, one per cycle: 16384 cycles.
Result<std::vector<StepCycles>> predict(const Execution& execution);
/// The same with prices that are kept for further predictions on the same machine.
std::vector<StepCycles> predict(const Execution& execution, MovePrices& prices);

/// Sets what computing of a step takes, and its classes.
void add_compute(const Execution& execution, const Step& step, StepCycles& cycles);
/// Both sides of a move as they are priced; empty for a part of a layout that no layout can say.
std::optional<std::pair<moves::Stored, moves::Stored>> sides_of(const Execution& execution,
                                                                const Move& move);
/// The number of a move among prices; empty where it has no sides.
std::optional<MovePrices::Number> number_of(const Execution& execution, const Move& move,
                                            MovePrices& prices);
/// What moves between buffers take, one after the other; empty if one cannot be priced.
std::optional<double> move_cycles(const Execution& execution, const std::vector<Move>& moves,
                                  MovePrices& prices);

/// The sum over all steps; empty if one is unknown.
std::optional<double> total_cycles(const std::vector<StepCycles>& steps);

}  // namespace tessera::run
