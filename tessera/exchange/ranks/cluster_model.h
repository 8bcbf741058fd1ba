// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/rank_map.h"
#include "tessera/exchange/ranks/rank_plan.h"
#include "tessera/reshard/reshard.h"

namespace tessera::exchange {

// =================================================================================================
// How long a reshard takes on a cluster that is not here
//
// What ranks move is not guessed: RankPlan says it for the very layouts that are asked about. What
// a machine does with it is six figures (Cluster), and one formula. For one node, where `most` is
// the most of any of its ranks and `all` what they have together,
//
//   touched    2·(packed + placed + copied)                    every byte is read and written
//   memory     max(most(touched)/rank, all(touched)/memory)
//   messages   most(packets sent + packets received)·message   the processor's share
//   network    max(all(sent to other nodes), all(received from them))/card
//   latency    ceil(most(packets to or from other nodes)/in flight)·latency
//   agreement  2·2·ceil(log2 ranks)·(latency + message)        before and after the data
//
//   seconds  = agreement + latency + max(network, memory + messages)
//
// and a reshard takes as long as its slowest node. What that assumes:
//
//   - Ranks fill the nodes in order: 0 to 7 are on node 0, and so on.
//   - While the card sends packets the processor packs others, so that the slower of both counts.
//     Packets are smaller than a cache; what the card itself reads and writes is not counted.
//   - Links carry as much in one direction as in the other at the same time, and the network
//     between the cards is never the narrowest part. Networks whose core is thinner are slower.
//   - A packet's memory is free again one latency after it has left, and a rank has `in_flight` of
//     them. Libraries that copy short messages free it earlier: for those this is too much.
//   - Ranks of one node pass packets through memory: no card, no latency.
//   - Nobody else uses the machine, and no rank comes late.
//
// Laws: seconds rise with every time and fall with every speed; twice the bytes are twice the
// memory and network terms; the latency term is messages times latency when one is in flight at a
// time; a load of nothing takes the agreement alone.
//
// Worked example: two ranks on two nodes hold rows of 8x8 f32 and want columns. Each packs,
// receives and copies 64 bytes. With 1 byte a second everywhere and no times, memory takes 384 s
// and the network 64 s, so 384 s in all; with a latency of 1 s it is 4 s of agreement and 1 s of
// latency more.
// =================================================================================================

/// A cluster in six figures. `check` says whether they can be.
struct Cluster {
  std::string name;
  int ranks_per_node = 1;
  double latency_s = 0;           ///< of a short message from one node to another
  double message_s = 0;           ///< what a rank's processor takes to send or receive a packet
  double card_bytes_per_s = 0;    ///< of a node's network card, each way
  double memory_bytes_per_s = 0;  ///< of a node, read and written together
  double rank_bytes_per_s = 0;    ///< what one rank reads and writes while it packs, together

  /// kOutOfRange for times below 0, speeds that are not above 0, and nodes without ranks.
  Status check() const;

  /// 8 ranks a node, a card of 100 Gb/s, two sockets of DDR4-3200; and the same with 400 Gb/s and
  /// DDR5-4800. Where each figure comes from stands beside it in the source.
  static Cluster of_100_gb();
  static Cluster of_400_gb();
};

/// How packets are cut. These are what Resharder chooses unless it is asked for something else.
struct PacketRule {
  std::int64_t packet_bytes = std::int64_t{256} << 10;
  int in_flight = 4;
};

/// What one rank moves. Packets are as few as its routes can be cut into: slabs that do not fill
/// them make it a few more.
/// Law: sent, received and copied bytes are those of RankTotals, for types of whole bytes.
struct RankLoad {
  int rank = 0;
  std::int64_t sent_bytes = 0;          ///< to other ranks
  std::int64_t sent_far_bytes = 0;      ///< of these, to other nodes
  std::int64_t received_bytes = 0;      ///< from other ranks
  std::int64_t received_far_bytes = 0;  ///< of these, from other nodes
  std::int64_t placed_bytes = 0;        ///< received, once for each place that keeps it
  std::int64_t local_bytes = 0;         ///< from its places to its places, once for each of these
  std::int64_t sent_packets = 0;
  std::int64_t sent_far_packets = 0;
  std::int64_t received_packets = 0;
  std::int64_t received_far_packets = 0;
  std::int64_t partners = 0;  ///< ranks that it sends to or receives from
};

RankLoad load_of(const RankPlan& plan, int ranks_per_node, const PacketRule& packets = {});

/// The nodes that are asked: all when there are at most `most`, else about as many: the first, the
/// last, and some between them that follow no rule of rows and columns, so that they are not all at
/// one edge of a grid.
std::vector<int> asked_nodes(int nodes, int most);

/// The loads of all ranks of those nodes, by rising rank. What others have to do may be more.
/// Errors: those of RankPlan::make; kOutOfRange for a rule, a node or a sample without any.
Result<std::vector<RankLoad>> rank_loads(const std::shared_ptr<const reshard::Reshard>& reshard,
                                         const RankMap& from, const RankMap& to, int ranks_per_node,
                                         const PacketRule& packets = {}, int most_nodes = 4);

/// The terms of the essay above, in seconds.
struct ClusterTime {
  int node = 0;  ///< whose they are
  double memory_s = 0;
  double messages_s = 0;
  double network_s = 0;
  double latency_s = 0;
  double agreement_s = 0;
  double seconds() const;
  /// The name of the largest term that counts: of the network and the processor the slower one.
  std::string_view bound() const;
};

/// What a node takes whose ranks have these loads, of `ranks`, at least 1, in all. Zeros for none.
ClusterTime time_of(std::span<const RankLoad> node, int ranks, const Cluster& cluster,
                    const PacketRule& packets = {});
/// The slowest node of them, of equals the first. Loads are those of whole nodes, by rising rank.
ClusterTime slowest(std::span<const RankLoad> loads, int ranks, const Cluster& cluster,
                    const PacketRule& packets = {});

}  // namespace tessera::exchange
