// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/traffic.h"

#include <gtest/gtest.h>

#include "tessera/fabric/drain.h"
#include "tessera/fabric/simulate.h"
#include "tessera/fabric/xy_trees.h"
#include "tessera/target/machine.h"
#include "tessera/testing/figures.h"

namespace tessera::fabric {
namespace {

FabricMesh mesh_of(std::int32_t rows, std::int32_t cols) {
  FabricMesh mesh;
  mesh.rows = rows;
  mesh.cols = cols;
  return mesh;
}

/// Code and figures of the error for a traffic on 2x3 routers with 8 words.
std::string refusal(void (*change)(Traffic&)) {
  Traffic traffic;
  traffic.payload.assign(8, 0);
  traffic.add(0, {1}, 0, 4);
  change(traffic);
  const auto result = simulate(mesh_of(2, 3), traffic);
  if (result) return "accepted";
  EXPECT_FALSE(result.error().help.empty());
  return std::string(code_name(result.error().code)) + ": " + test::figures(result.error().message);
}

TEST(Traffic, RefusesWhatCannotBeCarriedOut) {
  EXPECT_EQ(refusal([](Traffic&) {}), "accepted");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(6, {1}, 0, 1); }), "out_of_range: 1 6 6");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(-1, {1}, 0, 1); }), "out_of_range: 1 -1 6");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(2, {1, 6}, 0, 1); }), "out_of_range: 1 6 6");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(2, {-7}, 0, 1); }), "out_of_range: 1 -7 6");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(2, {}, 0, 1); }), "out_of_range: 1");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(2, {1, 2}, 0, 1); }), "out_of_range: 1 2");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(2, {1, 3, 1}, 0, 1); }), "out_of_range: 1 1");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(2, {1}, 0, 0); }), "out_of_range: 1 0 1");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(2, {1}, 5, 4); }), "out_of_range: 1 4 5 8");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(2, {1}, INT64_MAX, INT64_MAX); }).substr(0, 12),
            "out_of_range");
  EXPECT_EQ(refusal([](Traffic& t) { t.messages[0].destinations = {1, 1}; }),
            "out_of_range: 0 1 1 1");
  EXPECT_EQ(refusal([](Traffic& t) { t.messages[0].destinations = {0, INT64_MAX}; }),
            "too_large: 268435456");
  EXPECT_EQ(refusal([](Traffic& t) { t.messages[0].after = {-1, 1}; }).substr(0, 12),
            "out_of_range");
}

TEST(Traffic, RefusesWaitsThatNeverEnd) {
  EXPECT_EQ(refusal([](Traffic& t) { t.add(1, {2}, 4, 4, {0}); }), "accepted");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(2, {3}, 4, 4, {0}); }), "out_of_range: 1 2 0");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(1, {2}, 4, 3, {0}); }), "contradiction: 1 3 0 4");
  EXPECT_EQ(refusal([](Traffic& t) { t.add(1, {2}, 4, 4, {7}); }), "out_of_range: 1 7 2");
  // 1 waits for 2, which waits for 1.
  EXPECT_EQ(refusal([](Traffic& t) {
              t.add(1, {2}, 4, 4, {2});
              t.add(2, {1}, 4, 4, {1});
            }),
            "contradiction: 1");
  // 1 waits for 3, which its source sends only after 2, which waits for 1.
  EXPECT_EQ(refusal([](Traffic& t) {
              t.add(1, {2}, 4, 4, {3});
              t.add(2, {5}, 4, 4, {1});
              t.add(2, {1}, 4, 4);
            }).substr(0, 13),
            "contradiction");
  // In the other order it is valid.
  EXPECT_EQ(refusal([](Traffic& t) {
              t.add(1, {2}, 4, 4, {2});
              t.add(2, {1}, 4, 4);
              t.add(2, {5}, 4, 4, {1});
            }),
            "accepted");
}

TEST(Traffic, RefusesOptionsOutOfRange) {
  Traffic traffic;
  traffic.payload.assign(8, 0);
  traffic.add(0, {5}, 0, 8);
  const auto code = [&](FabricMesh mesh, SimulateOptions options) {
    const auto result = simulate(mesh, traffic, options);
    return result ? "accepted" : std::string(code_name(result.error().code));
  };
  const FabricMesh good = mesh_of(2, 3);
  EXPECT_EQ(code(good, {}), "accepted");
  for (const std::int32_t depth : {0, -1, 129}) {
    SimulateOptions options;
    options.queue_depth = depth;
    EXPECT_EQ(code(good, options), "out_of_range");
  }
  SimulateOptions options;
  options.switch_cycles = -1;
  EXPECT_EQ(code(good, options), "out_of_range");
  options = {};
  options.combine = nullptr;
  EXPECT_EQ(code(good, options), "out_of_range");
  options = {};
  options.max_hops = 24;  // 8 words over 3 links
  EXPECT_EQ(code(good, options), "accepted");
  options.max_hops = 23;
  EXPECT_EQ(code(good, options), "too_large");
  options = {};
  options.mode = FabricMode::kStatic;
  FabricMesh mesh = good;
  mesh.colours = 0;
  EXPECT_EQ(code(mesh, {}), "accepted");
  EXPECT_EQ(code(mesh, options), "not_supported");
  mesh = good;
  mesh.wavelet_bits = 16;
  EXPECT_EQ(code(mesh, {}), "not_supported");
  mesh = good;
  mesh.ramp_cycles = INT64_MAX;
  EXPECT_EQ(code(mesh, {}), "out_of_range");
  EXPECT_EQ(code(mesh_of(-2, -3), {}), "out_of_range");
  EXPECT_EQ(code(mesh_of(INT32_MAX, INT32_MAX), {}), "too_large");
}

/// Two queues that lead to each other: steering that no XY route produces.
struct Circle {
  int first(std::uint32_t message, QueueAt* targets) const {
    targets[0] = {message, message};
    return 1;
  }
  int next(QueueAt from, Wavelet, QueueAt* targets) const {
    targets[0] = {1 - from.queue, 1 - from.output};
    return 1;
  }
};

TEST(Drain, SaysWhenWaveletsStop) {
  const FabricMesh mesh = mesh_of(1, 2);
  Traffic traffic;
  traffic.payload.assign(8, 0);
  traffic.add(0, {1}, 0, 8);
  traffic.add(1, {0}, 0, 8);
  const Sink sink;
  auto processors = Processors::make(mesh, traffic, {}, sink);
  ASSERT_TRUE(processors.ok());
  processors->begin({0, 1});
  QueueNetwork network(1);
  std::vector<RouterOutput> outputs(2);
  outputs[0].first_queue = 0;
  outputs[1].first_queue = 1;
  network.reset(outputs, 2);
  const auto destination = [](QueueAt, std::uint32_t) { return 0U; };
  Circle circle;
  const Status status = drain(*processors, network, circle, destination, 2);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(test::figures(status.error().message).find("16"), std::string::npos);
}

TEST(XyTrees, ForkWhereColumnsHaveDestinations) {
  // The example of the header: from (1, 0) to (0, 2) and (2, 2).
  XyTrees trees;
  const RouterAt ends[] = {{0, 2}, {2, 2}};
  const std::size_t tree = trees.add({1, 0}, ends);
  EXPECT_EQ(trees.cells(tree), 5U);
  EXPECT_EQ(tree_size({1, 0}, ends).columns, 3);
  EXPECT_EQ(tree_size({1, 0}, ends).cells, 5);
  EXPECT_EQ(tree_size({1, 0}, ends).links(), 4);
  EXPECT_EQ(trees.cell(tree, {1, 0}).ports(), TreeCell::bit(Port::kEast));
  EXPECT_EQ(trees.cell(tree, {1, 1}).ports(), TreeCell::bit(Port::kEast));
  EXPECT_EQ(trees.cell(tree, {1, 2}).ports(),
            TreeCell::bit(Port::kSouth) | TreeCell::bit(Port::kNorth));
  EXPECT_EQ(trees.cell(tree, {0, 2}).ports(), TreeCell::bit(Port::kRamp));
  EXPECT_EQ(trees.cell(tree, {2, 2}).destination(), 1U);
  EXPECT_EQ(trees.number(tree, {2, 2}), 4U);
}

TEST(FabricOf, ReadsTheWafers) {
  const auto wse2 = fabric_of(**find_machine("wse2"));
  ASSERT_TRUE(wse2.ok()) << wse2.error().message;
  EXPECT_EQ(*wse2, (FabricMesh{994, 750, 32, 2, 21, true}));
  const auto wse3 = fabric_of(**find_machine("wse3"));
  ASSERT_TRUE(wse3.ok()) << wse3.error().message;
  EXPECT_EQ(*wse3, (FabricMesh{1170, 755, 32, 2, 21, true}));
}

TEST(FabricOf, SaysWhatIsNotKnown) {
  // Each of these must be named in the error message.
  const auto refused = [](const Machine& machine, std::string_view named) {
    const auto result = fabric_of(machine);
    if (result) return false;
    return result.error().code == ErrorCode::kNotSupported && !result.error().help.empty() &&
           result.error().message.find(named) != std::string::npos;
  };
  EXPECT_TRUE(refused(**find_machine("wormhole"), "2 networks"));
  EXPECT_TRUE(refused(**find_machine("wormhole-n300"), "2 mesh levels"));
  EXPECT_TRUE(refused(**find_machine("blackhole"), "2 networks"));
  Machine spyre = **find_machine("spyre");
  EXPECT_TRUE(refused(spyre, "move data by read"));
  spyre.mesh[0].mechanisms.clear();
  EXPECT_TRUE(refused(spyre, "ring"));
  const auto changed = [](void (*change)(Machine&)) {
    Machine machine = **find_machine("wse2");
    change(machine);
    return machine;
  };
  EXPECT_TRUE(refused(changed([](Machine& m) { m.mesh.push_back(m.mesh[0]); }), "2"));
  EXPECT_TRUE(refused(changed([](Machine& m) { m.mesh[0].extents = {2, 2, 2}; }), "3"));
  EXPECT_TRUE(refused(changed([](Machine& m) { m.mesh[0].networks.clear(); }), "wse2"));
  EXPECT_TRUE(
      refused(changed([](Machine& m) { m.mesh[0].networks[0].ramp_cycles.reset(); }), "wse2"));
  EXPECT_TRUE(refused(changed([](Machine& m) { m.mesh[0].networks[0].hop_cycles = 3; }), "3"));
  EXPECT_TRUE(refused(changed([](Machine& m) { m.mesh[0].networks[0].hop_cycles = 1.5; }), "1.5"));
  EXPECT_TRUE(refused(changed([](Machine& m) { m.mesh[0].networks[0].ramp_cycles = 2.5; }), "2.5"));
  EXPECT_TRUE(refused(changed([](Machine& m) { m.mesh[0].networks[0].links = 4; }), "4"));
  EXPECT_TRUE(refused(changed([](Machine& m) { m.mesh[0].networks[0].route = {0, 1}; }), "axis 0"));
  EXPECT_TRUE(refused(
      changed([](Machine& m) { m.mesh[0].networks[0].kind = target::NetworkKind::kNoc; }), "noc"));
  EXPECT_TRUE(refused(
      changed([](Machine& m) { m.mesh[0].routers = target::Routers{{994, 751}, {}}; }), "994x751"));
  EXPECT_TRUE(refused(changed([](Machine& m) {
                        m.mesh[0].mechanisms.resize(1);
                        m.mesh[0].mechanisms[0].name = "read";
                      }),
                      "read"));
  EXPECT_EQ(*fabric_of(changed([](Machine& m) { m.mesh[0].networks[0].route = {1, 0}; })),
            *fabric_of(**find_machine("wse2")));
  EXPECT_TRUE(refused(changed([](Machine& m) { m.rules.wavelet_bits = 64; }), "64"));
  EXPECT_TRUE(refused(changed([](Machine& m) { m.mesh[0].extents = {1 << 20, 1 << 20}; }),
                      "1099511627776"));
  const Machine row = changed([](Machine& m) {
    m.mesh[0].extents = {7};
    m.rules.colours.reset();
    m.rules.reserved_colours.clear();
  });
  EXPECT_EQ(*fabric_of(row), (FabricMesh{1, 7, 32, 2, 21}));
}

}  // namespace
}  // namespace tessera::fabric
