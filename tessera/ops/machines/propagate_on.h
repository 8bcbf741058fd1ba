// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/ops/machines/restrictions.h"
#include "tessera/ops/propagate.h"

namespace tessera::ops {

/// What a machine's kernels make of a question.
struct OnMachine {
  Answer answer;
  /// The predicate that allows the call, or that refuses it (restrictions.h).
  std::string rule;
  bool refused_by_rule = false;
  /// Per input, what kernels bring of it themselves: "read from dram", "multicast along mesh axis
  /// 1"; empty where each place reads what its memory holds.
  std::vector<std::string> brought;
  Kernels kernels;
};

/// `propagate` for the kernels of a machine with so many places. Legal means: its predicates allow
/// the call, and each place has what its kernels do not bring. Operands may be on different meshes
/// where kernels bring them.
///
/// Inputs without layouts get one that the kernels know; so does an output, where the family
/// decides by the kinds of its operands (TTNN). Alternatives are layouts that the kernels know and
/// with which the call is legal; those that allocate least first.
///
/// A call whose operands are all in a memory that every place reads has no division of its own:
/// `work` is the core division on Spyre, and empty elsewhere.
///
/// Law: legal ⇒ allowed_on(family, call, types, {inputs, outputs}).legal, and the same for every
/// alternative with the outputs that it gives.
/// Errors: those of propagate, but operands on different meshes are a refusal.
Result<OnMachine> propagate_on(MachineFamily family, std::int64_t places, const Question& question);

}  // namespace tessera::ops
