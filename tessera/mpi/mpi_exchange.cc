// SPDX-License-Identifier: Apache-2.0
#include "tessera/mpi/mpi_exchange.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <string_view>
#include <utility>

#include "tessera/exchange/contract.h"
#include "tessera/mpi/mpi_lane.h"
#include "tessera/mpi/near_memory.h"
#include "tessera/mpi/session.h"
#include "tessera/mpi/watch.h"

namespace tessera::mpi {
namespace {

constexpr int kNoteTag = 0;
constexpr std::string_view kNotOpened = "memory for packets has not been opened";

class MpiArray final : public exchange::SharedArray {
 public:
  MpiArray(std::shared_ptr<Session> session, std::shared_ptr<NearMemory> memory)
      : session_(std::move(session)), memory_(std::move(memory)) {}

  std::span<std::byte> mine() override {
    return memory_->parts[static_cast<std::size_t>(session_->seat())].bytes();
  }
  std::optional<std::span<const std::byte>> of(int rank) const override {
    if (rank < 0 || rank >= session_->ranks()) return std::nullopt;
    const int seat = session_->seat_of(rank);
    if (seat < 0) return std::nullopt;
    return memory_->parts[static_cast<std::size_t>(seat)].bytes();
  }

 private:
  std::shared_ptr<Session> session_;
  std::shared_ptr<NearMemory> memory_;
};

class MpiExchange final : public exchange::Exchange {
 public:
  explicit MpiExchange(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~MpiExchange() override;

  int rank() const override { return session_->rank(); }
  int ranks() const override { return session_->ranks(); }
  Result<std::unique_ptr<exchange::Lane>> open(const exchange::LaneSize& size) override;
  Result<std::unique_ptr<exchange::SharedArray>> share(std::int64_t bytes) override;
  Status tell(int to, std::span<const std::byte> bytes) override;
  Result<std::optional<exchange::RankNote>> heard() override;
  void idle() override;
  void abandon(int status) override { session_->abandon(status); }

 private:
  /// A note in transit from or to another rank.
  struct Letter {
    int other = 0;
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  using Letters = std::list<Letter>;  // a list, so that notes in transit do not move

  /// Removes notes that have been sent.
  Status collect_told();
  /// Begins to receive the next note, if there is one. Long notes need their sender to take part,
  /// which may be silent: nobody waits for that, and notes of others may overtake it.
  Status receive_next();
  void keep(Letters letters);

  std::shared_ptr<Session> session_;
  Letters told_;
  Letters coming_;
};

MpiExchange::~MpiExchange() {
  // A last note of this rank should still arrive; a rank that is gone will never receive it.
  int ended = 0;
  if (MPI_Finalized(&ended) != MPI_SUCCESS || ended) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (session_->alive().ok() && collect_told().ok() && !told_.empty() &&
         std::chrono::steady_clock::now() < end) {
    ::sched_yield();
  }
  keep(std::move(told_));
  keep(std::move(coming_));
}

void MpiExchange::keep(Letters letters) {
  if (letters.empty()) return;
  auto kept = std::make_shared<Letters>(std::move(letters));
  std::vector<MPI_Request> requests;
  for (const Letter& letter : *kept) requests.push_back(letter.request);
  session_->keep(std::move(requests), std::move(kept));
}

Result<std::unique_ptr<exchange::Lane>> MpiExchange::open(const exchange::LaneSize& size) {
  TESSERA_CHECK_OK(session_->alive());
  const Watch watch(session_->options(), kNotOpened);
  session_->sweep();
  TESSERA_CHECK_OK(session_->settle(exchange::check_lane_size(size)));
  TESSERA_TRY(const bool alike, session_->alike({size.packet_bytes, size.sending, size.receiving}));
  if (!alike) {
    return Error{ErrorCode::kPlansDiffer, "ranks open a lane of different sizes", std::nullopt,
                 "all ranks open lanes of the same sizes in the same order"};
  }
  return open_mpi_lane(session_, size);
}

Result<std::unique_ptr<exchange::SharedArray>> MpiExchange::share(std::int64_t bytes) {
  TESSERA_CHECK_OK(session_->alive());
  const Watch watch(session_->options(), kNotOpened);
  session_->sweep();
  TESSERA_TRY(std::shared_ptr<NearMemory> memory, NearMemory::make(*session_, bytes));
  return std::unique_ptr<exchange::SharedArray>(
      std::make_unique<MpiArray>(session_, std::move(memory)));
}

Status MpiExchange::tell(int to, std::span<const std::byte> bytes) {
  TESSERA_CHECK_OK(session_->alive());
  TESSERA_CHECK_OK(exchange::check_rank(to, ranks()));
  TESSERA_CHECK_OK(exchange::check_note(bytes));
  TESSERA_CHECK_OK(collect_told());
  Letter& told = told_.emplace_back();
  told.other = to;
  told.bytes.assign(bytes.begin(), bytes.end());
  return session_->answer(MPI_Isend(told.bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to,
                                    kNoteTag, session_->notes(), &told.request),
                          "MPI_Isend");
}

Status MpiExchange::collect_told() {
  for (auto told = told_.begin(); told != told_.end();) {
    int done = 0;
    TESSERA_CHECK_OK(
        session_->answer(MPI_Test(&told->request, &done, MPI_STATUS_IGNORE), "MPI_Test"));
    told = done ? told_.erase(told) : std::next(told);
  }
  return ok_status();
}

Status MpiExchange::receive_next() {
  int there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status envelope;
  TESSERA_CHECK_OK(session_->answer(
      MPI_Improbe(MPI_ANY_SOURCE, kNoteTag, session_->notes(), &there, &message, &envelope),
      "MPI_Improbe"));
  if (!there) return ok_status();
  int bytes = 0;
  TESSERA_CHECK_OK(session_->answer(MPI_Get_count(&envelope, MPI_BYTE, &bytes), "MPI_Get_count"));
  Letter& letter = coming_.emplace_back();
  letter.other = envelope.MPI_SOURCE;
  letter.bytes.resize(static_cast<std::size_t>(bytes));
  return session_->answer(
      MPI_Imrecv(letter.bytes.data(), bytes, MPI_BYTE, &message, &letter.request), "MPI_Imrecv");
}

Result<std::optional<exchange::RankNote>> MpiExchange::heard() {
  TESSERA_CHECK_OK(session_->alive());
  TESSERA_CHECK_OK(receive_next());
  for (auto letter = coming_.begin(); letter != coming_.end(); ++letter) {
    const auto earlier = std::find_if(
        coming_.begin(), letter, [&](const Letter& other) { return other.other == letter->other; });
    if (earlier != letter) continue;
    int done = 0;
    TESSERA_CHECK_OK(
        session_->answer(MPI_Test(&letter->request, &done, MPI_STATUS_IGNORE), "MPI_Test"));
    if (!done) continue;
    exchange::RankNote note{letter->other, std::move(letter->bytes)};
    coming_.erase(letter);
    return std::optional(std::move(note));
  }
  return std::optional<exchange::RankNote>();
}

void MpiExchange::idle() {
  if (session_->alive().ok()) {
    // MPI makes progress inside any of its calls; the result of this one does not matter.
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, session_->notes(), &there, MPI_STATUS_IGNORE);
  }
  ::sched_yield();
}

}  // namespace

std::unique_ptr<exchange::Exchange> exchange_over(std::shared_ptr<Session> session) {
  return std::make_unique<MpiExchange>(std::move(session));
}

Result<std::unique_ptr<exchange::Exchange>> mpi_exchange(const MpiOptions& options) {
  TESSERA_TRY(std::shared_ptr<Session> session, Session::begin(options));
  return exchange_over(std::move(session));
}

}  // namespace tessera::mpi
