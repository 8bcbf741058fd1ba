// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"

namespace tessera::exchange {

using Moment = std::chrono::steady_clock::time_point;

/// For whom a rank waits, and since when nothing has happened.
struct Waiting {
  static constexpr int kNobody = -1;
  int on = kNobody;
  Moment since;
};

/// The answer to "are you there?".
struct Here {
  std::int64_t question = 0;
  std::int64_t on = Waiting::kNobody;  ///< for whom the answering rank waits
  std::int64_t waited_ms = 0;          ///< without progress
  bool impatient = false;              ///< that is longer than its Timeouts::silence
};

// =================================================================================================
// Finding the silent
//
//   asking     whom I wait for, whom that one waits for, and so on along the chain
//                no answer in time             -> that one is silent: accusing
//                the chain closes on itself    -> a lost message, once all on the circle are
//                                                 impatient: accusing; else pausing
//   pausing    a moment, then asking again from the start
//   accusing   the lowest rank that is not silent is told what was found, and tells all others
//                no verdict in time            -> it is silent too: calling
//   calling    all are asked at once; the lowest that answers is told what was found: accusing
//
// Every stage ends, and the last rank to be told is this one. Questions are repeated at half time,
// for a lost question is no silence. Nothing is held against a rank that this one did not listen
// to: time counts only together with a number of looks at the notes.
// =================================================================================================
class Inquiry {
 public:
  /// One look, after all notes that had arrived were read. The answer is what this rank has to tell
  /// all others, when it is for this rank to do so.
  std::optional<Error> look(Exchange& exchange, const Timeouts& timeouts, const Waiting& mine,
                            Moment now);
  /// An answer of rank `from`.
  void heard(int from, const Here& here);
  /// What was found without asking anybody. The first finding stands.
  void accuse(Error finding);
  /// There is something to look after even without having waited long.
  bool under_way() const { return stage_ != Stage::kNone; }

 private:
  enum class Stage : std::uint8_t { kNone, kAsking, kPausing, kAccusing, kCalling };
  struct Link {
    int rank = 0;
    std::optional<Here> said;
  };

  void start(Stage stage, Moment now);
  bool in_time(const Timeouts& timeouts, Moment now) const;
  bool time_to_repeat(const Timeouts& timeouts, Moment now);
  void ask(Exchange& exchange, int rank);
  void ask_next(Exchange& exchange, int rank, Moment now);
  void follow(Exchange& exchange, const Timeouts& timeouts, Moment now);
  void close_circle(const Exchange& exchange, std::vector<Link> circle, Moment now);
  void call_all(Exchange& exchange, Moment now);
  void end_call(const Exchange& exchange, const Timeouts& timeouts, Moment now);
  std::optional<Error> press(Exchange& exchange, const Timeouts& timeouts, Moment now);
  void tell_finding(Exchange& exchange);
  int candidate(const Exchange& exchange) const;
  bool is_silent(int rank) const;
  void add_silent(int rank, const Timeouts& timeouts);

  Stage stage_ = Stage::kNone;
  Moment begun_;           ///< this stage
  bool repeated_ = false;  ///< the question of this stage
  int looks_ = 0;          ///< in this stage
  std::int64_t question_ = 0;
  std::vector<Link> chain_;            ///< who was asked; the last one has not answered yet
  std::vector<bool> called_;           ///< while calling: who has answered
  std::vector<int> silent_;            ///< rising
  int waited_for_ = Waiting::kNobody;  ///< the silent rank that the chain ended at,
  int waits_ = Waiting::kNobody;       ///< and the one that waits for it
  bool told_ = false;                  ///< the candidate
  std::optional<Error> finding_;
};

}  // namespace tessera::exchange
