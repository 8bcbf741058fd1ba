// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "tessera/exchange/agreement.h"
#include "tessera/exchange/agreement/contribution.h"
#include "tessera/exchange/agreement/failure_detector.h"

/// agreement/: how ranks decide together. In: this rank's contribution, and the notes of other
/// ranks through an Exchange. Out: the same outcome on all ranks, or one final error on
/// all. It must not send packets or read tensor data.
namespace tessera::exchange {

/// The end of all decisions of an exchange: the reason, and the rank that reports it to the user.
struct FinalError {
  Error error;
  int speaker = 0;
};

/// The state that a rank keeps for an exchange between decisions.
struct AgreementMemory {
  /// The number of the current decision, or of the next one to begin.
  /// Law: all tree notes that arrive have this number. A child sends a note of the next decision
  /// only after it knows the outcome of this one, and passing the outcome down is the last thing
  /// that this rank does for it.
  std::int64_t decision = 0;
  std::map<int, Contribution> arrived;  ///< notes of this decision, by the neighbour that sent them
  Waiting waiting;
  FailureDetector detector;
  std::optional<FinalError> final_error;
};

struct Agreement::State {
  Exchange& exchange;
  Timeouts timeouts;
  std::shared_ptr<AgreementMemory> memory;
  int calls_of_wait = 0;

  /// One decision: merges the contributions of all ranks and returns the same result on all; a
  /// fault becomes an error.
  Result<Contribution> decide(Contribution contribution);

  /// Reads and answers all notes that have arrived. Returns an error when no more decisions are
  /// possible.
  Status listen();
  /// The same, and also runs the failure detector.
  Status listen_waiting(const Waiting& waiting);
  /// Makes an error the end of all decisions, and tells all ranks.
  void announce(const Error& error);

 private:
  void take(const RankNote& note, std::optional<Error>& found);
  bool take_contribution(int from, NoteKind kind, NoteReader& reader);
  void answer(int from, std::int64_t question);
  void tell_final_error(int to);
  Result<Contribution> await(int from);
  Status send(int to, NoteKind kind, const Contribution& contribution);
};

}  // namespace tessera::exchange
