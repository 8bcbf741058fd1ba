// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/exchange/contract.h"
#include "tessera/exchange/exchange.h"
#include "tessera/exchange/shared_memory/packet_mailbox.h"
#include "tessera/exchange/shared_memory/pages.h"

namespace tessera::exchange {
namespace {

/// The notes that wait for one rank.
struct Mailbox {
  std::mutex mutex;
  std::atomic<bool> any = false;  ///< lets a rank without notes skip the lock
  std::deque<RankNote> notes;
};

/// The memory of one lane: the parts of all ranks. The first rank that opens the lane allocates it;
/// pages that a rank never touches take no memory.
struct LaneMemory {
  LaneSize size;
  Pages pages;
  std::vector<std::byte*> parts;
  int opened = 0;
};

/// The memory of one call of share(): the rows of all ranks, once they have joined, or the first
/// error of one of them, which is then the error of all.
struct ArrayMemory {
  std::vector<Pages> rows;
  std::optional<Error> error;
  std::atomic<int> shared = 0;
};

/// The state that the ranks of one exchange share. It lives as long as one of them, or anything
/// that one of them has opened.
struct Hub {
  explicit Hub(int ranks)
      : mailboxes(static_cast<std::size_t>(ranks)), gone(static_cast<std::size_t>(ranks)) {}

  int ranks() const { return static_cast<int>(mailboxes.size()); }

  Status alive() const {
    if (!abandoned.load(std::memory_order_relaxed)) return ok_status();
    return Error{ErrorCode::kIo, cat("the exchange was abandoned with status ", status.load()),
                 std::nullopt, "make a new one"};
  }

  std::vector<Mailbox> mailboxes;
  std::vector<std::atomic<bool>> gone;
  std::atomic<int> status = 0;
  std::atomic<bool> abandoned = false;

  std::mutex mutex;  ///< protects the next two: lanes and arrays that not all ranks have opened yet
  std::map<std::int64_t, std::shared_ptr<LaneMemory>> lanes;
  std::map<std::int64_t, std::shared_ptr<ArrayMemory>> arrays;
};

class InProcessLane final : public Lane {
 public:
  InProcessLane(std::shared_ptr<Hub> hub, std::shared_ptr<LaneMemory> memory, int rank)
      : hub_(std::move(hub)),
        memory_(std::move(memory)),
        rank_(rank),
        board_(memory_->size, memory_->parts, rank) {}

  Result<std::span<std::byte>> room() override {
    TESSERA_CHECK_OK(hub_->alive());
    return board_.room();
  }

  Status send(int to, std::int64_t bytes) override {
    TESSERA_CHECK_OK(hub_->alive());
    TESSERA_CHECK_OK(check_rank(to, hub_->ranks()));
    TESSERA_CHECK_OK(check_packet(memory_->size, rank_, to, bytes));
    return board_.send(to, bytes);
  }

  Status expect(int from) override {
    TESSERA_CHECK_OK(hub_->alive());
    TESSERA_CHECK_OK(check_rank(from, hub_->ranks()));
    TESSERA_CHECK_OK(check_packet(memory_->size, rank_, from, 0));
    return expected_.add(from, memory_->size.receiving);
  }

  Result<std::optional<std::span<const std::byte>>> arrived(int from) override {
    TESSERA_CHECK_OK(hub_->alive());
    if (expected_.of(from) == 0) return std::optional<std::span<const std::byte>>();
    return board_.arrived(from);
  }

  Status release(int from) override {
    TESSERA_CHECK_OK(hub_->alive());
    TESSERA_CHECK_OK(board_.release(from));
    expected_.take(from);
    return ok_status();
  }

  std::int64_t staged_bytes() const override {
    return memory_->size.sending * memory_->size.packet_bytes;
  }

 private:
  std::shared_ptr<Hub> hub_;
  std::shared_ptr<LaneMemory> memory_;
  int rank_;
  PacketMailbox board_;
  Expected expected_;
};

class InProcessArray final : public SharedArray {
 public:
  InProcessArray(std::shared_ptr<ArrayMemory> memory, int rank)
      : memory_(std::move(memory)), rank_(rank) {}

  std::span<std::byte> mine() override {
    return memory_->rows[static_cast<std::size_t>(rank_)].bytes();
  }
  std::optional<std::span<const std::byte>> of(int rank) const override {
    if (rank < 0 || static_cast<std::size_t>(rank) >= memory_->rows.size()) return std::nullopt;
    return memory_->rows[static_cast<std::size_t>(rank)].bytes();
  }

 private:
  std::shared_ptr<ArrayMemory> memory_;
  int rank_;
};

class InProcessExchange final : public Exchange {
 public:
  InProcessExchange(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  ~InProcessExchange() override { hub_->gone[static_cast<std::size_t>(rank_)] = true; }

  int rank() const override { return rank_; }
  int ranks() const override { return hub_->ranks(); }

  Result<std::unique_ptr<Lane>> open(const LaneSize& size) override;
  Result<std::unique_ptr<SharedArray>> share(std::int64_t bytes) override;
  Status tell(int to, std::span<const std::byte> bytes) override;
  Result<std::optional<RankNote>> heard() override;
  void idle() override { ::sched_yield(); }
  void abandon(int status) override {
    hub_->status = status;
    hub_->abandoned = true;
  }

 private:
  /// Waits for all ranks to join; kRankSilent when one of them is gone and cannot.
  Status all_shared(const ArrayMemory& memory) const;

  std::shared_ptr<Hub> hub_;
  int rank_;
  std::int64_t lanes_ = 0;
  std::int64_t arrays_ = 0;
};

Result<std::shared_ptr<LaneMemory>> make_lane(const LaneSize& size, int ranks) {
  const std::int64_t part = Pages::rounded(PacketMailbox::part_bytes(size));
  if (std::int64_t{ranks} * size.sending >= std::int64_t{UINT32_MAX}) {
    return Error{ErrorCode::kTooLarge, cat(ranks, " ranks with ", size.sending, " packets each"),
                 std::nullopt, "allow fewer packets in flight"};
  }
  TESSERA_TRY(const std::int64_t bytes, (Checked(part) * ranks).value("the memory of a lane"));
  auto memory = std::make_shared<LaneMemory>();
  memory->size = size;
  TESSERA_TRY(memory->pages, Pages::anonymous(bytes));
  for (int rank = 0; rank < ranks; ++rank) {
    memory->parts.push_back(memory->pages.bytes().data() + rank * part);
  }
  return memory;
}

Result<std::unique_ptr<Lane>> InProcessExchange::open(const LaneSize& size) {
  TESSERA_CHECK_OK(hub_->alive());
  TESSERA_CHECK_OK(check_lane_size(size));
  const std::lock_guard<std::mutex> guard(hub_->mutex);
  const std::int64_t number = lanes_++;
  std::shared_ptr<LaneMemory>& memory = hub_->lanes[number];
  if (memory == nullptr) {
    TESSERA_TRY(memory, make_lane(size, ranks()));
  }
  if (memory->size != size) {
    return Error{ErrorCode::kPlansDiffer,
                 cat("rank ", rank_, " opens a lane for packets of ", size.packet_bytes,
                     " bytes, another rank for ", memory->size.packet_bytes),
                 std::nullopt, "all ranks open lanes of the same sizes in the same order"};
  }
  auto lane = std::make_unique<InProcessLane>(hub_, memory, rank_);
  if (++memory->opened == ranks()) hub_->lanes.erase(number);
  return std::unique_ptr<Lane>(std::move(lane));
}

Status InProcessExchange::all_shared(const ArrayMemory& memory) const {
  while (memory.shared.load(std::memory_order_acquire) < ranks()) {
    TESSERA_CHECK_OK(hub_->alive());
    for (int rank = 0; rank < ranks(); ++rank) {
      // Checked again after a rank is gone: it may have joined before that.
      if (!hub_->gone[static_cast<std::size_t>(rank)].load(std::memory_order_acquire)) continue;
      if (memory.shared.load(std::memory_order_acquire) == ranks()) break;
      return Error{ErrorCode::kRankSilent, cat("rank ", rank, " has left the exchange"),
                   std::nullopt, "all ranks share memory together"};
    }
    ::sched_yield();
  }
  return ok_status();
}

Result<std::unique_ptr<SharedArray>> InProcessExchange::share(std::int64_t bytes) {
  TESSERA_CHECK_OK(hub_->alive());
  Result<Pages> row = Pages::anonymous(bytes);
  std::shared_ptr<ArrayMemory> memory;
  {
    const std::lock_guard<std::mutex> guard(hub_->mutex);
    const std::int64_t number = arrays_++;
    std::shared_ptr<ArrayMemory>& known = hub_->arrays[number];
    if (known == nullptr) {
      known = std::make_shared<ArrayMemory>();
      known->rows.resize(static_cast<std::size_t>(ranks()));
    }
    memory = known;
    if (row) {
      memory->rows[static_cast<std::size_t>(rank_)] = std::move(*row);
    } else if (!memory->error) {
      memory->error = row.error();
    }
    if (memory->shared.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks()) {
      hub_->arrays.erase(number);
    }
  }
  TESSERA_CHECK_OK(all_shared(*memory));
  if (memory->error) return *memory->error;
  return std::unique_ptr<SharedArray>(std::make_unique<InProcessArray>(std::move(memory), rank_));
}

Status InProcessExchange::tell(int to, std::span<const std::byte> bytes) {
  TESSERA_CHECK_OK(hub_->alive());
  TESSERA_CHECK_OK(check_rank(to, hub_->ranks()));
  TESSERA_CHECK_OK(check_note(bytes));
  Mailbox& box = hub_->mailboxes[static_cast<std::size_t>(to)];
  const std::lock_guard<std::mutex> guard(box.mutex);
  box.notes.push_back(RankNote{rank_, {bytes.begin(), bytes.end()}});
  box.any.store(true, std::memory_order_release);
  return ok_status();
}

Result<std::optional<RankNote>> InProcessExchange::heard() {
  TESSERA_CHECK_OK(hub_->alive());
  Mailbox& box = hub_->mailboxes[static_cast<std::size_t>(rank_)];
  std::optional<RankNote> note;
  if (!box.any.load(std::memory_order_acquire)) return note;
  const std::lock_guard<std::mutex> guard(box.mutex);
  note = std::move(box.notes.front());
  box.notes.pop_front();
  box.any.store(!box.notes.empty(), std::memory_order_release);
  return note;
}

}  // namespace

std::vector<std::unique_ptr<Exchange>> in_process_exchange(int ranks) {
  std::vector<std::unique_ptr<Exchange>> all;
  if (ranks < 1) return all;
  const auto hub = std::make_shared<Hub>(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<InProcessExchange>(hub, rank));
  }
  return all;
}

}  // namespace tessera::exchange
