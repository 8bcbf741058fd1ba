// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/moves/price.h"
#include "tessera/run/execution.h"
#include "tessera/run/predict.h"

namespace tessera::run {

/// The most places on which runs are simulated.
inline constexpr std::int64_t kMostSimulatedPlaces = 64;

/// The cycles of an execution with its moves on the simulated network.
struct RunSimulation {
  /// Moves as simulated, computing as predicted, one after the other; empty where the prediction
  /// is, and on more than kMostSimulatedPlaces places.
  std::optional<double> cycles;
  std::int64_t moves = 0;      ///< that cross between places or memories
  std::int64_t simulated = 0;  ///< of these; the others count as predicted
};

/// Carries out the messages of every move: on a fabric of wavelets those of the cheapest schedule,
/// wavelet by wavelet, round after round (reshard/schedules/); on other networks those of an
/// exchange in one round, packet by packet (fabric/packets.h). Exchanges of several rounds on these
/// networks, and those that would take too long, count as predicted.
///
/// Law: the cycles of the moves that were simulated are near those that were predicted: how near is
/// in docs/run.md. Errors: those of MoveModel::make.
Result<RunSimulation> simulate(const Execution& execution,
                               const std::vector<StepCycles>& predicted);

/// One move. `places` is the corner of a machine's mesh in which it stays.
struct MoveSimulation {
  double predicted = 0;
  double cycles = 0;     ///< `predicted` if it was not simulated
  bool crosses = false;  ///< between places or memories
  bool simulated = false;
};
/// Empty where the move has no price.
std::optional<MoveSimulation> simulate_move(const moves::MoveModel& model, const Shape& places,
                                            const moves::Stored& from, const moves::Stored& to);

}  // namespace tessera::run
