// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tessera/target/machine.h"
#include "tessera/testing/refused_machine.h"

// How places are connected: networks, routers, mechanisms and gateways of a level.
namespace tessera::target {
namespace {

using test::expect_refused;

constexpr std::string_view kMemory = R"("memory": [{"name": "sram"}])";

/// A machine of one level of 2x3 places with these fields.
std::string level(std::string_view fields) {
  return cat(R"({"name": "m", "mesh": [{"name": "cores", "extents": [2, 3], )", fields, "}], ",
             kMemory, "}");
}

/// Two devices with these fields, of 2x3 cores each.
std::string devices(std::string_view fields, std::string_view core_fields = "") {
  return cat(R"({"name": "m", "mesh": [{"name": "devices", "extents": [2], )", fields,
             R"(}, {"name": "cores", "extents": [2, 3])", core_fields, "}], ", kMemory, "}");
}

Machine parsed(const std::string& json) {
  const Result<Machine> machine = parse_machine(json);
  EXPECT_TRUE(machine.ok()) << render(machine.error(), json);
  return machine.ok() ? *machine : Machine{};
}

TEST(NetworkFields, EveryFieldIsRead) {
  const Machine machine = parsed(devices(
      R"("networks": [{"name": "ethernet", "network": "ring", "ways": ["down"], "links": 2,
                       "hop_seconds": 8e-7, "bytes_per_second": 9.6E+9}],
         "gateways": [{"axis": 0, "way": "up", "routers": [[0, 4], [3, 0]]},
                      {"axis": 0, "way": "down", "routers": [[1, 1], [1, 1]]}])",
      R"(, "routers": {"extents": [4, 5], "places": [[1, 3], [0, 2, 4]]},
         "networks": [{"name": "noc0", "network": "torus", "route": [1, 0], "ways": ["up", "both"],
                       "hop_cycles": 9.5, "bits_per_cycle": 256, "ramp_cycles": 0.0,
                       "packet_bytes": 8192, "ports": ["a", "b"]},
                      {"name": "noc1", "network": "all_to_all", "hop_cycles": null}],
         "mechanisms": [{"name": "read", "network": "noc1", "overhead_cycles": 96,
                         "issue_cycles": 0, "bytes_per_cycle": 28.6, "receiver_cycles": 1e1}])"));
  ASSERT_EQ(machine.mesh.size(), 2U);
  Network ethernet;
  ethernet.name = "ethernet";
  ethernet.kind = NetworkKind::kRing;
  ethernet.ways = {Way::kDown};
  ethernet.links = 2;
  ethernet.hop_seconds = 0.8e-6;
  ethernet.bytes_per_second = 9600000000.0;
  EXPECT_EQ(machine.mesh[0].networks, std::vector<Network>{ethernet});
  const std::vector<Gateway> gateways = {{0, Way::kUp, {{0, 4}, {3, 0}}},
                                         {0, Way::kDown, {{1, 1}, {1, 1}}}};
  EXPECT_EQ(machine.mesh[0].gateways, gateways);
  EXPECT_EQ(machine.mesh[0].router_extents(), (std::vector<std::int64_t>{2}));
  const MeshLevel& cores = machine.mesh[1];
  EXPECT_EQ(cores.routers, (Routers{{4, 5}, {{1, 3}, {0, 2, 4}}}));
  EXPECT_EQ(cores.router_extents(), (std::vector<std::int64_t>{4, 5}));
  Network noc0;
  noc0.name = "noc0";
  noc0.kind = NetworkKind::kTorus;
  noc0.ports = {"a", "b"};
  noc0.route = {1, 0};
  noc0.ways = {Way::kUp, Way::kBoth};
  noc0.hop_cycles = 9.5;
  noc0.bits_per_cycle = 256;
  noc0.ramp_cycles = 0;
  noc0.packet_bytes = 8192;
  Network noc1;
  noc1.name = "noc1";
  noc1.kind = NetworkKind::kAllToAll;
  EXPECT_EQ(cores.networks, (std::vector<Network>{noc0, noc1}));
  EXPECT_EQ(cores.mechanisms, (std::vector<Mechanism>{{"read", "noc1", 96, 0, 28.6, 10}}));
  EXPECT_EQ(machine.devices(), 2);
}

TEST(NetworkFields, LinksAreTheOnlyNetworkWithoutAName) {
  const Machine links = parsed(level(R"("links": {"network": "mesh", "hop_cycles": 1})"));
  EXPECT_EQ(links, parsed(level(R"("networks": [{"network": "mesh", "hop_cycles": 1}])")));
  EXPECT_NE(to_json(links).find(R"("links": {"network": "mesh", "hop_cycles": 1})"),
            std::string::npos)
      << to_json(links);
  EXPECT_EQ(parsed(level(R"("links": null)")), parsed(level(R"("networks": [])")));
  const Machine named = parsed(level(R"("networks": [{"name": "n", "network": "mesh"}])"));
  EXPECT_NE(to_json(named).find(R"("networks": [{"name": "n", "network": "mesh"}])"),
            std::string::npos)
      << to_json(named);
}

TEST(NetworkFields, NetworksThatCannotBe) {
  const auto network = [](std::string_view fields) {
    return level(cat(R"("networks": [{"network": )", fields, "}]"));
  };
  expect_refused({
      {level(R"("links": {"network": "mesh"}, "networks": «[]»)"), ErrorCode::kContradiction,
       "/mesh/0/networks", ""},
      {level(R"("links": {«"name"»: "n", "network": "mesh"})"), ErrorCode::kUnknownName,
       "/mesh/0/links 'name'",
       "hop_cycles ramp_cycles hop_seconds bytes_per_second packet_bytes bits_per_cycle"},
      {level(R"("networks": [{"name": "a", "network": "mesh"}, «{"network": "mesh"}»])"),
       ErrorCode::kBadTarget, "/mesh/0/networks/1 2", "\"name\" \"noc0\""},
      {level(R"("networks": [{"name": "a", "network": "mesh"},
                             {"name": «"a"», "network": "mesh"}])"),
       ErrorCode::kContradiction, "/mesh/0/networks/1/name 'a'", ""},
      {level(
           R"("networks": [«{"name": "", "network": "mesh"}», {"name": "b", "network": "mesh"}])"),
       ErrorCode::kBadTarget, "/mesh/0/networks/0 2", "\"name\" \"noc0\""},
      {network(R"("mesh", "route": «[1, 1]»)"), ErrorCode::kContradiction,
       "/mesh/0/networks/0/route 2 [1 1]", "0 [1 0]"},
      {network(R"("mesh", "route": «[0]»)"), ErrorCode::kContradiction,
       "/mesh/0/networks/0/route 2 [0]", "0 [1 0]"},
      {network(R"("ring", "route": «[1, 0]»)"), ErrorCode::kContradiction,
       "/mesh/0/networks/0/route [1 0]", ""},
      {network(R"("torus", "ways": «["up"]»)"), ErrorCode::kContradiction,
       "/mesh/0/networks/0/ways 2 1", ""},
      {network(R"("ring", "ways": «["up", "up"]»)"), ErrorCode::kContradiction,
       "/mesh/0/networks/0/ways 1 2", ""},
      {network(R"("mesh", "ways": ["both", «"up"»])"), ErrorCode::kContradiction,
       "/mesh/0/networks/0/ways/1", ""},
      {network(R"("noc", "ways": [«"down"», "both"])"), ErrorCode::kContradiction,
       "/mesh/0/networks/0/ways/0", ""},
      {network(R"("torus", "ways": [«"left"», "both"])"), ErrorCode::kUnknownName,
       "/mesh/0/networks/0/ways/0 'left'", ""},
      {network(R"("mesh", "hop_cycles": 1, "hop_seconds": «1»)"), ErrorCode::kContradiction,
       "/mesh/0/networks/0/hop_seconds hop_cycles hop_seconds 1 1", "hop_cycles hop_seconds"},
      {network(R"("mesh", "bits_per_cycle": 8, "bytes_per_second": «1»)"),
       ErrorCode::kContradiction,
       "/mesh/0/networks/0/bytes_per_second bits_per_cycle bytes_per_second 8 1",
       "bits_per_cycle bytes_per_second"},
      {network(R"("mesh", "links": «0»)"), ErrorCode::kBadNumber, "/mesh/0/networks/0/links 1 0",
       ""},
      {network(R"("mesh", "links": «4097»)"), ErrorCode::kTooLarge,
       "/mesh/0/networks/0/links 4096 4097", ""},
      {network(R"("mesh", "links": «1.5»)"), ErrorCode::kBadNumber,
       "/mesh/0/networks/0/links 64-bit", "9223372036854775807"},
      {network(R"("mesh", "packet_bytes": «0»)"), ErrorCode::kBadNumber,
       "/mesh/0/networks/0/packet_bytes 1 0", ""},
  });
}

TEST(NetworkFields, FiguresThatCannotBe) {
  const auto links = [](std::string_view field) {
    return level(cat(R"("links": {"network": "mesh", )", field, "}"));
  };
  expect_refused({
      {links(R"("hop_cycles": «0»)"), ErrorCode::kBadNumber,
       "/mesh/0/links/hop_cycles 1e-20 1e20 0", ""},
      {links(R"("hop_cycles": «-1.5»)"), ErrorCode::kBadNumber,
       "/mesh/0/links/hop_cycles 1e-20 1e20 -1.5", ""},
      {links(R"("hop_cycles": «-0.0»)"), ErrorCode::kBadNumber,
       "/mesh/0/links/hop_cycles 1e-20 1e20 0", ""},
      {links(R"("bits_per_cycle": «1e-320»)"), ErrorCode::kBadNumber,
       "/mesh/0/links/bits_per_cycle 1e-20 1e20 1e-320", ""},
      {links(R"("ramp_cycles": «1e-320»)"), ErrorCode::kBadNumber,
       "/mesh/0/links/ramp_cycles 0 1e-20 1e20 1e-320", ""},
      {links(R"("ramp_cycles": «-1»)"), ErrorCode::kBadNumber,
       "/mesh/0/links/ramp_cycles 0 1e-20 1e20 -1", ""},
      {links(R"("hop_seconds": «1.5e300»)"), ErrorCode::kBadNumber,
       "/mesh/0/links/hop_seconds 1e-20 1e20 1.5e300", ""},
      {links(R"("hop_seconds": «1e400»)"), ErrorCode::kBadNumber, "'1e400'", "9223372036854775807"},
      {links(R"("hop_seconds": «"1"»)"), ErrorCode::kBadTarget, "/mesh/0/links/hop_seconds '1'",
       ""},
      {level(R"("networks": [{"network": "mesh", "hop_cycles": «0»}])"), ErrorCode::kBadNumber,
       "/mesh/0/networks/0/hop_cycles 1e-20 1e20 0", ""},
  });
  // -0 is 0, and prints as 0.
  const Machine zero = parsed(links(R"("ramp_cycles": -0.0)"));
  EXPECT_NE(to_json(zero).find(R"("ramp_cycles": 0})"), std::string::npos) << to_json(zero);
  Machine made = zero;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), -1.0, 1e21, 1e-21}) {
    made.mesh[0].networks[0].ramp_cycles = bad;
    EXPECT_EQ(made.check().error().code, ErrorCode::kBadNumber) << bad;
  }
  made.mesh[0].networks[0].ramp_cycles = -0.0;
  EXPECT_EQ(to_json(made), to_json(zero));
  // Whole numbers of today's files, however large, stay what they were.
  EXPECT_EQ(parsed(links(R"("hop_cycles": 9223372036854775807)")).mesh[0].networks[0].hop_cycles,
            9223372036854775808.0);
}

TEST(NetworkFields, RoutersThatCannotBe) {
  const auto routers = [](std::string_view extents, std::string_view places) {
    return level(cat(R"("routers": {"extents": )", extents, R"(, "places": )", places, "}"));
  };
  expect_refused({
      {routers("«[4]»", "[[0, 1], [0, 1, 2]]"), ErrorCode::kContradiction,
       "/mesh/0/routers/extents 2 1", ""},
      {routers("[4, 4]", "«[[0, 1]]»"), ErrorCode::kContradiction, "/mesh/0/routers/places 2 1",
       ""},
      {routers("[4, «0»]", "[[0, 1], [0, 1, 2]]"), ErrorCode::kBadNumber,
       "/mesh/0/routers/extents/1 1 0", ""},
      {routers("[4, 4]", "[[0, 1], «[0, 1]»]"), ErrorCode::kContradiction,
       "/mesh/0/routers/places/1 3 2", ""},
      {routers("[4, 4]", "[[1, «1»], [0, 1, 2]]"), ErrorCode::kContradiction,
       "/mesh/0/routers/places/0/1 2 3 1", "0"},
      {routers("[4, 4]", "[[0, 1], [0, 1, «4»]]"), ErrorCode::kContradiction,
       "/mesh/0/routers/places/1/2 2 3 4", "0"},
      {routers("[4, 4]", "[[«-1», 1], [0, 1, 2]]"), ErrorCode::kContradiction,
       "/mesh/0/routers/places/0/0 0 3 -1", "0"},
      {level(R"("routers": «{»"extents": [4, 4]})"), ErrorCode::kBadTarget,
       "/mesh/0/routers 'places'", "\"places\""},
      {cat(R"({"name": "m", "mesh": «[{"name": "a", "extents": [1], "routers": {"extents":
            [9223372036854775807], "places": [[0]]}}, {"name": "b", "extents": [2]}]», )",
           kMemory, "}"),
       ErrorCode::kOverflow, "/mesh 64-bit", ""},
  });
}

TEST(NetworkFields, MechanismsThatCannotBe) {
  constexpr std::string_view kTwo =
      R"("networks": [{"name": "noc0", "network": "torus"}, {"name": "noc1", "network": "torus"}],
         "mechanisms": )";
  const auto two = [&](std::string_view list) { return level(cat(kTwo, list)); };
  expect_refused({
      {two(R"([{"name": "read", "network": «"noc2"»}])"), ErrorCode::kUnknownName,
       "/mesh/0/mechanisms/0/network 'noc2'", "'noc0'"},
      {two(R"([«{"name": "read"}»])"), ErrorCode::kBadTarget, "/mesh/0/mechanisms/0 2",
       "\"network\" \"noc0\""},
      {two(R"([{"name": "read", "network": "noc0"}, {"name": «"read"», "network": "noc1"}])"),
       ErrorCode::kContradiction, "/mesh/0/mechanisms/1/name 'read'", ""},
      {two(R"([{"name": "read", "network": "noc0", "issue_cycles": «-1»}])"), ErrorCode::kBadNumber,
       "/mesh/0/mechanisms/0/issue_cycles 0 1e-20 1e20 -1", ""},
      {two(R"([{"name": "read", "network": "noc0", "bytes_per_cycle": «0»}])"),
       ErrorCode::kBadNumber, "/mesh/0/mechanisms/0/bytes_per_cycle 1e-20 1e20 0", ""},
      {level(R"("mechanisms": [«{"name": "read"}»])"), ErrorCode::kContradiction,
       "/mesh/0/mechanisms/0", ""},
  });
  // The only network needs no name.
  const Machine only =
      parsed(level(R"("links": {"network": "mesh"}, "mechanisms": [{"name": "read"}])"));
  EXPECT_EQ(only.mesh[0].mechanisms[0].network, "");
}

TEST(NetworkFields, GatewaysThatCannotBe) {
  const auto gateways = [](std::string_view list) {
    return devices(cat(R"("links": {"network": "mesh"}, "gateways": )", list));
  };
  constexpr std::string_view kDown = R"({"axis": 0, "way": "down", "routers": [[0, 0]]})";
  expect_refused({
      {level(R"("links": {"network": "mesh"},
                "gateways": «[{"axis": 0, "way": "up", "routers": [[0]]}]»)"),
       ErrorCode::kContradiction, "/mesh/0/gateways 1", ""},
      {devices(cat(R"("gateways": «[)", kDown, "]»")), ErrorCode::kContradiction,
       "/mesh/0/gateways", ""},
      {gateways(cat("«[", kDown, "]»")), ErrorCode::kContradiction, "/mesh/0/gateways 0 2",
       "{\"axis\" 0 \"way\" \"up\" \"routers\" [..]}"},
      {gateways(cat("[", kDown, ", «", kDown, "»]")), ErrorCode::kContradiction,
       "/mesh/0/gateways/1 0", ""},
      {gateways(R"([{"axis": «1», "way": "up", "routers": [[0, 0]]}])"), ErrorCode::kOutOfRange,
       "/mesh/0/gateways/0/axis 0 0 1", "0"},
      {gateways(R"([{"axis": 0, "way": «"both"», "routers": [[0, 0]]}])"), ErrorCode::kUnknownName,
       "/mesh/0/gateways/0/way 'both'", ""},
      {gateways(R"([{"axis": 0, "way": "up", "routers": [«[2, 0]»]}])"), ErrorCode::kOutOfRange,
       "/mesh/0/gateways/0/routers/0 2x3 [2 0]", "0"},
      {gateways(R"([{"axis": 0, "way": "up", "routers": [«[0]»]}])"), ErrorCode::kOutOfRange,
       "/mesh/0/gateways/0/routers/0 2x3 [0]", "0"},
      {gateways(R"([{"axis": 0, "way": "up", "routers": «[[0, 0], [0, 1]]»}])"),
       ErrorCode::kContradiction, "/mesh/0/gateways/0/routers 1 2", ""},
  });
  Machine made =
      parsed(gateways(cat(R"([{"axis": 0, "way": "up", "routers": [[0, 0]]}, )", kDown, "]")));
  made.mesh[0].gateways[0].way = Way::kBoth;
  EXPECT_EQ(made.check().error().code, ErrorCode::kBadTarget);
  // An axis of one device needs no gateway.
  made.mesh[0].gateways.clear();
  made.mesh[0].extents = {1, 2};
  made.mesh[0].gateways = {{1, Way::kUp, {{0, 0}}}, {1, Way::kDown, {{0, 0}}}};
  EXPECT_TRUE(made.check().ok());
  // A ring has one axis, whatever those of its level: 4 devices in a ring.
  made.mesh[0].extents = {2, 2};
  made.mesh[0].networks[0].kind = NetworkKind::kRing;
  EXPECT_EQ(made.check().error().code, ErrorCode::kOutOfRange);
  made.mesh[0].gateways = {{0, Way::kUp, {{0, 0}}}, {0, Way::kDown, {{0, 0}}}};
  EXPECT_TRUE(made.check().ok());
}

TEST(NetworkFields, Limits) {
  const auto code = [](const Machine& machine) {
    const Status status = machine.check();
    return status.ok() ? std::string("ok") : std::string(code_name(status.error().code));
  };
  Machine machine = parsed(level(R"("links": {"network": "mesh"})"));
  MeshLevel& cores = machine.mesh[0];
  const auto name_all = [](auto& items, std::size_t count) {
    items.resize(count);
    for (std::size_t i = 0; i < count; ++i) items[i].name = cat("name_", i);
  };
  name_all(cores.mechanisms, kMaxMechanisms);
  EXPECT_EQ(code(machine), "ok");
  name_all(cores.mechanisms, kMaxMechanisms + 1);
  EXPECT_EQ(code(machine), "too_large");
  cores.mechanisms.clear();
  name_all(cores.networks, kMaxNetworks);
  EXPECT_EQ(code(machine), "ok");
  name_all(cores.networks, kMaxNetworks + 1);
  EXPECT_EQ(code(machine), "too_large");
}

}  // namespace
}  // namespace tessera::target
