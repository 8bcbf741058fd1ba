// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/collective_ways.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/fabric/multicast.h"
#include "tessera/reshard/collectives/algorithms.h"
#include "tessera/reshard/collectives/collective.h"
#include "tessera/reshard/collectives/messages.h"

namespace tessera::moves {
namespace {

using reshard::Algorithm;
using reshard::AlgorithmChoice;
using reshard::Collective;
using reshard::CollectiveKind;

void add_once(std::vector<fabric::Travel>& travels, const fabric::Travel& travel) {
  if (std::find(travels.begin(), travels.end(), travel) == travels.end()) {
    travels.push_back(travel);
  }
}

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
  AlgorithmChoice choice;
  std::string name;
  double cycles = 0;
  std::int64_t bytes = 0;
  double longest = 0;  ///< cycles of the longest round
  fabric::Term dominated_by = fabric::Term::kLatency;
  std::string busiest;

  std::vector<fabric::Travel> travels;
  std::uint64_t rounds = 0;  ///< RoundsHash of all rounds
  bool is_direct = false;    ///< in one round, from source to destination

  void add(const PricedRound& round) {
    add_once(travels, round.travel);
    cycles += round.cycles + round.combine_cycles;
    bytes += round.bytes;
    if (round.cycles <= longest) return;
    longest = round.cycles;
    dominated_by = round.dominated_by;
    busiest = round.busiest;
  }
};

/// The divisor of n that is nearest to its square root from below.
std::int64_t rows_of(std::int64_t n) {
  std::int64_t rows = 1;
  for (std::int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) rows = d;
  }
  return rows;
}

/// Algorithms worth trying; those that a collective does not have are refused by schedule_of.
std::vector<AlgorithmChoice> choices_for(const Collective& collective) {
  std::vector<AlgorithmChoice> choices;
  for (const Algorithm algorithm :
       {Algorithm::kDirect, Algorithm::kRing, Algorithm::kTwoWayRing, Algorithm::kChain,
        Algorithm::kTree, Algorithm::kDoubling, Algorithm::kPairwise, Algorithm::kScattered}) {
    choices.push_back({algorithm, 1, 1, Algorithm::kRing});
  }
  const bool whole = collective.kind == CollectiveKind::kBroadcast ||
                     collective.kind == CollectiveKind::kReduce ||
                     collective.kind == CollectiveKind::kAllReduce;
  for (const std::int64_t segments : {4, 16}) {
    if (whole) choices.push_back({Algorithm::kChain, segments, 1, Algorithm::kRing});
  }
  choices.push_back({Algorithm::kScattered, 1, 1, Algorithm::kDirect});
  const std::int64_t rows = rows_of(collective.members);
  if (rows > 1) choices.push_back({Algorithm::kTwoPhase, 1, rows, Algorithm::kDirect});
  if (rows > 1) choices.push_back({Algorithm::kTwoPhase, 1, rows, Algorithm::kRing});
  return choices;
}

bool has_inner(const AlgorithmChoice& choice) {
  return choice.algorithm == Algorithm::kTwoPhase || choice.algorithm == Algorithm::kScattered;
}

/// Where members send directly, they may multicast.
bool is_direct(const AlgorithmChoice& choice) {
  return (has_inner(choice) ? choice.inner : choice.algorithm) == Algorithm::kDirect;
}

std::string choice_name(const AlgorithmChoice& choice, bool multicasts) {
  const auto name_of = [&](Algorithm algorithm) {
    if (multicasts && algorithm == Algorithm::kDirect) return std::string_view("multicast");
    return reshard::algorithm_name(algorithm);
  };
  std::string name(name_of(choice.algorithm));
  if (choice.segments > 1) name += cat(" in ", choice.segments, " segments");
  if (has_inner(choice)) name += cat(" (", name_of(choice.inner), ")");
  return name;
}

/// True if every member sends the same blocks to all its receivers, and some to several.
bool sends_copies(const reshard::BlockRound& round) {
  std::map<std::int32_t, const reshard::BlockSend*> first;
  const reshard::BlockSend* last = nullptr;  // of the same member, in most rounds
  bool several = false;
  for (const reshard::BlockSend& send : round) {
    bool is_new = false;
    if (last == nullptr || last->from != send.from) {
      const auto [known, added] = first.emplace(send.from, &send);
      last = known->second;
      is_new = added;
    }
    if (send.combines || last->blocks != send.blocks) return false;
    several = several || !is_new;
  }
  return several;
}

/// Messages of equal contents per source, as one multicast per source, by source.
std::vector<fabric::Multicast> multicasts_of(const std::vector<fabric::Message>& messages) {
  std::vector<std::uint32_t> order(messages.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](std::uint32_t x, std::uint32_t y) {
    const fabric::Message& a = messages[x];
    const fabric::Message& b = messages[y];
    return a.source != b.source ? a.source < b.source : a.destination < b.destination;
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::sort(order.begin(), order.end(), before);
  }
  std::vector<fabric::Multicast> multicasts;
  for (const std::uint32_t number : order) {
    const fabric::Message& message = messages[number];
    if (multicasts.empty() || multicasts.back().source != message.source) {
      multicasts.push_back({message.source, {}, message.bytes, message.transactions});
    }
    multicasts.back().receivers.push_back(message.destination);
  }
  return multicasts;
}

/// Stands for the messages of all rounds: the same for algorithms that are alike, round by round.
/// Two that differ have equal numbers with a chance of 2^-64.
class RoundsHash {
 public:
  void add_round(const reshard::BlockRound& sends) {
    round_ = kFirst;
    for (const reshard::BlockSend& send : sends) {
      mix(round_,
          static_cast<std::uint64_t>(send.from) << 32 | static_cast<std::uint32_t>(send.to));
      mix(round_, static_cast<std::uint64_t>(send.count()) << 1 | (send.combines ? 1U : 0U));
      mix(round_, send.blocks.size());
    }
    repeat_round();
  }
  /// Another round that is like the last.
  void repeat_round() { mix(all_, round_); }
  /// With the size of blocks, which algorithms choose themselves.
  std::uint64_t value(std::int64_t blocks, bool multicasts) const {
    std::uint64_t value = all_;
    mix(value, static_cast<std::uint64_t>(blocks) << 1 | (multicasts ? 1U : 0U));
    return value;
  }

 private:
  static constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15;
  static void mix(std::uint64_t& sum, std::uint64_t number) {
    sum = (sum ^ number) * 0xff51afd7ed558ccd;
    sum ^= sum >> 32;
  }
  std::uint64_t round_ = kFirst;
  std::uint64_t all_ = kFirst;
};

/// RoundsHash of all rounds of a schedule.
std::uint64_t hash_of(const reshard::Schedule& schedule, bool multicasts) {
  RoundsHash hash;
  for (std::int64_t round = 0; round < schedule.rounds(); ++round) {
    if (schedule.repeats(round)) {
      hash.repeat_round();
    } else {
      hash.add_round(schedule.round(round));
    }
  }
  return hash.value(schedule.blocks(), multicasts);
}

/// Prices the rounds of algorithms.
class RoundPrices {
 public:
  RoundPrices(const reshard::Reshard& reshard, const MemberEnds& ends, RoundWork& work,
              PriceTables& tables, const Machine& machine)
      : reshard_(reshard), ends_(ends), work_(work), tables_(tables), machine_(machine) {}

  /// Empty if the collective does not have the algorithm, it is too long to price, it has nothing
  /// to multicast where that is asked for, or its rounds are those of an algorithm in `others`.
  Result<std::optional<PricedStep>> price(const Collective& collective,
                                          const AlgorithmChoice& choice, bool multicasts,
                                          const std::vector<PricedStep>& others) {
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
    if (few) step.rounds = hash_of(*schedule, multicasts);
    if (few && is_known()) return std::optional<PricedStep>();
    step.choice = choice;
    step.name =
        cat(reshard::collective_name(collective.kind), " by ", choice_name(choice, multicasts));
    const reshard::BlockSizes sizes(collective, *schedule);
    const bool equal = sizes.same().has_value();
    bool has_multicasts = false;
    RoundsHash hash;
    reshard::BlockRound last;
    std::optional<PricedRound> priced;  // of `last`
    for (std::int64_t round = 0; round < schedule->rounds(); ++round) {
      // Where all blocks have one size, rounds that are alike take the same time.
      if (schedule->repeats(round)) hash.repeat_round();
      if (!priced || !equal || !schedule->repeats(round)) {
        reshard::BlockRound sends = schedule->round(round);
        if (!schedule->repeats(round)) hash.add_round(sends);
        if (!priced || !equal || !alike(sends, last)) {
          const bool copies = multicasts && sends_copies(sends);
          TESSERA_TRY(priced, price_round(collective, sizes, sends, copies));
          if (!priced) return std::optional<PricedStep>();
        }
        last = std::move(sends);
      }
      if (priced->bytes == 0) continue;
      has_multicasts = has_multicasts || priced->multicasts;
      step.add(*priced);
    }
    if (multicasts && !has_multicasts) return std::optional<PricedStep>();
    step.rounds = hash.value(schedule->blocks(), multicasts);
    if (is_known()) return std::optional<PricedStep>();
    step.is_direct = !multicasts && schedule->rounds() == 1;
    return std::optional(std::move(step));
  }

 private:
  /// Empty if members that should multicast cannot.
  Result<std::optional<PricedRound>> price_round(const Collective& collective,
                                                 const reshard::BlockSizes& sizes,
                                                 const reshard::BlockRound& sends, bool copies) {
    PricedRound priced;
    reshard::list_messages(collective, sizes, sends, listed_);
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

  template <typename Best>
  static void set(const Best& best, double memory, PricedRound& priced) {
    priced.travel = best.travel;
    const bool slower = memory > best.cost.cycles;
    priced.cycles = slower ? memory : best.cost.cycles;
    priced.dominated_by = slower ? fabric::Term::kMemory : best.cost.dominated_by;
    priced.busiest = slower ? "memory of the places" : best.cost.busiest;
  }

  /// What the place that combines the most takes for it. Banks share their device's places.
  double combine_cycles() const {
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

  const reshard::Reshard& reshard_;
  const MemberEnds& ends_;
  RoundWork& work_;
  PriceTables& tables_;
  const Machine& machine_;
  std::vector<reshard::RoundMessage> listed_;  ///< of the current round
  std::vector<fabric::Message> messages_;
};

CollectiveWay joined(const std::vector<const PricedStep*>& steps) {
  CollectiveWay way;
  double longest = -1;
  for (const PricedStep* step : steps) {
    way.name += cat(way.name.empty() ? "" : ", ", step->name);
    way.cycles += step->cycles;
    way.bytes += step->bytes;
    for (const fabric::Travel& travel : step->travels) add_once(way.travels, travel);
    if (step->longest <= longest) continue;
    longest = step->longest;
    way.dominated_by = step->dominated_by;
    way.busiest = step->busiest;
  }
  way.is_direct = steps.size() == 1 && steps.front()->is_direct;
  return way;
}

}  // namespace

void MemberEnds::add(const fabric::Message& between, std::vector<fabric::Message>& messages) const {
  const auto number = [](std::int64_t endpoint) { return static_cast<std::int32_t>(endpoint); };
  if (banks == 1) {
    messages.push_back({number(first + between.source), number(first + between.destination),
                        between.bytes, between.transactions});
    return;
  }
  const std::int64_t pages = ceil_div(between.bytes, page_bytes);
  for (std::int64_t bank = 0; bank < std::min(banks, pages); ++bank) {
    const std::int64_t own = (pages - 1 - bank) / banks + 1;
    const bool last = (pages - 1) % banks == bank;
    const std::int64_t bytes = own * page_bytes - (last ? pages * page_bytes - between.bytes : 0);
    messages.push_back({number(first + between.source * banks + bank),
                        number(first + between.destination * banks + bank), bytes, own});
  }
}

Result<std::vector<CollectiveWay>> collective_ways(const reshard::Reshard& reshard,
                                                   const MemberEnds& ends, RoundWork& work,
                                                   PriceTables& tables, const Machine& machine) {
  std::vector<CollectiveWay> ways;
  TESSERA_TRY(const std::optional<reshard::Collectives> collectives,
              reshard::collectives_of(reshard));
  if (!collectives || collectives->steps.empty()) return ways;
  RoundPrices prices(reshard, ends, work, tables, machine);
  std::vector<std::vector<PricedStep>> steps;
  for (const Collective& collective : collectives->steps) {
    if (collective.kind == CollectiveKind::kSlice) continue;
    std::vector<PricedStep>& priced = steps.emplace_back();
    for (const AlgorithmChoice& choice : choices_for(collective)) {
      for (const bool multicasts : {false, true}) {
        if (multicasts && (!is_direct(choice) || ends.banks > 1)) continue;
        TESSERA_TRY(std::optional<PricedStep> step,
                    prices.price(collective, choice, multicasts, priced));
        if (step) priced.push_back(*std::move(step));
      }
    }
    if (priced.empty()) return ways;
    sort_stably(priced,
                [](const PricedStep& x, const PricedStep& y) { return x.cycles < y.cycles; });
  }
  if (steps.empty()) return ways;
  std::vector<const PricedStep*> best;
  for (const std::vector<PricedStep>& priced : steps) best.push_back(&priced.front());
  ways.push_back(joined(best));
  if (steps.size() == 1) {
    for (std::size_t i = 1; i < steps.front().size(); ++i) {
      ways.push_back(joined({&steps.front()[i]}));
    }
  }
  return ways;
}

}  // namespace tessera::moves
