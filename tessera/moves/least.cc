// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/least.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layout/form.h"
#include "tessera/layout/layout.h"

namespace tessera::moves {
namespace {

/// The layout of a tensor in the memories of the places that it names; null for any other.
const Layout* layout_on_places(const Machine& machine, const Stored& stored) {
  const Layout* const layout = stored.placement.layout();
  const bool is_plain = layout != nullptr && stored.spread == target::Spread::kWhole &&
                        layout->spec().device_map.kind() == DeviceMap::Kind::kIdentity;
  if (!is_plain) return nullptr;
  const Result<std::size_t> memory = memory_of(stored, machine);
  if (!memory || machine.memory[*memory].owner != target::MemorySpace::Owner::kPlace) {
    return nullptr;
  }
  return layout;
}

/// On how many places a form puts something, at most.
double most_places(const Form& form) {
  double places = 1;
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (fold.cuts[k].target.is_mesh()) places *= static_cast<double>(needed[k]);
    }
  }
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kFixed) places *= static_cast<double>(fill.count);
  }
  return places;
}

/// On how many devices along all outer mesh axes a form puts different elements or shares, or, with
/// `copies`, elements or copies: 1 for a tensor in one device.
double devices_under(const Form& form, std::size_t outer, bool copies) {
  double devices = 1;
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Target target = fold.cuts[k].target;
      const bool is_outer = target.is_mesh() && target.axis() < static_cast<int>(outer);
      if (is_outer) devices *= static_cast<double>(needed[k]);
    }
  }
  for (const Fill& fill : form.fills) {
    const bool counts = fill.kind == (copies ? Fill::Kind::kReplicate : Fill::Kind::kPartial);
    if (counts && fill.axis < static_cast<int>(outer)) devices *= static_cast<double>(fill.count);
  }
  return devices;
}

/// Cycles of a link between devices; 0 where that is not known.
double hop_between_devices(const Machine& machine) {
  std::optional<double> least;
  for (std::size_t level = 0; level + 1 < machine.mesh.size(); ++level) {
    for (const target::Network& network : machine.mesh[level].networks) {
      double cycles = network.hop_cycles.value_or(0);
      if (network.hop_seconds && machine.clock_hz) {
        cycles = *network.hop_seconds * static_cast<double>(*machine.clock_hz);
      }
      least = std::min(least.value_or(cycles), cycles);
    }
  }
  return least.value_or(0);
}

/// What it takes to cross to another device at all, if one side is in one device and the other is
/// not.
double least_crossing(const Machine& machine, const Form& a, const Form& b) {
  std::size_t outer = 0;
  for (std::size_t level = 0; level + 1 < machine.mesh.size(); ++level) {
    outer += machine.mesh[level].extents.size();
  }
  if (outer == 0 || a.mesh.rank() <= outer || b.mesh.rank() <= outer) return 0;
  const bool leaves = devices_under(a, outer, true) == 1 && devices_under(a, outer, false) == 1 &&
                      devices_under(b, outer, true) > 1;
  const bool gathers = devices_under(b, outer, true) == 1 && devices_under(b, outer, false) == 1 &&
                       devices_under(a, outer, false) > 1;
  return leaves || gathers ? hop_between_devices(machine) : 0;
}

/// How many places have a copy of each element, shares apart.
double copies_of(const Form& form) {
  double copies = 1;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kReplicate) copies *= static_cast<double>(fill.count);
  }
  return copies;
}

/// What banks or a shared memory take to give or to take each element once, between different
/// memories.
double least_outside(const Machine& machine, const Stored& a, const Stored& b) {
  const Result<std::size_t> from = memory_of(a, machine);
  const Result<std::size_t> to = memory_of(b, machine);
  if (!from || !to || *from == *to) return 0;
  const std::optional<std::int64_t> bits_a = dtype_bits(a.placement.atom().storage);
  const std::optional<std::int64_t> bits_b = dtype_bits(b.placement.atom().storage);
  if (!bits_a || !bits_b) return 0;
  const double bytes = static_cast<double>(a.placement.shape().elements()) *
                       static_cast<double>(std::min(*bits_a, *bits_b)) / 8;
  const auto of = [&](std::size_t memory, bool is_read) -> double {
    const target::MemorySpace& space = machine.memory[memory];
    if (space.owner == target::MemorySpace::Owner::kPlace) return 0;
    double parts = 1;
    if (space.owner == target::MemorySpace::Owner::kBank) {
      parts = static_cast<double>(space.banks.value_or(1)) * static_cast<double>(machine.devices());
    }
    const double own = bytes / parts;
    return machine.memory_cycles(space, is_read ? own : 0, is_read ? 0 : own).value_or(0);
  };
  return std::max(of(*from, true), of(*to, false));
}

/// Into a place, or out of it, over all networks together.
std::optional<double> bytes_per_cycle(const Machine& machine) {
  double sum = 0;
  for (const target::Network& network : machine.mesh.back().networks) {
    if (!network.bits_per_cycle) return std::nullopt;
    sum +=
        *network.bits_per_cycle / 8 * static_cast<double>(std::max<std::int64_t>(network.links, 1));
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

}  // namespace

double least_cycles(const Machine& machine, const Stored& a, const Stored& b) {
  const double outside = least_outside(machine, a, b);
  if (outside > 0) return outside;
  const Layout* const from = layout_on_places(machine, a);
  const Layout* const to = layout_on_places(machine, b);
  const std::optional<double> rate = bytes_per_cycle(machine);
  if (from == nullptr || to == nullptr || !rate || from->shape().empty()) return 0;
  const std::optional<std::int64_t> bits_a = dtype_bits(from->atom().storage);
  const std::optional<std::int64_t> bits_b = dtype_bits(to->atom().storage);
  if (!bits_a || !bits_b) return 0;
  const auto elements = static_cast<double>(from->shape().elements());
  const double received = elements * copies_of(to->form()) / most_places(to->form()) -
                          static_cast<double>(from->slots());
  double sent = 0;
  if (copies_of(from->form()) == 1) {
    sent = elements / most_places(from->form()) - static_cast<double>(to->slots());
  }
  const double bytes =
      std::max({received, sent, 0.0}) * static_cast<double>(std::min(*bits_a, *bits_b)) / 8;
  return std::max(bytes / *rate, least_crossing(machine, from->form(), to->form()));
}

}  // namespace tessera::moves
