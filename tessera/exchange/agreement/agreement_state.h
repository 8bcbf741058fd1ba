// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "tessera/exchange/agreement.h"
#include "tessera/exchange/agreement/ballot.h"
#include "tessera/exchange/agreement/silence.h"

namespace tessera::exchange {

/// The end of all decisions of an exchange: why, and which rank tells people about it.
struct Verdict {
  Error error;
  int speaker = 0;
};

/// What a rank keeps for an exchange from one decision to the next.
struct AgreementMemory {
  /// Of the decision that is under way, or the next to begin. Law: notes of the tree that arrive
  /// have this number: a child sends one of the next decision only once it knows the outcome of
  /// this one, which this rank hands down as the last thing that it does for it.
  std::int64_t decision = 0;
  std::map<int, Ballot> arrived;  ///< of this decision, by the neighbour that sent it
  Waiting waiting;
  Inquiry inquiry;
  std::optional<Verdict> verdict;
};

struct Agreement::State {
  Exchange& exchange;
  Timeouts timeouts;
  std::shared_ptr<AgreementMemory> memory;
  int calls_of_wait = 0;

  /// One decision: the ballots of all ranks merged, the same answer on all; the error of a fault.
  Result<Ballot> decide(Ballot ballot);

  /// Reads the notes that are there, and answers them. An error when all is over.
  Status listen();
  /// Looks after the silent as well.
  Status listen_waiting(const Waiting& waiting);
  /// Makes an error the end of all decisions, and tells all ranks.
  void pronounce(const Error& error);

 private:
  void take(const RankNote& note, std::optional<Error>& found);
  bool take_ballot(int from, NoteKind kind, NoteReader& reader);
  void answer(int from, std::int64_t question);
  void tell_verdict(int to);
  Result<Ballot> await(int from);
  Status send(int to, NoteKind kind, const Ballot& ballot);
};

}  // namespace tessera::exchange
