// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/run/execute.h"
#include "tools/run/run_inputs.h"
#include "tools/run/run_report.h"

namespace tessera::tools {

/// Follows a run: counts the bytes of results, stops it after Ctrl-C, and, with --check, compares
/// the results of every node with evaluate_node on the operands that the device had.
class StepCheck : public run::Observer {
 public:
  /// Refers to its arguments.
  StepCheck(const run::Execution& execution, const GivenTensors& given, bool checks,
            std::atomic<std::int64_t>& done)
      : execution_(execution),
        checks_(checks),
        done_(done),
        values_(execution.graph.values.size()) {
    if (checks) keep_given(given);
  }

  Status begins(const std::function<Result<run::HostTensor>(graph::ValueId)>& value) override;
  Status after(const run::StepReport& report,
               const std::function<Result<run::HostTensor>(graph::ValueId)>& value) override;
  bool stops() override;

  const std::vector<NodeError>& errors() const { return errors_; }

 private:
  void keep_given(const GivenTensors& given);
  Status compare(const graph::Node& node,
                 const std::function<Result<run::HostTensor>(graph::ValueId)>& value);
  void drop_dead_values(std::size_t node);

  const run::Execution& execution_;
  bool checks_;
  std::atomic<std::int64_t>& done_;
  std::vector<std::optional<run::HostTensor>> values_;  ///< as the device has them
  std::vector<std::size_t> readers_;                    ///< nodes that still read a value
  std::vector<NodeError> errors_;
};

}  // namespace tessera::tools
