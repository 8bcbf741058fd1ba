// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/model.h"

#include <algorithm>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/fabric/calibration/calibrate.h"

namespace tessera::fabric {
namespace {

using target::Mechanism;
using target::Network;

void insert_sorted(std::vector<std::size_t>& list, std::size_t item) {
  const auto at = std::lower_bound(list.begin(), list.end(), item);
  if (at == list.end() || *at != item) list.insert(at, item);
}

std::size_t position(std::span<const std::size_t> list, std::size_t item) {
  return static_cast<std::size_t>(std::lower_bound(list.begin(), list.end(), item) - list.begin());
}

/// Fewer transactions than receivers reach only some of them; beyond that their number does not
/// change who takes part.
std::int64_t reach(const Machine& machine, const Measurement& m) {
  if (m.far.spread != FarMemory::Spread::kPlaces) {
    const auto memory = static_cast<std::size_t>(m.far.memory);
    return std::min(m.transactions, machine.memory[memory].banks.value_or(1));
  }
  const std::int64_t most = m.subordinates > 0 ? m.subordinates : machine.places();
  return m.pattern.subordinates == Side::kOne ? 1 : std::min(m.transactions, most);
}

}  // namespace

std::optional<double>& figure_of(Mechanism& mechanism, std::size_t figure) {
  switch (figure) {
    case 0:
      return mechanism.overhead_cycles;
    case 1:
      return mechanism.issue_cycles;
    case 2:
      return mechanism.bytes_per_cycle;
    default:
      return mechanism.receiver_cycles;
  }
}

Model::Model(const Machine& machine, bool adds, const NetworkOfMechanism& networks)
    : machine_(machine),
      adds_(adds),
      network_of_added_(networks),
      given_mechanisms_(machine.mesh.back().mechanisms.size()) {}

Result<Model> Model::make(const Machine& machine, std::span<const Measurement> measurements,
                          bool adds, const NetworkOfMechanism& networks) {
  if (measurements.size() > kMaxMeasurements) {
    return Error{ErrorCode::kTooLarge, cat(measurements.size(), " measurements"), std::nullopt,
                 cat("at most ", kMaxMeasurements, " are fitted at once")};
  }
  TESSERA_TRY(const Topology topology, Topology::of(machine));
  Model model(machine, adds, networks);
  std::vector<std::string> measured_banks;  // their mechanisms
  for (const Measurement& m : measurements) {
    if (m.pattern.masters != Side::kOne) continue;
    const std::optional<std::string> name = bank_mechanism_name(machine, m);
    if (!name || (!measured_banks.empty() && measured_banks.back() == *name)) continue;
    measured_banks.push_back(*name);
  }
  const std::optional<std::int64_t> places = measured_places(machine, measurements);
  std::vector<std::size_t> of_row;
  std::vector<const Flows*> flows_of_row;
  for (Measurement m : measurements) {
    const auto located = [&](const Error& error) { return m.span ? error.at(*m.span) : error; };
    if (m.pattern.masters == Side::kAll && m.subordinates == 0) m.subordinates = places.value_or(0);
    if (Status status = check(m); !status) return located(status.error());
    std::size_t mechanism = 0;
    if (Status status = model.choose(m, measured_banks, mechanism); !status) {
      return located(status.error());
    }
    const Result<std::size_t> network = model.network_of(mechanism);
    if (!network) return located(network.error());
    const Result<const Flows*> flows = model.flows(topology, *network, m);
    if (!flows) return located(flows.error());
    if (!(*flows)->loads.empty()) {
      model.link_cycles_per_byte_[mechanism] = (*flows)->loads.front().link.cycles_per_byte;
    }
    insert_sorted(model.mechanisms_, mechanism);
    insert_sorted(model.networks_, *network);
    of_row.push_back(mechanism);
    flows_of_row.push_back(*flows);
  }
  for (std::size_t i = 0; i < of_row.size(); ++i) {
    TESSERA_TRY(const std::size_t network, model.network_of(of_row[i]));
    const std::size_t mechanism = position(model.mechanisms_, of_row[i]);
    const ModelTerms terms = model.model_terms(mechanism, position(model.networks_, network));
    const Measurement& m = measurements[i];
    model.rows_.push_back({mechanism, cycle_form(m, *flows_of_row[i], terms, model.bank_rate(m))});
  }
  return model;
}

std::vector<double> Model::terms() const {
  const target::MeshLevel& level = machine_.mesh.back();
  std::vector<double> list;
  for (const std::size_t i : mechanisms_) {
    Mechanism mechanism = level.mechanisms[i];
    for (std::size_t k = 0; k < kFiguresOfMechanism; ++k) {
      const std::optional<double> figure = figure_of(mechanism, k);
      if (!is_bandwidth(k)) {
        list.push_back(figure.value_or(0));
      } else if (figure) {
        list.push_back(1 / *figure);
      } else {
        const auto link = link_cycles_per_byte_.find(i);
        list.push_back(link == link_cycles_per_byte_.end() ? 0 : link->second);
      }
    }
  }
  for (const std::size_t i : networks_) list.push_back(level.networks[i].hop_cycles.value_or(0));
  return list;
}

ModelTerms Model::model_terms(std::size_t mechanism, std::size_t network) const {
  const auto first = static_cast<std::int32_t>(mechanism * kFiguresOfMechanism);
  const auto hop = static_cast<std::int32_t>(mechanisms_.size() * kFiguresOfMechanism + network);
  return {first, first + 1, first + 2, first + 3, hop};
}

std::optional<double> Model::bank_rate(const Measurement& m) const {
  if (m.far.spread == FarMemory::Spread::kPlaces) return std::nullopt;
  const target::MemorySpace& space = machine_.memory[static_cast<std::size_t>(m.far.memory)];
  return machine_.per_cycle(m.pattern.reads ? space.read : space.write);
}

std::optional<std::size_t> Model::find(std::string_view name) const {
  const std::vector<Mechanism>& all = machine_.mesh.back().mechanisms;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) return i;
  }
  return std::nullopt;
}

Status Model::choose(const Measurement& m, std::span<const std::string> measured_banks,
                     std::size_t& mechanism) {
  const std::string_view name = mechanism_name(m);
  if (const std::optional<std::string> bank = bank_mechanism_name(machine_, m)) {
    if (const std::optional<std::size_t> found = find(*bank)) {
      mechanism = *found;
      return ok_status();
    }
    const bool is_measured =
        std::find(measured_banks.begin(), measured_banks.end(), *bank) != measured_banks.end();
    if (adds_ && is_measured) {
      TESSERA_TRY(const std::size_t like, related(name));
      mechanism = add(*bank, like, true);
      return ok_status();
    }
  }
  if (const std::optional<std::size_t> found = find(name)) {
    mechanism = *found;
    return ok_status();
  }
  std::vector<Mechanism>& all = level().mechanisms;
  if (adds_ && all.empty() && level().networks.size() == 1) {
    all.push_back({std::string(name), level().networks[0].name, {}, {}, {}, {}});
    mechanism = 0;
    return ok_status();
  }
  TESSERA_TRY(mechanism, related(name));
  if (adds_) mechanism = add(name, mechanism, m.method == Method::kUnicast);
  return ok_status();
}

Result<std::size_t> Model::related(std::string_view name) const {
  const bool reads = name.starts_with("read");
  if (const auto found = find(reads ? "read" : "write")) return *found;
  const std::vector<Mechanism>& all = machine_.mesh.back().mechanisms;
  const bool any = machine_.mesh.back().networks.size() == 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (any || all[i].name.starts_with("read") == reads) return i;
  }
  return Error{ErrorCode::kBadTarget,
               cat(machine_.name, " has no mechanism ", name, ", nor a related one"), std::nullopt,
               cat("add {\"name\": \"", reads ? "read" : "write",
                   "\", \"network\": ..} to the mechanisms of its innermost level")};
}

std::size_t Model::add(std::string_view name, std::size_t like, bool with_figures) {
  std::vector<Mechanism>& all = level().mechanisms;
  Mechanism added;
  added.network = all[like].network;
  if (with_figures && name.starts_with(all[like].name)) added = all[like];
  const auto given = network_of_added_.find(name);
  if (given != network_of_added_.end()) added.network = given->second;
  added.name = name;
  all.push_back(std::move(added));
  return all.size() - 1;
}

Result<std::size_t> Model::network_of(std::size_t mechanism) const {
  const Mechanism& own = machine_.mesh.back().mechanisms[mechanism];
  const std::vector<Network>& all = machine_.mesh.back().networks;
  if (own.network.empty() && all.size() == 1) return std::size_t{0};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == own.network) return i;
  }
  return Error{ErrorCode::kBadTarget,
               cat("the mechanism ", own.name, " of ", machine_.name, " has the network ",
                   quote_name(own.network), ", which does not exist"),
               std::nullopt, "name one of the networks of the same level"};
}

Result<const Flows*> Model::flows(const Topology& topology, std::size_t network,
                                  const Measurement& m) {
  FlowsKey key(network, m.method, pattern_name(m.pattern), m.far.memory, m.far.spread,
               m.subordinates, reach(machine_, m), m.same_axis, m.loopback);
  auto found = flows_.find(key);
  if (found == flows_.end()) {
    TESSERA_TRY(Flows flows, flows_of(topology, machine_, static_cast<std::int64_t>(network), m));
    found = flows_.emplace(std::move(key), std::move(flows)).first;
  }
  return &found->second;
}

}  // namespace tessera::fabric
