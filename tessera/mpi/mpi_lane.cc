// SPDX-License-Identifier: Apache-2.0
#include "tessera/mpi/mpi_lane.h"

#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/exchange/contract.h"
#include "tessera/exchange/shared_memory/packet_mailbox.h"
#include "tessera/exchange/shared_memory/pages.h"
#include "tessera/mpi/near_memory.h"

namespace tessera::mpi {
namespace {

using Arrival = std::optional<std::span<const std::byte>>;

std::vector<std::byte*> starts(const NearMemory& memory) {
  std::vector<std::byte*> parts;
  for (const exchange::Pages& pages : memory.parts) parts.push_back(pages.bytes().data());
  return parts;
}

/// The memory of a lane, which outlives it while messages are in flight.
struct LaneMemory {
  std::shared_ptr<NearMemory> near;
  exchange::Pages receiving;
};

class MpiLane final : public exchange::Lane {
 public:
  MpiLane(std::shared_ptr<Session> session, const exchange::LaneSize& size,
          std::shared_ptr<LaneMemory> memory)
      : session_(std::move(session)),
        size_(size),
        tag_(session_->new_tag()),
        memory_(std::move(memory)),
        board_(size, starts(*memory_->near), session_->seat()),
        stride_(exchange::Pages::rounded(size.packet_bytes)) {
    const int buffers = memory_->receiving.bytes().empty() ? 0 : size.receiving;
    for (int buffer = buffers; buffer-- > 0;) free_buffers_.push_back(buffer);
  }
  ~MpiLane() override;

  Result<std::span<std::byte>> room() override;
  Status send(int to, std::int64_t bytes) override;
  Status expect(int from) override;
  Result<Arrival> arrived(int from) override;
  Status release(int from) override;
  std::int64_t staged_bytes() const override {
    const int buffers = memory_->receiving.bytes().empty() ? 0 : size_.receiving;
    return size_.packet_bytes * (size_.sending + buffers);
  }

 private:
  /// A message that this rank waits for.
  struct Incoming {
    MPI_Request request = MPI_REQUEST_NULL;
    int buffer = 0;
    std::optional<Result<std::int64_t>> bytes;  ///< once it has arrived
  };

  bool is_near(int rank) const { return session_->seat_of(rank) >= 0; }
  std::byte* buffer(int index) const { return memory_->receiving.bytes().data() + index * stride_; }
  /// Frees the slots of messages that have been sent.
  Status collect_sent();
  /// Checks whether a message has arrived.
  Status look(int from, Incoming& message);

  std::shared_ptr<Session> session_;
  exchange::LaneSize size_;
  int tag_;
  std::shared_ptr<LaneMemory> memory_;
  exchange::PacketMailbox board_;
  std::int64_t stride_;
  exchange::Expected expected_;
  std::vector<MPI_Request> sent_;  ///< and the slots they are sent from
  std::vector<int> sent_slots_;
  std::unordered_map<int, std::deque<Incoming>> incoming_;
  std::vector<int> free_buffers_;
};

MpiLane::~MpiLane() {
  int ended = 0;
  const bool over = MPI_Finalized(&ended) != MPI_SUCCESS || ended != 0;
  std::vector<MPI_Request> pending = std::move(sent_);
  for (auto& [from, messages] : incoming_) {
    for (Incoming& message : messages) {
      if (message.bytes) continue;
      if (!over && session_->alive().ok()) MPI_Cancel(&message.request);
      pending.push_back(message.request);
    }
  }
  if (pending.empty()) return;
  session_->keep(std::move(pending), std::move(memory_));
  if (!over && session_->alive().ok()) session_->sweep();
}

Result<std::span<std::byte>> MpiLane::room() {
  TESSERA_CHECK_OK(session_->alive());
  TESSERA_TRY(const std::span<std::byte> near, board_.room());
  if (!near.empty() || sent_.empty()) return near;
  TESSERA_CHECK_OK(collect_sent());
  return board_.room();
}

Status MpiLane::collect_sent() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    int done = 0;
    TESSERA_CHECK_OK(session_->answer(MPI_Test(&sent_[i], &done, MPI_STATUS_IGNORE), "MPI_Test"));
    if (done) {
      board_.give_back(sent_slots_[i]);
      continue;
    }
    sent_[kept] = sent_[i];
    sent_slots_[kept++] = sent_slots_[i];
  }
  sent_.resize(kept);
  sent_slots_.resize(kept);
  return ok_status();
}

Status MpiLane::send(int to, std::int64_t bytes) {
  TESSERA_CHECK_OK(session_->alive());
  TESSERA_CHECK_OK(exchange::check_rank(to, session_->ranks()));
  TESSERA_CHECK_OK(exchange::check_packet(size_, session_->rank(), to, bytes));
  if (is_near(to)) return board_.send(session_->seat_of(to), bytes);
  TESSERA_TRY(const int slot, board_.lend());
  MPI_Request request = MPI_REQUEST_NULL;
  TESSERA_CHECK_OK(session_->answer(MPI_Isend(board_.packet(slot), static_cast<int>(bytes),
                                              MPI_BYTE, to, tag_, session_->packets(), &request),
                                    "MPI_Isend"));
  sent_.push_back(request);
  sent_slots_.push_back(slot);
  return ok_status();
}

Status MpiLane::expect(int from) {
  TESSERA_CHECK_OK(session_->alive());
  TESSERA_CHECK_OK(exchange::check_rank(from, session_->ranks()));
  TESSERA_CHECK_OK(exchange::check_packet(size_, session_->rank(), from, 0));
  TESSERA_CHECK_OK(expected_.add(from, size_.receiving));
  if (is_near(from)) return ok_status();
  Incoming message;
  message.buffer = free_buffers_.back();  // there are as many as may be expected
  TESSERA_CHECK_OK(
      session_->answer(MPI_Irecv(buffer(message.buffer), static_cast<int>(size_.packet_bytes),
                                 MPI_BYTE, from, tag_, session_->packets(), &message.request),
                       "MPI_Irecv"));
  free_buffers_.pop_back();
  incoming_[from].push_back(message);
  return ok_status();
}

Status MpiLane::look(int from, Incoming& message) {
  int done = 0;
  MPI_Status envelope;
  const int code = MPI_Test(&message.request, &done, &envelope);
  if (code != MPI_SUCCESS) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    if (kind != MPI_ERR_TRUNCATE) return session_->answer(code, "MPI_Test");
    message.bytes = Error{ErrorCode::kBadPacket,
                          cat("a packet of rank ", from, " has more than the ", size_.packet_bytes,
                              " bytes that packets of this lane have"),
                          std::nullopt, "all ranks must run the same version of the program"};
    return ok_status();
  }
  if (!done) return ok_status();
  int bytes = 0;
  TESSERA_CHECK_OK(session_->answer(MPI_Get_count(&envelope, MPI_BYTE, &bytes), "MPI_Get_count"));
  message.bytes = std::int64_t{bytes};
  return ok_status();
}

Result<Arrival> MpiLane::arrived(int from) {
  TESSERA_CHECK_OK(session_->alive());
  if (expected_.of(from) == 0) return Arrival();
  if (is_near(from)) {
    Result<Arrival> near = board_.arrived(session_->seat_of(from));
    if (near) return near;
    Error error = near.error();
    error.message = cat("between this rank and rank ", from, ": ", error.message);
    return error;
  }
  Incoming& message = incoming_[from].front();
  if (!message.bytes) TESSERA_CHECK_OK(look(from, message));
  if (!message.bytes) return Arrival();
  TESSERA_TRY(const std::int64_t bytes, *message.bytes);
  return Arrival(std::span(buffer(message.buffer), static_cast<std::size_t>(bytes)));
}

Status MpiLane::release(int from) {
  TESSERA_CHECK_OK(session_->alive());
  TESSERA_CHECK_OK(exchange::check_rank(from, session_->ranks()));
  if (is_near(from)) {
    TESSERA_CHECK_OK(board_.release(session_->seat_of(from)));
  } else {
    const auto found = incoming_.find(from);
    if (found == incoming_.end() || found->second.empty() || !found->second.front().bytes) {
      return Error{ErrorCode::kOutOfRange, "a packet is released that has not arrived",
                   std::nullopt, "release only what arrived() has returned"};
    }
    free_buffers_.push_back(found->second.front().buffer);
    found->second.pop_front();
  }
  expected_.take(from);
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<exchange::Lane>> open_mpi_lane(std::shared_ptr<Session> session,
                                                      const exchange::LaneSize& size) {
  auto memory = std::make_shared<LaneMemory>();
  TESSERA_TRY(memory->near, NearMemory::make(*session, exchange::PacketMailbox::part_bytes(size)));
  Status mine = ok_status();
  if (static_cast<int>(session->near().size()) < session->ranks()) {
    Result<exchange::Pages> receiving =
        exchange::Pages::anonymous(size.receiving * exchange::Pages::rounded(size.packet_bytes));
    if (receiving) {
      memory->receiving = std::move(*receiving);
    } else {
      mine = receiving.error();
    }
  }
  TESSERA_CHECK_OK(session->settle(mine));
  return std::unique_ptr<exchange::Lane>(
      std::make_unique<MpiLane>(std::move(session), size, std::move(memory)));
}

}  // namespace tessera::mpi
