// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement/agreement_state.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/exchange/agreement/tree.h"

namespace tessera::exchange {
namespace {

/// The most notes that are read at once: a rank that sends without end must not block decisions.
constexpr int kNotesAtOnce = 1024;

}  // namespace

Status Agreement::State::send(int to, NoteKind kind, const Contribution& contribution) {
  NoteWriter note(kind);
  note.number(memory->decision);
  write(note, contribution);
  return exchange.tell(to, note.bytes());
}

Result<Contribution> Agreement::State::await(int from) {
  const Waiting waiting{from, exchange.now()};
  for (;;) {
    TESSERA_CHECK_OK(listen_waiting(waiting));
    if (const auto found = memory->arrived.find(from); found != memory->arrived.end()) {
      Contribution contribution = std::move(found->second);
      memory->arrived.erase(found);
      memory->waiting.on = Waiting::kNobody;
      return contribution;
    }
    exchange.idle();
  }
}

Result<Contribution> Agreement::State::decide(Contribution contribution) {
  memory->waiting = Waiting{};  // this rank no longer waits for its last request
  TESSERA_CHECK_OK(listen());
  const int rank = exchange.rank();
  const std::vector<int> children = tree_children(rank, exchange.ranks());
  for (const int child : children) {
    TESSERA_TRY(const Contribution below, await(child));
    contribution.merge(rank, below, child);
  }
  if (rank > 0) {
    const int parent = tree_parent(rank);
    TESSERA_CHECK_OK(send(parent, NoteKind::kUp, contribution));
    TESSERA_TRY(Contribution outcome, await(parent));
    const bool fits = outcome.fault || (outcome.subject == contribution.subject &&
                                        outcome.numbers.size() == contribution.numbers.size() &&
                                        outcome.texts.size() == contribution.texts.size());
    if (!fits) {
      // The root decided about something else without reporting it: no outcome can be trusted.
      outcome.fault =
          Fault{parent,
                {ErrorCode::kBadPacket,
                 cat("rank ", parent, " sent rank ", rank,
                     " the outcome of another agreement than number ", memory->decision),
                 std::nullopt, "start all ranks with the same build of Tessera"}};
    }
    contribution = std::move(outcome);
  } else {
    // What the others read, with texts cut to fit in a note.
    NoteWriter note(NoteKind::kDown);
    write(note, contribution);
    NoteReader reader(note.bytes().subspan(1));
    contribution = read_contribution(reader);
  }
  for (std::size_t i = children.size(); i-- > 0;) {  // largest subtrees first
    TESSERA_CHECK_OK(send(children[i], NoteKind::kDown, contribution));
  }
  ++memory->decision;
  if (contribution.fault) return contribution.fault->error;
  return contribution;
}

Status Agreement::State::listen() {
  std::optional<Error> found;
  for (int i = 0; i < kNotesAtOnce; ++i) {
    TESSERA_TRY(const std::optional<RankNote> note, exchange.heard());
    if (!note) break;
    take(*note, found);
  }
  // Only now: the final error may have arrived after the finding, from a rank that waited for this
  // one.
  if (found && !memory->final_error) announce(*found);
  if (memory->final_error) return memory->final_error->error;
  return ok_status();
}

Status Agreement::State::listen_waiting(const Waiting& waiting) {
  memory->waiting = waiting;
  TESSERA_CHECK_OK(listen());
  const std::optional<Error> found =
      memory->detector.look(exchange, timeouts, waiting, exchange.now());
  if (!found) return ok_status();
  announce(*found);
  return memory->final_error->error;
}

void Agreement::State::take(const RankNote& note, std::optional<Error>& found) {
  NoteReader reader(note.bytes);
  bool good = false;
  if (const std::optional<NoteKind> kind = reader.kind()) {
    switch (*kind) {
      case NoteKind::kUp:
      case NoteKind::kDown:
        good = take_contribution(note.from, *kind, reader);
        break;
      case NoteKind::kAsk: {
        const std::int64_t question = reader.number();
        good = reader.done();
        if (good) answer(note.from, question);
        break;
      }
      case NoteKind::kHere: {
        Here here;
        here.question = reader.number();
        here.on = reader.number();
        here.waited_ms = reader.number();
        here.impatient = reader.byte() != 0;
        good = reader.done();
        if (good) memory->detector.heard(note.from, here);
        break;
      }
      case NoteKind::kFound: {
        Error error = reader.error();
        good = reader.done();
        if (good && memory->final_error) tell_final_error(note.from);
        if (good && !found) found = std::move(error);
        break;
      }
      case NoteKind::kFinal: {
        const std::int64_t speaker = reader.number();
        Error error = reader.error();
        good = reader.done() && speaker >= 0 && speaker < exchange.ranks();
        if (good && !memory->final_error) {
          memory->final_error = FinalError{std::move(error), static_cast<int>(speaker)};
        }
        break;
      }
    }
  }
  if (good) return;
  memory->detector.report_finding(
      {ErrorCode::kBadPacket,
       cat("rank ", note.from, " sent rank ", exchange.rank(), " a note of ", note.bytes.size(),
           " bytes that agreement ", memory->decision, " does not expect"),
       std::nullopt,
       "start all ranks with the same build of Tessera, and send no other messages between them"});
}

bool Agreement::State::take_contribution(int from, NoteKind kind, NoteReader& reader) {
  const std::int64_t decision = reader.number();
  Contribution contribution = read_contribution(reader);
  const int rank = exchange.rank();
  const bool is_neighbour = kind == NoteKind::kUp ? from > rank && tree_parent(from) == rank
                                                  : rank > 0 && from == tree_parent(rank);
  return reader.done() && is_neighbour && decision == memory->decision &&
         memory->arrived.emplace(from, std::move(contribution)).second;
}

void Agreement::State::answer(int from, std::int64_t question) {
  if (memory->final_error) {
    tell_final_error(from);
    return;
  }
  const auto waited = exchange.now() - memory->waiting.since;
  const bool waits = memory->waiting.on != Waiting::kNobody;
  NoteWriter note(NoteKind::kHere);
  note.number(question);
  note.number(memory->waiting.on);
  note.number(waits ? std::chrono::duration_cast<std::chrono::milliseconds>(waited).count() : 0);
  note.byte(waits && waited >= timeouts.silence ? 1 : 0);
  (void)exchange.tell(from, note.bytes());  // otherwise this rank is silent for `from`
}

void Agreement::State::tell_final_error(int to) {
  NoteWriter note(NoteKind::kFinal);
  note.number(memory->final_error->speaker);
  note.error(memory->final_error->error);
  (void)exchange.tell(to, note.bytes());  // a rank that cannot be told finds out by asking
}

void Agreement::State::announce(const Error& error) {
  // The same texts here as on the ranks that are told.
  NoteWriter note(NoteKind::kFinal);
  note.error(error);
  NoteReader reader(note.bytes().subspan(1));
  memory->final_error = FinalError{reader.error(), exchange.rank()};
  for (int rank = 0; rank < exchange.ranks(); ++rank) {
    if (rank != exchange.rank()) tell_final_error(rank);
  }
}

}  // namespace tessera::exchange
