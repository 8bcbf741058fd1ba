// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/flows.h"

#include <gtest/gtest.h>

#include "tessera/base/work.h"
#include "tessera/testing/fabric/naive_torus.h"
#include "tessera/testing/fabric/noc_machines.h"

namespace tessera::fabric {
namespace {

using test::NaiveTorus;
using test::Router;

constexpr Side kOne = Side::kOne;
constexpr Side kRow = Side::kRow;
constexpr Side kColumn = Side::kColumn;
constexpr Side kAll = Side::kAll;

struct Case {
  Method method = Method::kUnicast;
  Pattern pattern;
  std::int64_t subordinates = 0;
  bool loopback = false;
  bool same_axis = false;
  std::int64_t transactions = 1024;

  Measurement measurement() const {
    Measurement m;
    m.method = method;
    m.pattern = pattern;
    m.subordinates = subordinates;
    m.loopback = loopback;
    m.same_axis = same_axis;
    m.transactions = transactions;
    return m;
  }
};

class FlowsOfNoc : public testing::Test {
 protected:
  FlowsOfNoc()
      : machine_(test::noc_machine(test::kWormholeNoc)), topology_(Topology::of(machine_)) {}

  Result<Parties> parties(const Measurement& m) { return parties_of(*topology_, machine_, m); }
  Result<Flows> flows(const Measurement& m) {
    return flows_of(*topology_, machine_, m.pattern.reads ? 1 : 0, m);
  }

  /// "0 -> 1 2": masters and what they move data to.
  std::string text(const Case& c) {
    const Result<Parties> found = parties(c.measurement());
    if (!found) return std::string(code_name(found.error().code));
    std::string out;
    for (std::size_t i = 0; i < found->masters.size(); ++i) {
      out += (i == 0 ? "" : "; ") + std::to_string(found->masters[i]) + " ->";
      for (const std::int32_t far : found->far[i]) out += " " + std::to_string(far);
    }
    return out;
  }

  Router router(std::int32_t place) const {
    const auto& at = machine_.mesh[0].routers->places;
    return {at[0][static_cast<std::size_t>(place / 8)], at[1][static_cast<std::size_t>(place % 8)]};
  }

  Machine machine_;
  Result<Topology> topology_;
};

TEST_F(FlowsOfNoc, Parties) {
  ASSERT_TRUE(topology_.ok()) << topology_.error().message;
  // Place numbers of 8x8: row · 8 + column.
  EXPECT_EQ(text({Method::kUnicast, {kOne, kOne, false}, 0, false, true}), "0 -> 8");
  EXPECT_EQ(text({Method::kUnicast, {kOne, kOne, true}, 1, false, false}), "0 -> 9");
  EXPECT_EQ(text({Method::kUnicast, {kOne, kAll, false}, 4}), "2 -> 0 1 8 9");
  EXPECT_EQ(text({Method::kMulticast, {kOne, kAll, false}, 4}), "2 -> 0 1 8 9");
  EXPECT_EQ(text({Method::kMulticast, {kOne, kAll, false}, 4, true}), "0 -> 0 1 8 9");
  EXPECT_EQ(text({Method::kUnicast, {kOne, kAll, true}, 15}),
            "0 -> 1 2 3 8 9 10 11 16 17 18 19 24 "
            "25 26 27");
  EXPECT_EQ(text({Method::kUnicast, {kOne, kRow, false}, 7}), "0 -> 1 2 3 4 5 6 7");
  EXPECT_EQ(text({Method::kUnicast, {kOne, kRow, false}}), "0 -> 1 2 3 4 5 6 7");
  EXPECT_EQ(text({Method::kUnicast, {kOne, kRow, false}, 8}), "8 -> 0 1 2 3 4 5 6 7");
  EXPECT_EQ(text({Method::kUnicast, {kOne, kColumn, false}, 2}), "0 -> 8 16");
  EXPECT_EQ(text({Method::kMulticast, {kOne, kColumn, false}, 3}), "1 -> 0 8 16");
  EXPECT_EQ(text({Method::kMulticast, {kOne, kRow, false}, 3}), "8 -> 0 1 2");
  EXPECT_EQ(text({Method::kMulticastLinked, {kOne, kRow, false}, 3, true}), "0 -> 0 1 2");
  EXPECT_EQ(text({Method::kUnicast, {kAll, kAll, false}, 4}),
            "0 -> 0 1 8 9; 1 -> 0 1 8 9; 8 -> 0 1 8 9; 9 -> 0 1 8 9");
  EXPECT_EQ(text({Method::kUnicast, {kRow, kRow, true}, 2}), "0 -> 0 1; 1 -> 0 1");
  EXPECT_EQ(text({Method::kMulticast, {kRow, kRow, false}, 2}), "8 -> 0 1; 9 -> 0 1");
  EXPECT_EQ(text({Method::kMulticast, {kColumn, kColumn, false}, 2}), "1 -> 0 8; 9 -> 0 8");
  // Fewer transactions than subordinates.
  EXPECT_EQ(text({Method::kUnicast, {kOne, kAll, false}, 4, false, false, 3}), "2 -> 0 1 8");
}

TEST_F(FlowsOfNoc, RectanglesByTheirNumberOfPlaces) {
  ASSERT_TRUE(topology_.ok());
  const auto sizes = [&](const Case& c) {
    const Result<Parties> found = parties(c.measurement());
    return found ? std::pair(found->masters.size(), found->far[0].size())
                 : std::pair<std::size_t, std::size_t>();
  };
  using Sizes = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(sizes({Method::kUnicast, {kOne, kAll, false}, 55}), Sizes(1, 55));
  EXPECT_EQ(sizes({Method::kMulticast, {kOne, kAll, false}, 56, true}), Sizes(1, 56));
  EXPECT_EQ(sizes({Method::kUnicast, {kAll, kAll, false}, 56}), Sizes(56, 56));
  EXPECT_EQ(sizes({Method::kUnicast, {kAll, kAll, false}}), Sizes(64, 64));
  EXPECT_EQ(sizes({Method::kUnicast, {kOne, kAll, false}}), Sizes(1, 63));
  // 55 is 7 rows of 8 without (0, 0).
  const Result<Parties> all = parties(Case{Method::kUnicast, {kOne, kAll, true}, 55}.measurement());
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->masters, (std::vector<std::int32_t>{0}));
  EXPECT_EQ(all->far[0].front(), 1);
  EXPECT_EQ(all->far[0].back(), 55);
}

TEST_F(FlowsOfNoc, RefusesWhatDoesNotExist) {
  ASSERT_TRUE(topology_.ok());
  EXPECT_EQ(text({Method::kUnicast, {kAll, kAll, false}, 7}), "out_of_range");
  EXPECT_EQ(text({Method::kUnicast, {kAll, kAll, false}, 65}), "out_of_range");
  EXPECT_EQ(text({Method::kUnicast, {kRow, kRow, false}, 9}), "out_of_range");
  EXPECT_EQ(text({Method::kMulticast, {kOne, kAll, false}, 64}), "out_of_range");  // none outside
  EXPECT_EQ(text({Method::kMulticast, {kAll, kAll, false}, 49}), "out_of_range");
  EXPECT_EQ(text({Method::kUnicast, {kOne, kOne, false}, 2}), "out_of_range");
  EXPECT_EQ(text({Method::kUnicast, {kOne, kAll, false}, std::int64_t{1} << 40}), "out_of_range");
  const Result<Parties> found =
      parties(Case{Method::kUnicast, {kAll, kAll, false}, 7}.measurement());
  EXPECT_NE(found.error().message.find(" 7 "), std::string::npos) << found.error().message;
}

TEST_F(FlowsOfNoc, MeasuredPlaces) {
  const auto measured = [&](const std::vector<Case>& cases) {
    std::vector<Measurement> list;
    for (const Case& c : cases) list.push_back(c.measurement());
    return measured_places(machine_, list);
  };
  EXPECT_EQ(measured({{Method::kUnicast, {kOne, kAll, false}, 25}}), std::nullopt);
  EXPECT_EQ(measured({{Method::kUnicast, {kOne, kAll, false}, 25},
                      {Method::kUnicast, {kOne, kAll, false}, 55}}),
            56);
  EXPECT_EQ(measured({{Method::kUnicast, {kAll, kAll, true}, 64},
                      {Method::kUnicast, {kAll, kAll, true}, 16}}),
            64);
}

/// Law: flows_of is what walking every route gives.
TEST_F(FlowsOfNoc, EqualTheNaiveWalk) {
  ASSERT_TRUE(topology_.ok());
  std::vector<Case> cases;
  for (const Pattern& pattern : all_patterns()) {
    for (const std::int64_t subordinates : {0, 1, 2, 4, 7, 8, 9, 25, 55, 56}) {
      for (const bool flag : {false, true}) {
        cases.push_back({Method::kUnicast, pattern, subordinates, false, flag});
        if (!pattern.reads) cases.push_back({Method::kMulticast, pattern, subordinates, flag});
      }
    }
  }
  std::size_t compared = 0;
  for (const Case& c : cases) {
    const Result<Parties> who = parties(c.measurement());
    const Result<Flows> found = flows(c.measurement());
    ASSERT_EQ(who.ok(), found.ok());
    if (!who) continue;
    ++compared;
    const bool multicast = c.method != Method::kUnicast;
    const NaiveTorus torus{12, 10, !c.pattern.reads};
    test::NaiveLoads loads;
    std::int64_t there = 0;
    std::int64_t round = 0;
    for (std::size_t i = 0; i < who->masters.size(); ++i) {
      std::vector<Router> far;
      const Router master = router(who->masters[i]);
      for (const std::int32_t place : who->far[i]) {
        far.push_back(router(place));
        const std::int64_t out = torus.hops(master, far.back());
        const std::int64_t back = torus.hops(far.back(), master);
        there = std::max(there, c.pattern.reads ? back : out);
        round = std::max(round, out + back);
      }
      add_naive(torus, master, far, c.pattern.reads, multicast, loads);
    }
    const std::string name = pattern_name(c.pattern) + " " + std::to_string(c.subordinates);
    EXPECT_EQ(found->hops_there, there) << name;
    EXPECT_EQ(found->hops_there_and_back, round) << name;
    EXPECT_EQ(found->masters, std::ssize(who->masters)) << name;
    EXPECT_EQ(found->streams, std::ssize(who->far[0])) << name;
    const auto expected = test::largest_of(loads);
    EXPECT_EQ(found->most_data, expected.front().first) << name;
    std::vector<std::pair<std::int64_t, std::int64_t>> kept;
    for (const Flows::Load& load : found->loads) kept.emplace_back(load.data, load.control);
    EXPECT_EQ(kept, expected) << name;
  }
  EXPECT_GT(compared, 100U);
}

TEST_F(FlowsOfNoc, Examples) {
  ASSERT_TRUE(topology_.ok());
  // Request and answer go once around the ring of 12 rows; off the axis also that of 10 columns.
  EXPECT_EQ(flows(Case{Method::kUnicast, {kOne, kOne, true}, 0, false, true}.measurement())
                ->hops_there_and_back,
            12);
  EXPECT_EQ(flows(Case{Method::kUnicast, {kOne, kOne, false}}.measurement())->hops_there_and_back,
            22);
  // 2x2: every port carries the data of 4, and 4 acknowledgements.
  const Result<Flows> four = flows(Case{Method::kUnicast, {kAll, kAll, false}, 4}.measurement());
  ASSERT_EQ(four->loads.size(), 1U);
  EXPECT_EQ(four->loads[0].data, 4);
  EXPECT_EQ(four->loads[0].control, 4);
  // 5x5: in each row, 10 of the 25 pairs of columns go around the end, and each for 5 rows.
  EXPECT_EQ(flows(Case{Method::kUnicast, {kAll, kAll, false}, 25}.measurement())->most_data, 50);
  // A 5x5 multicast from its corner: 4 rows and 5 routers to the right. Acknowledgements: all of
  // them arrive where the loop back puts the data.
  const Result<Flows> cast =
      flows(Case{Method::kMulticast, {kOne, kAll, false}, 25, true}.measurement());
  EXPECT_EQ(cast->hops_there, 9);
  EXPECT_EQ(cast->loads[0].data, 1);
  EXPECT_EQ(cast->loads[0].control, 25);
}

/// The same places as messages: network_cost finds the same busiest link.
TEST_F(FlowsOfNoc, AgreeWithNetworkCosts) {
  ASSERT_TRUE(topology_.ok());
  for (const std::int64_t places : {25, 56, 64}) {
    const Measurement m = Case{Method::kUnicast, {kAll, kAll, false}, places}.measurement();
    const Result<Parties> who = parties(m);
    const Result<Flows> found = flows(m);
    ASSERT_TRUE(who.ok() && found.ok());
    std::vector<Message> messages;
    for (std::size_t i = 0; i < who->masters.size(); ++i) {
      for (const std::int32_t far : who->far[i]) {
        messages.push_back({who->masters[i], far, 3 * std::int64_t{1024}, 3});
      }
    }
    const Result<NetworkCost> cost = network_cost(*topology_, machine_, messages, {0, 1});
    ASSERT_TRUE(cost.ok()) << cost.error().message;
    // 3 transactions of 1024 bytes, each with a header of 32; ports carry less here.
    EXPECT_EQ(cost->max_link_bytes, found->most_data * 3 * (1024 + 32)) << places;
  }
}

TEST_F(FlowsOfNoc, Banks) {
  ASSERT_TRUE(topology_.ok());
  Measurement m = Case{Method::kUnicast, {kAll, kAll, true}, 8}.measurement();
  m.far = {1, FarMemory::Spread::kSharded};
  // 8 places of 4 banks: place i reads from bank i mod 4.
  const Result<Flows> sharded = flows(m);
  ASSERT_TRUE(sharded.ok()) << sharded.error().message;
  EXPECT_EQ(sharded->masters, 8);
  EXPECT_EQ(sharded->streams, 1);
  EXPECT_EQ(sharded->most_at_bank, 2);
  m.far.spread = FarMemory::Spread::kInterleaved;
  EXPECT_EQ(flows(m)->streams, 4);
  EXPECT_EQ(flows(m)->most_at_bank, 8);
  m.transactions = 3;  // 3 banks each
  EXPECT_EQ(flows(m)->streams, 3);
  EXPECT_EQ(flows(m)->most_at_bank, 6);
  m.pattern = {kOne, kOne, true};
  m.far.spread = FarMemory::Spread::kBanks;
  EXPECT_EQ(flows(m)->streams, 1);
  // Bank 0 is at router (0, 0) or (11, 0): there and back between them and (1, 1) are whole rings.
  EXPECT_EQ(flows(m)->hops_there_and_back, 22);
}

TEST_F(FlowsOfNoc, KeepToTheBudget) {
  ASSERT_TRUE(topology_.ok());
  const Work work(2000);
  const Result<Flows> found = flows(Case{Method::kUnicast, {kAll, kAll, false}}.measurement());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace tessera::fabric
