// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/multicast.h"
#include "tessera/fabric/topology.h"
#include "tessera/reshard/collectives/algorithms.h"
#include "tessera/reshard/collectives/messages.h"

namespace tessera::moves {

/// Stands for what is mixed in: equal for equal sequences. Two that differ have equal numbers with
/// a chance of 2^-64.
class SequenceHash {
 public:
  void mix(std::uint64_t number) {
    value_ = (value_ ^ number) * 0xff51afd7ed558ccd;
    value_ ^= value_ >> 32;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x9e3779b97f4a7c15;
};

/// What is known of a round for blocks of any size, if every member that sends sends as many blocks
/// as any other, in as many ranges: its messages then have one size.
struct RoundPattern {
  std::uint64_t sends = 0;         ///< the SequenceHash of what members send
  std::int64_t messages = 0;       ///< in all groups
  std::int64_t blocks = 0;         ///< of each message
  std::int64_t ranges = 0;         ///< of each message
  std::int64_t most_combined = 0;  ///< messages that one member combines
  /// Messages that a place sends and receives: those pairs that no other place exceeds.
  std::vector<std::pair<std::int64_t, std::int64_t>> busiest_places;
  std::optional<fabric::MessagePattern> routes;  ///< empty: messages differ in size
  /// True if members multicast: all messages of a member are then one multicast.
  bool copies = false;
  /// Of these multicasts; empty if the machine cannot carry them out.
  std::optional<fabric::MulticastPattern> trees;
};

/// The SequenceHash of the sends of a round, and of the places of a collective.
std::uint64_t hash_of(const reshard::BlockRound& sends);
std::uint64_t hash_of(const reshard::MemberPlaces& places);

/// True if every member sends the same blocks to all its receivers, and some to several.
bool sends_copies(const reshard::BlockRound& round);

/// Messages of equal contents per source, as one multicast per source, by source.
std::vector<fabric::Multicast> multicasts_of(const std::vector<fabric::Message>& messages);

/// The pattern of a round between places. Members that send copies multicast them, unless
/// `multicasts` is null.
/// Errors: those of NetworkPricer::pattern.
Result<RoundPattern> pattern_of(const reshard::BlockRound& sends,
                                const reshard::MemberPlaces& places, fabric::NetworkPricer& pricer,
                                fabric::MulticastPricer* multicasts);

/// Patterns of rounds by a number that stands for the algorithm, the round and the places. Rounds
/// of a chain or of a pairwise exchange all differ, and a program asks again and again for
/// collectives over the same rows, columns and grids: their routes are added up once.
class RoundPatterns {
 public:
  const RoundPattern* find(std::uint64_t key) const {
    const auto found = patterns_.find(key);
    return found == patterns_.end() ? nullptr : &found->second;
  }
  /// The pattern stays where it is until the next call.
  const RoundPattern& keep(std::uint64_t key, RoundPattern pattern) {
    constexpr std::size_t kMostKept = 1 << 13;
    if (patterns_.size() >= kMostKept) patterns_.clear();
    return patterns_.insert_or_assign(key, std::move(pattern)).first->second;
  }

 private:
  std::unordered_map<std::uint64_t, RoundPattern> patterns_;
};

}  // namespace tessera::moves
