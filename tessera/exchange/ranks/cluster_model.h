// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/ranks/rank_plan.h"
#include "tessera/exchange/resharder.h"
#include "tessera/reshard/reshard.h"

namespace tessera::exchange {

// =================================================================================================
// How long a reshard takes on a cluster that is not available
//
// The data that ranks move are not estimated: RankPlan computes them for the given layouts. The
// machine is described by six figures (Cluster) and one formula. For one node, where `most` is the
// maximum over its ranks and `all` their sum,
//   touched    2·(packed + placed + copied)                    every byte is read and written
//   memory     max(most(touched)/rank, all(touched)/memory)
//   messages   most(packets sent + packets received)·message   the processor's share
//   network    max(all(sent to other nodes), all(received from them))/card
//   latency    ceil(most(packets to or from other nodes)/in flight)·latency
//   agreement  2·2·ceil(log2 ranks)·(latency + message)        before and after the data
//
//   seconds  = agreement + latency + max(network, memory + messages)
//
// and a reshard takes as long as its slowest node. Assumptions:
//
//   - Ranks fill the nodes in order: 0 to 7 are on node 0, and so on.
//   - While the card sends packets the processor packs others, so the slower of the two counts.
//     Packets are smaller than a cache; what the card itself reads and writes is not counted.
//   - Links carry as much in one direction as in the other at the same time, and the network
//     between the cards is never the bottleneck. Networks with an oversubscribed core are slower.
//   - A packet's memory is free again one latency after it has left, and a rank has `in_flight` of
//     them. Libraries that copy short messages free it earlier: for those the estimate is too high.
//   - Ranks of one node pass packets through memory: no card, no latency.
//   - Nobody else uses the machine, and no rank is late.
//
// Laws: seconds rise with every time and fall with every speed; twice the bytes are twice the
// memory and network terms; the latency term is messages times latency when one is in flight at a
// time; an empty load takes only the agreement.
//
// Worked example: two ranks on two nodes hold rows of 8x8 f32 and need columns. Each packs,
// receives and copies 64 bytes. With 1 byte per second everywhere and no times, memory takes 384 s
// and the network 64 s, so 384 s in total; a latency of 1 s adds 4 s of agreement and 1 s of
// latency.
// =================================================================================================

/// A cluster in six figures. `check` tells whether they are valid.
struct Cluster {
  std::string name;
  int ranks_per_node = 1;
  double latency_s = 0;           ///< of a short message from one node to another
  double message_s = 0;           ///< processor time of a rank to send or receive a packet
  double card_bytes_per_s = 0;    ///< of a node's network card, each way
  double memory_bytes_per_s = 0;  ///< of a node, read and written together
  double rank_bytes_per_s = 0;    ///< one rank while it packs, read and written together

  /// kOutOfRange for times below 0, speeds that are not above 0, and nodes without ranks.
  Status check() const;

  /// 8 ranks per node, a card of 100 Gb/s, two sockets of DDR4-3200; and the same with 400 Gb/s and
  /// DDR5-4800. The source file states where each figure comes from.
  static Cluster of_100_gb();
  static Cluster of_400_gb();
};

/// How packets are cut. The defaults are those of Resharder.
struct PacketRule {
  std::int64_t packet_bytes = std::int64_t{256} << 10;
  int in_flight = 4;
};

/// The amount of data that one rank moves. Packets are the fewest into which its routes can be cut;
/// slabs that do not fill them make the real number slightly higher.
/// Law: sent, received and copied bytes are those of RankTotals, for types of whole bytes.
struct RankLoad {
  int rank = 0;
  std::int64_t sent_bytes = 0;          ///< to other ranks
  std::int64_t sent_far_bytes = 0;      ///< of these, to other nodes
  std::int64_t received_bytes = 0;      ///< from other ranks
  std::int64_t received_far_bytes = 0;  ///< of these, from other nodes
  std::int64_t placed_bytes = 0;        ///< received, once for each place that keeps it
  std::int64_t local_bytes = 0;         ///< from its own places to its own places, once for each
                                        ///< destination
  std::int64_t sent_packets = 0;
  std::int64_t sent_far_packets = 0;
  std::int64_t received_packets = 0;
  std::int64_t received_far_packets = 0;
  std::int64_t partners = 0;  ///< ranks that it sends to or receives from
};

RankLoad load_of(const RankPlan& plan, int ranks_per_node, const PacketRule& packets = {});

/// The nodes to compute: all when there are at most `most`, otherwise about that many: the first,
/// the last, and some between them in an irregular pattern, so that they are not all at one edge of
/// a grid.
std::vector<int> asked_nodes(int nodes, int most);

/// The loads of all ranks of those nodes, by ascending rank. Other ranks may have a higher load.
/// Errors: those of RankPlan::make; kOutOfRange for a rule, a node or a sample without any.
Result<std::vector<RankLoad>> rank_loads(const std::shared_ptr<const reshard::Reshard>& reshard,
                                         const RankMap& from, const RankMap& to, int ranks_per_node,
                                         const PacketRule& packets = {}, int most_nodes = 4);

/// The terms of the essay above, in seconds.
struct ClusterTime {
  int node = 0;  ///< the node that they describe
  double memory_s = 0;
  double messages_s = 0;
  double network_s = 0;
  double latency_s = 0;
  double agreement_s = 0;
  double seconds() const;
  /// The name of the largest term that counts: of the network and the processor, only the slower
  /// one.
  std::string_view bound() const;
};

/// The time of a node whose ranks have these loads; `ranks`, at least 1, is the total number of
/// ranks. Zeros for no loads.
ClusterTime time_of(std::span<const RankLoad> node, int ranks, const Cluster& cluster,
                    const PacketRule& packets = {});
/// The slowest of the nodes; on a tie, the first. Loads are those of whole nodes, by ascending
/// rank.
ClusterTime slowest(std::span<const RankLoad> loads, int ranks, const Cluster& cluster,
                    const PacketRule& packets = {});

}  // namespace tessera::exchange
