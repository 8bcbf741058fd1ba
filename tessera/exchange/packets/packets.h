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

namespace tessera::exchange {

/// The moves of all slabs of a rank; slabs alike share one.
class SlabMovers {
 public:
  /// `to_bytes` are those of the rank's memory of B.
  SlabMovers(const Atom& atom, std::int64_t to_bytes)
      : atom_(atom),
        stores_(to_bytes >= kLargeBytes ? relayout::Stores::kStreaming : relayout::Stores::kPlain) {
  }

  /// A move with where it begins, in bytes of the memories on both sides.
  struct Use {
    std::uint32_t mover = 0;
    std::int64_t from_byte = 0;
    std::int64_t to_byte = 0;
  };

  /// The slab from the place whose first slot is `source`, to the one whose first is `destination`.
  /// With a reduction it is combined with what is there.
  Result<Use> add(const Slab& slab, SlabMove move, std::int64_t source, std::int64_t destination,
                  std::optional<Reduction> reduction);

  /// Carries out a move between whole memories.
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
  /// A memory of B that does not stay in the caches is written around them.
  static constexpr std::int64_t kLargeBytes = std::int64_t{16} << 20;
  Atom atom_;
  relayout::Stores stores_;
  std::vector<Sized> movers_;
  std::map<std::vector<std::int64_t>, std::uint32_t> known_;
};

/// One packet: what is packed into it or taken out of it.
struct PacketPlan {
  int peer = 0;
  std::int64_t index = 0;  ///< among the packets between the two ranks
  std::int64_t bytes = 0;  ///< with its header
  std::size_t first = 0;   ///< of the uses
  std::size_t count = 0;
  std::int64_t moved_bytes = 0;  ///< that reach places of B through it
};

/// What stands before the data of every packet.
struct PacketHeader {
  static constexpr std::int64_t kBytes = 64;  ///< a line, so that data begin at one
  std::uint64_t plan = 0;                     ///< whose packet it is
  std::uint64_t index = 0;
  std::uint64_t bytes = 0;  ///< of the whole packet
  std::uint64_t checksum = 0;
};

// =================================================================================================
// All packets of a rank, in the order in which it takes them on
//
// Packet i between two ranks comes before packet i + 1, and among packets of the same number the
// one to the next rank comes first, then the one to the rank after that. Receivers go by the same
// rule, so that the first packet in that order which has not arrived is always being sent by its
// sender and awaited by its receiver: nobody waits in a circle, however little memory there is for
// packets on their way. And packets of the same number are about the same part of B, which is
// still in the caches when the next of them comes.
// =================================================================================================
struct Packets {
  std::vector<PacketPlan> sends;
  std::vector<PacketPlan> receives;
  std::vector<PacketPlan> local;  ///< no packets, but slabs of such a size
  std::vector<SlabMovers::Use> uses;
  bool combines = false;

  /// `packet_bytes` is the longest packet, header included.
  /// Errors: those of slabs and plans; kOutOfRange when a packet has no room for data; kTooLarge
  /// for more than 2^23 of them.
  static Result<Packets> make(const RankPlan& plan, int ranks, std::int64_t packet_bytes,
                              SlabMovers& movers);

  std::span<const SlabMovers::Use> uses_of(const PacketPlan& packet) const {
    return std::span(uses).subspan(packet.first, packet.count);
  }
};

/// What the ranks that are `near` keep for this one, to be read in place of packets: one list a
/// route of plan.receives(), empty for ranks that are not.
struct DirectReads {
  std::vector<std::vector<PacketPlan>> routes;
  std::vector<SlabMovers::Use> uses;

  static Result<DirectReads> make(const RankPlan& plan, const std::vector<bool>& near,
                                  std::int64_t slab_bytes, SlabMovers& movers);
};

}  // namespace tessera::exchange
