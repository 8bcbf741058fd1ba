// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"
#include "tessera/exchange/timeouts.h"

namespace tessera::exchange {

/// Something that all ranks must have alike before data move: "source layout", a hash of it, and
/// words that show a person what it is.
struct Fact {
  std::string name;
  std::uint64_t hash = 0;
  std::string said;
};

// =================================================================================================
// Ranks that decide together
//
// All of it is notes along a binomial tree with rank 0 at the root: 2·log2(ranks) steps, whatever
// is decided. Decisions are collective: all ranks call the same functions in the same order.
//
// The silent. A rank that has waited in vain for `Timeouts::silence` asks the rank that it waits
// for "are you there?". Whoever is inside one of the waits of this class answers at once, and says
// for whom it waits itself; the question then goes to that one, and so on to a rank that gives no
// answer within `Timeouts::answer`. That rank is silent: the lowest rank that is not tells all
// others the verdict, and every call from then on answers the same error kRankSilent, which names
// it. A circle of ranks that all answer, and none of which has seen progress for its `silence`, is
// a message that was lost between two of them, and names both. A note that no rank could have sent
// is a verdict too (kBadPacket).
//
// Several agreements may take turns on one exchange: numbers of decisions, notes that came early
// and the verdict belong to the exchange.
// =================================================================================================
class Agreement {
 public:
  Agreement(Exchange& exchange, Timeouts timeouts);
  ~Agreement();
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  int rank() const { return exchange_.rank(); }
  int ranks() const { return exchange_.ranks(); }

  /// The same outcome on all ranks: fine when all are, else the error of the lowest rank that has
  /// one, with "rank 3: " before its message.
  Status settle(const Status& mine);

  /// kPlansDiffer on all ranks unless all have the same facts: names the lowest rank that differs
  /// from what most have (from rank 0 where none is in the majority), the first fact in which it
  /// does, and what both say.
  Status same(std::span<const Fact> facts);

  /// The sums over all ranks, of lists of the same length; kOverflow on all when one does not fit.
  Result<std::vector<std::int64_t>> sums(std::span<const std::int64_t> mine);
  /// The largest of all ranks, number by number.
  Result<std::vector<std::int64_t>> largest(std::span<const std::int64_t> mine);

  /// One step of waiting for something that rank `on` has to do: `since` is when, by the clock
  /// of the exchange, the caller last saw progress. Lets the exchange idle and answers questions of
  /// others; cheap enough for the innermost loop. An error when some rank is silent.
  Status wait(int on, std::chrono::steady_clock::time_point since);

  /// An error with which this rank cannot go on, also not to a decision: its exchange is broken. It
  /// becomes the error of every rank that waits or decides, at once, with "rank 3: " before its
  /// message. Answers what it is in the end: an error that came first stays.
  Error give_up(const Error& error);
  /// Whether there can be no more decisions: a rank is silent, or has given up.
  bool is_over() const;

  /// Whether this rank speaks for all about an error: rank 0, or the lowest that is not silent, or
  /// the one that gave up.
  bool speaks() const;

  Exchange& exchange() { return exchange_; }

 private:
  struct State;
  Exchange& exchange_;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::exchange
