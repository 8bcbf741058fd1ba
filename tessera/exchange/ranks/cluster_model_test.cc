// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/ranks/cluster_model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/resharder.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/exchange/exchange_runs.h"
#include "tessera/testing/exchange/scaling_page.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/pages/generated_page.h"
#include "tessera/testing/pages/line_chart.h"

namespace tessera::exchange {
namespace {

using test::Dice;

std::shared_ptr<const reshard::Reshard> reshard_of(const std::string& from, const std::string& to) {
  const Tensor a = parse_tensor(from).value();
  const Tensor b = parse_tensor(to).value();
  const reshard::PhysicalMesh physical =
      reshard::PhysicalMesh::around(a.placement, b.placement).value();
  return std::make_shared<const reshard::Reshard>(
      reshard::Reshard::make(a.placement, b.placement, physical).value());
}

RankMap blocks(const reshard::Reshard& reshard, int ranks) {
  return RankMap::blocks(reshard.physical().mesh.elements(), ranks).value();
}

std::vector<RankLoad> loads_of(const std::string& from, const std::string& to, int ranks,
                               int ranks_per_node, const PacketRule& packets = {}) {
  const auto reshard = reshard_of(from, to);
  const RankMap map = blocks(*reshard, ranks);
  return rank_loads(reshard, map, map, ranks_per_node, packets).value();
}

/// Everything takes one second, or moves one byte per second.
Cluster slow_cluster() { return {"slow", 1, 0, 0, 1, 1, 1}; }

// The worked example of the header: 64 bytes packed, 64 placed and 64 copied are read and written,
// 2·192 = 384; 64 cross each way.
TEST(ClusterModel, WorkedExample) {
  const auto loads = loads_of("tensor<8x8xf32, pyflame.RowPartition(2)>",
                              "tensor<8x8xf32, pyflame.RowPartition(2, dim_to_pe=[-1, 0])>", 2, 1);
  ASSERT_EQ(loads.size(), 2U);
  for (const RankLoad& load : loads) {
    EXPECT_EQ(load.sent_far_bytes, 64);
    EXPECT_EQ(load.received_far_bytes, 64);
    EXPECT_EQ(load.placed_bytes, 64);
    EXPECT_EQ(load.local_bytes, 64);
    EXPECT_EQ(load.sent_far_packets, 1);
    EXPECT_EQ(load.partners, 1);
  }
  Cluster cluster = slow_cluster();
  const ClusterTime time = slowest(loads, 2, cluster);
  EXPECT_EQ(time.memory_s, 384);
  EXPECT_EQ(time.network_s, 64);
  EXPECT_EQ(time.seconds(), 384);
  EXPECT_EQ(time.bound(), "memory");
  EXPECT_EQ(time.node, 0);
  cluster.latency_s = 1;
  EXPECT_EQ(slowest(loads, 2, cluster).agreement_s, 4);
  EXPECT_EQ(slowest(loads, 2, cluster).seconds(), 384 + 4 + 1);
  cluster.message_s = 10;
  EXPECT_EQ(slowest(loads, 2, cluster).messages_s, 20);
  EXPECT_EQ(slowest(loads, 2, cluster).agreement_s, 44);
  cluster.memory_bytes_per_s = cluster.rank_bytes_per_s = 384;
  EXPECT_EQ(slowest(loads, 2, cluster).seconds(), 44 + 1 + 64);
  EXPECT_EQ(slowest(loads, 2, cluster).bound(), "network");
}

// 16 ranks hold 4 of 64 rows each and need 4 columns: 4·4·4 bytes to each of 15 others, of which 3
// are on the same node of 4.
TEST(ClusterModel, NodesShareMemoryAndCards) {
  const auto loads =
      loads_of("tensor<64x64xf32, pyflame.RowPartition(16)>",
               "tensor<64x64xf32, pyflame.RowPartition(16, dim_to_pe=[-1, 0])>", 16, 4);
  for (const RankLoad& load : loads) {
    EXPECT_EQ(load.sent_bytes, 15 * 64);
    EXPECT_EQ(load.sent_far_bytes, 12 * 64);
    EXPECT_EQ(load.received_far_packets, 12);
    EXPECT_EQ(load.sent_packets, 15);
  }
  Cluster cluster = slow_cluster();
  cluster.ranks_per_node = 4;
  cluster.rank_bytes_per_s = 2;
  const auto node = std::span(loads).subspan(4, 4);
  // Memory: a rank alone would take 1/2 s per byte, but four of them share 1 byte per second.
  EXPECT_EQ(time_of(node, 16, cluster).memory_s, 2 * (15 + 15 + 1) * 64 * 4);
  EXPECT_EQ(time_of(node, 16, cluster).network_s, 4 * 12 * 64);
  EXPECT_EQ(time_of(node, 16, cluster).node, 1);
  cluster.memory_bytes_per_s = 1000;
  EXPECT_EQ(time_of(node, 16, cluster).memory_s, 31 * 64);
  // On one node nothing crosses, and there is no network time.
  const auto near =
      loads_of("tensor<64x64xf32, pyflame.RowPartition(16)>",
               "tensor<64x64xf32, pyflame.RowPartition(16, dim_to_pe=[-1, 0])>", 16, 16);
  cluster.ranks_per_node = 16;
  cluster.latency_s = 5;
  EXPECT_EQ(near[3].sent_bytes, 15 * 64);
  EXPECT_EQ(slowest(near, 16, cluster).network_s, 0);
  EXPECT_EQ(slowest(near, 16, cluster).latency_s, 0);
  EXPECT_EQ(slowest(near, 16, cluster).agreement_s, 0);
}

// Three nodes of two ranks: the second sends 5 + 1 bytes, 5 of them from one rank; the last has one
// rank.
TEST(ClusterModel, TheSlowestNodeCounts) {
  std::vector<RankLoad> loads(5);
  const std::vector<std::int64_t> sent = {2, 3, 5, 1, 4};
  for (std::size_t i = 0; i < loads.size(); ++i) {
    loads[i].rank = static_cast<int>(i);
    loads[i].sent_bytes = loads[i].sent_far_bytes = sent[i];
  }
  Cluster cluster = slow_cluster();
  cluster.ranks_per_node = 2;
  cluster.memory_bytes_per_s = 100;
  const ClusterTime time = slowest(loads, 5, cluster);
  EXPECT_EQ(time.node, 1);
  EXPECT_EQ(time.memory_s, 2 * 5);
  EXPECT_EQ(time.network_s, 6);
  EXPECT_EQ(slowest(std::span(loads).subspan(4), 5, cluster).network_s, 4);
  EXPECT_EQ(slowest({}, 5, cluster).seconds(), 0);
}

TEST(ClusterModel, LatencyIsMessagesTimesLatencyOverThoseInFlight) {
  std::vector<RankLoad> load(1);
  load[0].sent_far_packets = 10;
  load[0].received_far_packets = 9;
  Cluster cluster = slow_cluster();
  cluster.latency_s = 3;
  EXPECT_EQ(time_of(load, 64, cluster, {1024, 1}).latency_s, 30);
  EXPECT_EQ(time_of(load, 64, cluster, {1024, 4}).latency_s, 9);  // ceil(10 / 4) rounds
  EXPECT_EQ(time_of(load, 64, cluster, {1024, 4}).agreement_s, 2 * 2 * 6 * 3);
  EXPECT_EQ(time_of(load, 65, cluster, {1024, 4}).agreement_s, 2 * 2 * 7 * 3);
  EXPECT_EQ(time_of(load, 65, cluster, {1024, 4}).bound(), "agreement");
  EXPECT_EQ(time_of(std::vector<RankLoad>(1), 1, cluster).seconds(), 0);
}

TEST(ClusterModel, PacketsAreAsFewAsTheBytesNeed) {
  // 8 rows of 64 to each of 3 others, 512 bytes: with 64 of 256 bytes for a header, 192 per packet.
  const auto loads =
      loads_of("tensor<64x64xi8, pyflame.RowPartition(4)>",
               "tensor<64x64xi8, pyflame.RowPartition(4, dim_to_pe=[-1, 0])>", 4, 1, {256, 4});
  EXPECT_EQ(loads[0].sent_bytes, 3 * 256);
  EXPECT_EQ(loads[0].sent_packets, 3 * 2);
}

/// Every figure that makes a machine slower makes the reshard slower or no faster, and bytes count
/// once each.
TEST(ClusterModel, IsMonotoneAndLinear) {
  Dice dice(7);
  const auto number = [&] { return dice.between(0, 1 << 20); };
  const auto real = [&] { return static_cast<double>(dice.between(1, 1000)); };
  for (int i = 0; i < 2000; ++i) {
    const Cluster cluster{
        "", static_cast<int>(dice.between(1, 8)), real(), real(), real(), real(), real()};
    std::vector<RankLoad> node(static_cast<std::size_t>(cluster.ranks_per_node));
    for (RankLoad& load : node) {
      load.sent_far_bytes = number();
      load.sent_bytes = load.sent_far_bytes + number();
      load.received_far_bytes = number();
      load.received_bytes = load.received_far_bytes + number();
      load.placed_bytes = load.received_bytes;
      load.local_bytes = number();
      load.sent_far_packets = dice.between(0, 100);
      load.sent_packets = load.sent_far_packets + dice.between(0, 100);
      load.received_packets = dice.between(0, 100);
    }
    const int ranks = static_cast<int>(dice.between(1, 1000));
    const ClusterTime time = time_of(node, ranks, cluster);
    const double seconds = time.seconds();
    std::vector<Cluster> slower(5, cluster);
    slower[0].latency_s += real();
    slower[1].message_s += real();
    slower[2].card_bytes_per_s /= 2;
    slower[3].memory_bytes_per_s /= 2;
    slower[4].rank_bytes_per_s /= 2;
    for (std::size_t figure = 0; figure < slower.size(); ++figure) {
      EXPECT_GE(time_of(node, ranks, slower[figure]).seconds(), seconds) << figure;
    }
    EXPECT_GT(time_of(node, 2000, slower[0]).seconds(), time_of(node, 2000, cluster).seconds());
    // A node takes at least as long as with fewer of its ranks.
    const auto fewer = std::span(node).first(node.size() - 1);
    EXPECT_GE(seconds, time_of(fewer, ranks, cluster).seconds());

    std::vector<RankLoad> doubled = node;
    std::vector<RankLoad> more = node;
    for (RankLoad& load : doubled) {
      load.sent_bytes *= 2;
      load.sent_far_bytes *= 2;
      load.received_far_bytes *= 2;
      load.placed_bytes *= 2;
      load.local_bytes *= 2;
    }
    for (RankLoad& load : more) {
      load.sent_packets += 1;
      load.sent_far_packets += 1;
    }
    const ClusterTime twice = time_of(doubled, ranks, cluster);
    EXPECT_EQ(twice.memory_s, 2 * time.memory_s);
    EXPECT_EQ(twice.network_s, 2 * time.network_s);
    EXPECT_EQ(twice.latency_s, time.latency_s);
    EXPECT_EQ(time_of(more, ranks, cluster).messages_s, time.messages_s + cluster.message_s);
    EXPECT_GE(time_of(more, ranks, cluster).seconds(), seconds);
  }
}

/// The model counts exactly what a Resharder moves.
TEST(ClusterModel, LoadsAreWhatRanksMove) {
  struct Case {
    std::string from;
    std::string to;
  };
  const std::vector<Case> cases = {
      {"tensor<40x24xf32, pyflame.RowPartition(6)>", "tensor<40x24xf32, pyflame.Grid(6, 1)>"},
      {"tensor<40x24xf32, pyflame.Grid(3, 2)>", "tensor<40x24xf32, pyflame.Grid(2, 3)>"},
      {"tensor<40x24xf64, pyflame.BlockCyclic(3, 2, 4, 4)>",
       "tensor<40x24xf64, pyflame.BlockCyclic(3, 2, 7, 5)>"},
      {"tensor<40x24xf32, dtensor<mesh=[6], [Shard(0)]>>",
       "tensor<40x24xf32, dtensor<mesh=[6], [Replicate()]>>"},
      {"tensor<40x24xf32, dtensor<mesh=[6], [Partial(sum)]>>",
       "tensor<40x24xf32, dtensor<mesh=[6], [Shard(1)]>>"},
      {"tensor<600x400xf64, pyflame.RowPartition(6)>",
       "tensor<600x400xf64, pyflame.RowPartition(6, dim_to_pe=[-1, 0])>"}};
  int packets = 0;
  for (const Case& question : cases) {
    const auto reshard = reshard_of(question.from, question.to);
    for (const int ranks : {1, 2, 4, 6}) {
      const RankMap map = blocks(*reshard, ranks);
      ResharderOptions options;
      options.packet_bytes = 4096;
      options.staging_bytes = 1 << 16;
      const PacketRule rule{options.packet_bytes, 4};
      const auto loads = rank_loads(reshard, map, map, 1, rule, 6).value();
      std::int64_t sent = 0;
      std::int64_t received = 0;
      for (const RankLoad& load : loads) {
        sent += load.sent_bytes;
        received += load.received_bytes;
        packets += static_cast<int>(load.sent_packets);
      }
      EXPECT_EQ(sent, received);
      const std::string mistake = test::on_ranks(ranks, [&](Exchange& exchange) -> std::string {
        const auto made = Resharder::make(exchange, *reshard, map, map, options);
        if (!made.ok()) return made.error().message;
        const RankTotals& totals = made.value().totals();
        const RankLoad& load = loads[static_cast<std::size_t>(exchange.rank())];
        const bool same = load.rank == exchange.rank() && load.sent_bytes == totals.sent_bytes &&
                          load.received_bytes == totals.received_bytes &&
                          load.local_bytes == totals.local_bytes &&
                          load.partners == totals.partners &&
                          load.sent_packets <= totals.packets_sent &&
                          load.received_packets <= totals.packets_received &&
                          2 * load.sent_packets + 2 >= totals.packets_sent;
        if (same) return "";
        return cat("rank ", load.rank, " of ", ranks, ", ", question.from, " to ", question.to,
                   ": ", load.sent_bytes, " bytes in ", load.sent_packets, " packets, ",
                   load.local_bytes, " local; it moves ", totals.sent_bytes, " in ",
                   totals.packets_sent, ", ", totals.local_bytes, " local\n");
      });
      EXPECT_EQ(mistake, "");
    }
  }
  EXPECT_GT(packets, 500);  // of routes with one packet and with many
}

TEST(ClusterModel, AsksNodesOfEveryRowAndColumn) {
  EXPECT_EQ(asked_nodes(1, 2), std::vector<int>{0});
  EXPECT_EQ(asked_nodes(3, 4), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(asked_nodes(64, 2), (std::vector<int>{0, 63}));
  EXPECT_EQ(asked_nodes(64, 64).size(), 64U);
  for (const int side : {16, 64, 128}) {
    const std::vector<int> asked = asked_nodes(side * side, 32);
    EXPECT_EQ(asked.front(), 0);
    EXPECT_EQ(asked.back(), side * side - 1);
    EXPECT_GE(asked.size(), 31U);
    std::set<int> columns;
    std::set<int> rows;
    for (const int node : asked) {
      rows.insert(node * 8 / (side * side));
      columns.insert(node % side * 8 / side);
    }
    EXPECT_EQ(rows.size(), 8U) << side;  // every eighth of the grid, in both directions
    EXPECT_EQ(columns.size(), 8U) << side;
  }
  // All ranks of those nodes; the last node has the remaining ones.
  const auto loads = loads_of("tensor<64x64xf32, pyflame.RowPartition(10)>",
                              "tensor<64x64xf32, pyflame.RowPartition(10)>", 10, 4);
  ASSERT_EQ(loads.size(), 10U);
  for (std::size_t i = 0; i < loads.size(); ++i) EXPECT_EQ(loads[i].rank, static_cast<int>(i));
}

// Packets are cut as Resharder cuts them by default; in one process each is kept once, by its
// sender.
TEST(ClusterModel, PacketsAreThoseOfAResharder) {
  const auto reshard = reshard_of("tensor<64x64xf32, pyflame.RowPartition(2)>",
                                  "tensor<64x64xf32, pyflame.RowPartition(2, dim_to_pe=[-1, 0])>");
  const RankMap map = blocks(*reshard, 2);
  const PacketRule rule;
  EXPECT_EQ(test::on_ranks(2,
                           [&](Exchange& exchange) -> std::string {
                             const auto made = Resharder::make(exchange, *reshard, map, map);
                             if (!made.ok()) return made.error().message;
                             const std::int64_t staged = made.value().totals().staged_bytes;
                             return staged == rule.packet_bytes * rule.in_flight ? "" : cat(staged);
                           }),
            "");
}

TEST(ClusterModel, RefusesWhatCannotBe) {
  const auto reshard = reshard_of("tensor<8xf32, pyflame.RowPartition(2)>",
                                  "tensor<8xf32, pyflame.RowPartition(2)>");
  const RankMap map = blocks(*reshard, 2);
  const auto code = [&](int per_node, PacketRule rule, int most) {
    return rank_loads(reshard, map, map, per_node, rule, most).error().code;
  };
  EXPECT_EQ(code(0, {}, 8), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(1, {64, 4}, 8), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(1, {4096, 0}, 8), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(1, {}, 1), ErrorCode::kOutOfRange);
  const RankMap other = RankMap::blocks(3, 2).value();
  EXPECT_EQ(rank_loads(reshard, other, map, 1).error().code, ErrorCode::kMeshMismatch);

  for (const Cluster& cluster : {Cluster::of_100_gb(), Cluster::of_400_gb()}) {
    EXPECT_TRUE(cluster.check().ok());
    std::vector<Cluster> wrong(6, cluster);
    wrong[0].ranks_per_node = 0;
    wrong[1].latency_s = -1e-9;
    wrong[2].message_s = -1;
    wrong[3].card_bytes_per_s = 0;
    wrong[4].memory_bytes_per_s = -1;
    wrong[5].rank_bytes_per_s = 0;
    for (const Cluster& each : wrong) {
      ASSERT_FALSE(each.check().ok());
      EXPECT_EQ(each.check().error().code, ErrorCode::kOutOfRange);
    }
  }
}

/// The points of all lines of a chart, in pixels, in the order of the document.
std::vector<std::vector<test::ChartPoint>> drawn_lines(const std::string& svg) {
  std::vector<std::vector<test::ChartPoint>> lines;
  const std::string begin = "points=\"";
  for (std::size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at)) {
    at += begin.size();
    auto& line = lines.emplace_back();
    const char* text = svg.c_str() + at;
    while (*text != '"') {
      char* end = nullptr;
      const double x = std::strtod(text, &end);
      const double y = std::strtod(end + 1, &end);
      line.push_back({x, y});
      text = *end == ' ' ? end + 1 : end;
    }
  }
  return lines;
}

TEST(LineChart, PointsStandWhereTheirNumbersAre) {
  test::LineChart chart{
      "a < b & c",
      {{"left", "ranks", {{"one", 0, false, {{4, 0.5}, {16, 0.05}, {64, 0.005}}}}},
       {"right", "ranks", {{"two", 1, true, {{4, 1e-3}, {64, 1e-3}}}}}}};
  const std::string svg = test::svg_text(chart);
  EXPECT_NE(svg.find("<title>a &lt; b &amp; c</title>"), std::string::npos);
  EXPECT_NE(svg.find(">100 ms</text>"), std::string::npos);
  EXPECT_NE(svg.find("class=\"line c1 dashed\""), std::string::npos);
  const auto lines = drawn_lines(svg);
  ASSERT_EQ(lines.size(), 2U);
  ASSERT_EQ(lines[0].size(), 3U);
  // Equal ratios are equal distances, to the printed tenth of a pixel.
  EXPECT_NEAR(lines[0][1].x - lines[0][0].x, lines[0][2].x - lines[0][1].x, 0.11);
  EXPECT_NEAR(lines[0][1].y - lines[0][0].y, lines[0][2].y - lines[0][1].y, 0.11);
  EXPECT_GT(lines[0][1].y, lines[0][0].y);  // smaller is lower
  EXPECT_EQ(lines[1][0].y, lines[1][1].y);
  EXPECT_GT(lines[1][0].y, lines[0][2].y);  // 1 ms below 5 ms: both panels have one y axis
  EXPECT_GT(lines[1][0].x, lines[0][2].x);  // to the right of the first panel
  EXPECT_EQ(svg, test::svg_text(chart));
}

TEST(LineChart, SecondsHaveThreeDigits) {
  EXPECT_EQ(test::short_seconds(20), "20 s");
  EXPECT_EQ(test::short_seconds(1), "1 s");
  EXPECT_EQ(test::short_seconds(0.99949), "999 ms");
  EXPECT_EQ(test::short_seconds(0.0015), "1.5 ms");
  EXPECT_EQ(test::short_seconds(0.00001234), "12.3 us");
  EXPECT_EQ(test::short_seconds(1e-10), "0.1 ns");
}

/// The tables and the picture of docs/mpi.md are those of the model.
TEST(ClusterModel, PageHasTheTablesAndThePicture) {
  const auto scaling = test::scaling();
  ASSERT_TRUE(scaling.ok()) << scaling.error().message;
  EXPECT_EQ(test::page_mistake("docs/mpi.md", test::scaling_parts(scaling.value())), "");
  EXPECT_EQ(test::file_mistake("docs/images/mpi_scaling.svg",
                               test::svg_text(test::scaling_chart(scaling.value()))),
            "");
  // By hand: of 2^34 bytes from rows to columns, each of n ranks has 2^34/n, and sends all but 1/n
  // of it; all but 8/n leave the node, on a card that 8 ranks share.
  int seen = 0;
  for (const test::ScalingPoint& point : scaling.value().strong) {
    if (point.name != "rows to columns") continue;
    const std::int64_t ranks = point.ranks;
    const std::int64_t part = (std::int64_t{1} << 34) / ranks / ranks;
    EXPECT_EQ(point.load.sent_bytes, part * (ranks - 1));
    EXPECT_EQ(point.load.partners, ranks - 1);
    const std::int64_t far_bytes = ranks <= 8 ? 0 : part * (ranks - 8);
    EXPECT_DOUBLE_EQ(point.slow.network_s, 8 * static_cast<double>(far_bytes) / 12.5e9);
    ++seen;
  }
  EXPECT_EQ(seen, 7);  // 4 to 16384
}

}  // namespace
}  // namespace tessera::exchange
