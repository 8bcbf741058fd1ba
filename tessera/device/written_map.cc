// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/written_map.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

namespace tessera::device {
namespace {

/// Bits [from, to) of a byte.
std::uint8_t bits_between(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint8_t>((1U << to) - (1U << from));
}

std::uint8_t* mark_bytes(const Reservation& marks) {
  return reinterpret_cast<std::uint8_t*>(marks.data());
}

/// Calls edge(byte, mask) for the bytes of which only some bits are in [from, to), and
/// whole(first byte, bytes) for those between.
template <typename Edge, typename Whole>
void for_each_byte(std::int64_t from, std::int64_t to, const Edge& edge, const Whole& whole) {
  if (from >= to) return;
  const std::int64_t first = from / 8;
  const std::int64_t last = to / 8;
  if (first == last) {
    edge(first, bits_between(from % 8, to % 8));
    return;
  }
  std::int64_t begin = first;
  if (from % 8 != 0) edge(begin++, bits_between(from % 8, 8));
  if (begin < last) whole(begin, last - begin);
  if (to % 8 != 0) edge(last, bits_between(0, to % 8));
}

}  // namespace

Result<WrittenMap> WrittenMap::make(std::int64_t bytes, bool small_pages) {
  WrittenMap made;
  TESSERA_TRY(made.marks_, Reservation::make(bytes / 2 + 1, small_pages));
  return made;
}

// Bytes that two ranges may share are changed atomically.
void WrittenMap::add(std::int64_t from, std::int64_t to) {
  std::uint8_t* const marks = mark_bytes(marks_);
  for_each_byte(
      from / 2, to / 2,
      [&](std::int64_t byte, std::uint8_t mask) {
        std::atomic_ref(marks[byte]).fetch_or(mask, std::memory_order_relaxed);
      },
      [&](std::int64_t first, std::int64_t bytes) {
        std::memset(marks + first, 0xFF, static_cast<std::size_t>(bytes));
      });
}

void WrittenMap::remove(std::int64_t from, std::int64_t to) {
  std::uint8_t* const marks = mark_bytes(marks_);
  for_each_byte(
      from / 2, to / 2,
      [&](std::int64_t byte, std::uint8_t mask) {
        std::atomic_ref(marks[byte])
            .fetch_and(static_cast<std::uint8_t>(~mask), std::memory_order_relaxed);
      },
      [&](std::int64_t first, std::int64_t bytes) {
        std::memset(marks + first, 0, static_cast<std::size_t>(bytes));
      });
}

std::optional<std::int64_t> WrittenMap::first_missing(std::int64_t from, std::int64_t to) const {
  std::uint8_t* const marks = mark_bytes(marks_);
  std::int64_t found = -1;
  const auto look = [&](std::int64_t byte, unsigned missing) {
    if (missing != 0 && found < 0) found = byte * 8 + std::countr_zero(missing);
  };
  for_each_byte(
      from / 2, to / 2,
      [&](std::int64_t byte, std::uint8_t mask) {
        const std::uint8_t set = std::atomic_ref(marks[byte]).load(std::memory_order_relaxed);
        look(byte, static_cast<unsigned>(mask) & ~static_cast<unsigned>(set));
      },
      [&](std::int64_t first, std::int64_t bytes) {
        if (found >= 0) return;
        const std::uint8_t* const end = marks + first + bytes;
        const std::uint8_t* at = marks + first;
        constexpr std::uint64_t kAll = ~std::uint64_t{0};
        for (std::uint64_t word = kAll; end - at >= 8; at += 8) {
          std::memcpy(&word, at, 8);
          if (word != kAll) break;
        }
        at = std::find_if(at, end, [](std::uint8_t byte) { return byte != 0xFF; });
        if (at != end) look(at - marks, 0xFFU & ~static_cast<unsigned>(*at));
      });
  if (found < 0) return std::nullopt;
  return found * 2;
}

}  // namespace tessera::device
