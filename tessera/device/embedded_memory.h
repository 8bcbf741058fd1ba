// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/device/device.h"
#include "tessera/device/reservation.h"
#include "tessera/device/written_map.h"
#include "tessera/target/machine.h"

namespace tessera::device {

/// One memory of a machine, all parts: [part][byte], `stride` bytes apart.
class EmbeddedMemory {
 public:
  /// `planned`: the bytes of each part that are used; below zero for the whole budget.
  /// Errors: kDoesNotFit for more than the data budget.
  static Result<EmbeddedMemory> make(const Machine& machine, std::size_t space,
                                     std::int64_t planned, std::int64_t unpublished_bytes,
                                     bool checked);

  /// Reserves its address space, if that has not happened yet.
  Status reserve();

  bool is_per_place() const { return owner_ == target::MemorySpace::Owner::kPlace; }
  std::int64_t first_part() const { return first_part_; }
  std::int64_t parts() const { return parts_; }
  std::int64_t align_bytes() const { return align_bytes_; }
  /// Bytes of each part that buffers may have.
  std::int64_t part_bytes() const { return part_bytes_; }
  /// The first byte of a part, counted from data().
  std::int64_t begin(std::int64_t part) const { return (part - first_part_) * stride_; }
  std::byte* data() const { return memory_.data(); }

  WrittenMap& written() { return written_; }
  const WrittenMap& written() const { return written_; }
  std::int64_t resident_bytes() const;

  /// "place [0, 1]", "bank 3 of dram", "hbm".
  std::string name_of(const Machine& machine, std::int64_t part) const;
  /// The coordinates of a place; the number of a bank; nothing for a shared memory.
  Place coordinates(const Machine& machine, std::int64_t part) const;
  std::string_view space_name() const { return name_; }
  /// Why no more than part_bytes() can be used, for errors.
  std::string_view limited_by() const { return planned_ ? "planned" : "for data"; }

 private:
  std::string name_;
  target::MemorySpace::Owner owner_ = target::MemorySpace::Owner::kPlace;
  std::int64_t first_part_ = 0;
  std::int64_t parts_ = 0;
  std::int64_t align_bytes_ = 1;
  std::int64_t part_bytes_ = 0;
  std::int64_t stride_ = 0;
  bool planned_ = false;
  bool checked_ = false;
  Reservation memory_;
  WrittenMap written_;
};

}  // namespace tessera::device
