// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

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

Links random_links() {
  Links links;
  links.network = static_cast<Network>(number(0, 3));
  links.ports = names(5);
  links.hop_cycles = figure(1, 9);
  links.bits_per_cycle = figure(1, 1024);
  links.ramp_cycles = figure(0, 9);
  return links;
}

MemorySpace random_space(std::string name) {
  MemorySpace space;
  space.name = std::move(name);
  space.owner = static_cast<MemorySpace::Owner>(number(0, 2));
  if (space.owner == MemorySpace::Owner::kBank) space.banks = number(1, 64);
  space.bytes = figure(1 << 10, 1 << 30);  // times at most 12^9 places
  if (space.bytes) {
    for (std::string& reserve : names(3)) space.reserved.push_back({reserve, number(1, 255)});
  }
  if (chance()) space.usable_bytes = number(1, 128);
  space.align_bytes = chance() ? number(1, 4096) : 1;
  return space;
}

Machine random_machine() {
  Machine machine;
  machine.name = "m-1_X";
  machine.title = text();
  for (std::int64_t i = number(1, 3); i > 0; --i) {
    MeshLevel level;
    level.name = cat("level", i);
    for (std::int64_t k = number(1, 3); k > 0; --k) level.extents.push_back(number(1, 12));
    if (chance()) {
      for (std::size_t k = 0; k < level.extents.size(); ++k) level.axes.push_back(cat("axis", k));
    }
    if (chance()) level.links = random_links();
    machine.mesh.push_back(std::move(level));
  }
  machine.clock_hz = figure(1, std::int64_t{1} << 40);
  for (std::int64_t i = number(1, 4); i > 0; --i) {
    machine.memory.push_back(random_space(cat("space", i)));
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
  }
  for (std::int64_t i = number(0, 2); i > 0; --i) machine.notes.push_back({"/" + text(), text()});
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
