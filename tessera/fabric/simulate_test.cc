// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "tessera/testing/reshard/naive_fabric.h"

namespace tessera::fabric {
namespace {

using Random = std::mt19937;

std::int64_t below(Random& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
}

FabricMesh mesh_of(std::int32_t rows, std::int32_t cols, std::int64_t ramp_cycles = 2) {
  FabricMesh mesh;
  mesh.rows = rows;
  mesh.cols = cols;
  mesh.ramp_cycles = ramp_cycles;
  return mesh;
}

/// Messages with random ends, some to many routers; with `waits`, some forward what others
/// delivered.
Traffic random_traffic(Random& random, const FabricMesh& mesh, std::int64_t messages,
                       std::int64_t most_words, bool waits) {
  Traffic traffic;
  traffic.payload.resize(256);
  for (std::uint32_t& word : traffic.payload) word = static_cast<std::uint32_t>(random());
  for (std::int64_t m = 0; m < messages; ++m) {
    auto source = static_cast<std::int32_t>(below(random, mesh.nodes()));
    std::int64_t words = 1 + below(random, most_words);
    std::vector<std::int64_t> after;
    if (waits && m > 0 && below(random, 2) == 0) {
      const auto& first = traffic.messages[static_cast<std::size_t>(below(random, m))];
      const auto ends = traffic.destinations_of(first);
      source = ends[static_cast<std::size_t>(below(random, first.destinations.count))];
      words = first.words;
      for (std::int64_t x = 0; x < m; ++x) {
        const auto& other = traffic.messages[static_cast<std::size_t>(x)];
        const auto to = traffic.destinations_of(other);
        const bool fits = other.words == words && std::count(to.begin(), to.end(), source) > 0;
        if (fits && below(random, 4) > 0) after.push_back(x);
      }
    }
    std::vector<std::int32_t> to;
    const std::int64_t ends = below(random, 3) > 0 ? 1 : 1 + below(random, mesh.nodes() - 1);
    while (static_cast<std::int64_t>(to.size()) < ends) {
      const auto node = static_cast<std::int32_t>(below(random, mesh.nodes()));
      if (node != source && std::count(to.begin(), to.end(), node) == 0) to.push_back(node);
    }
    traffic.add(source, to, below(random, 256 - words), words, after);
  }
  return traffic;
}

/// A simulation with everything its sink received.
struct Observed {
  Simulation simulation;
  std::vector<Delivery> deliveries;
};

Observed observe(const FabricMesh& mesh, const Traffic& traffic, const SimulateOptions& options) {
  Observed observed;
  auto result = simulate(mesh, traffic, options,
                         [&](const Delivery& d) { observed.deliveries.push_back(d); });
  EXPECT_TRUE(result.ok()) << result.error().message;
  if (result) observed.simulation = *std::move(result);
  return observed;
}

/// In each phase, every router sees each colour used by one source and one list of destinations,
/// and no message is sent before those that it must follow.
void expect_colours_hold(const FabricMesh& mesh, const Traffic& traffic, const Simulation& s) {
  ASSERT_EQ(s.messages.size(), traffic.messages.size());
  struct User {
    std::int32_t source;
    std::vector<std::int32_t> to;
    bool operator==(const User&) const = default;
  };
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, User> users;
  std::map<std::int32_t, std::int32_t> phase_of_source;
  std::map<std::int32_t, std::set<std::int32_t>> colours;
  for (std::size_t m = 0; m < traffic.messages.size(); ++m) {
    const FabricMessage& message = traffic.messages[m];
    const MessageTimes& times = s.messages[m];
    ASSERT_GE(times.colour, 0);
    ASSERT_LT(times.colour, mesh.colours);
    ASSERT_LT(times.phase, s.phases);
    colours[times.phase].insert(times.colour);
    const auto to = traffic.destinations_of(message);
    const User user{message.source, {to.begin(), to.end()}};
    for (const std::int32_t router : test::walked_routers(mesh, traffic, message)) {
      const auto [entry, is_new] = users.try_emplace({times.phase, router, times.colour}, user);
      ASSERT_TRUE(is_new || entry->second == user) << "router " << router << " message " << m;
    }
    ASSERT_GE(times.phase, phase_of_source[message.source]);
    phase_of_source[message.source] = times.phase;
    for (const std::int64_t awaited : traffic.after_of(message)) {
      ASSERT_GE(times.phase, s.messages[static_cast<std::size_t>(awaited)].phase);
    }
  }
  std::size_t most = 0;
  for (const auto& [phase, used] : colours) most = std::max(most, used.size());
  EXPECT_EQ(static_cast<std::size_t>(s.colours), most);
  EXPECT_EQ(static_cast<std::size_t>(s.phases), colours.size());
}

/// The laws of every simulation: loads as counted along the routes, bounds hold, everything
/// delivered once.
void expect_laws(const FabricMesh& mesh, const Traffic& traffic, const Observed& observed) {
  const Simulation& s = observed.simulation;
  ASSERT_EQ(s.messages.size(), traffic.messages.size());
  std::vector<std::int64_t> links(static_cast<std::size_t>(mesh.nodes()) * 4);
  std::vector<std::int64_t> out(static_cast<std::size_t>(mesh.nodes()));
  std::vector<std::int64_t> in(out.size());
  std::int64_t least = 0;
  std::int64_t deliveries = 0;
  for (const FabricMessage& message : traffic.messages) {
    for (const auto& [router, port] : test::walked_links(mesh, traffic, message)) {
      links[static_cast<std::size_t>(router) * 4 + static_cast<std::size_t>(port)] += message.words;
    }
    out[static_cast<std::size_t>(message.source)] += message.words;
    for (const std::int32_t end : traffic.destinations_of(message)) {
      in[static_cast<std::size_t>(end)] += message.words;
      deliveries += message.words;
      least = std::max(
          least, message.words + test::distance(mesh, message.source, end) + 2 * mesh.ramp_cycles);
    }
  }
  EXPECT_EQ(s.links, links);
  EXPECT_EQ(s.ramp_out, out);
  EXPECT_EQ(s.ramp_in, in);
  std::int64_t hops = 0;
  for (const std::int64_t load : links) hops += load;
  EXPECT_EQ(s.hops, hops);
  for (const auto* loads : {&links, &out, &in}) {
    least = std::max(least, *std::max_element(loads->begin(), loads->end()));
  }
  EXPECT_GE(s.cycles, least);
  EXPECT_EQ(static_cast<std::int64_t>(observed.deliveries.size()), deliveries);
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> next;
  for (const Delivery& d : observed.deliveries) {
    EXPECT_TRUE(seen.insert({d.message, d.destination, d.index}).second);
    EXPECT_EQ(d.index, (next[{d.message, d.destination}]++));
    const FabricMessage& message = traffic.messages[static_cast<std::size_t>(d.message)];
    if (message.after.count > 0) continue;
    ASSERT_EQ(d.word, traffic.payload[static_cast<std::size_t>(message.first_word + d.index)]);
  }
}

TEST(Simulate, DoesWhatTheNaiveMachineDoes) {
  Random random(20240601);
  for (int round = 0; round < 500; ++round) {
    FabricMesh mesh = mesh_of(1 + static_cast<std::int32_t>(below(random, 5)),
                              2 + static_cast<std::int32_t>(below(random, 4)), below(random, 4));
    mesh.colours = 1 + below(random, 4);
    const Traffic traffic =
        random_traffic(random, mesh, 1 + below(random, 14), 1 + below(random, 9), round % 2 == 0);
    SimulateOptions options;
    options.mode = below(random, 2) == 0 ? FabricMode::kIdeal : FabricMode::kStatic;
    options.queue_depth = std::array{1, 2, 3, 8}[static_cast<std::size_t>(round % 4)];
    options.switch_cycles = below(random, 5);
    const Observed observed = observe(mesh, traffic, options);
    ASSERT_EQ(observed.simulation.messages.size(), traffic.messages.size());
    const test::NaiveRun naive =
        test::naive_run(mesh, traffic, options, observed.simulation.messages);
    ASSERT_TRUE(naive.finished) << "round " << round;
    ASSERT_EQ(observed.simulation.messages, naive.messages) << "round " << round;
    ASSERT_EQ(observed.deliveries.size(), naive.deliveries.size());
    for (const Delivery& d : observed.deliveries) {
      const auto& expected = naive.deliveries.at({d.message, d.destination, d.index});
      ASSERT_EQ(std::pair(d.word, d.cycle), expected) << "round " << round;
    }
    expect_laws(mesh, traffic, observed);
    if (options.mode == FabricMode::kStatic) {
      expect_colours_hold(mesh, traffic, observed.simulation);
    } else {
      EXPECT_EQ(observed.simulation.phases, 1);
      EXPECT_EQ(observed.simulation.colours, 0);
    }
  }
}

TEST(Simulate, KeepsItsLawsOnLargerMeshes) {
  Random random(7);
  for (int round = 0; round < 12; ++round) {
    const FabricMesh mesh = mesh_of(3 + static_cast<std::int32_t>(below(random, 14)),
                                    3 + static_cast<std::int32_t>(below(random, 14)));
    const Traffic traffic = random_traffic(random, mesh, 60, 40, round % 3 == 0);
    std::vector<std::uint64_t> sums;
    for (const FabricMode mode : {FabricMode::kIdeal, FabricMode::kStatic}) {
      for (const std::int32_t depth : {1, 2, 8, 128}) {
        SimulateOptions options;
        options.mode = mode;
        options.queue_depth = depth;
        const Observed observed = observe(mesh, traffic, options);
        expect_laws(mesh, traffic, observed);
        std::uint64_t sum = 0;  // independent of mode and queue depth
        for (const Delivery& d : observed.deliveries) {
          sum += (std::uint64_t{d.word} + 1) *
                 static_cast<std::uint64_t>(1 + d.index + 64 * d.message);
        }
        sums.push_back(sum);
        if (mode == FabricMode::kStatic) expect_colours_hold(mesh, traffic, observed.simulation);
      }
    }
    EXPECT_EQ(std::count(sums.begin(), sums.end(), sums.front()), 8);
  }
}

TEST(Simulate, IsDeterministic) {
  Random random(3);
  const FabricMesh mesh = mesh_of(9, 7);
  const Traffic traffic = random_traffic(random, mesh, 80, 20, true);
  for (const FabricMode mode : {FabricMode::kIdeal, FabricMode::kStatic}) {
    SimulateOptions options;
    options.mode = mode;
    const Observed a = observe(mesh, traffic, options);
    const Observed b = observe(mesh, traffic, options);
    EXPECT_EQ(a.simulation, b.simulation);
    ASSERT_EQ(a.deliveries.size(), b.deliveries.size());
    for (std::size_t i = 0; i < a.deliveries.size(); ++i) {
      EXPECT_EQ(a.deliveries[i].message, b.deliveries[i].message);
      EXPECT_EQ(a.deliveries[i].destination, b.deliveries[i].destination);
      EXPECT_EQ(a.deliveries[i].cycle, b.deliveries[i].cycle);
    }
  }
}

}  // namespace
}  // namespace tessera::fabric
