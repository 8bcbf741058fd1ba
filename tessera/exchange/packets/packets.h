// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/exchange/packets/slab.h"
#include "tessera/exchange/ranks/rank_plan.h"
#include "tessera/relayout/accumulate.h"
#include "tessera/relayout/plan.h"

/// packets/: the data of a rank, cut into packets and moved. In: a RankPlan (ranks/rank_plan.h), a
/// Lane and the memory of the rank's sides. Out: the packets to send and receive, and B's memory
/// after a run. It must not decide which data move or between which ranks: the plan does that.
namespace tessera::exchange {

/// The moves of all slabs of a rank; identical slabs share one program.
class SlabMovers {
 public:
  /// `to_bytes` is the size of the rank's memory of B.
  SlabMovers(const Atom& atom, std::int64_t to_bytes)
      : atom_(atom),
        stores_(to_bytes >= kLargeBytes ? relayout::Stores::kStreaming : relayout::Stores::kPlain) {
  }

  /// A move and its start, in bytes of the memories on both sides.
  struct Use {
    std::uint32_t mover = 0;
    std::int64_t from_byte = 0;
    std::int64_t to_byte = 0;
  };

  /// Adds the slab from the place whose first slot is `source` to the place whose first slot is
  /// `destination`. With a reduction, it is combined with the present value.
  Result<Use> add(const Slab& slab, SlabMove move, std::int64_t source, std::int64_t destination,
                  std::optional<Reduction> reduction);

  /// Executes a move between whole memories.
  Status run(const Use& use, std::span<const std::byte> from, std::span<std::byte> to,
             ThreadPool& pool) const;

  std::size_t size() const { return movers_.size(); }

 private:
  using Mover = std::variant<relayout::Plan, relayout::Accumulate>;
  struct Sized {
    Mover mover;
    std::int64_t from_bytes = 0;
    std::int64_t to_bytes = 0;
  };
  /// A memory of B that is too large for the caches is written with streaming stores.
  static constexpr std::int64_t kLargeBytes = std::int64_t{16} << 20;
  Atom atom_;
  relayout::Stores stores_;
  std::vector<Sized> movers_;
  std::map<std::vector<std::int64_t>, std::uint32_t> known_;
};

/// One packet: the data that are packed into it or unpacked from it.
struct PacketPlan {
  int peer = 0;
  std::int64_t index = 0;  ///< index among the packets between the two ranks
  std::int64_t bytes = 0;  ///< including its header
  std::size_t first = 0;   ///< index in `uses`
  std::size_t count = 0;
  std::int64_t moved_bytes = 0;  ///< bytes that reach places of B through it
};

/// The header before the data of every packet.
struct PacketHeader {
  static constexpr std::int64_t kBytes = 64;  ///< one cache line, so that data are aligned to a
                                              ///< line
  std::uint64_t plan = 0;                     ///< the plan that the packet belongs to
  std::uint64_t index = 0;
  std::uint64_t bytes = 0;  ///< of the whole packet
  std::uint64_t checksum = 0;
};

// =================================================================================================
// All packets of a rank, in the order in which it processes them
//
// Packet i between two ranks comes before packet i + 1. Among packets with the same number, the one
// to the next rank comes first, then the one to the rank after that. Receivers use the same rule.
// So the first packet in that order which has not arrived is always being sent by its sender and
// awaited by its receiver: the order is deadlock-free, however little memory there is for packets
// in flight. Packets with the same number cover the same part of B, which is still in the caches
// when the next of them arrives.
// =================================================================================================
struct Packets {
  std::vector<PacketPlan> sends;
  std::vector<PacketPlan> receives;
  std::vector<PacketPlan> local;  ///< not packets, but slabs of the same size
  std::vector<SlabMovers::Use> uses;
  bool combines = false;

  /// `packet_bytes` is the longest packet, header included.
  /// Errors: those of slabs and plans; kOutOfRange when a packet has no room for data; kTooLarge
  /// for more than 2^23 packets.
  static Result<Packets> make(const RankPlan& plan, int ranks, std::int64_t packet_bytes,
                              SlabMovers& movers);

  std::span<const SlabMovers::Use> uses_of(const PacketPlan& packet) const {
    return std::span(uses).subspan(packet.first, packet.count);
  }
};

/// The data that ranks in `near` hold for this rank, to be read in place instead of from packets:
/// one list per route of plan.receives(), empty for ranks that are not in `near`.
struct DirectReads {
  std::vector<std::vector<PacketPlan>> routes;
  std::vector<SlabMovers::Use> uses;

  static Result<DirectReads> make(const RankPlan& plan, const std::vector<bool>& near,
                                  std::int64_t slab_bytes, SlabMovers& movers);
};

}  // namespace tessera::exchange
