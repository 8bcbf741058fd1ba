// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement/failure_detector.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/exchange/agreement/note.h"

namespace tessera::exchange {
namespace {

/// Looks at the notes that are required before silence counts: a rank that was busy itself must
/// first read the notes that arrived meanwhile, and let the exchange deliver those in transit.
constexpr int kLooks = 8;

std::string listed(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string text = cat("rank", ranks.size() == 1 ? "" : "s", " ");
  for (std::size_t i = 0; i < std::min(ranks.size(), kMost); ++i) {
    const bool last = i + 1 == ranks.size();
    if (i > 0) text += last ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (ranks.size() > kMost) text += cat(" and ", ranks.size() - kMost, " more");
  return text;
}

Error silent_error(const std::vector<int>& silent, int waits, int waited_for,
                   const Timeouts& timeouts) {
  const bool one = silent.size() == 1;
  return {ErrorCode::kRankSilent,
          cat(listed(silent), one ? " is" : " are", " silent: rank ", waits, " waits for ",
              one ? std::string("it") : cat("rank ", waited_for), ", and ", one ? "it" : "they",
              " did not answer within ", timeouts.answer.count(), " ms"),
          std::nullopt,
          cat("check what ", listed(silent), one ? " does" : " do",
              ", or use a longer timeout: ranks ask after ", timeouts.silence.count(),
              " ms without progress")};
}

Error circle_error(std::vector<int> ranks, int one, int other) {
  std::sort(ranks.begin(), ranks.end());
  return {ErrorCode::kRankSilent,
          ranks.size() == 2
              ? cat(listed(ranks), " wait for each other: a message between them was lost")
              : cat(listed(ranks), " wait for each other in a cycle: a message between rank ",
                    std::min(one, other), " and rank ", std::max(one, other), " was lost"),
          std::nullopt, "run again; if it happens again, check whether the network drops messages"};
}

}  // namespace

void FailureDetector::start(Stage stage, Moment now) {
  stage_ = stage;
  begun_ = now;
  repeated_ = false;
  looks_ = 0;
}

bool FailureDetector::in_time(const Timeouts& timeouts, Moment now) const {
  return looks_ < kLooks || now - begun_ < timeouts.answer;
}

bool FailureDetector::time_to_repeat(const Timeouts& timeouts, Moment now) {
  if (repeated_ || now - begun_ < timeouts.answer / 2) return false;
  repeated_ = true;
  return true;
}

bool FailureDetector::is_silent(int rank) const {
  return std::binary_search(silent_.begin(), silent_.end(), rank);
}

void FailureDetector::add_silent(int rank, const Timeouts& timeouts) {
  if (is_silent(rank)) return;
  silent_.insert(std::lower_bound(silent_.begin(), silent_.end(), rank), rank);
  if (waited_for_ != Waiting::kNobody) {
    finding_ = silent_error(silent_, waits_, waited_for_, timeouts);
  }
}

void FailureDetector::report_finding(Error finding) {
  if (finding_) return;
  finding_ = std::move(finding);
  stage_ = Stage::kReporting;
  told_ = false;
}

void FailureDetector::heard(int from, const Here& here) {
  if (here.question != question_) return;  // an answer to an old question
  if (stage_ == Stage::kAsking && chain_.back().rank == from) {
    chain_.back().said = here;
  } else if (stage_ == Stage::kCalling && from < static_cast<int>(called_.size())) {
    called_[static_cast<std::size_t>(from)] = true;
  }
}

// A note that cannot be sent counts as one that is not answered.
void FailureDetector::ask(Exchange& exchange, int rank) {
  NoteWriter note(NoteKind::kAsk);
  note.number(question_);
  (void)exchange.tell(rank, note.bytes());
}

void FailureDetector::ask_next(Exchange& exchange, int rank, Moment now) {
  ++question_;
  chain_.push_back({rank, std::nullopt});
  start(Stage::kAsking, now);
  ask(exchange, rank);
}

void FailureDetector::follow(Exchange& exchange, const Timeouts& timeouts, Moment now) {
  const Link& last = chain_.back();
  if (!last.said) {
    if (in_time(timeouts, now)) {
      if (time_to_repeat(timeouts, now)) ask(exchange, last.rank);
      return;
    }
    waited_for_ = last.rank;
    waits_ = chain_.size() == 1 ? exchange.rank() : chain_[chain_.size() - 2].rank;
    add_silent(last.rank, timeouts);
    stage_ = Stage::kReporting;
    told_ = false;
    return;
  }
  const std::int64_t next = last.said->on;
  if (next < 0 || next >= exchange.ranks() || next == last.rank) {
    start(Stage::kPausing, now);  // it is about to continue by itself
    return;
  }
  const auto on_chain = std::find_if(chain_.begin(), chain_.end(),
                                     [next](const Link& link) { return link.rank == next; });
  if (next == exchange.rank()) {
    close_circle(exchange, chain_, now);
  } else if (on_chain != chain_.end()) {
    close_circle(exchange, {on_chain, chain_.end()}, now);
  } else {
    ask_next(exchange, static_cast<int>(next), now);
  }
}

/// `circle` leaves out this rank when it is on the cycle: its own timeout has certainly expired.
void FailureDetector::close_circle(const Exchange& exchange, std::vector<Link> circle, Moment now) {
  const bool with_me = circle.back().said->on == exchange.rank();
  std::vector<int> ranks;
  if (with_me) ranks.push_back(exchange.rank());
  bool all_impatient = true;
  const Link* longest = &circle.front();
  for (const Link& link : circle) {
    ranks.push_back(link.rank);
    all_impatient = all_impatient && link.said->impatient;
    if (link.said->waited_ms > longest->said->waited_ms) longest = &link;
  }
  if (!all_impatient) {
    start(Stage::kPausing, now);
    return;
  }
  // The rank that has waited longest waits for the lost message; the others wait as a consequence.
  report_finding(
      circle_error(std::move(ranks), longest->rank, static_cast<int>(longest->said->on)));
}

int FailureDetector::candidate(const Exchange& exchange) const {
  for (int rank = 0; rank < exchange.rank(); ++rank) {
    if (!is_silent(rank)) return rank;
  }
  return exchange.rank();
}

void FailureDetector::tell_finding(Exchange& exchange) {
  NoteWriter note(NoteKind::kFound);
  note.error(*finding_);
  (void)exchange.tell(candidate(exchange), note.bytes());
}

std::optional<Error> FailureDetector::report_to_candidate(Exchange& exchange,
                                                          const Timeouts& timeouts, Moment now) {
  if (candidate(exchange) == exchange.rank()) return finding_;
  if (!told_) {
    told_ = true;
    start(Stage::kReporting, now);
    tell_finding(exchange);
  } else if (!in_time(timeouts, now)) {
    add_silent(candidate(exchange), timeouts);
    call_all(exchange, now);
  } else if (time_to_repeat(timeouts, now)) {
    tell_finding(exchange);
  }
  return std::nullopt;
}

void FailureDetector::call_all(Exchange& exchange, Moment now) {
  ++question_;
  called_.assign(static_cast<std::size_t>(exchange.ranks()), false);
  start(Stage::kCalling, now);
  for (int rank = 0; rank < exchange.rank(); ++rank) {  // higher ones are never candidates
    if (!is_silent(rank)) ask(exchange, rank);
  }
}

void FailureDetector::end_call(const Exchange& exchange, const Timeouts& timeouts, Moment now) {
  bool all = true;
  for (int rank = 0; rank < exchange.rank(); ++rank) {
    all = all && (is_silent(rank) || called_[static_cast<std::size_t>(rank)]);
  }
  if (!all && in_time(timeouts, now)) return;
  for (int rank = 0; rank < exchange.rank(); ++rank) {
    if (!called_[static_cast<std::size_t>(rank)]) add_silent(rank, timeouts);
  }
  start(Stage::kReporting, now);
  told_ = false;
}

std::optional<Error> FailureDetector::look(Exchange& exchange, const Timeouts& timeouts,
                                           const Waiting& mine, Moment now) {
  ++looks_;
  const bool impatient = now - mine.since >= timeouts.silence;
  const bool asking = stage_ == Stage::kAsking || stage_ == Stage::kPausing;
  if (asking && !impatient) stage_ = Stage::kNone;
  switch (stage_) {
    case Stage::kPausing:
      if (now - begun_ < timeouts.answer / 8) break;
      [[fallthrough]];
    case Stage::kNone:
      chain_.clear();
      if (!impatient || mine.on == exchange.rank() || mine.on < 0 || mine.on >= exchange.ranks()) {
        stage_ = Stage::kNone;
      } else {
        ask_next(exchange, mine.on, now);
      }
      break;
    case Stage::kAsking:
      follow(exchange, timeouts, now);
      break;
    case Stage::kReporting:
      return report_to_candidate(exchange, timeouts, now);
    case Stage::kCalling:
      end_call(exchange, timeouts, now);
      break;
  }
  return std::nullopt;
}

}  // namespace tessera::exchange
