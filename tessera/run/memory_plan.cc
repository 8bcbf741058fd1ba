// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/memory_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/device/buffer_places.h"
#include "tessera/layout/regions.h"
#include "tessera/memory/advice.h"
#include "tessera/memory/lock_step/lock_pairs.h"
#include "tessera/memory/mesh/place_loads.h"
#include "tessera/memory/solve.h"

namespace tessera::run {
namespace {

/// What one part of a memory holds of a buffer.
Result<std::int64_t> bytes_in(const Buffer& buffer, const target::MemorySpace& space,
                              const Machine& machine) {
  if (space.owner != target::MemorySpace::Owner::kPlace) {
    return device::bytes_of_parts({Placement(buffer.layout), space.name}, machine);
  }
  const std::int64_t bytes = buffer.layout.shard_bytes();
  return (Checked(ceil_div(bytes, space.align_bytes)) * space.align_bytes).value("a buffer");
}

std::string moment_text(const Execution& execution, std::int64_t moment) {
  const auto step = static_cast<std::size_t>(moment / 4);
  if (step >= execution.steps.size()) return "the beginning";
  return graph::node_text(execution.graph, execution.graph.nodes[execution.steps[step].node]);
}

/// The buffers of one memory.
class SpacePlan {
 public:
  SpacePlan(Execution& execution, const target::MemorySpace& space)
      : execution_(execution), space_(space) {
    options_.capacity = space.data_bytes();
    options_.seconds = 2;
    options_.nodes = 200'000;  // the same plan on every machine
  }

  Status run() {
    TESSERA_CHECK_OK(collect());
    if (numbers_.empty()) return ok_status();
    return all_meet() ? plan_together() : plan_by_places();
  }

 private:
  const Box& places(std::size_t n) const { return execution_.buffers[numbers_[n]].places; }
  bool fits(std::int64_t peak) const { return !options_.capacity || peak <= *options_.capacity; }

  Status collect() {
    for (std::size_t b = 0; b < execution_.buffers.size(); ++b) {
      Buffer& buffer = execution_.buffers[b];
      if (buffer.space != space_.name) continue;
      TESSERA_TRY(buffer.bytes, bytes_in(buffer, space_, execution_.machine));
      memory::Buffer needed;
      needed.lower = buffer.from;
      needed.upper = std::max(buffer.to, buffer.from + 1);
      needed.size = buffer.bytes;
      needed.alignment = space_.align_bytes;
      problem_.buffers.push_back(std::move(needed));
      numbers_.push_back(b);
      names_.push_back(buffer.name);
    }
    return ok_status();
  }

  /// Whether some place has all buffers: what it needs is enough for all others.
  bool all_meet() const {
    if (space_.owner != target::MemorySpace::Owner::kPlace) return true;
    std::optional<Box> common = places(0);
    for (std::size_t n = 1; n < numbers_.size() && common; ++n) common = meet(*common, places(n));
    return common.has_value();
  }

  Status plan_together() {
    TESSERA_TRY(const memory::Solution solution, memory::solve(problem_, options_));
    const std::vector<std::int64_t> offsets(solution.offsets.begin(), solution.offsets.end());
    if (solution.outcome != memory::Outcome::kFits) {
      TESSERA_CHECK_OK(missing(problem_, offsets, names_, cat("each part of ", space_.name)));
    }
    keep(offsets, solution.peak, solution.lower_bound);
    return ok_status();
  }

  Status plan_by_places() {
    const memory::Meets on_one_place = [&](std::size_t a, std::size_t b) {
      return meet(places(a), places(b)).has_value();
    };
    TESSERA_TRY(const memory::LockPairs plan,
                memory::lock_pairs(problem_.buffers, on_one_place, options_.capacity));
    const memory::FullestPlace fullest = fullest_place();
    if (!fits(plan.peak)) TESSERA_CHECK_OK(missing_on_a_place(plan, fullest));
    keep(plan.offsets, plan.peak, fullest.bytes);
    return ok_status();
  }

  /// At the moment and on the place with the most live bytes. It is one where a buffer begins.
  memory::FullestPlace fullest_place() const {
    memory::FullestPlace most;
    std::vector<memory::PlaceLoad> loads;
    for (std::size_t n = 0; n < numbers_.size(); ++n) {
      const std::int64_t moment = problem_.buffers[n].lower;
      loads.clear();
      for (std::size_t other = 0; other < numbers_.size(); ++other) {
        const memory::Buffer& live = problem_.buffers[other];
        if (live.lower > moment || live.upper <= moment) continue;
        loads.push_back({places(other), live.size});
      }
      memory::FullestPlace found = memory::fullest_place_in(places(n), loads);
      if (found.bytes > most.bytes) most = std::move(found);
    }
    return most;
  }

  /// The error for the fullest place if that cannot fit, else for one where the plan ends too high.
  Status missing_on_a_place(const memory::LockPairs& plan, const memory::FullestPlace& fullest) {
    Place place = fullest.place;
    for (std::size_t n = 0; n < numbers_.size() && fits(fullest.bytes); ++n) {
      const bool is_highest = plan.offsets[n] + problem_.buffers[n].size == plan.peak;
      if (is_highest && problem_.buffers[n].size > 0) place = places(n).from;
    }
    memory::Problem here;
    std::vector<std::int64_t> offsets;
    std::vector<std::string> names;
    for (std::size_t n = 0; n < numbers_.size(); ++n) {
      if (!places(n).contains(place)) continue;
      here.buffers.push_back(problem_.buffers[n]);
      offsets.push_back(plan.offsets[n]);
      names.push_back(names_[n]);
    }
    return missing(here, offsets, names, cat("place ", bracketed(place)));
  }

  Status missing(const memory::Problem& problem, const std::vector<std::int64_t>& offsets,
                 const std::vector<std::string>& names, const std::string& where) const {
    TESSERA_TRY(const std::optional<memory::Shortfall> found,
                memory::shortfall(problem, *options_.capacity, offsets));
    if (!found) return ok_status();
    Error error =
        memory::does_not_fit(*found, names, moment_text(execution_, found->moment), where);
    error.help = "cut the largest of these tensors over more places, or keep it in another memory";
    return error;
  }

  void keep(const std::vector<std::int64_t>& offsets, std::int64_t peak, std::int64_t bound) {
    for (std::size_t n = 0; n < numbers_.size(); ++n) {
      execution_.buffers[numbers_[n]].offset = offsets[n];
    }
    execution_.spaces.push_back({space_.name, peak, bound, options_.capacity});
  }

  Execution& execution_;
  const target::MemorySpace& space_;
  memory::SolveOptions options_;
  memory::Problem problem_;
  std::vector<std::size_t> numbers_;  ///< of the buffers of the problem
  std::vector<std::string> names_;
};

}  // namespace

Result<std::int64_t> bytes_of(const Buffer& buffer, const Machine& machine) {
  const target::MemorySpace* const space = machine.find_space(buffer.space);
  if (space == nullptr) {
    return Error{ErrorCode::kUnknownName,
                 cat("value '", buffer.name, "' is in memory '", buffer.space, "', which ",
                     machine.name, " does not have")};
  }
  return bytes_in(buffer, *space, machine);
}

bool is_in_places(const Buffer& buffer, const Machine& machine) {
  const target::MemorySpace* const space = machine.find_space(buffer.space);
  return space != nullptr && space->owner == target::MemorySpace::Owner::kPlace;
}

Status plan_memory(Execution& execution) {
  for (const Buffer& buffer : execution.buffers) {
    if (execution.machine.find_space(buffer.space) != nullptr) continue;
    return Error{ErrorCode::kUnknownName,
                 cat("value '", buffer.name, "' is in memory '", buffer.space, "', which ",
                     execution.machine.name, " does not have")};
  }
  for (const target::MemorySpace& space : execution.machine.memory) {
    TESSERA_CHECK_OK(SpacePlan(execution, space).run());
  }
  return ok_status();
}

}  // namespace tessera::run
