// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/way.h"

namespace tessera::moves {
namespace {

std::optional<double> total(const std::vector<Step>& steps, std::optional<double> Step::* time) {
  double sum = 0;
  for (const Step& step : steps) {
    if (!(step.*time)) return std::nullopt;
    sum += *(step.*time);
  }
  return sum;
}

}  // namespace

std::optional<double> total_seconds(const std::vector<Step>& steps) {
  return total(steps, &Step::seconds);
}
std::optional<double> total_cycles(const std::vector<Step>& steps) {
  return total(steps, &Step::cycles);
}

bool is_cheaper(const Way& x, const Way& y) {
  const std::optional<double> seconds_x = total_seconds(x.steps);
  const std::optional<double> seconds_y = total_seconds(y.steps);
  if (seconds_x || seconds_y) return seconds_x && (!seconds_y || *seconds_x < *seconds_y);
  const std::optional<double> cycles_x = total_cycles(x.steps);
  const std::optional<double> cycles_y = total_cycles(y.steps);
  return cycles_x && (!cycles_y || *cycles_x < *cycles_y);
}

void add_relayout(Rates& rates, std::size_t memory, std::int64_t bytes, std::int64_t most,
                  std::vector<Step>& steps) {
  if (bytes == 0) return;
  const Timed time = rates.copy(memory, most);
  steps.push_back(
      {Step::Kind::kRelayout, time.seconds, bytes, "", time.term, time.busiest, time.cycles});
}

}  // namespace tessera::moves
