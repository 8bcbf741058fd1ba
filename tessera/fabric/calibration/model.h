// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tessera/fabric/calibration/cycle_model.h"
#include "tessera/fabric/calibration/measurement.h"

namespace tessera::fabric {

/// The figures of a mechanism that a fit determines.
inline constexpr std::string_view kMechanismFigures[] = {"overhead_cycles", "issue_cycles",
                                                         "bytes_per_cycle", "receiver_cycles"};
inline constexpr std::size_t kFiguresOfMechanism = std::size(kMechanismFigures);
/// Bandwidths are fitted as cycles per byte, in which cycles are linear.
constexpr bool is_bandwidth(std::size_t figure) { return figure == 2; }
std::optional<double>& figure_of(target::Mechanism& mechanism, std::size_t figure);

/// The name of a network for the name of a mechanism.
using NetworkOfMechanism = std::map<std::string, std::string, std::less<>>;

/// Measurements on a machine, each as a form over terms. The terms are the figures of the
/// mechanisms that the measurements use, mechanism by mechanism, then the hop cycles of their
/// networks.
class Model {
 public:
  /// With `adds`, mechanisms that the machine lacks are added to it: stateful ones and multicasts,
  /// and those to banks if a row with one master uses them. A mechanism that is added has the
  /// network that `networks` states for its name, else that of a related mechanism; and the figures
  /// of "read" or "write" if it is a kind of these. Without `adds`, measurements of mechanisms that
  /// the machine lacks use the related one. Errors: see calibrate.h.
  static Result<Model> make(const Machine& machine, std::span<const Measurement> measurements,
                            bool adds, const NetworkOfMechanism& networks = {});

  Machine& machine() { return machine_; }
  const Machine& machine() const { return machine_; }
  target::MeshLevel& level() { return machine_.mesh.back(); }

  // In use, increasing: indices in the innermost level.
  std::span<const std::size_t> mechanisms() const { return mechanisms_; }
  std::span<const std::size_t> networks() const { return networks_; }
  bool is_added(std::size_t mechanism) const { return mechanism >= given_mechanisms_; }
  /// The position in mechanisms() of the one that a measurement uses.
  std::size_t mechanism_of(std::size_t row) const { return rows_[row].mechanism; }

  /// The values of the terms by the figures that the machine has now. A bandwidth that it lacks is
  /// that of a link, other figures are 0.
  std::vector<double> terms() const;
  /// The cycles of a measurement as a function of the terms.
  const CycleForm& form(std::size_t row) const { return rows_[row].form; }

 private:
  struct Row {
    std::size_t mechanism = 0;
    CycleForm form;
  };
  using FlowsKey = std::tuple<std::size_t, Method, std::string, std::int32_t, FarMemory::Spread,
                              std::int64_t, std::int64_t, bool, bool>;

  Model(const Machine& machine, bool adds, const NetworkOfMechanism& networks);
  Status choose(const Measurement& measurement, std::span<const std::string> measured_banks,
                std::size_t& mechanism);
  Result<const Flows*> flows(const Topology& topology, std::size_t network,
                             const Measurement& measurement);
  std::optional<std::size_t> find(std::string_view name) const;
  Result<std::size_t> network_of(std::size_t mechanism) const;
  Result<std::size_t> related(std::string_view name) const;
  std::size_t add(std::string_view name, std::size_t like, bool with_figures);
  ModelTerms model_terms(std::size_t mechanism, std::size_t network) const;
  std::optional<double> bank_rate(const Measurement& measurement) const;

  Machine machine_;
  bool adds_;
  NetworkOfMechanism network_of_added_;
  std::size_t given_mechanisms_;
  std::vector<std::size_t> mechanisms_;
  std::vector<std::size_t> networks_;
  std::map<std::size_t, double> link_cycles_per_byte_;  // of the links of each mechanism in use
  std::map<FlowsKey, Flows> flows_;
  std::vector<Row> rows_;
};

}  // namespace tessera::fabric
