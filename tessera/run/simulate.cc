// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/simulate.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/base/work.h"
#include "tessera/fabric/packets.h"
#include "tessera/fabric/simulate.h"
#include "tessera/moves/traffic.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/schedules/schedule.h"

namespace tessera::run {
namespace {

constexpr std::int64_t kMostHops = std::int64_t{1} << 24;  // of a round: about a tenth of a second
constexpr std::int64_t kMostMessages = std::int64_t{1} << 18;

/// The corner of a fabric: routes between its places stay in it.
std::optional<reshard::PhysicalMesh> corner_of(const reshard::PhysicalMesh& whole,
                                               const Shape& places) {
  if (!whole.dead.empty() || places.rank() > 2) return std::nullopt;
  reshard::PhysicalMesh corner = whole;
  corner.mesh = places;
  corner.fabric->rows = places.rank() == 2 ? static_cast<std::int32_t>(places[0]) : 1;
  corner.fabric->cols =
      places.rank() == 0 ? 1 : static_cast<std::int32_t>(places[places.rank() - 1]);
  return corner;
}

/// The rounds of a schedule, one after the other.
std::optional<double> schedule_cycles(const reshard::PhysicalMesh& mesh, const moves::Stored& from,
                                      const moves::Stored& to, std::string_view algorithm) {
  const auto reshard = reshard::Reshard::make(from.placement, to.placement, mesh);
  if (!reshard) return std::nullopt;
  const auto schedules = reshard::schedules_of(*reshard);
  if (!schedules) return std::nullopt;
  const auto chosen = std::ranges::find_if(
      schedules->costs,
      [&](const reshard::ScheduleCost& each) { return each.name() == algorithm; });
  if (chosen == schedules->costs.end()) return std::nullopt;
  const auto program = reshard::program_of(*reshard, *chosen, kMostMessages);
  if (!program) return std::nullopt;
  fabric::SimulateOptions options;
  options.mode = fabric::FabricMode::kStatic;
  options.max_hops = kMostHops;
  double cycles = 0;
  for (const fabric::Traffic& round : reshard::rounds_of(*program)) {
    const auto simulated = fabric::simulate(*mesh.fabric, round, options);
    if (!simulated) return std::nullopt;
    cycles += static_cast<double>(simulated->cycles);
  }
  return cycles;
}

/// The messages of an exchange in one round.
Result<moves::Traffic> messages_of(const moves::MoveModel& model, const moves::Stored& from,
                                   const moves::Stored& to) {
  const Machine& machine = model.machine();
  TESSERA_TRY(const std::size_t memory_a, moves::memory_of(from, machine));
  TESSERA_TRY(const std::size_t memory_b, moves::memory_of(to, machine));
  if (moves::is_on_places(from, machine, memory_a) && moves::is_on_places(to, machine, memory_b)) {
    TESSERA_TRY(const reshard::Reshard reshard,
                reshard::Reshard::make(from.placement, to.placement, model.mesh()));
    return moves::mesh_traffic(reshard);
  }
  return moves::endpoint_traffic(machine, from, to, model.routes());
}

/// What an exchange in one round takes, packet by packet, and what else its price has (adding up
/// shares, copying in a memory).
std::optional<double> packet_cycles(const moves::MoveModel& model, const moves::Stored& from,
                                    const moves::Stored& to, const moves::Step& step) {
  const bool is_packed = step.algorithm.starts_with("packed ");
  if (model.routes() == nullptr || step.algorithm.starts_with("through ")) return std::nullopt;
  Result<moves::Traffic> traffic = messages_of(model, from, to);
  if (!traffic) return std::nullopt;
  for (fabric::Message& message : traffic->messages) {
    if (is_packed) message.transactions = 1;
  }
  const auto best = fabric::best_travel(*model.routes(), model.machine(), traffic->messages);
  if (!best) return std::nullopt;
  fabric::PacketOptions options;
  options.max_packet_hops = kMostHops;
  const auto simulated = fabric::simulate_packets(*model.routes(), model.machine(),
                                                  traffic->messages, best->travel, options);
  if (!simulated) return std::nullopt;
  return simulated->cycles + std::max(0.0, *step.cycles - best->cost.cycles);
}

}  // namespace

std::optional<MoveSimulation> simulate_move(const moves::MoveModel& model, const Shape& places,
                                            const moves::Stored& from, const moves::Stored& to) {
  const Work work(kQuestionSteps);
  const Result<moves::Move> priced = model.price(from, to);
  if (!priced) return std::nullopt;
  MoveSimulation made;
  for (const moves::Step& step : priced->steps) {
    if (!step.cycles) return std::nullopt;
    made.predicted += *step.cycles;
    std::optional<double> cycles;
    if (step.kind == moves::Step::Kind::kExchange) {
      made.crosses = true;
      if (!model.mesh().fabric) {
        if (priced->network) cycles = packet_cycles(model, from, to, step);
      } else if (const auto corner = corner_of(model.mesh(), places)) {
        cycles = schedule_cycles(*corner, from, to, step.algorithm);
      }
      made.simulated = cycles.has_value();
    }
    made.cycles += cycles.value_or(*step.cycles);
  }
  return made;
}

namespace {

/// Adds up the moves of an execution.
class Simulator {
 public:
  Simulator(const Execution& execution, const moves::MoveModel& model)
      : execution_(execution), model_(model) {}

  std::optional<double> cycles_of(const std::vector<Move>& moves) {
    double sum = 0;
    for (const Move& move : moves) {
      const auto sides = sides_of(execution_, move);
      if (!sides) return std::nullopt;
      const auto made = simulate_move(model_, execution_.mesh, sides->first, sides->second);
      if (!made) return std::nullopt;
      sum += made->cycles;
      result.moves += made->crosses ? 1 : 0;
      result.simulated += made->simulated ? 1 : 0;
    }
    return sum;
  }

  RunSimulation result = {};

 private:
  const Execution& execution_;
  const moves::MoveModel& model_;
};

}  // namespace

Result<RunSimulation> simulate(const Execution& execution,
                               const std::vector<StepCycles>& predicted) {
  if (execution.mesh.elements() > kMostSimulatedPlaces) return RunSimulation{};
  TESSERA_TRY(const moves::MoveModel model, moves::MoveModel::make(execution.machine));
  Simulator simulator(execution, model);
  double sum = 0;
  bool is_known = true;
  for (std::size_t k = 0; k < execution.steps.size() && is_known; ++k) {
    const Step& step = execution.steps[k];
    is_known = predicted[k].total().has_value();
    if (!is_known) break;
    std::optional<double> bring = simulator.cycles_of(step.bring);
    // Panels overlap with computing, so only a prediction says how long kernels wait for them.
    if (step.panels) bring = predicted[k].bring;
    std::vector<Move> outward = step.settle;
    outward.insert(outward.end(), step.deliver.begin(), step.deliver.end());
    const std::optional<double> settle = simulator.cycles_of(outward);
    is_known = bring && settle;
    if (is_known) sum += *bring + *predicted[k].compute + *settle;
  }
  if (is_known) simulator.result.cycles = sum;
  return simulator.result;
}

}  // namespace tessera::run
