// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/run/execute.h"
#include "tessera/run/execution.h"
#include "tessera/run/predict.h"
#include "tessera/run/simulate.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// How far the results of a node are from the reference.
struct NodeError {
  double difference = 0;  ///< the largest, relative to 1 + |number|
  double allowed = 0;
  bool is_within() const { return difference <= allowed; }
};

/// What the verb tells about a run.
struct RunReport {
  const run::Execution* execution = nullptr;
  const run::RunResult* result = nullptr;
  std::vector<NodeError> errors;        ///< per step, with --check
  std::vector<std::string> files;       ///< per output, with --out
  std::vector<run::StepCycles> cycles;  ///< per step, on the target
  run::RunSimulation simulation = {};
  bool is_checked = false;
  std::string_view layouts_from;  ///< "plan_file", "layouts_file", "planned", "default"

  /// The largest difference of any node; 0 without steps.
  double max_error() const;
  bool is_within() const;
};

/// What the execution needs, before it starts.
std::string needs_text(const run::Execution& execution, const Terminal& terminal);
std::string report_text(const RunReport& report, const Terminal& terminal);
std::string report_json(const RunReport& report);

}  // namespace tessera::tools
