// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/device/buffer_places.h"
#include "tessera/device/cells.h"
#include "tessera/device/device.h"
#include "tessera/device/embedded_memory.h"
#include "tessera/reshard/reshard.h"

namespace tessera::device {

/// A buffer of an embedded device, live or kept until its last alias is released.
struct EmbeddedBuffer {
  explicit EmbeddedBuffer(BufferFacts known, BufferPlaces where)
      : facts(std::move(known)), places(std::move(where)) {}
  BufferFacts facts;
  BufferPlaces places;
  Offsets offsets;
  Cells cells;
  std::int64_t slots = 0;
  std::int64_t layer_bytes = 0;  // shard_bytes, rounded up to the alignment
  std::uint32_t family = 0;      // of aliases: the first of them
  bool is_live = true;
  mutable std::atomic<bool> is_lost = false;

  std::int64_t part_bytes() const { return layer_bytes * places.layers(); }
  /// Whether a place has memory for it.
  bool has(std::int64_t place) const {
    if (!facts.places) return true;
    const Shape& mesh = places.mesh();
    for (std::size_t axis = mesh.rank(); axis-- > 0; place /= mesh[axis]) {
      const std::int64_t at = place % mesh[axis];
      if (at < facts.places->from[axis] || at >= facts.places->to[axis]) return false;
    }
    return true;
  }
  /// Calls `visit` with every place that has memory for it, in order.
  template <typename Visit>
  void for_each_place(const Visit& visit) const {
    if (!facts.places) {
      for (std::int64_t place = 0; place < places.count(); ++place) visit(place);
      return;
    }
    const Box& box = *facts.places;
    Place place = box.from;
    for (std::size_t axis = 0; axis < box.from.size(); ++axis) {
      if (box.from[axis] >= box.to[axis]) return;
    }
    while (true) {
      visit(places.mesh().linear(place));
      std::size_t axis = place.size();
      while (axis > 0 && ++place[axis - 1] == box.to[axis - 1]) {
        --axis;
        place[axis] = box.from[axis];
      }
      if (axis == 0) return;
    }
  }
  std::int64_t offset_on(std::int64_t part) const {
    if (offsets.by_class.empty()) return offsets.same;
    return offsets.by_class[(*offsets.class_of)[static_cast<std::size_t>(part)]];
  }
};

/// See device.h.
class EmbeddedDevice final : public Device {
 public:
  EmbeddedDevice(Machine machine, bool checked, reshard::PhysicalMesh parts,
                 std::vector<EmbeddedMemory> memories)
      : machine_(std::move(machine)),
        checked_(checked),
        parts_(std::move(parts)),
        memories_(std::move(memories)) {}

  const Machine& machine() const override { return machine_; }
  bool checked() const override { return checked_; }
  Result<BufferId> add(BufferSpec spec) override;
  Status release(BufferId buffer) override;
  std::shared_ptr<const BufferFacts> find(BufferId buffer) const override {
    const std::shared_lock lock(mutex_);
    const EmbeddedBuffer* found = get(buffer);
    if (found == nullptr) return nullptr;
    return {buffers_[static_cast<std::size_t>(buffer)], &found->facts};
  }
  Status read(BufferId buffer, std::int64_t place, const SlotBox& box,
              std::span<std::byte> to) const override;
  Status write(BufferId buffer, std::int64_t place, const SlotBox& box,
               std::span<const std::byte> from) override;
  Result<const std::byte*> input(BufferId buffer, std::int64_t place,
                                 const SlotBox& box) const override;
  Result<std::byte*> output(BufferId buffer, std::int64_t place, const SlotBox& box) override;
  bool is_addressable() const override { return true; }
  Status in_place(std::span<const BufferId> buffers, const UseInPlace& use) override;
  Status send(BufferId buffer, const BorderCall& call, std::span<const std::byte> data) override;
  Status receive(BufferId buffer, const BorderCall& call, std::span<std::byte> data) const override;
  Status forget(BufferId buffer) override;
  MemoryUse use() const override;

 private:
  class Pinned;
  // All of these require the lock.
  const EmbeddedBuffer* get(BufferId buffer) const {
    const auto at = static_cast<std::size_t>(buffer);
    return at < buffers_.size() && buffers_[at] != nullptr && buffers_[at]->is_live
               ? buffers_[at].get()
               : nullptr;
  }
  Result<const EmbeddedBuffer*> need(BufferId buffer) const;
  const EmbeddedMemory& memory_of(const EmbeddedBuffer& buffer) const {
    return memories_[buffer.facts.space];
  }
  /// The byte of the memory at which a place of a buffer begins.
  std::int64_t begin(const EmbeddedBuffer& buffer, std::int64_t place) const {
    const std::int64_t part = buffer.places.part(place);
    return memory_of(buffer).begin(part) + buffer.offset_on(part) +
           buffer.places.layer(place) * buffer.layer_bytes;
  }
  Result<std::optional<Box>> places_of(const BufferSpec& spec, const Shape& mesh,
                                       const EmbeddedMemory& memory) const;
  Result<const std::byte*> input_of(const EmbeddedBuffer& buffer, std::int64_t place,
                                    const SlotBox& box) const;
  Result<std::byte*> output_of(const EmbeddedBuffer& buffer, std::int64_t place,
                               const SlotBox& box);
  Status check_offsets(const EmbeddedBuffer& buffer) const;
  Status check_offset(const EmbeddedBuffer& buffer, std::int64_t part) const;
  Status check_overlap(const EmbeddedBuffer& buffer) const;
  bool share_memory(const EmbeddedBuffer& a, const EmbeddedBuffer& b) const;
  Status check_box(const EmbeddedBuffer& buffer, std::int64_t place, const SlotBox& box) const;
  Status check_written(const EmbeddedBuffer& buffer, std::int64_t place, const SlotBox& box) const;
  Status check_call(const EmbeddedBuffer& buffer, const BorderCall& call,
                    std::size_t data_bytes) const;
  void mark(const EmbeddedBuffer& buffer, std::int64_t place, const SlotBox& box);
  void poison(const EmbeddedBuffer& buffer, bool was_used);
  Error outside(const EmbeddedBuffer& buffer, std::int64_t place, std::int64_t slot,
                std::string_view reason, std::string_view what) const;

  const Machine machine_;
  const bool checked_;
  const reshard::PhysicalMesh parts_;
  std::vector<EmbeddedMemory> memories_;
  // Shared by all that read or write buffers, exclusive for what adds or frees them.
  mutable std::shared_mutex mutex_;
  std::vector<std::shared_ptr<EmbeddedBuffer>> buffers_;  // by id; null when the memory is free
  std::int64_t peak_bytes_ = 0;
};

}  // namespace tessera::device
