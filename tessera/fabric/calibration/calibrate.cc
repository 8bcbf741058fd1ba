// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/calibrate.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/text.h"
#include "tessera/fabric/calibration/model.h"

namespace tessera::fabric {
namespace {

/// To 4 digits.
double rounded(double value) {
  if (value <= 0 || !std::isfinite(value)) return 0;
  const double digits = 3 - std::floor(std::log10(value));
  const double scale = std::pow(10.0, std::abs(digits));
  return digits > 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

void add_note(Machine& machine, const std::string& path, std::string text) {
  auto found = std::find_if(machine.notes.begin(), machine.notes.end(),
                            [&](const target::Note& note) { return note.about == path; });
  if (found == machine.notes.end()) found = machine.notes.insert(found, {path, {}, {}});
  found->text = std::move(text);
  found->evidence = target::Evidence::kFitted;
}

/// Stores what a fit found for one term in its figure.
CalibratedTerm store(std::optional<double>& figure, std::string_view name, std::string path,
                     bool bandwidth, const RelativeFit& fit, std::size_t term) {
  CalibratedTerm out{std::string(name), std::move(path), figure, figure, false, fit.rows[term]};
  const double value = fit.terms[term];
  // Data that take no time cannot be expressed as a bandwidth.
  if (!fit.is_determined[term] || (bandwidth && value <= 0)) return out;
  figure = rounded(bandwidth ? 1 / value : value);
  out.value = figure;
  out.is_fitted = true;
  return out;
}

void store_fit(Model& model, const RelativeFit& fit, Calibration& out) {
  const std::string root = cat("/mesh/", model.machine().mesh.size() - 1);
  std::size_t term = 0;
  for (const std::size_t i : model.mechanisms()) {
    target::Mechanism& mechanism = model.level().mechanisms[i];
    CalibratedPart part{mechanism.name, mechanism.network, model.is_added(i), {}, {}};
    for (std::size_t k = 0; k < kFiguresOfMechanism; ++k) {
      const std::string path = cat(root, "/mechanisms/", i, "/", kMechanismFigures[k]);
      part.terms.push_back(
          store(figure_of(mechanism, k), kMechanismFigures[k], path, is_bandwidth(k), fit, term++));
    }
    out.mechanisms.push_back(std::move(part));
  }
  for (const std::size_t i : model.networks()) {
    target::Network& network = model.level().networks[i];
    CalibratedPart part{network.name, {}, false, {}, {}};
    const std::string path = cat(root, "/networks/", i, "/hop_cycles");
    part.terms.push_back(store(network.hop_cycles, "hop_cycles", path, false, fit, term++));
    out.networks.push_back(std::move(part));
  }
  for (const std::vector<CalibratedPart>* parts : {&out.mechanisms, &out.networks}) {
    for (const CalibratedPart& part : *parts) {
      for (const CalibratedTerm& fitted : part.terms) {
        if (!fitted.is_fitted) continue;
        add_note(model.machine(), fitted.path, cat("Fitted to ", fitted.rows, " measurements."));
      }
    }
  }
}

/// Predictions and their errors, by the figures that the machine of the model has now.
void judge(const Model& model, std::span<const Measurement> measurements, Calibration& out) {
  const std::vector<double> terms = model.terms();
  std::vector<double> all;
  std::vector<std::vector<double>> of_mechanism(out.mechanisms.size());
  std::vector<std::vector<double>> of_group;
  for (std::size_t row = 0; row < measurements.size(); ++row) {
    const Measurement& m = measurements[row];
    out.predicted_cycles.push_back(model.form(row).at(terms));
    const double error = std::abs(out.predicted_cycles.back() / m.cycles - 1);
    all.push_back(error);
    of_mechanism[model.mechanism_of(row)].push_back(error);
    auto group = std::find_if(out.groups.begin(), out.groups.end(), [&](const GroupErrors& g) {
      return g.method == m.method && g.pattern == m.pattern && g.far == m.far;
    });
    if (group == out.groups.end()) {
      group = out.groups.insert(group, {m.method, m.pattern, m.far, {}});
      of_group.emplace_back();
    }
    of_group[static_cast<std::size_t>(group - out.groups.begin())].push_back(error);
  }
  for (std::size_t i = 0; i < out.mechanisms.size(); ++i) {
    out.mechanisms[i].errors = summarise(std::move(of_mechanism[i]));
  }
  for (std::size_t i = 0; i < out.groups.size(); ++i) {
    out.groups[i].errors = summarise(std::move(of_group[i]));
  }
  out.all = summarise(std::move(all));
}

std::vector<Observation> observations_of(const Model& model,
                                         std::span<const Measurement> measurements) {
  std::vector<Observation> list;
  for (std::size_t row = 0; row < measurements.size(); ++row) {
    if (measurements[row].pattern.masters != Side::kOne) continue;
    list.push_back({model.form(row), measurements[row].cycles});
  }
  return list;
}

/// The networks of the multicasts that the machine lacks. Their routes differ by network in how far
/// the farthest receiver is, so the one that fits best is taken, the first on a tie.
Result<NetworkOfMechanism> networks_of_multicasts(const Machine& machine,
                                                  std::span<const Measurement> measurements) {
  NetworkOfMechanism chosen;
  const target::MeshLevel& level = machine.mesh.back();
  for (const Method method : {Method::kMulticast, Method::kMulticastLinked}) {
    const std::string name(method_name(method));
    const bool exists =
        std::any_of(level.mechanisms.begin(), level.mechanisms.end(),
                    [&](const target::Mechanism& mechanism) { return mechanism.name == name; });
    if (exists || level.networks.size() < 2) continue;
    std::vector<Measurement> rows;
    for (const Measurement& m : measurements) {
      if (m.method == method && m.pattern.masters == Side::kOne) rows.push_back(m);
    }
    if (rows.empty()) continue;
    double least = HUGE_VAL;
    for (const target::Network& network : level.networks) {
      TESSERA_TRY(const Model model, Model::make(machine, rows, true, {{name, network.name}}));
      const double error = fit_relative(observations_of(model, rows), model.terms()).mean_error;
      if (error >= least) continue;
      least = error;
      chosen[name] = network.name;
    }
  }
  return chosen;
}

}  // namespace

ErrorSummary summarise(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const std::size_t rows = errors.size();
  ErrorSummary summary;
  summary.rows = std::ssize(errors);
  summary.median = (errors[(rows - 1) / 2] + errors[rows / 2]) / 2;
  summary.p90 = errors[(rows * 9 + 9) / 10 - 1];
  summary.worst = errors.back();
  return summary;
}

Result<Calibration> calibrate(const Machine& machine, std::span<const Measurement> measurements) {
  TESSERA_TRY(const NetworkOfMechanism networks, networks_of_multicasts(machine, measurements));
  TESSERA_TRY(Model model, Model::make(machine, measurements, true, networks));
  const std::vector<Observation> observations = observations_of(model, measurements);
  Calibration out;
  out.fitted_rows = std::ssize(observations);
  store_fit(model, fit_relative(observations, model.terms()), out);
  judge(model, measurements, out);
  TESSERA_CHECK_OK(model.machine().check());
  out.machine = std::move(model.machine());
  return out;
}

Result<std::vector<double>> predict(const Machine& machine,
                                    std::span<const Measurement> measurements) {
  TESSERA_TRY(const Model model, Model::make(machine, measurements, false));
  const std::vector<double> terms = model.terms();
  std::vector<double> cycles;
  for (std::size_t row = 0; row < measurements.size(); ++row) {
    cycles.push_back(model.form(row).at(terms));
  }
  return cycles;
}

}  // namespace tessera::fabric
