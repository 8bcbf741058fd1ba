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

namespace tessera::exchange {

/// A fact that must be the same on all ranks before data move: a name such as "source layout", a
/// hash of it, and a text that shows it to a person.
struct Fact {
  std::string name;
  std::uint64_t hash = 0;
  std::string said;
};

// =================================================================================================
// Ranks that decide together
//
// All decisions are notes along a binomial tree with rank 0 at the root: 2·log2(ranks) steps for
// any decision. Decisions are collective: all ranks call the same functions in the same order.
//
// Failure detector. A rank that has waited for `Timeouts::silence` without progress asks the rank
// that it waits for "are you there?". Every rank that is inside one of the waits of this class
// answers at once, and reports which rank it waits for itself. The question then goes to that rank,
// and so on, until a rank does not answer within `Timeouts::answer`. That rank is silent. The
// lowest rank that is not silent sends the final error to all others, and from then on every call
// returns the same error kRankSilent, which names the silent rank. If the chain of waiting ranks is
// a cycle in which every rank answers, and none has seen progress for its `silence`, a message
// between two of them was lost; the error names both. A note that no rank could have sent is
// reported in the same way (kBadPacket).
//
// Several agreements may take turns on one exchange: decision numbers, notes that arrived early and
// the final error belong to the exchange.
// =================================================================================================
class Agreement {
 public:
  Agreement(Exchange& exchange, Timeouts timeouts);
  ~Agreement();
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  int rank() const { return exchange_.rank(); }
  int ranks() const { return exchange_.ranks(); }

  /// The same outcome on all ranks: success when all ranks succeed, otherwise the error of the
  /// lowest rank that has one, with "rank 3: " before its message where there are several ranks.
  Status settle(const Status& mine);

  /// kPlansDiffer on all ranks unless all have the same facts. The error names the lowest rank that
  /// differs from the majority (from rank 0 if there is no majority), the first fact that differs,
  /// and both values.
  Status same(std::span<const Fact> facts);

  /// The sums over all ranks, for lists of the same length; kOverflow on all ranks when a sum does
  /// not fit.
  Result<std::vector<std::int64_t>> sums(std::span<const std::int64_t> mine);
  /// The largest value over all ranks, per list entry.
  Result<std::vector<std::int64_t>> largest(std::span<const std::int64_t> mine);

  /// One step of waiting for rank `on`. `since` is the time, by the clock of the exchange, at which
  /// the caller last saw progress. Lets the exchange idle and answers questions of other ranks;
  /// cheap enough for the innermost loop. Returns the final error when there is one.
  Status wait(int on, std::chrono::steady_clock::time_point since);

  /// Reports an error after which this rank cannot continue or take part in a decision: its
  /// exchange is broken. It immediately becomes the error of every rank that waits or decides, with
  /// "rank 3: " before its message as in settle(). Returns the final error: an earlier error takes
  /// precedence.
  Error give_up(const Error& error);
  /// True when no more decisions are possible: a rank is silent or has given up, a message was
  /// lost, or a note was invalid.
  bool is_over() const;

  /// True when this rank reports an error for all ranks: the rank that announced the final error,
  /// or rank 0 when there is none.
  bool speaks() const;

  Exchange& exchange() { return exchange_; }

 private:
  struct State;
  /// The error with the number of this rank, where there are several.
  Error numbered(Error error) const;
  Exchange& exchange_;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::exchange
