// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/transfer_run.h"

#include <cstring>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/device/words.h"

namespace tessera::device {

Error cancelled_after(std::int64_t done_bytes, std::int64_t all_bytes) {
  Error error{ErrorCode::kIo,
              cat("the transfer was cancelled after ", done_bytes, " of ", all_bytes, " bytes")};
  error.reasons = {{"cancelled"}};
  return error;
}

TransferRun::TransferRun(Device& device, BufferId buffer, const Crossing& crossing,
                         const HostArray& host, HostMemoryPool& blocks, ThreadPool& pool)
    : device_(device),
      buffer_(buffer),
      crossing_(crossing),
      host_(host),
      blocks_(blocks),
      pool_(pool) {}

Status TransferRun::run(const GoOn& go_on) {
  if (crossing_.by_image) TESSERA_CHECK_OK(make_image());
  TESSERA_CHECK_OK(steps(go_on));
  return crossing_.by_image ? finish_image() : ok_status();
}

Status TransferRun::make_image() {
  const auto bytes = static_cast<std::size_t>(crossing_.image.bytes);
  TESSERA_TRY(image_, HostAllocator::allocate_unique<std::byte>(bytes));
  if (crossing_.direction == Direction::kToHost) return ok_status();
  if (device_.checked()) std::memset(image_.get(), 0xFF, bytes);
  return crossing_.plan->run(host_.source, {image_.get(), bytes}, pool_);
}

Status TransferRun::finish_image() {
  if (crossing_.direction == Direction::kToDevice) return ok_status();
  const auto bytes = static_cast<std::size_t>(crossing_.image.bytes);
  if (crossing_.plan) return crossing_.plan->run({image_.get(), bytes}, host_.destination, pool_);
  for (const Copy& copy : crossing_.in_order) {
    const std::byte* const shard = image_.get() + crossing_.image_bit(copy.source, 0) / 8;
    TESSERA_CHECK_OK(crossing_.list.run(copy, shard, host_.destination.data(), pool_));
  }
  return ok_status();
}

Status TransferRun::steps(const GoOn& go_on) {
  const bool to_device = crossing_.direction == Direction::kToDevice;
  const std::vector<Chunk>& chunks = crossing_.chunks;
  std::int64_t done_bytes = 0;
  std::byte* before = nullptr;
  for (std::size_t k = 0; k <= chunks.size(); ++k) {
    if (!go_on(done_bytes)) return cancelled_after(done_bytes, crossing_.wire_bytes);
    std::byte* block = nullptr;
    if (k < chunks.size()) {
      TESSERA_TRY(block, block_for(k));
    }
    std::optional<Error> first_error;
    std::optional<Error> second_error;
    const auto first = [&] {
      if (k == chunks.size()) return;
      const Status done = to_device ? pack(chunks[k], block) : receive(chunks[k], block);
      if (!done) first_error = done.error();
    };
    const auto second = [&] {
      if (k == 0) return;
      const Status done = to_device ? send(chunks[k - 1], before) : unpack(chunks[k - 1], before);
      if (!done) second_error = done.error();
    };
    if (pool_.threads() == 1 || k == 0 || k == chunks.size()) {
      second();
      if (!second_error) first();
    } else {
      TESSERA_CHECK_OK(pool_.run([&](int worker) {
        if (worker == 0) first();
        if (worker == 1) second();
      }));
    }
    if (second_error) return *second_error;
    if (first_error) return *first_error;
    if (k > 0) done_bytes += crossing_.bytes(chunks[k - 1]);
    before = block;
  }
  go_on(done_bytes);
  return ok_status();
}

Result<std::byte*> TransferRun::block_for(std::size_t chunk) {
  const auto bytes = static_cast<std::size_t>(crossing_.bytes(crossing_.chunks[chunk]));
  const std::size_t which = chunk % 2;
  if (bytes <= blocks_.block_size()) {
    if (pooled_[which] == nullptr) {
      TESSERA_TRY(pooled_[which], blocks_.acquire_unique());
    }
    return pooled_[which].get();
  }
  if (own_bytes_[which] < bytes) {
    TESSERA_TRY(own_[which], HostAllocator::allocate_unique<std::byte>(bytes));
    own_bytes_[which] = bytes;
  }
  return own_[which].get();
}

CrossingPlace TransferRun::items_of(const Chunk& chunk, std::size_t i) const {
  if (chunk.part) return *chunk.part;
  CrossingPlace items = crossing_.places[chunk.first + i];
  // All boxes of a place count with the first of its chunks.
  if (chunk.first_slot > 0) items.copies = items.fills = 0;
  return items;
}

BorderCall TransferRun::call_of(const Chunk& chunk) {
  call_places_.clear();
  for (std::size_t i = 0; i < chunk.places; ++i) {
    call_places_.push_back(crossing_.places[chunk.first + i].place);
  }
  return {call_places_, chunk.first_slot, chunk.slots, crossing_.words};
}

Status TransferRun::pack(const Chunk& chunk, std::byte* block) {
  const std::int64_t each = crossing_.bytes_of_place(chunk);
  if (chunk.has_gaps && !crossing_.by_image) {
    std::memset(block, device_.checked() ? 0xFF : 0,
                static_cast<std::size_t>(crossing_.bytes(chunk)));
  }
  for (std::size_t i = 0; i < chunk.places; ++i) {
    std::byte* const data = block + static_cast<std::int64_t>(i) * each;
    std::byte* const shard = crossing_.words ? data + chunk.slots * 2 : data;
    if (crossing_.by_image) {
      const std::int64_t place = crossing_.places[chunk.first + i].place;
      copy_bits(shard, 0, image_.get(), crossing_.image_bit(place, chunk.first_slot),
                crossing_.cells.bit(chunk.slots));
    } else {
      const CrossingPlace items = items_of(chunk, i);
      for (std::uint32_t f = 0; f < items.fills; ++f) {
        const SlotFill& fill = crossing_.list.fills[items.first_fill + f];
        crossing_.list.moves[fill.move].fill({shard, fill.slot - chunk.first_slot}, fill.bits);
      }
      for (std::uint32_t c = 0; c < items.copies; ++c) {
        const Copy& copy = crossing_.list.copies[items.first_copy + c];
        TESSERA_CHECK_OK(crossing_.list.moves[copy.move].copy(
            {host_.source.data(), copy.source_slot},
            {shard, copy.destination_slot - chunk.first_slot}, alone_));
      }
    }
    if (crossing_.words) widen_words(data, shard, chunk.slots);
  }
  return ok_status();
}

Status TransferRun::send(const Chunk& chunk, const std::byte* block) {
  touched_ = true;
  const auto bytes = static_cast<std::size_t>(crossing_.bytes(chunk));
  TESSERA_CHECK_OK(device_.send(buffer_, call_of(chunk), {block, bytes}));
  if (!device_.checked()) return ok_status();
  for (std::size_t i = 0; i < chunk.places; ++i) {
    const CrossingPlace items = items_of(chunk, i);
    const auto mark = [&](const SlotBox& box) -> Status {
      TESSERA_TRY(const std::byte* const shard, device_.output(buffer_, items.place, box));
      static_cast<void>(shard);
      return ok_status();
    };
    for (std::uint32_t f = 0; f < items.fills; ++f) {
      const SlotFill& fill = crossing_.list.fills[items.first_fill + f];
      TESSERA_CHECK_OK(mark(crossing_.list.moves[fill.move].destination(fill.slot)));
    }
    for (std::uint32_t c = 0; c < items.copies; ++c) {
      const Copy& copy = crossing_.list.copies[items.first_copy + c];
      TESSERA_CHECK_OK(mark(crossing_.list.moves[copy.move].destination(copy.destination_slot)));
    }
  }
  return ok_status();
}

Status TransferRun::receive(const Chunk& chunk, std::byte* block) {
  for (std::size_t i = 0; i < chunk.places; ++i) {
    const CrossingPlace items = items_of(chunk, i);
    const auto check = [&](const SlotBox& box) -> Status {
      TESSERA_TRY(const std::byte* const shard, device_.input(buffer_, items.place, box));
      static_cast<void>(shard);
      return ok_status();
    };
    for (std::uint32_t f = 0; f < items.fills; ++f) {
      const SlotFill& fill = crossing_.list.fills[items.first_fill + f];
      TESSERA_CHECK_OK(check(crossing_.list.moves[fill.move].destination(fill.slot)));
    }
    for (std::uint32_t c = 0; c < items.copies; ++c) {
      const Copy& copy = crossing_.list.copies[items.first_copy + c];
      TESSERA_CHECK_OK(check(crossing_.list.moves[copy.move].source(copy.source_slot)));
    }
  }
  const auto bytes = static_cast<std::size_t>(crossing_.bytes(chunk));
  return device_.receive(buffer_, call_of(chunk), {block, bytes});
}

Status TransferRun::unpack(const Chunk& chunk, std::byte* block) {
  const std::int64_t each = crossing_.bytes_of_place(chunk);
  for (std::size_t i = 0; i < chunk.places; ++i) {
    std::byte* const data = block + static_cast<std::int64_t>(i) * each;
    if (crossing_.words) narrow_words(data, data, chunk.slots);
    if (crossing_.by_image) {
      const std::int64_t place = crossing_.places[chunk.first + i].place;
      copy_bits(image_.get(), crossing_.image_bit(place, chunk.first_slot), data, 0,
                crossing_.cells.bit(chunk.slots));
      continue;
    }
    const CrossingPlace items = items_of(chunk, i);
    for (std::uint32_t c = 0; c < items.copies; ++c) {
      const Copy& copy = crossing_.list.copies[items.first_copy + c];
      TESSERA_CHECK_OK(crossing_.list.moves[copy.move].copy(
          {data, copy.source_slot - chunk.first_slot},
          {host_.destination.data(), copy.destination_slot}, alone_));
    }
  }
  return ok_status();
}

}  // namespace tessera::device
