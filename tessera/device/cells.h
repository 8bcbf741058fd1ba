// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "tessera/base/dtype.h"
#include "tessera/device/device.h"
#include "tessera/layout/layout.h"

namespace tessera::device {

/// The smallest pieces of memory that have an address of their own: elements of so many bits or, of
/// block floats, tiles.
struct Cells {
  std::int64_t slots = 1;  ///< in a cell
  std::int64_t bits = 8;   ///< of a cell; at least 2
  static Cells of(const Atom& atom) {
    if (const auto bits = dtype_bits(atom.storage)) return {1, *bits};
    return {1024, 8 * tile_bytes_32x32(atom.storage)};
  }
  /// The bit at which the cell of a slot begins.
  std::int64_t bit(std::int64_t slot) const { return slot / slots * bits; }
  /// Bytes of so many slots, rounded up.
  std::int64_t bytes(std::int64_t n) const { return ((n + slots - 1) / slots * bits + 7) / 8; }
  bool are_bytes() const { return bits % 8 == 0; }
};

/// Copies bits between positions counted from the lowest bit of the first byte.
inline void copy_bits(std::byte* to, std::int64_t to_bit, const std::byte* from,
                      std::int64_t from_bit, std::int64_t bits) {
  if (to_bit % 8 == 0 && from_bit % 8 == 0) {
    std::memcpy(to + to_bit / 8, from + from_bit / 8, static_cast<std::size_t>(bits / 8));
    const std::int64_t whole = bits / 8 * 8;
    to_bit += whole;
    from_bit += whole;
    bits -= whole;
  }
  for (std::int64_t i = 0; i < bits; ++i) {
    const std::int64_t at = to_bit + i;
    const auto mask = static_cast<std::byte>(1U << (at % 8));
    const bool set =
        (std::to_integer<unsigned>(from[(from_bit + i) / 8]) >> ((from_bit + i) % 8) & 1U) != 0;
    to[at / 8] = set ? to[at / 8] | mask : to[at / 8] & ~mask;
  }
}

/// Calls visit(first slot, slots) for the contiguous runs of a box, in the order of its loops,
/// until it returns false. Returns whether it never did.
template <typename Visit>
bool for_each_run(const SlotBox& box, const Visit& visit) {
  std::int64_t run = 1;
  std::size_t outer = box.loops.size();
  for (; outer > 0; --outer) {
    const SlotLoop& loop = box.loops[outer - 1];
    if (loop.extent != 1 && loop.stride != run) break;
    run *= loop.extent;
  }
  if (run == 0) return true;
  const auto walk = [&](const auto& self, std::size_t at, std::int64_t first) -> bool {
    if (at == outer) return visit(first, run);
    const SlotLoop& loop = box.loops[at];
    for (std::int64_t i = 0; i < loop.extent; ++i) {
      if (!self(self, at + 1, first + i * loop.stride)) return false;
    }
    return true;
  };
  return walk(walk, 0, box.first);
}

/// The lowest and the highest slot of a box that is not empty, or nothing when they overflow.
inline bool reach_of(const SlotBox& box, std::int64_t& low, std::int64_t& high) {
  low = high = box.first;
  for (const SlotLoop& loop : box.loops) {
    std::int64_t far = 0;
    if (__builtin_mul_overflow(loop.extent - 1, loop.stride, &far)) return false;
    std::int64_t& end = far < 0 ? low : high;
    if (__builtin_add_overflow(end, far, &end)) return false;
  }
  return true;
}

}  // namespace tessera::device
