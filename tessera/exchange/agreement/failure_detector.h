// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"

namespace tessera::exchange {

using Moment = std::chrono::steady_clock::time_point;

/// The rank that a rank waits for, and the time of the last progress.
struct Waiting {
  static constexpr int kNobody = -1;
  int on = kNobody;
  Moment since;
};

/// The answer to "are you there?".
struct Here {
  std::int64_t question = 0;
  std::int64_t on = Waiting::kNobody;  ///< the rank that the answering rank waits for
  std::int64_t waited_ms = 0;          ///< time without progress
  bool impatient = false;              ///< waited_ms is longer than its Timeouts::silence
};

// =================================================================================================
// The failure detector
//
//   asking     the rank that I wait for, the rank that it waits for, and so on along the chain
//                no answer in time             -> that rank is silent: reporting
//                the chain is a cycle          -> a lost message, once all ranks on the cycle have
//                                                 exceeded their timeout: reporting; else pausing
//   pausing    a moment, then asking again from the start
//   reporting  (kReporting) the finding is sent to the lowest rank that is not silent, which tells
//              all others
//                no final error in time        -> it is silent too: calling
//   calling    all are asked at once; the finding is sent to the lowest that answers: reporting
//
// Every stage ends, and the last rank to be told is this one. Questions are repeated after half the
// timeout, because a lost question does not mean that a rank is silent. A rank is not blamed for
// time in which this rank did not read its notes: time counts only together with a number of looks
// at the notes.
// =================================================================================================
class FailureDetector {
 public:
  /// One step, after all notes that had arrived were read. Returns the error that this rank must
  /// send to all others, if this rank has to do so.
  std::optional<Error> look(Exchange& exchange, const Timeouts& timeouts, const Waiting& mine,
                            Moment now);
  /// Takes the answer of rank `from`.
  void heard(int from, const Here& here);
  /// Records a fault that was found without questions, such as an invalid note. The first finding
  /// is kept.
  void report_finding(Error finding);
  /// True when a stage is active, even if this rank has not waited for long.
  bool under_way() const { return stage_ != Stage::kNone; }

 private:
  enum class Stage : std::uint8_t { kNone, kAsking, kPausing, kReporting, kCalling };
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
  std::optional<Error> report_to_candidate(Exchange& exchange, const Timeouts& timeouts,
                                           Moment now);
  void tell_finding(Exchange& exchange);
  int candidate(const Exchange& exchange) const;
  bool is_silent(int rank) const;
  void add_silent(int rank, const Timeouts& timeouts);

  Stage stage_ = Stage::kNone;
  Moment begun_;           ///< the start of this stage
  bool repeated_ = false;  ///< the question of this stage was repeated
  int looks_ = 0;          ///< number of looks in this stage
  std::int64_t question_ = 0;
  std::vector<Link> chain_;            ///< the ranks that were asked; the last one has not answered
                                       ///< yet
  std::vector<bool> called_;           ///< while calling: the ranks that have answered
  std::vector<int> silent_;            ///< ascending
  int waited_for_ = Waiting::kNobody;  ///< the silent rank at the end of the chain
  int waits_ = Waiting::kNobody;       ///< the rank that waits for it
  bool told_ = false;                  ///< the finding was sent to the candidate
  std::optional<Error> finding_;
};

}  // namespace tessera::exchange
