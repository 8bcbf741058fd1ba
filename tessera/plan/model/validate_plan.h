// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/plan/model/model_plan.h"

namespace tessera::plan {

/// The ways in which a plan can be wrong.
enum class PlanFlaw : std::uint8_t {
  kOtherModel,     ///< it is of a model with another hash
  kOtherTarget,    ///< it is for a machine with another description
  kWrongCount,     ///< not one layout and one buffer per value, or not one op per node
  kWrongLayout,    ///< of another shape or type than the value, or on places that are not there
  kOverlap,        ///< two buffers that are needed at one moment share bytes
  kTooMuchMemory,  ///< a buffer ends beyond its memory
  kDoesNotRun,     ///< run/ refuses it: an illegal order, work that the op does not allow, ..
  kWrongPrice,     ///< an op takes other cycles than the plan says
  kWrongSum,       ///< the total is not the sum of the ops
  kWrongBound,     ///< the bound is above the total, or the gap is not what they give
};
std::string_view flaw_name(PlanFlaw flaw);  ///< "other_model", "overlap", ..

struct PlanFinding {
  PlanFlaw flaw = PlanFlaw::kOtherModel;
  std::string message;  ///< with names and numbers
};

/// Everything that is wrong with a plan, at most `most` findings; a plan of another model or
/// machine is not looked at further. Shares no code with the planner: buffers are compared with
/// each other moment by moment, sums are added up, and run/ compiles and prices the plan as a
/// whole.
std::vector<PlanFinding> validate(const ModelPlan& plan, const graph::Graph& graph,
                                  const Machine& machine, std::size_t most = 64);

}  // namespace tessera::plan
