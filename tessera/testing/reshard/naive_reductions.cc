// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/reshard/schedules/schedule.h"
#include "tessera/testing/reshard/naive_schedules.h"

namespace tessera::test {
namespace {

/// When the last word of a chain arrives, hop by hop: a word arrives 2·T_R + steps cycles after it
/// has left, and the sum leaves one cycle later.
std::int64_t chain(std::int64_t places, std::int64_t steps, std::int64_t words,
                   std::int64_t ramps) {
  std::int64_t last_leaves = words - 1;
  std::int64_t last_arrives = -1;
  for (std::int64_t hop = 1; hop < places; ++hop) {
    last_arrives = last_leaves + ramps + steps;
    last_leaves = last_arrives + 1;
  }
  return last_arrives + 1;
}

/// The shares of one line.
struct Shares {
  std::int64_t places = 1;
  std::int64_t steps = 1;
};

std::int64_t two_phase(const Shares& line, std::int64_t words, std::int64_t ramps) {
  std::int64_t best = 0;
  std::int64_t least = INT64_MAX;
  const auto taken = [&](std::int64_t segment, std::int64_t count) {
    std::int64_t heads = 0;
    for (std::int64_t p = 0; p < line.places; p += segment) ++heads;
    return chain(segment, line.steps, count, ramps) +
           chain(heads, segment * line.steps, count, ramps);
  };
  for (std::int64_t segment = 1; segment < line.places || segment == 1; ++segment) {
    if (taken(segment, 1) >= least) continue;
    least = taken(segment, 1);
    best = segment;
  }
  return taken(best, words);
}

std::int64_t star(const Shares& line, std::int64_t words, std::int64_t ramps) {
  std::int64_t busy = 0;
  for (std::int64_t p = 1; p < line.places; ++p) busy = std::max(busy, p * line.steps) + words;
  return busy + ramps;
}

std::int64_t tree(const Shares& line, std::int64_t words, std::int64_t ramps) {
  std::int64_t cycles = 0;
  for (std::int64_t step = 1; step < line.places; step *= 2) {
    cycles += words + step * line.steps + ramps;
  }
  return cycles;
}

/// Coordinates of all shares of one element, of the copies nearest to each other.
std::set<std::int64_t> coordinates(const NaiveHome& home, std::int64_t cols, bool along_rows) {
  std::set<std::int64_t> found;
  for (const std::vector<NaivePlace>& share : home.shares) {
    const std::int64_t place = share.front().physical;
    found.insert(along_rows ? place % cols : place / cols);
  }
  return found;
}

}  // namespace

std::map<std::string, std::int64_t> naive_reductions(const NaiveReshard& moves,
                                                     const Placement& placement,
                                                     const reshard::PhysicalMesh& physical) {
  const std::int64_t ramps = 2 * physical.fabric->ramp_cycles;
  std::map<std::int64_t, std::int64_t> elements;  // of each place
  for (const NaiveHome& home : moves.from) {
    for (const auto& share : home.shares) {
      std::set<std::int64_t> places;
      for (const NaivePlace& place : share) places.insert(place.physical);
      for (const std::int64_t place : places) ++elements[place];
    }
  }
  std::int64_t most = 0;
  for (const auto& [place, count] : elements) most = std::max(most, count);
  const std::int64_t words = naive_wavelets(placement, physical, most);
  std::map<std::string, std::int64_t> cycles;
  for (const bool along_rows : {true, false}) {
    const std::set<std::int64_t> at =
        coordinates(moves.from.front(), physical.fabric->cols, along_rows);
    if (at.size() == 1) continue;
    const Shares line{static_cast<std::int64_t>(at.size()), *std::next(at.begin()) - *at.begin()};
    cycles["chain"] += chain(line.places, line.steps, words, ramps);
    cycles["star"] += star(line, words, ramps);
    cycles["tree"] += tree(line, words, ramps);
    cycles["two_phase"] += two_phase(line, words, ramps);
  }
  return cycles;
}

namespace {

/// The cheapest of some schedules.
std::int64_t least_of(const std::map<std::string, std::int64_t>& cycles) {
  std::int64_t least = 0;
  bool first = true;
  for (const auto& [name, taken] : cycles) {
    least = first ? taken : std::min(least, taken);
    first = false;
  }
  return least;
}

/// Where the sums of A are: each on the places of one share of A.
std::string result_mistake(const NaiveReshard& sums, const NaiveReshard& moves) {
  for (std::size_t x = 0; x < moves.from.size(); ++x) {
    const auto& places = sums.from[x].shares;
    if (places.size() != 1) return cat("element ", x, " still has shares");
    const auto& shares = moves.from[x].shares;
    const auto same = [&](const std::vector<NaivePlace>& share) {
      std::set<std::int64_t> a;
      std::set<std::int64_t> b;
      for (const NaivePlace& place : share) a.insert(place.physical);
      for (const NaivePlace& place : places.front()) b.insert(place.physical);
      return a == b;
    };
    if (std::none_of(shares.begin(), shares.end(), same)) {
      return cat("the sum of element ", x, " is on places without a share");
    }
  }
  return "";
}

std::string reductions_mistake(const ReshardPair& pair, const NaiveReshard& moves,
                               const reshard::Reshard& reshard,
                               const std::vector<reshard::ScheduleCost>& costs) {
  const auto plan = reshard::reduction_plan(reshard);
  if (!plan.ok() || !std::holds_alternative<reshard::ReductionPlan>(*plan)) {
    return "there is no plan for the reductions";
  }
  const Placement& result = std::get<reshard::ReductionPlan>(*plan).result;
  const NaiveReshard sums = naive_reshard(result, pair.to, pair.physical);
  if (std::string mistake = result_mistake(sums, moves); !mistake.empty()) return mistake;
  const auto then = naive_schedules(sums, pair.from, pair.physical);
  const auto reductions = naive_reductions(moves, pair.from, pair.physical);
  for (const reshard::ScheduleCost& cost : costs) {
    if (!cost.reduction) continue;
    const std::string name(reshard::reduction_schedule_name(*cost.reduction));
    const std::int64_t expected = reductions.at(name) + least_of(then);
    if (cost.cycles != expected) {
      return cat(cost.name(), " takes ", cost.cycles, " cycles, expected ", expected);
    }
    if (cost.move.empty() != then.empty()) return cat(cost.name(), " moves the wrong things");
  }
  return "";
}

}  // namespace

std::string schedules_mistake(const ReshardPair& pair, const NaiveReshard& moves,
                              std::int64_t& reductions) {
  const auto reshard = reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return reshard.error().message;
  const auto schedules = reshard::schedules_of(*reshard);
  if (!pair.physical.fabric) {
    return schedules.ok() || schedules.error().code != ErrorCode::kNotSupported
               ? "schedules without known routes"
               : "";
  }
  if (!schedules.ok()) return schedules.error().message;
  auto expected = naive_schedules(moves, pair.from, pair.physical);
  bool reduces = false;
  std::int64_t before = 0;
  for (const reshard::ScheduleCost& cost : schedules->costs) {
    if (cost.cycles < before) return "schedules are not sorted";
    before = cost.cycles;
    reduces = reduces || cost.reduction.has_value();
    std::int64_t sum = 0;
    for (const reshard::SchedulePhase& phase : cost.phases) sum += phase.cycles;
    if (sum != cost.cycles) return cat("the phases of ", cost.name(), " take ", sum, " cycles");
    if (cost.colours() > pair.physical.fabric->colours) return "too many colours";
    if (cost.reduction) continue;
    const auto found = expected.find(cost.move);
    if (found == expected.end()) return cat(cost.move, " should not apply");
    if (found->second != cost.cycles) {
      return cat(cost.move, " takes ", cost.cycles, " cycles, expected ", found->second);
    }
    expected.erase(found);
  }
  if (!expected.empty()) return cat(expected.begin()->first, " is missing");
  reductions += reduces ? 1 : 0;
  return reduces ? reductions_mistake(pair, moves, *reshard, schedules->costs) : "";
}

}  // namespace tessera::test
