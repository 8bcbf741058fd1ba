// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "bench/everyday_moves.h"
#include "tessera/base/text.h"
#include "tessera/moves/price.h"
#include "tessera/notation/same_places.h"
#include "tessera/notation/tensor.h"
#include "tessera/notation/tensor_fit.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/measure.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// Seconds that the price of one algorithm may take.
constexpr double kMostOnNetworks = 50e-6;
constexpr double kMostOnFabrics = 1e-3;

struct Ends {
  moves::Stored a, b;
};

Result<Ends> ends_of(const bench::EverydayMove& move) {
  TESSERA_TRY(const Tensor a, parse_tensor(move.a));
  TESSERA_TRY(const Tensor b, parse_tensor(move.b));
  TESSERA_TRY(const SamePlaces places, same_places(a, b, true));
  return Ends{{places.a, move.space_a, notation::spread_of(a)},
              {places.b, move.space_b, notation::spread_of(b)}};
}

Result<BenchCase> measure_price(const moves::MoveModel& model, const bench::EverydayMove& everyday,
                                const BenchOptions& options) {
  TESSERA_TRY(const Ends ends, ends_of(everyday));
  TESSERA_TRY(const moves::Move move, model.price(ends.a, ends.b));
  BenchCase result;
  result.name = cat(model.machine().name, "/", everyday.name);
  result.dtype = "";
  result.seconds = median_seconds({{result.name, [&] { keep(model.price(ends.a, ends.b).ok()); }}},
                                  options.quick ? MeasureOptions{1, 1e-6} : MeasureOptions{5, 1e-3})
                       .front();
  const auto algorithms = static_cast<double>(std::max<std::size_t>(1, move.algorithms.size()));
  result.figures.emplace_back("algorithms", algorithms);
  // What several devices take grows with their number.
  if (options.quick || model.machine().devices() > 1) return result;
  const bool fabric = model.mesh().fabric.has_value();
  result.goal = fabric ? "<= 1 ms per algorithm" : "<= 50 us per algorithm";
  result.met = result.seconds <= algorithms * (fabric ? kMostOnFabrics : kMostOnNetworks);
  return result;
}

}  // namespace

Result<BenchReport> bench_moves(const BenchOptions& options) {
  BenchReport report;
  report.suite = "moves";
  for (const bench::MachineFamily& family : bench::machine_families()) {
    for (const std::string_view name : family.machines) {
      TESSERA_TRY(const Machine* const machine, find_machine(name));
      TESSERA_TRY(const moves::MoveModel model, moves::MoveModel::make(*machine));
      for (const bench::EverydayMove& move : bench::everyday_moves(name)) {
        if (cat(name, "/", move.name).find(options.only) == std::string::npos) continue;
        TESSERA_TRY(BenchCase result, measure_price(model, move, options));
        report.cases.push_back(std::move(result));
      }
    }
  }
  if (report.cases.empty()) {
    return Error{ErrorCode::kUsage, cat("no case name contains '", printable(options.only), "'"),
                 std::nullopt, "tessera bench moves --quick lists the names"};
  }
  return report;
}

}  // namespace tessera::tools
