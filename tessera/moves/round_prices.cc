// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/round_prices.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/fabric/multicast.h"
#include "tessera/moves/collective_choices.h"

namespace tessera::moves {

using reshard::AlgorithmChoice;

namespace {

constexpr const char* kMemoryOfPlaces = "memory of the places";

/// Stands for the messages of all rounds: the same for algorithms that are alike, round by round.
class RoundsHash {
 public:
  void add_round(std::uint64_t sends) {
    round_ = sends;
    repeat_round();
  }
  /// Another round that is like the last.
  void repeat_round() { all_.mix(round_); }
  /// With the size of blocks, which algorithms choose themselves.
  std::uint64_t value(std::int64_t blocks, bool multicasts) const {
    SequenceHash value = all_;
    value.mix(static_cast<std::uint64_t>(blocks) << 1 | (multicasts ? 1U : 0U));
    return value.value();
  }

 private:
  std::uint64_t round_ = 0;
  SequenceHash all_;
};

/// RoundsHash of all rounds of a schedule.
std::uint64_t hash_of_rounds(const reshard::Schedule& schedule, bool multicasts) {
  RoundsHash hash;
  for (std::int64_t round = 0; round < schedule.rounds(); ++round) {
    if (schedule.repeats(round)) {
      hash.repeat_round();
    } else {
      hash.add_round(hash_of(schedule.round(round)));
    }
  }
  return hash.value(schedule.blocks(), multicasts);
}

template <typename Best>
void set(const Best& best, double memory, PricedRound& priced) {
  priced.travel = best.travel;
  const bool slower = memory > best.cost.cycles;
  priced.cycles = slower ? memory : best.cost.cycles;
  priced.dominated_by = slower ? fabric::Term::kMemory : best.cost.dominated_by;
  priced.busiest = slower ? kMemoryOfPlaces : best.cost.busiest;
}

}  // namespace

void add_once(std::vector<fabric::Travel>& travels, const fabric::Travel& travel) {
  if (std::find(travels.begin(), travels.end(), travel) == travels.end()) {
    travels.push_back(travel);
  }
}

void PricedStep::add(const PricedRound& round) {
  add_once(travels, round.travel);
  cycles += round.cycles + round.combine_cycles;
  bytes += round.bytes;
  if (round.cycles <= longest) return;
  longest = round.cycles;
  dominated_by = round.dominated_by;
  busiest = round.busiest;
}

std::uint64_t PlacedCollective::key(const AlgorithmChoice& choice, bool multicasts) const {
  SequenceHash key;
  key.mix(hash);
  key.mix(static_cast<std::uint64_t>(collective.kind) << 32 |
          static_cast<std::uint32_t>(collective.root));
  key.mix(static_cast<std::uint64_t>(choice.algorithm) << 8 |
          static_cast<std::uint64_t>(choice.inner) << 1 | (multicasts ? 1U : 0U));
  key.mix(static_cast<std::uint64_t>(choice.segments) << 32 |
          static_cast<std::uint32_t>(choice.rows));
  for (const std::int32_t to : collective.moves) key.mix(static_cast<std::uint32_t>(to));
  return key.value();
}

const reshard::BlockSizes& PlacedCollective::sizes_of(const reshard::Schedule& schedule) {
  using enum reshard::CollectiveKind;
  // Algorithms choose the blocks of these; those of others are what members have or get.
  const bool chosen =
      collective.kind == kBroadcast || collective.kind == kReduce || collective.kind == kAllReduce;
  if (!sizes || chosen) sizes.emplace(collective, schedule);
  return *sizes;
}

/// An algorithm of a collective, while its rounds are priced.
struct RoundPrices::Rounds {
  const PlacedCollective& placed;
  const reshard::Schedule& schedule;
  bool multicasts = false;
  const reshard::BlockSizes& sizes;
  std::optional<std::uint64_t> key;   ///< of the algorithm, where rounds have patterns
  reshard::BlockRound last;           ///< the last round that was priced message by message
  std::optional<PricedRound> priced;  ///< of `last`, or of a pattern since
  std::uint64_t sends = 0;            ///< hash of the last round
  bool possible = true;               ///< false: members that should multicast cannot
};

Result<std::optional<PricedStep>> RoundPrices::price(PlacedCollective& placed,
                                                     const AlgorithmChoice& choice, bool multicasts,
                                                     const std::vector<PricedStep>& others) {
  const reshard::Collective& collective = placed.collective;
  Result<reshard::Schedule> schedule = reshard::schedule_of(collective, choice);
  if (!schedule) {
    const ErrorCode code = schedule.error().code;
    if (code == ErrorCode::kNotSupported || code == ErrorCode::kTooLarge) {
      return std::optional<PricedStep>();
    }
    return schedule.error();
  }
  const auto members = static_cast<double>(collective.members);
  const double work = static_cast<double>(schedule->rounds()) *
                      static_cast<double>(collective.groups) * members *
                      (is_direct(choice) ? members : 1);
  if (work > static_cast<double>(kMostRoundMessages)) return std::optional<PricedStep>();
  PricedStep step;
  const auto is_known = [&] {
    return std::any_of(others.begin(), others.end(),
                       [&](const PricedStep& other) { return other.rounds == step.rounds; });
  };
  // Few members have few algorithms that differ, and rounds that are soon made twice.
  constexpr std::int64_t kFewMembers = 4;
  const bool few = collective.members <= kFewMembers;
  if (few) step.rounds = hash_of_rounds(*schedule, multicasts);
  if (few && is_known()) return std::optional<PricedStep>();
  step.choice = choice;
  step.name =
      cat(reshard::collective_name(collective.kind), " by ", choice_name(choice, multicasts));
  Rounds rounds{placed, *schedule, multicasts, placed.sizes_of(*schedule), std::nullopt, {}, {}, 0};
  // Where blocks have one size, messages of as many blocks have one size, too.
  const bool has_patterns = rounds.sizes.same().value_or(0) > 0 && ends_.banks == 1 &&
                            ends_.first == 0 && work_.through == nullptr;
  if (has_patterns) rounds.key = placed.key(choice, multicasts);
  TESSERA_TRY(const bool possible, add_rounds(rounds, step));
  if (!possible || is_known()) return std::optional<PricedStep>();
  step.is_direct = !multicasts && schedule->rounds() == 1;
  return std::optional(std::move(step));
}

Result<bool> RoundPrices::add_rounds(Rounds& rounds, PricedStep& step) {
  const bool equal = rounds.sizes.same().has_value();
  bool has_multicasts = false;
  RoundsHash hash;
  for (std::int64_t round = 0; round < rounds.schedule.rounds(); ++round) {
    // Where all blocks have one size, rounds that are alike take the same time.
    const bool repeats = rounds.schedule.repeats(round);
    if (!rounds.priced || !equal || !repeats) {
      std::optional<PricedRound> priced;
      if (rounds.key) {
        TESSERA_TRY(priced, by_pattern(rounds, round, step.longest));
        if (!rounds.possible) return false;
      }
      if (!priced) {
        TESSERA_TRY(priced, by_messages(rounds, round));
      }
      if (!priced) return false;
      rounds.priced = std::move(priced);
    }
    if (repeats) {
      hash.repeat_round();
    } else {
      hash.add_round(rounds.sends);
    }
    if (rounds.priced->bytes == 0) continue;
    has_multicasts = has_multicasts || rounds.priced->multicasts;
    step.add(*rounds.priced);
  }
  step.rounds = hash.value(rounds.schedule.blocks(), rounds.multicasts);
  return has_multicasts || !rounds.multicasts;
}

/// By the pattern of a round, which is in the tables or made now. Empty where messages differ in
/// size, sums do not fit, or members that should multicast cannot.
Result<std::optional<PricedRound>> RoundPrices::by_pattern(Rounds& rounds, std::int64_t round,
                                                           double longest) {
  SequenceHash key;
  key.mix(*rounds.key);
  key.mix(static_cast<std::uint64_t>(round));
  const RoundPattern* pattern = tables_.rounds.find(key.value());
  if (pattern == nullptr) {
    TESSERA_TRY(RoundPattern made,
                pattern_of(rounds.schedule.round(round), rounds.placed.places, tables_.network,
                           rounds.multicasts ? &tables_.multicasts : nullptr));
    pattern = &tables_.rounds.keep(key.value(), std::move(made));
  }
  rounds.possible = !pattern->copies || pattern->trees;
  if (!rounds.possible) return std::optional<PricedRound>();
  std::optional<PricedRound> priced = price_pattern(*pattern, *rounds.sizes.same(), longest);
  if (!priced) return priced;
  rounds.sends = pattern->sends;
  rounds.last.clear();
  return priced;
}

/// Message by message. Empty if members that should multicast cannot.
Result<std::optional<PricedRound>> RoundPrices::by_messages(Rounds& rounds, std::int64_t round) {
  reshard::BlockRound sends = rounds.schedule.round(round);
  rounds.sends = hash_of(sends);
  const bool known =
      rounds.priced && rounds.sizes.same() && !rounds.last.empty() && alike(sends, rounds.last);
  rounds.last = std::move(sends);
  if (known) return rounds.priced;
  const bool copies = rounds.multicasts && sends_copies(rounds.last);
  return price_round(rounds.placed.places, rounds.sizes, rounds.last, copies);
}

/// Blocks have so many elements each. Rounds of at most `longest` cycles do not say what is
/// busiest. Empty where messages differ in size, or sums do not fit.
std::optional<PricedRound> RoundPrices::price_pattern(const RoundPattern& pattern,
                                                      std::int64_t elements, double longest) const {
  PricedRound priced;
  if (pattern.messages == 0) return priced;
  const std::int64_t each = pattern.blocks * elements;
  const std::int64_t bytes = reshard_.bytes(each);
  priced.bytes = pattern.messages * bytes;
  double memory = 0;
  for (const auto& [sent, received] : pattern.busiest_places) {
    memory = std::max(memory, work_.places.memory_cycles(sent * bytes, received * bytes));
  }
  if (pattern.copies) {
    const auto best = tables_.multicasts.best(*pattern.trees, bytes, pattern.ranges);
    if (!best) return std::nullopt;
    priced.multicasts = true;
    set(*best, memory, priced);
    return priced;
  }
  if (!pattern.routes) return std::nullopt;
  const std::optional<fabric::PatternCost> cost =
      tables_.network.best(*pattern.routes, bytes, pattern.ranges);
  if (!cost) return std::nullopt;
  if (work_.reduced_per_cycle > 0) {
    priced.combine_cycles =
        static_cast<double>(pattern.most_combined * each) / work_.reduced_per_cycle;
  }
  const bool slower = memory > cost->cycles;
  priced.travel = cost->travel;
  priced.cycles = slower ? memory : cost->cycles;
  priced.dominated_by = slower ? fabric::Term::kMemory : cost->dominated_by;
  if (priced.cycles > longest) {
    priced.busiest = slower ? kMemoryOfPlaces : tables_.network.busiest(*cost);
  }
  return priced;
}

/// Empty if members that should multicast cannot.
Result<std::optional<PricedRound>> RoundPrices::price_round(const reshard::MemberPlaces& places,
                                                            const reshard::BlockSizes& sizes,
                                                            const reshard::BlockRound& sends,
                                                            bool copies) {
  PricedRound priced;
  reshard::list_messages(places, sizes, sends, listed_);
  if (listed_.empty()) return std::optional(std::move(priced));
  messages_.clear();
  bool combines = false;
  for (const reshard::RoundMessage& message : listed_) {
    const std::int64_t bytes = reshard_.bytes(message.elements);
    ends_.add({static_cast<std::int32_t>(message.source),
               static_cast<std::int32_t>(message.destination), bytes, message.pieces},
              messages_);
    priced.bytes += bytes;
    combines = combines || message.combines;
  }
  if (combines) priced.combine_cycles = combine_cycles();
  if (copies) {
    const std::vector<fabric::Multicast> multicasts = multicasts_of(messages_);
    TESSERA_TRY(const std::optional<fabric::BestMulticast> best,
                tables_.multicasts.best(multicasts));
    if (!best) return std::optional<PricedRound>();
    priced.multicasts = true;
    set(*best, work_.places.memory_cycles(multicasts, tables_), priced);
    return std::optional(std::move(priced));
  }
  if (work_.through != nullptr) work_.through->apply(messages_);
  TESSERA_TRY(const fabric::BestTravel best, tables_.network.best(messages_));
  set(best, work_.places.memory_cycles(messages_, tables_), priced);
  return std::optional(std::move(priced));
}

/// What the place that combines the most takes for it. Banks share their device's places.
double RoundPrices::combine_cycles() const {
  if (work_.reduced_per_cycle <= 0) return 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> combined;  // destination, elements
  for (const reshard::RoundMessage& message : listed_) {
    if (message.combines) combined.emplace_back(message.destination, message.elements);
  }
  std::sort(combined.begin(), combined.end());
  std::int64_t most = 0;
  std::int64_t own = 0;
  for (std::size_t i = 0; i < combined.size(); ++i) {
    if (i == 0 || combined[i].first != combined[i - 1].first) own = 0;
    own += combined[i].second;
    most = std::max(most, own);
  }
  const std::int64_t helpers = ends_.banks > 1 ? machine_.places() / machine_.devices() : 1;
  return static_cast<double>(ceil_div(most, helpers)) / work_.reduced_per_cycle;
}

}  // namespace tessera::moves
