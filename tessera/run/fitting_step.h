// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/run/compile_step.h"
#include "tessera/run/execution.h"

namespace tessera::run {

/// Chooses how steps are made so that they fit the memory of places, beside the values that wait
/// there: as outputs are divided, as the largest operand is, either of them with only the parts of
/// operands that are read, then in 2, 4, 8, .. panels of either.
/// The first that fits is taken; if none does, the one that needs least.
///
/// What is compared is the sum of buffers on the fullest place at the fullest moment of a step,
/// without gaps between them; whether an execution fits is decided by plan_memory.
class FittingSteps {
 public:
  /// `order` are the nodes of the steps. The buffers of the graph's values exist.
  static Result<FittingSteps> make(const Execution& made, const std::vector<std::size_t>& order,
                                   bool may_divide_otherwise);

  /// The step at a position of the order. Buffers are appended for the one that is chosen. Errors:
  /// those of StepCompiler; kDoesNotFit if it may not be divided otherwise than its outputs.
  Result<Step> step(Execution& made, std::size_t number) const;

 private:
  Result<std::int64_t> need(const Execution& made, std::size_t number) const;

  std::vector<std::size_t> order_;
  bool may_divide_otherwise_ = true;
  std::vector<std::int64_t> value_bytes_;      ///< on each place that has it; 0 in other memories
  std::vector<std::int64_t> made_at_;          ///< by value: a position, -1 for what is given
  std::vector<std::int64_t> last_read_;        ///< by value: a position, -1 for none
  std::optional<std::int64_t> capacity_ = {};  ///< of a place; empty where it is not known
};

}  // namespace tessera::run
