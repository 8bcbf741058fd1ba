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

/// How many places have a copy of each element, shares apart.
double copies_of(const Form& form) {
  double copies = 1;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kReplicate) copies *= static_cast<double>(fill.count);
  }
  return copies;
}

/// Coordinates of the places of a form along a mesh axis: none is below `low`, none above `high`,
/// and one that has elements is at `reached` or above.
struct Span {
  std::int64_t low = 0;
  std::int64_t reached = 0;
  std::int64_t high = 0;
};
Span span_on(const Form& form, std::size_t axis) {
  Span span;
  std::int64_t longest = 0;
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (fold.cuts[k].target != Target::mesh(static_cast<int>(axis))) continue;
      const std::int64_t most = (needed[k] - 1) * fold.cuts[k].stride;
      span.high += most;
      longest = std::max(longest, most);
    }
  }
  for (const Fill& fill : form.fills) {
    if (fill.axis != static_cast<int>(axis)) continue;
    if (fill.kind == Fill::Kind::kFixed) {
      span.low += fill.value;
      span.high += fill.value;
      continue;
    }
    const std::int64_t most = (fill.count - 1) * fill.stride;
    span.high += most;
    // A share may be neutral elements, which nobody sends.
    if (fill.kind == Fill::Kind::kReplicate) longest = std::max(longest, most);
  }
  span.reached = span.low + longest;
  return span;
}

/// How far along a mesh axis something has to go at least: to the outermost place of B from any of
/// A, or from the outermost place of A to any of B, if A has no copies.
std::int64_t way_along(const Form& a, const Form& b, std::size_t axis) {
  const Span from = span_on(a, axis);
  const Span to = span_on(b, axis);
  const std::int64_t out = std::max(to.reached - from.high, from.low - to.high);
  const std::int64_t in =
      copies_of(a) > 1 ? 0 : std::max(from.reached - to.high, to.low - from.high);
  return std::max<std::int64_t>({out, in, 0});
}

/// How many elements a device of several holds: of the fullest one at least, and of any at most.
struct Held {
  double least = 0;
  double most = 0;
};
Held held_by_device(const Form& form, std::size_t outer, double elements, std::int64_t slots) {
  Held held{elements, static_cast<double>(slots)};
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Target target = fold.cuts[k].target;
      if (!target.is_mesh()) continue;
      const bool is_outer = target.axis() < static_cast<int>(outer);
      if (is_outer) held.least /= static_cast<double>(needed[k]);
      if (!is_outer) held.most *= static_cast<double>(needed[k]);
    }
  }
  for (const Fill& fill : form.fills) {
    const bool is_share = fill.kind == Fill::Kind::kPartial && fill.axis < static_cast<int>(outer);
    if (is_share) held.least /= static_cast<double>(fill.count);
  }
  held.most = std::min(held.most, elements);
  return held;
}

/// Bytes per cycle of all links between a device and its neighbours, in one direction; empty where
/// that is not known, and where there are more than two levels.
std::optional<double> links_of_device(const Machine& machine) {
  if (machine.mesh.size() != 2 || machine.mesh[0].networks.empty()) return std::nullopt;
  const target::Network& network = machine.mesh[0].networks.front();
  std::optional<double> rate = network.bits_per_cycle;
  if (rate) *rate /= 8;
  if (!rate && network.bytes_per_second && machine.clock_hz) {
    rate = *network.bytes_per_second / static_cast<double>(*machine.clock_hz);
  }
  if (!rate) return std::nullopt;
  double neighbours = 0;
  double devices = 1;
  for (const std::int64_t extent : machine.mesh[0].extents) {
    const bool has_ends = network.kind == target::NetworkKind::kMesh;
    const std::int64_t near = has_ends ? std::min<std::int64_t>(extent - 1, 2) : 2;
    neighbours += extent > 1 ? static_cast<double>(near) : 0;
    devices *= static_cast<double>(extent);
  }
  if (network.kind == target::NetworkKind::kAllToAll) neighbours = devices - 1;
  return *rate * neighbours * static_cast<double>(std::max<std::int64_t>(network.links, 1));
}

/// How many mesh axes are those of levels above the innermost one.
std::size_t outer_axes(const Machine& machine) {
  std::size_t outer = 0;
  for (std::size_t level = 0; level + 1 < machine.mesh.size(); ++level) {
    outer += machine.mesh[level].extents.size();
  }
  return outer;
}

/// What it takes to cross between devices: the way to the outermost one, what the fullest device of
/// B needs and no device of A has, and what the fullest device of A has and none of B keeps.
double least_between_devices(const Machine& machine, const Layout& a, const Layout& b,
                             double bytes_each) {
  const std::size_t outer = outer_axes(machine);
  const Form& from = a.form();
  const Form& to = b.form();
  std::int64_t hops = 0;
  for (std::size_t axis = 0; axis < outer; ++axis) {
    hops = std::max(hops, way_along(from, to, axis));
  }
  const bool is_mesh = machine.mesh.size() == 2 && !machine.mesh[0].networks.empty() &&
                       machine.mesh[0].networks.front().kind == target::NetworkKind::kMesh;
  if (!is_mesh) hops = std::min<std::int64_t>(hops, 1);
  double crossing = 0;  // elements
  const std::optional<double> rate = links_of_device(machine);
  if (rate) {
    const auto elements = static_cast<double>(a.shape().elements());
    const Held before = held_by_device(from, outer, elements, a.slots());
    const Held after = held_by_device(to, outer, elements, b.slots());
    crossing = std::max(0.0, after.least - before.most);
    bool has_shares = false;
    bool has_copies = false;
    for (const Fill& fill : from.fills) {
      if (fill.axis >= static_cast<int>(outer) || fill.count < 2) continue;
      has_shares = has_shares || fill.kind == Fill::Kind::kPartial;
      has_copies = has_copies || fill.kind == Fill::Kind::kReplicate;
    }
    if (!has_copies) crossing = std::max(crossing, before.least - after.most);
    // Each element that a device keeps is completed by at least one number from outside.
    const bool keeps_shares = std::ranges::any_of(
        to.fills, [](const Fill& fill) { return fill.kind == Fill::Kind::kPartial; });
    if (has_shares && !keeps_shares) crossing = std::max(crossing, after.least);
  }
  if (crossing > 0) hops = std::max<std::int64_t>(hops, 1);
  return std::max(static_cast<double>(hops) * hop_between_devices(machine),
                  crossing * bytes_each / rate.value_or(1));
}

/// What it takes over the links of a mesh of places of one level that has no other routers: the way
/// to the outermost place, and what has to leave the box of A or to enter the box of B over the
/// links around it.
double least_on_mesh(const Machine& machine, const Layout& a, const Layout& b, double bytes_each,
                     double rate) {
  if (machine.mesh.size() != 1 || machine.mesh[0].routers) return 0;
  std::optional<double> hop;
  for (const target::Network& network : machine.mesh[0].networks) {
    if (network.kind != target::NetworkKind::kMesh) return 0;
    const double cycles = network.hop_cycles.value_or(0);
    hop = std::min(hop.value_or(cycles), cycles);
  }
  const Shape& mesh = a.form().mesh;
  // Elements for which one side has no room in the box of the other, over the links around it.
  const auto around = [&](const Layout& boxed, const Layout& other) {
    double places = 1;
    std::vector<Span> spans;
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      spans.push_back(span_on(boxed.form(), axis));
      places *= static_cast<double>(spans.back().high - spans.back().low + 1);
    }
    double links = 0;
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      const Span& span = spans[axis];
      const double side = places / static_cast<double>(span.high - span.low + 1);
      if (span.low > 0) links += side;
      if (span.high + 1 < mesh[axis]) links += side;
    }
    const double outside =
        static_cast<double>(boxed.shape().elements()) - static_cast<double>(other.slots()) * places;
    return links > 0 && outside > 0 ? outside * bytes_each / (links * rate) : 0;
  };
  std::int64_t farthest = 0;
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    farthest = std::max(farthest, way_along(a.form(), b.form(), axis));
  }
  return std::max({static_cast<double>(farthest) * hop.value_or(0), around(a, b), around(b, a)});
}

/// What every way to send something between places takes besides.
double least_overhead(const Machine& machine) {
  std::optional<double> least;
  for (const target::Mechanism& mechanism : machine.mesh.back().mechanisms) {
    const double cycles = mechanism.overhead_cycles.value_or(0);
    least = std::min(least.value_or(cycles), cycles);
  }
  return least.value_or(0);
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
  const double bytes_each = static_cast<double>(std::min(*bits_a, *bits_b)) / 8;
  const double bytes = std::max({received, sent, 0.0}) * bytes_each;
  std::int64_t way = 0;
  for (std::size_t axis = 0; axis < from->mesh().rank() && axis < to->mesh().rank(); ++axis) {
    way = std::max(way, way_along(from->form(), to->form(), axis));
  }
  double least = bytes / *rate;
  if (from->mesh() == to->mesh() && from->mesh().rank() == machine.shape().rank()) {
    least = std::max({least, least_between_devices(machine, *from, *to, bytes_each),
                      least_on_mesh(machine, *from, *to, bytes_each, *rate)});
  }
  return least > 0 || way > 0 ? least + least_overhead(machine) : 0;
}

}  // namespace tessera::moves
