// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/transfer_manager.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/base/host_memory_pool.h"
#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/device/crossing.h"
#include "tessera/device/transfer_in_place.h"
#include "tessera/device/transfer_run.h"

namespace tessera::device {

/// What a transfer and its handles share.
struct TransferState {
  std::uint64_t id = 0;
  BufferId buffer = {};
  Direction direction = Direction::kToDevice;
  HostArray host;
  std::shared_ptr<const void> owner;  // null when complete
  std::atomic<bool> is_cancelled = false;
  std::atomic<std::int64_t> border_bytes = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Status> outcome;  // when complete

  void end(Status status) {
    std::shared_ptr<const void> dropped;
    {
      const std::lock_guard lock(mutex);
      outcome = std::move(status);
      dropped = std::move(owner);
    }
    changed.notify_all();
  }
  Status wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return outcome.has_value(); });
    return *outcome;
  }
};

/// Waits with the last handle.
struct TransferHandle::Guard {
  std::shared_ptr<TransferState> state;
  bool owns = false;  // the transfer owns the host's memory
  Guard(std::shared_ptr<TransferState> of, bool owned) : state(std::move(of)), owns(owned) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    if (!owns) static_cast<void>(state->wait());
  }
};

std::uint64_t TransferHandle::id() const { return guard_->state->id; }
bool TransferHandle::is_complete() const {
  const std::lock_guard lock(guard_->state->mutex);
  return guard_->state->outcome.has_value();
}
Status TransferHandle::wait() const { return guard_->state->wait(); }
void TransferHandle::cancel() const { guard_->state->is_cancelled = true; }
std::int64_t TransferHandle::border_bytes() const { return guard_->state->border_bytes; }

struct TransferManager::Body {
  Body(Device& on, const TransferOptions& with, HostMemoryPool staging)
      : device(on), options(with), blocks(std::move(staging)) {}

  Device& device;
  const TransferOptions options;
  HostMemoryPool blocks;
  ThreadPool pool{2};
  ThreadPool caller{1};

  // How recent buffers cross; ids are never used again, so entries stay right.
  struct Known {
    BufferId buffer = {};
    Direction direction = Direction::kToDevice;
    std::shared_ptr<const Crossing> crossing;
  };
  static constexpr std::size_t kMostKnown = 16;
  static constexpr std::int64_t kBlocksOfPart = 64;  // in place there is less to do between steps
  std::mutex known_mutex;
  std::deque<Known> known;

  std::mutex mutex;  // of all that follows
  std::condition_variable changed;
  std::deque<std::shared_ptr<TransferState>> waiting;
  std::shared_ptr<TransferState> current;
  bool is_ending = false;
  std::uint64_t begun = 0;
  std::size_t bytes = 0;
  double seconds = 0;
  std::thread thread;

  bool uses_words() const {
    return options.words == BorderWords::kAlways ||
           (options.words == BorderWords::kAuto && device.machine().rules.fabric.has_value());
  }
  Result<std::shared_ptr<const Crossing>> crossing(BufferId buffer, Direction direction);
  std::shared_ptr<TransferState> begin(std::shared_ptr<TransferState> transfer);
  Status carry_out(TransferState& transfer);
  void work();
};

Result<std::shared_ptr<const Crossing>> TransferManager::Body::crossing(BufferId buffer,
                                                                        Direction direction) {
  {
    const std::lock_guard lock(known_mutex);
    for (const Known& entry : known) {
      if (entry.buffer == buffer && entry.direction == direction) return entry.crossing;
    }
  }
  const std::shared_ptr<const BufferFacts> facts = device.find(buffer);
  if (facts == nullptr) {
    return Error{ErrorCode::kBadBuffer,
                 cat("buffer ", static_cast<std::uint32_t>(buffer), " does not exist")};
  }
  TESSERA_TRY(Crossing made, Crossing::make(device, *facts, direction, uses_words(),
                                            options.block_bytes, options.rounding));
  if (options.in_place && device.is_addressable() && !made.by_image) {
    TESSERA_CHECK_OK(made.add_in_place(device, buffer, kBlocksOfPart * options.block_bytes));
  }
  auto shared = std::make_shared<const Crossing>(std::move(made));
  const std::lock_guard lock(known_mutex);
  known.push_front({buffer, direction, shared});
  if (known.size() > kMostKnown) known.pop_back();
  return std::shared_ptr<const Crossing>(std::move(shared));
}

Status TransferManager::Body::carry_out(TransferState& transfer) {
  TESSERA_TRY(const std::shared_ptr<const Crossing> how,
              crossing(transfer.buffer, transfer.direction));
  const bool to_device = transfer.direction == Direction::kToDevice;
  const auto given = static_cast<std::int64_t>(to_device ? transfer.host.source.size()
                                                         : transfer.host.destination.size());
  if (given != how->host_bytes) {
    const std::shared_ptr<const BufferFacts> facts = device.find(transfer.buffer);
    return Error{ErrorCode::kOutOfRange, cat(facts == nullptr ? "the tensor" : facts->name, " has ",
                                             how->host_bytes, " bytes on the host, not ", given)};
  }
  const auto go_on = [&](std::int64_t border_bytes) {
    transfer.border_bytes = border_bytes;
    return !transfer.is_cancelled;
  };
  const auto carried_out_by = [&](auto run) -> Status {
    const Status done = run.run(go_on);
    if (done || !to_device || !run.touched()) return done;
    // What fails to be forgotten was released, so nobody can read it.
    static_cast<void>(device.forget(transfer.buffer));
    return done;
  };
  if (how->in_place) {
    return carried_out_by(InPlaceTransfer(device, transfer.buffer, *how, transfer.host, pool));
  }
  return carried_out_by(TransferRun(device, transfer.buffer, *how, transfer.host, blocks, pool));
}

void TransferManager::Body::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex);
      current = nullptr;
      changed.wait(lock, [&] { return is_ending || !waiting.empty(); });
      if (waiting.empty()) return;
      current = std::move(waiting.front());
      waiting.pop_front();
    }
    TransferState& transfer = *current;
    const auto start = std::chrono::steady_clock::now();
    Status done = ok_status();
    // A pool of one thread: it is the one that reports memory that was refused on the way.
    const Status ran = caller.run([&](int) { done = carry_out(transfer); });
    if (!ran) {
      done = ran;
      if (transfer.direction == Direction::kToDevice) {
        static_cast<void>(device.forget(transfer.buffer));
      }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (done) {
      const std::lock_guard lock(mutex);
      bytes += transfer.host.source.size() + transfer.host.destination.size();
      seconds += took.count();
    }
    transfer.end(std::move(done));
  }
}

std::shared_ptr<TransferState> TransferManager::Body::begin(
    std::shared_ptr<TransferState> transfer) {
  {
    const std::lock_guard lock(mutex);
    transfer->id = ++begun;
    waiting.push_back(transfer);
  }
  changed.notify_all();
  return transfer;
}

Result<std::unique_ptr<TransferManager>> TransferManager::make(Device& device,
                                                               const TransferOptions& options) {
  constexpr std::int64_t kLeastBlock = 64;
  if (options.block_bytes < kLeastBlock) {
    return Error{ErrorCode::kOutOfRange, cat("blocks of ", options.block_bytes,
                                             " bytes are too small: at least ", kLeastBlock)};
  }
  TESSERA_TRY(HostMemoryPool blocks,
              HostMemoryPool::make(static_cast<std::size_t>(options.block_bytes), 2,
                                   options.staging != nullptr ? *options.staging : PoolOptions{}));
  auto body = std::make_unique<Body>(device, options, std::move(blocks));
  Body* const raw = body.get();
  body->thread = std::thread([raw] { raw->work(); });
  return std::unique_ptr<TransferManager>(new TransferManager(std::move(body)));
}

TransferManager::TransferManager(std::unique_ptr<Body> body) : body_(std::move(body)) {}

TransferManager::~TransferManager() {
  {
    const std::lock_guard lock(body_->mutex);
    body_->is_ending = true;
    if (body_->current != nullptr) body_->current->is_cancelled = true;
    for (const auto& transfer : body_->waiting) transfer->is_cancelled = true;
  }
  body_->changed.notify_all();
  body_->thread.join();
}

TransferHandle TransferManager::host_to_device_async(BufferId buffer,
                                                     std::span<const std::byte> host_data,
                                                     std::shared_ptr<const void> owner) {
  auto transfer = std::make_shared<TransferState>();
  const bool owned = owner != nullptr;
  transfer->buffer = buffer;
  transfer->host.source = host_data;
  transfer->owner = std::move(owner);
  return TransferHandle(
      std::make_shared<const TransferHandle::Guard>(body_->begin(std::move(transfer)), owned));
}

TransferHandle TransferManager::device_to_host_async(BufferId buffer,
                                                     std::span<std::byte> host_data,
                                                     std::shared_ptr<const void> owner) {
  auto transfer = std::make_shared<TransferState>();
  const bool owned = owner != nullptr;
  transfer->buffer = buffer;
  transfer->direction = Direction::kToHost;
  transfer->host.destination = host_data;
  transfer->owner = std::move(owner);
  return TransferHandle(
      std::make_shared<const TransferHandle::Guard>(body_->begin(std::move(transfer)), owned));
}

Status TransferManager::host_to_device(BufferId buffer, std::span<const std::byte> host_data) {
  return host_to_device_async(buffer, host_data).wait();
}

Status TransferManager::device_to_host(BufferId buffer, std::span<std::byte> host_data) {
  return device_to_host_async(buffer, host_data).wait();
}

Result<std::int64_t> TransferManager::host_bytes(BufferId buffer) const {
  const std::shared_ptr<const BufferFacts> facts = body_->device.find(buffer);
  if (facts == nullptr) {
    return Error{ErrorCode::kBadBuffer,
                 cat("buffer ", static_cast<std::uint32_t>(buffer), " does not exist")};
  }
  TESSERA_TRY(const Layout host, host_layout(facts->placement));
  return host.shard_bytes();
}

Result<BorderUse> TransferManager::border_use(BufferId buffer) const {
  TESSERA_TRY(const std::shared_ptr<const Crossing> how,
              body_->crossing(buffer, Direction::kToDevice));
  return BorderUse{how->rectangles, static_cast<std::int64_t>(how->chunks.size()), how->wire_bytes,
                   how->words};
}

std::size_t TransferManager::total_bytes_transferred() const {
  const std::lock_guard lock(body_->mutex);
  return body_->bytes;
}

double TransferManager::average_transfer_bandwidth() const {
  const std::lock_guard lock(body_->mutex);
  return body_->seconds > 0 ? static_cast<double>(body_->bytes) / body_->seconds : 0;
}

}  // namespace tessera::device
