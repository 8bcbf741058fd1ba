// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/dtype.h"
#include "tessera/base/text.h"
#include "tessera/target/machine.h"

// Law: parse_machine(to_json(m)) = m for every machine that check() accepts.
namespace tessera::target {
namespace {

using Figure = std::optional<std::int64_t>;

std::int64_t number(std::int64_t least, std::int64_t most) {
  return *rc::gen::inRange<std::int64_t>(least, most + 1);
}
bool chance() { return *rc::gen::inRange(0, 2) == 1; }
Figure figure(std::int64_t least, std::int64_t most) {
  return chance() ? Figure(number(least, most)) : std::nullopt;
}

/// Distinct names: each ends in its number.
std::vector<std::string> names(std::int64_t most) {
  std::vector<std::string> list;
  for (std::int64_t i = number(0, most); i > 0; --i) list.push_back(cat("name_", i));
  return list;
}

std::string text() {
  static const std::vector<std::string> pieces = {"a", " ", "\"", "\\", "/", "{", "é", "字", "😀"};
  std::string out;
  for (std::int64_t i = number(0, 8); i > 0; --i) {
    out +=
        pieces[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(pieces.size()) - 1))];
  }
  return out;
}

/// A figure that need not be whole: any digits, and the ends of the range.
double real() {
  switch (number(0, 4)) {
    case 0:
      return static_cast<double>(number(1, 4096));
    case 1:
      return static_cast<double>(number(1, 99999)) / 1000;
    case 2:
      return kMinFigure;
    case 3:
      return kMaxFigure;
    default:  // 1 to 2 times a power of two from 2^-60 to 2^60
      return std::ldexp(1 + std::ldexp(static_cast<double>(number(0, (1LL << 52) - 1)), -52),
                        static_cast<int>(number(-60, 60)));
  }
}
std::optional<double> maybe_real() { return chance() ? std::optional(real()) : std::nullopt; }
std::optional<double> real_or_zero() {
  return number(0, 3) == 0 ? std::optional(0.0) : maybe_real();
}

std::vector<std::int64_t> random_order(std::size_t axes) {
  std::vector<std::int64_t> order;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto at = number(0, static_cast<std::int64_t>(axis));
    order.insert(order.begin() + at, static_cast<std::int64_t>(axis));
  }
  return order;
}

Network random_network(std::size_t axes, std::string name) {
  Network network;
  network.name = std::move(name);
  network.kind = static_cast<NetworkKind>(number(0, 4));
  network.ports = names(5);
  const bool torus = network.kind == NetworkKind::kTorus;
  const bool ring = network.kind == NetworkKind::kRing;
  if (chance() && (torus || network.kind == NetworkKind::kMesh)) network.route = random_order(axes);
  if (chance()) network.ways.resize(ring ? 1 : axes);
  for (Way& way : network.ways) way = static_cast<Way>(torus || ring ? number(0, 2) : 0);
  network.ramp_cycles = real_or_zero();
  (chance() ? network.hop_cycles : network.hop_seconds) = maybe_real();
  (chance() ? network.bits_per_cycle : network.bytes_per_second) = maybe_real();
  network.links = chance() ? 1 : number(1, 5);
  network.packet_bytes = figure(1, 1 << 20);
  return network;
}

Mechanism random_mechanism(std::string name, const std::vector<Network>& networks) {
  Mechanism mechanism;
  mechanism.name = std::move(name);
  const auto network = number(0, static_cast<std::int64_t>(networks.size()) - 1);
  mechanism.network = networks[static_cast<std::size_t>(network)].name;
  mechanism.overhead_cycles = real_or_zero();
  mechanism.issue_cycles = real_or_zero();
  mechanism.bytes_per_cycle = maybe_real();
  mechanism.receiver_cycles = real_or_zero();
  return mechanism;
}

Routers random_routers(const std::vector<std::int64_t>& extents) {
  Routers routers;
  for (const std::int64_t extent : extents) {
    std::vector<std::int64_t> places;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < extent; ++i) {
      next += number(0, 2);
      places.push_back(next++);
    }
    routers.extents.push_back(next + number(0, 2));
    routers.places.push_back(std::move(places));
  }
  return routers;
}

MeshLevel random_level(std::string name) {
  MeshLevel level;
  level.name = std::move(name);
  for (std::int64_t k = number(1, 3); k > 0; --k) level.extents.push_back(number(1, 12));
  const std::size_t axes = level.extents.size();
  if (chance()) {
    for (std::size_t k = 0; k < axes; ++k) level.axes.push_back(cat("axis", k));
  }
  if (chance()) level.routers = random_routers(level.extents);
  const std::int64_t networks = number(0, 3);
  for (std::int64_t i = 0; i < networks; ++i) {
    const bool named = networks > 1 || chance();
    level.networks.push_back(random_network(axes, named ? cat("network_", i) : ""));
  }
  if (networks > 0) {
    for (std::string& mechanism : names(3)) {
      level.mechanisms.push_back(random_mechanism(mechanism, level.networks));
    }
  }
  return level;
}

Place random_router(const MeshLevel& level) {
  Place router;
  for (const std::int64_t extent : level.router_extents()) router.push_back(number(0, extent - 1));
  return router;
}

void add_gateways(const MeshLevel& inner, MeshLevel& level) {
  if (level.networks.empty() || chance()) return;
  const bool ring = level.networks[0].kind == NetworkKind::kRing;
  const auto axes = ring ? 1 : static_cast<std::int64_t>(level.extents.size());
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    for (const Way way : {Way::kUp, Way::kDown}) {
      Gateway gateway{axis, way, {}};
      for (std::int64_t i = 0; i < level.networks[0].links; ++i) {
        gateway.routers.push_back(random_router(inner));
      }
      level.gateways.push_back(std::move(gateway));
    }
  }
}

Bandwidth random_bandwidth() {
  Bandwidth bandwidth;
  (chance() ? bandwidth.bytes_per_cycle : bandwidth.bytes_per_second) = maybe_real();
  return bandwidth;
}

/// A router of the innermost level or, for a shared memory, also of a device.
Place router_of(const MemorySpace& space, const Machine& machine) {
  Place router;
  if (space.owner == MemorySpace::Owner::kShared && chance()) {
    for (std::size_t i = 0; i + 1 < machine.mesh.size(); ++i) {
      for (const std::int64_t extent : machine.mesh[i].extents) {
        router.push_back(number(0, extent - 1));
      }
    }
  }
  const Place inner = random_router(machine.mesh.back());
  router.insert(router.end(), inner.begin(), inner.end());
  return router;
}

MemorySpace random_space(std::string name, const Machine& machine) {
  MemorySpace space;
  space.name = std::move(name);
  space.owner = static_cast<MemorySpace::Owner>(number(0, 2));
  if (space.owner == MemorySpace::Owner::kBank) space.banks = number(1, 64);
  space.bytes = figure(1 << 10, 1 << 30);  // times at most 12^9 places, or 64·12^6 banks
  if (space.bytes) {
    for (std::string& reserve : names(3)) space.reserved.push_back({reserve, number(1, 255)});
  }
  if (chance()) space.usable_bytes = number(1, 128);
  space.align_bytes = chance() ? number(1, 4096) : 1;
  space.read = random_bandwidth();
  space.write = random_bandwidth();
  space.mixed = random_bandwidth();
  if (space.owner != MemorySpace::Owner::kPlace && chance()) {
    space.at.resize(static_cast<std::size_t>(space.banks.value_or(1)));
    for (std::vector<Place>& routers : space.at) {
      for (std::int64_t i = number(1, 3); i > 0; --i) routers.push_back(router_of(space, machine));
    }
  }
  return space;
}

std::vector<ComputeRate> random_rates() {
  std::vector<ComputeRate> rates;
  for (std::string& unit : names(4)) {
    const auto dtype = number(0, static_cast<std::int64_t>(all_dtypes().size()) - 1);
    const std::string_view name = dtype_name(all_dtypes()[static_cast<std::size_t>(dtype)]);
    rates.push_back({unit, chance() ? std::string(name) : "", chance() ? "mode-1" : "", real()});
  }
  return rates;
}

/// Distinct fields, so that no two notes disagree.
std::vector<Note> random_notes() {
  std::vector<Note> notes;
  for (std::int64_t i = number(0, 3); i > 0; --i) {
    Note note{cat("/", i, text()), text(), std::nullopt};
    if (chance()) note.evidence = static_cast<Evidence>(number(0, 3));
    notes.push_back(std::move(note));
  }
  return notes;
}

Machine random_machine() {
  Machine machine;
  machine.name = "m-1_X";
  machine.title = text();
  for (std::int64_t i = number(1, 3); i > 0; --i) {
    machine.mesh.push_back(random_level(cat("level", i)));
  }
  for (std::size_t i = 0; i + 1 < machine.mesh.size(); ++i) {
    add_gateways(machine.mesh[i + 1], machine.mesh[i]);
  }
  machine.clock_hz = figure(1, std::int64_t{1} << 40);
  for (std::int64_t i = number(1, 4); i > 0; --i) {
    machine.memory.push_back(random_space(cat("space", i), machine));
  }
  machine.data_space = machine
                           .memory[static_cast<std::size_t>(
                               number(0, static_cast<std::int64_t>(machine.memory.size()) - 1))]
                           .name;
  const Shape shape = machine.shape();
  Rules& rules = machine.rules;
  rules.wavelet_bits = figure(1, 64);
  rules.colours = figure(1, kMaxColours);
  for (std::int64_t colour = number(0, 9); rules.colours && colour < *rules.colours;
       colour += number(1, 500)) {
    rules.reserved_colours.push_back(colour);
  }
  if (shape.rank() == 2 && chance()) rules.fabric = Fabric{4, 1, shape[1] + 7, shape[0] + 2};
  if (chance()) rules.tile = TileSize{number(1, 64), number(1, 64)};
  rules.stick_bytes = figure(1, 1024);
  rules.span_limit_bytes = figure(1, std::int64_t{1} << 40);
  for (std::int64_t i = number(0, 3); i > 0; --i) {
    PlaceRange range;
    range.from = shape.delinear(number(0, shape.elements() - 1));
    range.to = range.from;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      range.to[axis] = number(range.from[axis], std::min(range.from[axis] + 3, shape[axis] - 1));
    }
    machine.dead.push_back(std::move(range));
    // At least one place works.
    if (std::ssize(machine.dead_places()) == shape.elements()) machine.dead.pop_back();
  }
  machine.compute = random_rates();
  machine.op_gap_seconds = real_or_zero();
  machine.notes = random_notes();
  return machine;
}

TEST(MachineRoundTrip, RandomMachines) {
  EXPECT_TRUE(rc::check("parse_machine(to_json(m)) = m", [] {
    for (int i = 0; i < 20; ++i) {
      const Machine machine = random_machine();
      const Status status = machine.check();
      if (!status) RC_FAIL(status.error().message);
      const std::string json = to_json(machine);
      const auto again = parse_machine(json);
      if (!again) RC_FAIL(render(again.error(), json));
      RC_ASSERT(*again == machine);
      RC_ASSERT(to_json(*again) == json);
    }
  }));
}

TEST(MachineRoundTrip, BuiltInMachines) {
  for (const Machine& machine : machines()) {
    const auto again = parse_machine(to_json(machine));
    ASSERT_TRUE(again.ok()) << machine.name;
    EXPECT_EQ(*again, machine) << machine.name;
  }
}

TEST(MachineRoundTrip, ReadsAsWritten) {
  const auto machine = parse_machine(
      R"({"memory": [{"bytes": 65536, "name": "sram"}], "mesh": [4, 4], "name": "mine"})");
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(to_json(*machine), R"({
  "name": "mine",
  "mesh": [
    {"name": "mesh", "extents": [4, 4]}
  ],
  "memory": [
    {"name": "sram", "bytes": 65536}
  ],
  "data_space": "sram"
}
)");
}

TEST(MachineCheck, TextsOfMachinesMadeInCode) {
  Machine machine = machines()[0];
  for (const char* bad : {"\xC3(", "\x80", "\xF8\x88\x80\x80\x80", "\xED\xA0\x80", "\xE0\x80\xAF",
                          "\xC2\x9B", "\x7F", "\xE5\xAD"}) {
    machine.title = bad;
    EXPECT_EQ(machine.check().error().code, ErrorCode::kBadTarget);
  }
  machine.title = "Größe 字 😀";
  EXPECT_TRUE(machine.check().ok());
}

}  // namespace
}  // namespace tessera::target
