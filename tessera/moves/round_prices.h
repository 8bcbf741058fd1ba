// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/topology.h"
#include "tessera/moves/collective_ways.h"
#include "tessera/moves/price_tables.h"
#include "tessera/moves/round_patterns.h"
#include "tessera/reshard/collectives/algorithms.h"
#include "tessera/reshard/collectives/collective.h"
#include "tessera/reshard/collectives/messages.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// Adds a travel to a list that does not have it.
void add_once(std::vector<fabric::Travel>& travels, const fabric::Travel& travel);

/// What one round takes.
struct PricedRound {
  fabric::Travel travel;
  double cycles = 0;  ///< without combining
  double combine_cycles = 0;
  std::int64_t bytes = 0;
  fabric::Term dominated_by = fabric::Term::kLatency;
  std::string busiest;
  bool multicasts = false;
};

/// An algorithm of one step, priced.
struct PricedStep {
  reshard::AlgorithmChoice choice;
  std::string name;
  double cycles = 0;
  std::int64_t bytes = 0;
  double longest = 0;  ///< cycles of the longest round
  fabric::Term dominated_by = fabric::Term::kLatency;
  std::string busiest;

  std::vector<fabric::Travel> travels;
  std::uint64_t rounds = 0;  ///< stands for all rounds: the same for algorithms that are alike
  bool is_direct = false;    ///< in one round, from source to destination

  void add(const PricedRound& round);
};

/// A collective, and where its members are.
struct PlacedCollective {
  explicit PlacedCollective(const reshard::Collective& step)
      : collective(step), places(step), hash(hash_of(places)) {}

  /// Stands for the rounds of one of its algorithms, without their blocks.
  std::uint64_t key(const reshard::AlgorithmChoice& choice, bool multicasts) const;

  /// The sizes of the blocks of an algorithm.
  const reshard::BlockSizes& sizes_of(const reshard::Schedule& schedule);

  const reshard::Collective& collective;
  reshard::MemberPlaces places;
  std::uint64_t hash = 0;
  std::optional<reshard::BlockSizes> sizes;  ///< of the last algorithm
};

/// Prices the rounds of algorithms. Rounds in which all messages have one size are priced by their
/// patterns, others message by message.
class RoundPrices {
 public:
  RoundPrices(const reshard::Reshard& reshard, const MemberEnds& ends, RoundWork& work,
              PriceTables& tables, const Machine& machine)
      : reshard_(reshard), ends_(ends), work_(work), tables_(tables), machine_(machine) {}

  /// Empty if the collective does not have the algorithm, it is too long to price, it has nothing
  /// to multicast where that is asked for, or its rounds are those of an algorithm in `others`.
  Result<std::optional<PricedStep>> price(PlacedCollective& placed,
                                          const reshard::AlgorithmChoice& choice, bool multicasts,
                                          const std::vector<PricedStep>& others);

 private:
  struct Rounds;
  /// False if members that should multicast cannot.
  Result<bool> add_rounds(Rounds& rounds, PricedStep& step);
  Result<std::optional<PricedRound>> by_pattern(Rounds& rounds, std::int64_t round, double longest);
  Result<std::optional<PricedRound>> by_messages(Rounds& rounds, std::int64_t round);
  std::optional<PricedRound> price_pattern(const RoundPattern& pattern, std::int64_t elements,
                                           double longest) const;
  Result<std::optional<PricedRound>> price_round(const reshard::MemberPlaces& places,
                                                 const reshard::BlockSizes& sizes,
                                                 const reshard::BlockRound& sends, bool copies);
  double combine_cycles() const;

  const reshard::Reshard& reshard_;
  const MemberEnds& ends_;
  RoundWork& work_;
  PriceTables& tables_;
  const Machine& machine_;
  std::vector<reshard::RoundMessage> listed_;  ///< of the current round
  std::vector<fabric::Message> messages_;
};

}  // namespace tessera::moves
