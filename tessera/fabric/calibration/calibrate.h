// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/fabric/calibration/measurement.h"

namespace tessera::fabric {

/// Relative errors |prediction / measurement - 1|.
struct ErrorSummary {
  std::int64_t rows = 0;
  double median = 0;
  double p90 = 0;  ///< nine tenths of the rows are not above it
  double worst = 0;
  friend bool operator==(const ErrorSummary&, const ErrorSummary&) = default;
};
/// All 0 for no errors.
ErrorSummary summarise(std::vector<double> errors);

/// A figure of the machine, before and after.
struct CalibratedTerm {
  std::string name;              ///< "issue_cycles"
  std::string path;              ///< "/mesh/0/mechanisms/1/issue_cycles"
  std::optional<double> before;  ///< in the given machine; empty if the mechanism is added
  std::optional<double> value;   ///< in the fitted one
  bool is_fitted = false;        ///< else too few rows depend on it, and it is as before
  std::int64_t rows = 0;         ///< in which it counts
};

/// The figures of a mechanism or of a network that the measurements use.
struct CalibratedPart {
  std::string name;
  std::string network;    ///< of a mechanism
  bool is_added = false;  ///< the given machine did not have it
  std::vector<CalibratedTerm> terms;
  ErrorSummary errors;  ///< of the mechanism's rows
};

/// The errors of the rows with one method, pattern and far memory, in the order of their first row.
struct GroupErrors {
  Method method = Method::kUnicast;
  Pattern pattern;
  FarMemory far;
  ErrorSummary errors;
};

struct Calibration {
  Machine machine;  ///< with the fitted figures, and notes that say that they are fitted
  std::vector<CalibratedPart> mechanisms;
  std::vector<CalibratedPart> networks;
  std::vector<GroupErrors> groups;
  ErrorSummary all;
  std::int64_t fitted_rows = 0;
  std::vector<double> predicted_cycles;  ///< of each measurement, by the fitted machine
};

/// Fits the mechanisms of the machine's innermost level, and the hop cycles of the networks that
/// they use, to measurements. Only rows with one master are fitted: nothing competes with it. All
/// other rows are predicted from the same terms, with what links, ports and banks have to carry;
/// the errors of all rows are reported.
///
/// A mechanism that the machine lacks is added on the network of a related one: "read_stateful" and
/// "read_dram" on that of "read". A multicast that the machine lacks gets the network on which its
/// rows fit best. Figures are rounded to 4 digits before errors are computed.
///
/// Law: predicted_cycles = predict(result.machine, measurements).
/// Errors, with the span of the row where there is one: those of check, Topology::of and flows_of;
/// kBadTarget where the machine has no related mechanism; kTooLarge for more than kMaxMeasurements.
Result<Calibration> calibrate(const Machine& machine, std::span<const Measurement> measurements);

/// What the measurements should take, by the figures of the machine alone: cycle_model.h has the
/// formulas. A bandwidth that the machine lacks is that of a link; other figures count as 0.
Result<std::vector<double>> predict(const Machine& machine,
                                    std::span<const Measurement> measurements);

inline constexpr std::size_t kMaxMeasurements = std::size_t{1} << 16;

}  // namespace tessera::fabric
