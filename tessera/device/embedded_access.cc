// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/device/embedded.h"
#include "tessera/device/words.h"

namespace tessera::device {

Error EmbeddedDevice::outside(const EmbeddedBuffer& buffer, std::int64_t place, std::int64_t slot,
                              std::string_view reason, std::string_view what) const {
  const EmbeddedMemory& memory = memory_of(buffer);
  const std::int64_t part = buffer.places.part(place);
  const std::int64_t byte = begin(buffer, place) - memory.begin(part) + buffer.cells.bit(slot) / 8;
  Error error{ErrorCode::kOutOfRange, cat(buffer.facts.name, ": slot ", slot, " (byte ", byte,
                                          ") of ", memory.name_of(machine_, part), " ", what)};
  error.reasons = {{reason,
                    {{"tensor", buffer.facts.name},
                     {"place", memory.coordinates(machine_, part)},
                     {"slot", slot},
                     {"offset", byte}}}};
  return error;
}

Status EmbeddedDevice::check_box(const EmbeddedBuffer& buffer, std::int64_t place,
                                 const SlotBox& box) const {
  if (place < 0 || place >= buffer.places.count()) {
    return Error{ErrorCode::kOutOfRange, cat(buffer.facts.name, " has ", buffer.places.count(),
                                             " places, no place ", place)};
  }
  if (!buffer.has(place)) {
    const EmbeddedMemory& memory = memory_of(buffer);
    Error error{ErrorCode::kOutOfRange, cat(buffer.facts.name, " has no memory on ",
                                            memory.name_of(machine_, buffer.places.part(place)))};
    error.reasons = {{"not_on_place",
                      {{"tensor", buffer.facts.name},
                       {"place", memory.coordinates(machine_, buffer.places.part(place))}}}};
    return error;
  }
  Checked elements(1);
  for (const SlotLoop& loop : box.loops) {
    if (loop.extent < 0) {
      return Error{ErrorCode::kOutOfRange, cat("a loop of ", loop.extent, " steps")};
    }
    elements *= loop.extent;
  }
  if (elements.saturated() == 0) return ok_status();
  std::int64_t low = 0;
  std::int64_t high = 0;
  if (elements.overflowed() || !reach_of(box, low, high)) {
    return Error{ErrorCode::kOverflow, cat(buffer.facts.name, ": a box of slots overflows")};
  }
  if (low < 0 || high >= buffer.slots) {
    return outside(buffer, place, low < 0 ? low : high, "outside_buffer",
                   cat("is outside the ", buffer.slots, " slots of the buffer"));
  }
  const std::int64_t cell = buffer.cells.slots;
  const bool whole = cell == 1 || for_each_run(box, [&](std::int64_t first, std::int64_t slots) {
                       return first % cell == 0 && slots % cell == 0;
                     });
  if (whole) return ok_status();
  return Error{ErrorCode::kNotSupported,
               cat(buffer.facts.name, ": a box divides tiles of ", cell, " block floats"),
               std::nullopt, "read and write whole tiles"};
}

Status EmbeddedDevice::check_written(const EmbeddedBuffer& buffer, std::int64_t place,
                                     const SlotBox& box) const {
  if (buffer.is_lost.load(std::memory_order_relaxed) && box.elements() > 0) {
    return outside(buffer, place, box.first, "never_written",
                   "was lost when a transfer or move failed");
  }
  if (!checked_) return ok_status();
  const std::int64_t base = begin(buffer, place) * 8;
  const Cells cells = buffer.cells;
  std::optional<std::int64_t> missing;
  for_each_run(box, [&](std::int64_t first, std::int64_t slots) {
    missing = memory_of(buffer).written().first_missing(base + cells.bit(first),
                                                        base + cells.bit(first + slots));
    return !missing;
  });
  if (!missing) return ok_status();
  const std::int64_t slot = (*missing - base) / cells.bits * cells.slots;
  return outside(buffer, place, slot, "never_written", "was never written");
}

void EmbeddedDevice::mark(const EmbeddedBuffer& buffer, std::int64_t place, const SlotBox& box) {
  buffer.is_lost.store(false, std::memory_order_relaxed);
  if (!checked_) return;
  const std::int64_t base = begin(buffer, place) * 8;
  for_each_run(box, [&](std::int64_t first, std::int64_t slots) {
    memories_[buffer.facts.space].written().add(base + buffer.cells.bit(first),
                                                base + buffer.cells.bit(first + slots));
    return true;
  });
}

Status EmbeddedDevice::read(BufferId buffer, std::int64_t place, const SlotBox& box,
                            std::span<std::byte> to) const {
  const std::shared_lock lock(mutex_);
  TESSERA_TRY(const EmbeddedBuffer* const found, need(buffer));
  TESSERA_CHECK_OK(check_box(*found, place, box));
  const Cells cells = found->cells;
  if (static_cast<std::int64_t>(to.size()) != cells.bytes(box.elements())) {
    return Error{ErrorCode::kOutOfRange,
                 cat(found->facts.name, ": a box of ", box.elements(), " elements takes ",
                     cells.bytes(box.elements()), " bytes, not ", to.size())};
  }
  TESSERA_CHECK_OK(check_written(*found, place, box));
  const std::byte* const shard = memory_of(*found).data() + begin(*found, place);
  std::int64_t packed = 0;
  for_each_run(box, [&](std::int64_t first, std::int64_t slots) {
    const std::int64_t bits = cells.bit(slots);
    copy_bits(to.data(), packed, shard, cells.bit(first), bits);
    packed += bits;
    return true;
  });
  return ok_status();
}

Status EmbeddedDevice::write(BufferId buffer, std::int64_t place, const SlotBox& box,
                             std::span<const std::byte> from) {
  const std::shared_lock lock(mutex_);
  TESSERA_TRY(const EmbeddedBuffer* const found, need(buffer));
  TESSERA_CHECK_OK(check_box(*found, place, box));
  const Cells cells = found->cells;
  if (static_cast<std::int64_t>(from.size()) != cells.bytes(box.elements())) {
    return Error{ErrorCode::kOutOfRange,
                 cat(found->facts.name, ": a box of ", box.elements(), " elements takes ",
                     cells.bytes(box.elements()), " bytes, not ", from.size())};
  }
  std::byte* const shard = memory_of(*found).data() + begin(*found, place);
  std::int64_t packed = 0;
  for_each_run(box, [&](std::int64_t first, std::int64_t slots) {
    const std::int64_t bits = cells.bit(slots);
    copy_bits(shard, cells.bit(first), from.data(), packed, bits);
    packed += bits;
    return true;
  });
  mark(*found, place, box);
  return ok_status();
}

Result<const std::byte*> EmbeddedDevice::input_of(const EmbeddedBuffer& buffer, std::int64_t place,
                                                  const SlotBox& box) const {
  TESSERA_CHECK_OK(check_box(buffer, place, box));
  TESSERA_CHECK_OK(check_written(buffer, place, box));
  return memory_of(buffer).data() + begin(buffer, place);
}

Result<std::byte*> EmbeddedDevice::output_of(const EmbeddedBuffer& buffer, std::int64_t place,
                                             const SlotBox& box) {
  TESSERA_CHECK_OK(check_box(buffer, place, box));
  mark(buffer, place, box);
  return memory_of(buffer).data() + begin(buffer, place);
}

Result<const std::byte*> EmbeddedDevice::input(BufferId buffer, std::int64_t place,
                                               const SlotBox& box) const {
  const std::shared_lock lock(mutex_);
  TESSERA_TRY(const EmbeddedBuffer* const found, need(buffer));
  return input_of(*found, place, box);
}

Result<std::byte*> EmbeddedDevice::output(BufferId buffer, std::int64_t place, const SlotBox& box) {
  const std::shared_lock lock(mutex_);
  TESSERA_TRY(const EmbeddedBuffer* const found, need(buffer));
  return output_of(*found, place, box);
}

/// A buffer while `in_place` has the lock.
class EmbeddedDevice::Pinned final : public PinnedBuffer {
 public:
  Pinned(EmbeddedDevice& device, const EmbeddedBuffer& buffer)
      : device_(device), buffer_(buffer), memory_(device.memory_of(buffer).data()) {}

  std::byte* address(std::int64_t place) const override {
    return memory_ + device_.begin(buffer_, place);
  }
  Result<const std::byte*> input(std::int64_t place, const SlotBox& box) const override {
    return device_.input_of(buffer_, place, box);
  }
  Result<std::byte*> output(std::int64_t place, const SlotBox& box) override {
    return device_.output_of(buffer_, place, box);
  }

 private:
  EmbeddedDevice& device_;
  const EmbeddedBuffer& buffer_;
  std::byte* const memory_;
};

Status EmbeddedDevice::in_place(std::span<const BufferId> buffers, const UseInPlace& use) {
  const std::shared_lock lock(mutex_);
  std::deque<Pinned> pinned;  // they do not move
  std::vector<PinnedBuffer*> list;
  for (const BufferId buffer : buffers) {
    TESSERA_TRY(const EmbeddedBuffer* const found, need(buffer));
    list.push_back(&pinned.emplace_back(*this, *found));
  }
  return use(list);
}

Status EmbeddedDevice::check_call(const EmbeddedBuffer& buffer, const BorderCall& call,
                                  std::size_t data_bytes) const {
  const SlotLoop loop{call.slots, 1};
  const SlotBox box{call.first_slot, {&loop, 1}};
  for (const std::int64_t place : call.places) TESSERA_CHECK_OK(check_box(buffer, place, box));
  const Cells cells = buffer.cells;
  if (call.words ? cells.bits != 16 : cells.bit(call.first_slot) % 8 != 0) {
    return Error{ErrorCode::kNotSupported, cat(buffer.facts.name, ": elements of ", cells.bits,
                                               " bits cannot be sent from slot ", call.first_slot,
                                               call.words ? " in words" : "")};
  }
  const std::int64_t each = call.words ? call.slots * 4 : cells.bytes(call.slots);
  const auto places = static_cast<std::int64_t>(call.places.size());
  if ((Checked(each) * places).saturated() == static_cast<std::int64_t>(data_bytes)) {
    return ok_status();
  }
  return Error{ErrorCode::kOutOfRange, cat(buffer.facts.name, ": ", call.slots, " slots of ",
                                           places, " places are not ", data_bytes, " bytes")};
}

Status EmbeddedDevice::send(BufferId buffer, const BorderCall& call,
                            std::span<const std::byte> data) {
  const std::shared_lock lock(mutex_);
  TESSERA_TRY(const EmbeddedBuffer* const found, need(buffer));
  TESSERA_CHECK_OK(check_call(*found, call, data.size()));
  found->is_lost.store(false, std::memory_order_relaxed);
  const Cells cells = found->cells;
  const std::byte* from = data.data();
  for (const std::int64_t place : call.places) {
    std::byte* const shard = memory_of(*found).data() + begin(*found, place);
    if (call.words) {
      narrow_words(shard + call.first_slot * 2, from, call.slots);
      from += call.slots * 4;
    } else {
      copy_bits(shard, cells.bit(call.first_slot), from, 0, cells.bit(call.slots));
      from += cells.bytes(call.slots);
    }
  }
  return ok_status();
}

Status EmbeddedDevice::receive(BufferId buffer, const BorderCall& call,
                               std::span<std::byte> data) const {
  const std::shared_lock lock(mutex_);
  TESSERA_TRY(const EmbeddedBuffer* const found, need(buffer));
  TESSERA_CHECK_OK(check_call(*found, call, data.size()));
  const Cells cells = found->cells;
  std::byte* to = data.data();
  for (const std::int64_t place : call.places) {
    const std::byte* const shard = memory_of(*found).data() + begin(*found, place);
    if (call.words) {
      widen_words(to, shard + call.first_slot * 2, call.slots);
      to += call.slots * 4;
    } else {
      copy_bits(to, 0, shard, cells.bit(call.first_slot), cells.bit(call.slots));
      to += cells.bytes(call.slots);
    }
  }
  return ok_status();
}

}  // namespace tessera::device
