// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/machine.h"

#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tessera/testing/refused_machine.h"

// Bandwidths, where memories are reached, arithmetic, and how figures are known.
namespace tessera::target {
namespace {

using test::expect_refused;

Machine parsed(const std::string& json) {
  const Result<Machine> machine = parse_machine(json);
  EXPECT_TRUE(machine.ok()) << render(machine.error(), json);
  return machine.ok() ? *machine : Machine{};
}

/// 2 devices of 2x3 cores with 3x4 routers, and one memory with these fields.
std::string with_memory(std::string_view fields) {
  return cat(R"({"name": "m", "mesh": [{"name": "devices", "extents": [2]},
                 {"name": "cores", "extents": [2, 3],
                  "routers": {"extents": [3, 4], "places": [[0, 2], [1, 2, 3]]}}],
                 "memory": [{"name": "a", )",
             fields, "}]}");
}
/// 4x4 places, and these fields.
std::string with(std::string_view fields) {
  return cat(R"({"name": "m", "mesh": [4, 4], "memory": [{"name": "a"}], )", fields, "}");
}

TEST(MemoryFields, EveryFieldIsRead) {
  const Machine banks = parsed(with_memory(
      R"("per": "bank", "banks": 2, "read": {"bytes_per_second": 24e9},
         "write": {"bytes_per_cycle": 0.5}, "mixed": {}, "at": [[[2, 3], [0, 0]], [[1, 1]]])"));
  const MemorySpace& dram = banks.memory[0];
  EXPECT_EQ(dram.read, (Bandwidth{std::nullopt, 24e9}));
  EXPECT_EQ(dram.write, (Bandwidth{0.5, std::nullopt}));
  EXPECT_FALSE(dram.mixed.known());
  EXPECT_EQ(dram.at, (std::vector<std::vector<Place>>{{{2, 3}, {0, 0}}, {{1, 1}}}));
  // A shared memory may be at routers of some devices only.
  const Machine shared =
      parsed(with_memory(R"("per": "shared", "read": null, "at": [[[1, 2, 3], [2, 3]]])"));
  EXPECT_EQ(shared.memory[0].at, (std::vector<std::vector<Place>>{{{1, 2, 3}, {2, 3}}}));
}

TEST(MemoryFields, MemoriesThatCannotBe) {
  expect_refused({
      {with_memory(R"("read": {"bytes_per_cycle": 1, "bytes_per_second": «2.5»})"),
       ErrorCode::kContradiction,
       "/memory/0/read/bytes_per_second bytes_per_cycle bytes_per_second 1 2.5",
       "bytes_per_cycle bytes_per_second"},
      {with_memory(R"("write": {"bytes_per_cycle": «0»})"), ErrorCode::kBadNumber,
       "/memory/0/write/bytes_per_cycle 1e-20 1e20 0", ""},
      {with_memory(R"("mixed": «7»)"), ErrorCode::kBadTarget, "/memory/0/mixed 7", ""},
      {with_memory(R"("at": «[[[0, 0]]]»)"), ErrorCode::kContradiction, "/memory/0/at 1", ""},
      {with_memory(R"("per": "bank", "banks": 2, "at": «[[[0, 0]]]»)"), ErrorCode::kContradiction,
       "/memory/0/at 2 1", ""},
      {with_memory(R"("per": "bank", "banks": 2, "at": [[[0, 0]], «[]»])"), ErrorCode::kBadTarget,
       "/memory/0/at/1", ""},
      {with_memory(R"("per": "bank", "banks": 1, "at": [[«[3, 0]»]])"), ErrorCode::kOutOfRange,
       "/memory/0/at/0/0 3x4 [3 0]", "0"},
      {with_memory(R"("per": "bank", "banks": 1, "at": [[«[0, 0, 0]»]])"), ErrorCode::kOutOfRange,
       "/memory/0/at/0/0 3x4 [0 0 0]", "0"},
      {with_memory(R"("per": "shared", "at": [[[0, 0], «[2, 0, 0]»]])"), ErrorCode::kOutOfRange,
       "/memory/0/at/0/1 2x3x4 [2 0 0]", "0"},
      {with_memory(R"("per": "shared", "at": «[[[0, 0]], [[0, 0]]]»)"), ErrorCode::kContradiction,
       "/memory/0/at 1 2", ""},
      {with_memory(R"("per": "bank", "banks": 4097, "at": «[[[0, 0]]]»)"), ErrorCode::kTooLarge,
       "/memory/0/at 4096 4097", ""},
      // Of each of two devices.
      {with_memory(R"("per": "bank", "banks": 1, "bytes": «4611686018427387904»)"),
       ErrorCode::kOverflow, "/memory/0/bytes 4611686018427387904 1 2 64-bit", ""},
  });
}

TEST(ComputeFields, RatesThatCannotBe) {
  const Machine machine = parsed(with(
      R"("compute": [{"unit": "matrix", "dtype": "bf16", "mode": "lofi", "per_cycle": 2048},
                     {"unit": "vector", "per_cycle": 0.25}], "op_gap_seconds": 2.05e-6)"));
  EXPECT_EQ(machine.compute,
            (std::vector<ComputeRate>{{"matrix", "bf16", "lofi", 2048}, {"vector", "", "", 0.25}}));
  EXPECT_EQ(machine.op_gap_seconds, 2.05e-6);
  expect_refused({
      {with(R"("compute": [{"unit": «"a/b"», "per_cycle": 1}])"), ErrorCode::kBadTarget,
       "/compute/0/unit 'a/b'", "1 64 '_' '-'"},
      {with(R"("compute": [«{»"unit": "vector"}])"), ErrorCode::kBadTarget,
       "/compute/0 'per_cycle'", "\"per_cycle\""},
      {with(R"("compute": [{"unit": "vector", "dtype": «"f23"», "per_cycle": 1}])"),
       ErrorCode::kUnknownName, "/compute/0/dtype 'f23'", "'f32'"},
      {with(R"("compute": [{"unit": "vector", "per_cycle": «0»}])"), ErrorCode::kBadNumber,
       "/compute/0/per_cycle 1e-20 1e20 0", ""},
      {with(R"("compute": [{"unit": "vector", "mode": "a", "per_cycle": 1},
                           «{"unit": "vector", "mode": "a", "per_cycle": 2}»])"),
       ErrorCode::kContradiction, "/compute/1 'vector", ""},
      {with(R"("op_gap_seconds": «-1»)"), ErrorCode::kBadNumber, "/op_gap_seconds 0 1e-20 1e20 -1",
       ""},
  });
}

TEST(MachineCheck, Limits) {
  const auto code = [](const Machine& machine) {
    const Status status = machine.check();
    return status.ok() ? std::string("ok") : std::string(code_name(status.error().code));
  };
  Machine machine = parsed(with_memory(R"("per": "shared", "at": [[[0, 0]]])"));
  machine.memory[0].at[0].resize(kMaxRoutersAt, {0, 0});
  EXPECT_EQ(code(machine), "ok");
  machine.memory[0].at[0].push_back({0, 0});
  EXPECT_EQ(code(machine), "too_large");
  machine.memory[0].at.clear();
  for (std::size_t i = 0; i < kMaxComputeRates; ++i) {
    machine.compute.push_back({cat("unit_", i), "", "", 1});
  }
  EXPECT_EQ(code(machine), "ok");
  machine.compute.push_back({"one_more", "", "", 1});
  EXPECT_EQ(code(machine), "too_large");
}

TEST(Evidence, NotesThatCannotBe) {
  expect_refused({
      {with(R"("notes": [«{»"about": "/clock_hz"}])"), ErrorCode::kBadTarget, "/notes/0 'text'",
       "\"text\""},
      {with(R"("notes": [{"about": "/clock_hz", "is": «"guessed"»}])"), ErrorCode::kUnknownName,
       "/notes/0/is 'guessed'", ""},
      {with(R"("notes": [{"about": "/mesh/0/links/ports", "is": "assumed"},
                         {"about": "/mesh/0/networks/0/ports/", "is": «"fitted"»}])"),
       ErrorCode::kContradiction, "/notes/1/is 0", ""},
  });
  EXPECT_TRUE(parse_machine(with(R"("notes": [{"about": "/clock_hz", "is": "assumed"},
                                              {"about": "/clock_hz", "text": "also"},
                                              {"about": "/clock_hz", "is": "assumed"}])"))
                  .ok());
}

TEST(Evidence, IsThatOfTheLongestPrefix) {
  const Machine machine = parsed(with(
      R"("notes": [{"about": "/memory/1", "is": "assumed"},
                   {"about": "/memory/1/bytes", "is": "published", "text": "x"},
                   {"about": "/memory/1/bytes", "text": "no evidence"},
                   {"about": "/memory", "is": "fitted"},
                   {"about": "/mesh/0/links/hop_cycles", "is": "measured"}])"));
  const auto word = [&](std::string_view path) {
    const std::optional<Evidence> evidence = machine.evidence(path);
    return evidence ? std::string(evidence_name(*evidence)) : std::string("none");
  };
  EXPECT_EQ(word("/memory/1/bytes"), "published");
  EXPECT_EQ(word("/memory/1/bytes/of"), "published");
  EXPECT_EQ(word("/memory/1/byte"), "assumed");
  EXPECT_EQ(word("/memory/1"), "assumed");
  EXPECT_EQ(word("/memory/10/bytes"), "fitted");
  EXPECT_EQ(word("/memory"), "fitted");
  EXPECT_EQ(word("/memory2"), "none");
  EXPECT_EQ(word("/"), "none");
  EXPECT_EQ(word("/mesh/0/links/hop_cycles"), "measured");
  EXPECT_EQ(word("/mesh/0/networks/0/hop_cycles"), "measured");
  EXPECT_EQ(word("/mesh/0/networks/1/hop_cycles"), "none");
  EXPECT_EQ(word("/mesh/1/links/hop_cycles"), "none");
  Machine whole = machine;
  whole.notes.push_back({"/", "", Evidence::kAssumed});
  EXPECT_EQ(whole.evidence("/clock_hz"), Evidence::kAssumed);
  EXPECT_EQ(whole.evidence("/memory/3"), Evidence::kFitted);
}

TEST(Bandwidth, PerCycle) {
  Machine machine = parsed(with(R"("clock_hz": 2000000000)"));
  EXPECT_EQ(machine.per_cycle({}), std::nullopt);
  EXPECT_EQ(machine.per_cycle({32, std::nullopt}), 32);
  EXPECT_EQ(machine.per_cycle({std::nullopt, 24e9}), 12);
  machine.clock_hz.reset();
  EXPECT_EQ(machine.per_cycle({32, std::nullopt}), 32);
  EXPECT_EQ(machine.per_cycle({std::nullopt, 24e9}), std::nullopt);
}

TEST(Bandwidth, MemoryCycles) {
  const Machine machine = parsed(with(R"("clock_hz": 1000000000)"));
  MemorySpace space;
  EXPECT_EQ(machine.memory_cycles(space, 0, 0), 0);
  EXPECT_EQ(machine.memory_cycles(space, 1, 0), std::nullopt);
  space.read.bytes_per_second = 150e9;
  EXPECT_EQ(machine.memory_cycles(space, 300, 0), 2);
  EXPECT_EQ(machine.memory_cycles(space, 300, 1), std::nullopt);
  space.write.bytes_per_cycle = 50;
  EXPECT_EQ(machine.memory_cycles(space, 300, 50), 2);   // both at once: reads decide
  EXPECT_EQ(machine.memory_cycles(space, 300, 200), 4);  // writes decide
  space.mixed.bytes_per_cycle = 105;
  EXPECT_EQ(machine.memory_cycles(space, 210, 210), 4);      // 420 / 105
  EXPECT_EQ(machine.memory_cycles(space, 510, 210), 4 + 2);  // and 300 more are read
  EXPECT_EQ(machine.memory_cycles(space, 210, 310), 4 + 2);  // or 100 more are written
  EXPECT_EQ(machine.memory_cycles(space, 300, 0), 2);
}

TEST(Devices, ArePlacesOfOuterLevels) {
  Machine machine;
  machine.mesh.resize(1);
  machine.mesh[0].extents = {8, 8};
  EXPECT_EQ(machine.devices(), 1);
  machine.mesh.insert(machine.mesh.begin(), 2, MeshLevel{});
  machine.mesh[0].extents = {3};
  machine.mesh[1].extents = {2, 4};
  EXPECT_EQ(machine.devices(), 24);
}

}  // namespace
}  // namespace tessera::target
