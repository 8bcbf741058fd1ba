// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tessera/run/execution.h"
#include "tessera/run/predict.h"

namespace tessera::tools {

/// The predicted run as a trace for Perfetto (ui.perfetto.dev), in Chrome's trace event format: a
/// track for what moves between places, and one for each class of places with equal work, the
/// slowest first. Ops follow each other; one cycle is one microsecond. Phases whose time is unknown
/// last a cycle and say so.
std::string run_trace(const run::Execution& execution, const std::vector<run::StepCycles>& cycles);

}  // namespace tessera::tools
