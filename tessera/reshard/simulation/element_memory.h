// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tessera/reshard/transfers.h"

/// Elements of 2 to 64 bits in the memory of places, read and written one by one.
namespace tessera::reshard {

/// Elements of `bits` bits are stored one after the other, the first in the lowest bits.
inline std::uint64_t load(const std::byte* memory, std::int64_t element, std::int64_t bits) {
  std::uint64_t value = 0;
  if (bits >= 8) {
    std::memcpy(&value, memory + element * (bits / 8), static_cast<std::size_t>(bits / 8));
    return value;
  }
  const std::int64_t first = element * bits;
  return std::to_integer<std::uint64_t>(memory[first / 8]) >> (first % 8) &
         ((std::uint64_t{1} << bits) - 1);
}
inline void store(std::byte* memory, std::int64_t element, std::int64_t bits, std::uint64_t value) {
  if (bits >= 8) {
    std::memcpy(memory + element * (bits / 8), &value, static_cast<std::size_t>(bits / 8));
    return;
  }
  const std::int64_t first = element * bits;
  const auto mask = static_cast<std::uint64_t>((std::uint64_t{1} << bits) - 1) << (first % 8);
  std::byte& byte = memory[first / 8];
  const std::uint64_t kept = std::to_integer<std::uint64_t>(byte) & ~mask;
  byte = static_cast<std::byte>(kept | (value << (first % 8) & mask));
}

/// Calls visit(source slot, destination slot) along the loops of a box, the last one fastest.
template <typename Visit>
void for_each_slot(std::int64_t source, std::int64_t destination, std::span<const BoxLoop> loops,
                   const Visit& visit) {
  if (loops.empty()) {
    visit(source, destination);
    return;
  }
  const BoxLoop& loop = loops.front();
  for (std::int64_t i = 0; i < loop.extent; ++i) {
    for_each_slot(source + i * loop.source_stride, destination + i * loop.destination_stride,
                  loops.subspan(1), visit);
  }
}

/// The memories of both sides, by virtual place.
struct Memories {
  std::span<const std::byte> from;
  std::vector<std::byte> to;
  std::int64_t from_bytes = 0;  // per place
  std::int64_t to_bytes = 0;
  std::int64_t bits = 0;

  const std::byte* source(std::int64_t place) const { return from.data() + place * from_bytes; }
  std::byte* destination(std::int64_t place) { return to.data() + place * to_bytes; }
};

}  // namespace tessera::reshard
