// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/embedded.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/moves/stored.h"

namespace tessera::device {
namespace {

constexpr int kPoison = 0xFF;

}  // namespace

Result<const EmbeddedBuffer*> EmbeddedDevice::need(BufferId buffer) const {
  const EmbeddedBuffer* found = get(buffer);
  if (found != nullptr) return found;
  const auto id = static_cast<std::size_t>(buffer);
  const bool released = id < buffers_.size();
  return Error{ErrorCode::kBadBuffer,
               cat("buffer ", id, released ? " was released" : " does not exist"), std::nullopt,
               released ? "use buffers before they are released" : "add it first"};
}

/// An error about one slot of one place. `what` ends the sentence "x: slot 3 of place [0, 1] ..".
/// Fills the memory of a buffer; what was never used has no marks that must go.
void EmbeddedDevice::poison(const EmbeddedBuffer& buffer, bool was_used) {
  if (!checked_) return;
  EmbeddedMemory& memory = memories_[buffer.facts.space];
  buffer.for_each_place([&](std::int64_t place) {
    const std::int64_t from = begin(buffer, place);
    std::memset(memory.data() + from, kPoison, static_cast<std::size_t>(buffer.layer_bytes));
    if (was_used) memory.written().remove(8 * from, 8 * (from + buffer.layer_bytes));
  });
}

Status EmbeddedDevice::check_offset(const EmbeddedBuffer& buffer, std::int64_t part) const {
  const EmbeddedMemory& memory = memory_of(buffer);
  const std::int64_t offset = buffer.offset_on(part);
  if (offset < 0 || offset % memory.align_bytes() != 0) {
    return Error{ErrorCode::kBadAlignment,
                 cat(buffer.facts.name, ": offset ", offset, " is not a multiple of ",
                     memory.align_bytes(), ", the alignment of ", memory.space_name()),
                 std::nullopt, "plan with the alignment of the memory"};
  }
  const std::int64_t end = (Checked(offset) + buffer.part_bytes()).saturated();
  if (end <= memory.part_bytes()) return ok_status();
  Error error{ErrorCode::kDoesNotFit,
              cat(buffer.facts.name, " at byte ", offset, " takes ", buffer.part_bytes(),
                  " bytes of ", memory.name_of(machine_, part), ", ", end - memory.part_bytes(),
                  " more than the ", memory.part_bytes(), " bytes ", memory.limited_by()),
              std::nullopt, "choose a layout with smaller shards, or a lower offset"};
  error.reasons = {{"past_memory",
                    {{"tensor", buffer.facts.name},
                     {"place", memory.coordinates(machine_, part)},
                     {"offset", offset},
                     {"bytes", buffer.part_bytes()},
                     {"capacity", memory.part_bytes()}}}};
  return error;
}

Status EmbeddedDevice::check_offsets(const EmbeddedBuffer& buffer) const {
  if (buffer.places.count() == 0) return ok_status();
  const Offsets& offsets = buffer.offsets;
  if (offsets.by_class.empty()) return check_offset(buffer, buffer.places.part(0));
  const auto& memory = machine_.memory[buffer.facts.space];
  const bool matches = memory.owner == target::MemorySpace::Owner::kPlace &&
                       offsets.class_of != nullptr &&
                       static_cast<std::int64_t>(offsets.class_of->size()) == machine_.places() &&
                       std::all_of(offsets.class_of->begin(), offsets.class_of->end(),
                                   [&](std::uint32_t c) { return c < offsets.by_class.size(); });
  if (!matches) {
    return Error{ErrorCode::kOutOfRange,
                 cat(buffer.facts.name, ": offsets by class take a class for each of the ",
                     machine_.places(), " places, and a memory per place")};
  }
  Status status = ok_status();
  buffer.for_each_place([&](std::int64_t place) {
    if (status) status = check_offset(buffer, buffer.places.part(place));
  });
  return status;
}

/// Whether two buffers of one memory have a byte in common.
bool EmbeddedDevice::share_memory(const EmbeddedBuffer& a, const EmbeddedBuffer& b) const {
  const bool fixed = a.offsets.by_class.empty() && b.offsets.by_class.empty();
  const auto meet = [&](std::int64_t from_a, std::int64_t from_b) {
    return from_a < from_b + b.part_bytes() && from_b < from_a + a.part_bytes();
  };
  if (fixed && !meet(a.offsets.same, b.offsets.same)) return false;
  if (a.facts.places && b.facts.places) {
    const std::optional<Box> both = tessera::meet(*a.facts.places, *b.facts.places);
    if (fixed || !both) return both.has_value();
  }
  std::vector<bool> has_a(static_cast<std::size_t>(memory_of(a).parts()));
  const std::int64_t first = memory_of(a).first_part();
  a.for_each_place([&](std::int64_t place) {
    has_a[static_cast<std::size_t>(a.places.part(place) - first)] = true;
  });
  bool shares = false;
  b.for_each_place([&](std::int64_t place) {
    const std::int64_t part = b.places.part(place);
    shares = shares || (has_a[static_cast<std::size_t>(part - first)] &&
                        meet(a.offset_on(part), b.offset_on(part)));
  });
  return shares;
}

/// The places that have the buffer: those that are given or, where coordinates are those of the
/// machine, all of the mesh. Nothing where they cannot be told by coordinates.
Result<std::optional<Box>> EmbeddedDevice::places_of(const BufferSpec& spec, const Shape& mesh,
                                                     const EmbeddedMemory& memory) const {
  const Layout* const layout = spec.placement.layout();
  const bool is_by_coordinates = layout != nullptr && memory.is_per_place() &&
                                 layout->mesh() == mesh &&
                                 layout->spec().device_map.kind() == DeviceMap::Kind::kIdentity &&
                                 mesh.rank() == machine_.shape().rank();
  if (!spec.places) return is_by_coordinates ? std::optional(Box::whole(mesh)) : std::nullopt;
  if (!is_by_coordinates) {
    return Error{
        ErrorCode::kNotSupported,
        cat(spec.name, ": only places by coordinates, in a memory per place, can be chosen")};
  }
  const Box& box = *spec.places;
  const std::size_t rank = mesh.rank();
  bool is_inside = box.from.size() == rank && box.to.size() == rank;
  for (std::size_t axis = 0; axis < rank && is_inside; ++axis) {
    is_inside = 0 <= box.from[axis] && box.from[axis] <= box.to[axis] && box.to[axis] <= mesh[axis];
  }
  if (is_inside) return spec.places;
  return Error{ErrorCode::kOutOfRange,
               cat(spec.name, ": its places are not on its mesh of ", bracketed(mesh.extents()))};
}

Status EmbeddedDevice::check_overlap(const EmbeddedBuffer& buffer) const {
  if (buffer.part_bytes() == 0) return ok_status();
  for (const auto& other : buffers_) {
    if (other == nullptr || other->facts.space != buffer.facts.space) continue;
    if (other->family == buffer.family || other->part_bytes() == 0) continue;
    if (!share_memory(*other, buffer)) continue;
    return Error{ErrorCode::kBadBuffer,
                 cat(buffer.facts.name, " would share bytes with ", other->facts.name,
                     ", which is still in use"),
                 std::nullopt, "release it first, or make one the alias of the other"};
  }
  return ok_status();
}

Result<BufferId> EmbeddedDevice::add(BufferSpec spec) {
  const moves::Stored stored{spec.placement, spec.space};
  TESSERA_TRY(const std::size_t space, moves::memory_of(stored, machine_));
  TESSERA_TRY(Placement on_parts, moves::on_endpoints(stored, machine_));
  TESSERA_TRY(BufferPlaces places, BufferPlaces::make(on_parts, parts_));
  TESSERA_TRY(std::optional<Box> held, places_of(spec, on_parts.mesh(), memories_[space]));
  const std::unique_lock lock(mutex_);
  auto made = std::make_shared<EmbeddedBuffer>(
      BufferFacts{.name = std::move(spec.name), .placement = spec.placement, .on_parts = on_parts},
      std::move(places));
  if (on_parts.mesh() != spec.placement.mesh()) made->facts.placement = on_parts;
  made->facts.space = space;
  made->facts.places = std::move(held);
  made->facts.shard_bytes = on_parts.shard_bytes();
  made->offsets = std::move(spec.offsets);
  made->cells = Cells::of(on_parts.atom());
  made->slots = on_parts.slots();
  const std::int64_t align = memories_[space].align_bytes();
  TESSERA_TRY(
      made->layer_bytes,
      (Checked(ceil_div(on_parts.shard_bytes(), align)) * align).value("the bytes of a shard"));
  TESSERA_TRY(made->facts.allocated_bytes,
              (Checked(made->layer_bytes) *
               (made->facts.places ? made->facts.places->elements() : made->places.count()))
                  .value("the bytes of a buffer"));
  TESSERA_CHECK_OK((Checked(made->layer_bytes) * made->places.layers()).value("stacked bytes"));
  made->family = static_cast<std::uint32_t>(buffers_.size());
  if (spec.alias) {
    TESSERA_TRY(const EmbeddedBuffer* const of, need(*spec.alias));
    made->family = of->family;
  }
  TESSERA_CHECK_OK(check_offsets(*made));
  TESSERA_CHECK_OK(check_overlap(*made));
  TESSERA_CHECK_OK(memories_[space].reserve());
  if (made->offsets.by_class.empty()) {
    peak_bytes_ = std::max(peak_bytes_, made->offsets.same + made->part_bytes());
  } else {
    made->for_each_place([&](std::int64_t place) {
      const std::int64_t end = made->offset_on(made->places.part(place)) + made->part_bytes();
      peak_bytes_ = std::max(peak_bytes_, end);
    });
  }
  if (!spec.alias) poison(*made, false);
  buffers_.push_back(std::move(made));
  return static_cast<BufferId>(buffers_.size() - 1);
}

Status EmbeddedDevice::release(BufferId buffer) {
  const std::unique_lock lock(mutex_);
  TESSERA_TRY(const EmbeddedBuffer* const found, need(buffer));
  const std::uint32_t family = found->family;
  buffers_[static_cast<std::size_t>(buffer)]->is_live = false;
  const auto in_family = [&](const std::shared_ptr<EmbeddedBuffer>& other) {
    return other != nullptr && other->family == family;
  };
  for (const auto& other : buffers_) {
    if (in_family(other) && other->is_live) return ok_status();
  }
  for (auto& other : buffers_) {
    if (!in_family(other)) continue;
    poison(*other, true);
    other.reset();
  }
  return ok_status();
}

Status EmbeddedDevice::forget(BufferId buffer) {
  const std::unique_lock lock(mutex_);
  TESSERA_TRY(const EmbeddedBuffer* const found, need(buffer));
  for (const auto& other : buffers_) {
    if (other != nullptr && other->family == found->family) other->is_lost = true;
  }
  poison(*found, true);
  return ok_status();
}

MemoryUse EmbeddedDevice::use() const {
  const std::shared_lock lock(mutex_);
  MemoryUse use;
  for (const auto& buffer : buffers_) {
    if (buffer == nullptr || !buffer->is_live) continue;
    ++use.buffers;
    use.allocated_bytes += buffer->facts.allocated_bytes;
  }
  use.peak_bytes = peak_bytes_;
  for (const EmbeddedMemory& memory : memories_) use.resident_bytes += memory.resident_bytes();
  return use;
}

Result<std::unique_ptr<Device>> make_embedded(const Machine& machine,
                                              const DeviceOptions& options) {
  TESSERA_CHECK_OK(machine.check());
  std::vector<std::int64_t> planned(machine.memory.size(), -1);
  for (const PlannedSpace& space : options.planned) {
    const target::MemorySpace* const found = machine.find_space(space.space);
    if (found == nullptr || space.bytes < 0) {
      return Error{
          found == nullptr ? ErrorCode::kUnknownName : ErrorCode::kOutOfRange,
          cat(machine.name, " cannot plan ", space.bytes, " bytes of a memory ", space.space)};
    }
    planned[static_cast<std::size_t>(found - machine.memory.data())] = space.bytes;
  }
  std::vector<EmbeddedMemory> memories;
  for (std::size_t i = 0; i < machine.memory.size(); ++i) {
    TESSERA_TRY(
        EmbeddedMemory memory,
        EmbeddedMemory::make(machine, i, planned[i], options.unpublished_bytes, options.checked));
    memories.push_back(std::move(memory));
  }
  TESSERA_TRY(reshard::PhysicalMesh parts, parts_of(machine));
  return std::unique_ptr<Device>(std::make_unique<EmbeddedDevice>(
      machine, options.checked, std::move(parts), std::move(memories)));
}

}  // namespace tessera::device
