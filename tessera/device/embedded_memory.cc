// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/embedded_memory.h"

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/moves/stored.h"

namespace tessera::device {
namespace {

using Owner = target::MemorySpace::Owner;

/// Parts begin on cache lines, so that no two of them share a byte of the written map.
constexpr std::int64_t kPartAlignment = 64;
/// Parts of at least this size may use large pages.
constexpr std::int64_t kLargeParts = std::int64_t{4} << 20;

}  // namespace

Result<EmbeddedMemory> EmbeddedMemory::make(const Machine& machine, std::size_t space,
                                            std::int64_t planned, std::int64_t unpublished_bytes,
                                            bool checked) {
  const target::MemorySpace& memory = machine.memory[space];
  EmbeddedMemory made;
  made.name_ = memory.name;
  made.owner_ = memory.owner;
  made.first_part_ = moves::EndpointNumbers(machine).first(space);
  made.parts_ = memory.owner == Owner::kPlace  ? machine.places()
                : memory.owner == Owner::kBank ? *memory.banks * machine.devices()
                                               : 1;
  made.align_bytes_ = memory.align_bytes;
  const std::int64_t budget = memory.data_bytes().value_or(unpublished_bytes);
  if (planned > budget) {
    return Error{ErrorCode::kDoesNotFit,
                 cat("a plan of ", planned, " bytes does not fit ", memory.name, ", which has ",
                     budget, " for data"),
                 std::nullopt, "plan within the data budget"};
  }
  made.planned_ = planned >= 0;
  made.part_bytes_ = made.planned_ ? planned : budget;
  made.stride_ = ceil_div(made.part_bytes_, kPartAlignment) * kPartAlignment;
  made.checked_ = checked;
  return made;
}

Status EmbeddedMemory::reserve() {
  if (memory_.data() != nullptr) return ok_status();
  TESSERA_TRY(const std::int64_t bytes, (Checked(stride_) * parts_).value("a memory's bytes"));
  const bool small_pages = stride_ < kLargeParts;
  WrittenMap written;
  if (checked_) {
    TESSERA_TRY(written, WrittenMap::make(bytes, small_pages));
  }
  TESSERA_TRY(memory_, Reservation::make(bytes, small_pages));
  written_ = std::move(written);
  return ok_status();
}

std::int64_t EmbeddedMemory::resident_bytes() const {
  return memory_.resident_bytes() + written_.resident_bytes();
}

Place EmbeddedMemory::coordinates(const Machine& machine, std::int64_t part) const {
  if (owner_ == Owner::kPlace) return machine.shape().delinear(part);
  if (owner_ == Owner::kBank) return {part - first_part_};
  return {};
}

std::string EmbeddedMemory::name_of(const Machine& machine, std::int64_t part) const {
  if (owner_ == Owner::kPlace) return cat("place ", bracketed(coordinates(machine, part)));
  if (owner_ == Owner::kBank) return cat("bank ", part - first_part_, " of ", name_);
  return name_;
}

}  // namespace tessera::device
