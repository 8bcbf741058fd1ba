// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/shared_memory/packet_mailbox.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::exchange {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kArrivedAt = 0;
constexpr std::int64_t kReturnedAt = kLine;
constexpr std::int64_t kSlotsAt = 2 * kLine;

using Word = std::atomic_ref<std::uint32_t>;
static_assert(Word::is_always_lock_free, "a lock inside the word would not work across processes");

Error bad_slot(std::uint32_t number) {
  return Error{ErrorCode::kBadPacket,
               cat("the shared mailbox names slot ", number, ", which no rank owns"), std::nullopt,
               "something has written into the memory of a lane"};
}

Error no_room() {
  return Error{ErrorCode::kOutOfRange, "a packet is sent while all slots are in flight",
               std::nullopt, "send only after room() has returned memory"};
}

}  // namespace

struct PacketMailbox::Slot {
  std::uint32_t next;
  std::int32_t from;
  std::int64_t bytes;
};

std::int64_t PacketMailbox::part_bytes(const LaneSize& size) {
  return kSlotsAt + size.sending * (kLine + ceil_div(size.packet_bytes, kLine) * kLine);
}

PacketMailbox::PacketMailbox(const LaneSize& size, std::vector<std::byte*> parts, int seat)
    : packet_bytes_(size.packet_bytes),
      sending_(size.sending),
      slot_bytes_(kLine + ceil_div(size.packet_bytes, kLine) * kLine),
      parts_(std::move(parts)),
      seat_(seat) {
  assert(static_cast<std::int64_t>(parts_.size()) * sending_ < std::int64_t{UINT32_MAX});
  free_.reserve(static_cast<std::size_t>(sending_));
  for (int k = sending_; k-- > 0;) free_.push_back(k);
}

std::uint32_t& PacketMailbox::arrived_list(int seat) const {
  return *reinterpret_cast<std::uint32_t*>(parts_[static_cast<std::size_t>(seat)] + kArrivedAt);
}

std::uint32_t& PacketMailbox::returned_list(int seat) const {
  return *reinterpret_cast<std::uint32_t*>(parts_[static_cast<std::size_t>(seat)] + kReturnedAt);
}

PacketMailbox::Slot* PacketMailbox::slot(std::uint32_t number) const {
  const std::int64_t at = std::int64_t{number} - 1;
  std::byte* const part = parts_[static_cast<std::size_t>(at / sending_)];
  return reinterpret_cast<Slot*>(part + kSlotsAt + (at % sending_) * slot_bytes_);
}

std::byte* PacketMailbox::packet_of(std::uint32_t number) const {
  return reinterpret_cast<std::byte*>(slot(number)) + kLine;
}

std::byte* PacketMailbox::packet(int own) const {
  return parts_[static_cast<std::size_t>(seat_)] + kSlotsAt + own * slot_bytes_ + kLine;
}

void PacketMailbox::put_on(std::uint32_t& list, std::uint32_t number) const {
  // Release, so that the rank that takes the list sees the packet, or sees that it has been read.
  // Other ranks that push slots in between continue this release sequence.
  const Word top(list);
  std::uint32_t below = top.load(std::memory_order_relaxed);
  do {
    slot(number)->next = below;
  } while (!top.compare_exchange_weak(below, number, std::memory_order_release,
                                      std::memory_order_relaxed));
}

Result<std::vector<std::uint32_t>> PacketMailbox::take_all(std::uint32_t& list) const {
  std::vector<std::uint32_t> numbers;
  const Word top(list);
  if (top.load(std::memory_order_relaxed) == 0) return numbers;
  const std::uint64_t slots = parts_.size() * static_cast<std::uint64_t>(sending_);
  for (std::uint32_t number = top.exchange(0, std::memory_order_acquire); number != 0;
       number = slot(number)->next) {
    // A cyclic list would name more slots than there are.
    if (number > slots || numbers.size() == slots) return bad_slot(number);
    numbers.push_back(number);
  }
  std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

Result<std::span<std::byte>> PacketMailbox::room() {
  if (free_.empty()) {
    TESSERA_TRY(const std::vector<std::uint32_t> returned, take_all(returned_list(seat_)));
    for (const std::uint32_t number : returned) {
      const std::int64_t at = std::int64_t{number} - 1;
      if (at / sending_ != seat_) return bad_slot(number);
      free_.push_back(static_cast<int>(at % sending_));
    }
  }
  if (free_.empty()) return std::span<std::byte>();
  return std::span(packet(free_.back()), static_cast<std::size_t>(packet_bytes_));
}

Status PacketMailbox::send(int to, std::int64_t bytes) {
  TESSERA_TRY(const int own, lend());
  const auto number = static_cast<std::uint32_t>(std::int64_t{seat_} * sending_ + own + 1);
  slot(number)->from = seat_;
  slot(number)->bytes = bytes;
  put_on(arrived_list(to), number);
  return ok_status();
}

Result<int> PacketMailbox::lend() {
  TESSERA_TRY(const std::span<std::byte> here, room());
  if (here.empty()) return no_room();
  const int own = free_.back();
  free_.pop_back();
  return own;
}

Status PacketMailbox::collect() {
  TESSERA_TRY(const std::vector<std::uint32_t> numbers, take_all(arrived_list(seat_)));
  for (const std::uint32_t number : numbers) {
    const int from = slot(number)->from;
    if (from != (std::int64_t{number} - 1) / sending_) return bad_slot(number);
    slot(number)->next = 0;
    Queue& queue = waiting_[from];
    (queue.first == 0 ? queue.first : slot(queue.last)->next) = number;
    queue.last = number;
  }
  return ok_status();
}

Result<std::optional<std::span<const std::byte>>> PacketMailbox::arrived(int from) {
  using Answer = std::optional<std::span<const std::byte>>;
  TESSERA_CHECK_OK(collect());
  const auto found = waiting_.find(from);
  if (found == waiting_.end() || found->second.first == 0) return Answer();
  const std::uint32_t number = found->second.first;
  const std::int64_t bytes = slot(number)->bytes;
  if (bytes < 0 || bytes > packet_bytes_) {
    return Error{ErrorCode::kBadPacket, cat("a packet states a length of ", bytes, " bytes"),
                 std::nullopt, cat("packets of this lane have 0 to ", packet_bytes_)};
  }
  return Answer(std::span(packet_of(number), static_cast<std::size_t>(bytes)));
}

Status PacketMailbox::release(int from) {
  const auto found = waiting_.find(from);
  if (found == waiting_.end() || found->second.first == 0) {
    return Error{ErrorCode::kOutOfRange, "a packet is released that has not arrived", std::nullopt,
                 "release only what arrived() has returned"};
  }
  const std::uint32_t number = found->second.first;
  found->second.first = slot(number)->next;
  put_on(returned_list(static_cast<int>((std::int64_t{number} - 1) / sending_)), number);
  return ok_status();
}

}  // namespace tessera::exchange
