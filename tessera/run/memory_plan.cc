// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/memory_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/device/buffer_places.h"
#include "tessera/memory/advice.h"
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

Status plan_space(Execution& execution, const target::MemorySpace& space) {
  memory::Problem problem;
  std::vector<std::size_t> numbers;
  std::vector<std::string> names;
  for (std::size_t b = 0; b < execution.buffers.size(); ++b) {
    Buffer& buffer = execution.buffers[b];
    if (buffer.space != space.name) continue;
    TESSERA_TRY(buffer.bytes, bytes_in(buffer, space, execution.machine));
    memory::Buffer needed;
    needed.lower = buffer.from;
    needed.upper = std::max(buffer.to, buffer.from + 1);
    needed.size = buffer.bytes;
    needed.alignment = space.align_bytes;
    problem.buffers.push_back(std::move(needed));
    numbers.push_back(b);
    names.push_back(buffer.name);
  }
  if (numbers.empty()) return ok_status();
  memory::SolveOptions options;
  options.capacity = space.data_bytes();
  options.seconds = 2;
  options.nodes = 200'000;  // the same plan on every machine
  TESSERA_TRY(const memory::Solution solution, memory::solve(problem, options));
  if (solution.outcome != memory::Outcome::kFits) {
    TESSERA_TRY(const std::optional<memory::Shortfall> missing,
                memory::shortfall(problem, *options.capacity,
                                  {solution.offsets.data(), solution.offsets.size()}));
    if (missing) {
      Error error = memory::does_not_fit(*missing, names, moment_text(execution, missing->moment),
                                         cat("each part of ", space.name));
      error.help =
          "cut the largest of these tensors over more places, or keep it in another memory";
      return error;
    }
  }
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    execution.buffers[numbers[n]].offset = solution.offsets[n];
  }
  execution.spaces.push_back({space.name, solution.peak, solution.lower_bound, space.data_bytes()});
  return ok_status();
}

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

Status plan_memory(Execution& execution) {
  for (const Buffer& buffer : execution.buffers) {
    if (execution.machine.find_space(buffer.space) != nullptr) continue;
    return Error{ErrorCode::kUnknownName,
                 cat("value '", buffer.name, "' is in memory '", buffer.space, "', which ",
                     execution.machine.name, " does not have")};
  }
  for (const target::MemorySpace& space : execution.machine.memory) {
    TESSERA_CHECK_OK(plan_space(execution, space));
  }
  return ok_status();
}

}  // namespace tessera::run
