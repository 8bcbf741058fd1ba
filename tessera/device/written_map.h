// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/result.h"
#include "tessera/device/reservation.h"

namespace tessera::device {

/// Which bits of a memory were written, in pairs: the smallest elements have two bits. Takes half
/// as much memory as what was written.
///
/// Positions are in bits, and even. Threads may call `add` and `first_missing` for ranges that do
/// not overlap, also where they share a byte.
/// Example: add(0, 32) for the first f32; first_missing(0, 64) is then 32.
class WrittenMap {
 public:
  WrittenMap() = default;
  /// For a memory of so many bytes; nothing of it was written.
  static Result<WrittenMap> make(std::int64_t bytes, bool small_pages);

  void add(std::int64_t from, std::int64_t to);
  void remove(std::int64_t from, std::int64_t to);
  /// The first position in [from, to) that was not written.
  std::optional<std::int64_t> first_missing(std::int64_t from, std::int64_t to) const;

  std::int64_t resident_bytes() const { return marks_.resident_bytes(); }

 private:
  Reservation marks_;  // a bit for each pair of bits
};

}  // namespace tessera::device
