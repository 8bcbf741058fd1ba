// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <memory>
#include <vector>

#include "tessera/relayout/kernels/kernels.h"
#include "tessera/relayout/kernels/line_writer.h"
#include "tessera/relayout/kernels/permute.h"
#include "tessera/relayout/kernels/permute_lines.h"

namespace tessera::relayout {
namespace {

using Ports = LinePermutation::Ports;

/// k lines, one of each stream, interleaved; `back` is the opposite.
LinePermutation line_permutation(int k, int element_bytes, bool back) {
  const int lines_bytes = 64 * k;
  std::vector<std::uint16_t> source_of(static_cast<std::size_t>(lines_bytes));
  for (int j = 0; j < k; ++j) {
    for (int b = 0; b < 64; ++b) {
      const int element = b / element_bytes;
      const int apart = 64 * j + b;
      const int together = (element * k + j) * element_bytes + b % element_bytes;
      source_of[static_cast<std::size_t>(back ? apart : together)] =
          static_cast<std::uint16_t>(back ? together : apart);
    }
  }
  return LinePermutation(source_of);
}

const LinePermutation& permutation_of(int k, int element_bytes, bool back) {
  static const std::vector<LinePermutation> all = [] {
    std::vector<LinePermutation> list;
    for (const bool direction : {false, true}) {
      for (int streams = 2; streams <= 4; ++streams) {
        for (const int bytes : {1, 2, 4, 8}) {
          list.push_back(line_permutation(streams, bytes, direction));
        }
      }
    }
    return list;
  }();
  const int log = element_bytes == 1 ? 0 : element_bytes == 2 ? 1 : element_bytes == 4 ? 2 : 3;
  const std::int64_t number = (back ? 12 : 0) + std::int64_t{4} * (k - 2) + log;
  return all[static_cast<std::size_t>(number)];
}

template <typename T>
void move_each(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
               std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * to_step, from + i * from_step, sizeof(T));
  }
}

/// k streams and one array, at element `at` of the streams.
struct Meeting {
  int k;
  int element_bytes;
  bool back;  ///< from the array to the streams
  std::array<const std::byte*, 4> from{};
  std::array<std::byte*, 4> to{};

  std::int64_t apart() const { return element_bytes; }
  std::int64_t together() const { return std::int64_t{element_bytes} * k; }

  /// The next n elements of each stream, one by one.
  void move_plainly(std::int64_t n) {
    if (n == 0) return;
    for (int j = 0; j < k; ++j) {
      const std::int64_t inside = std::int64_t{j} * element_bytes;
      const std::byte* source = back ? from[0] + inside : from[j];
      std::byte* destination = back ? to[j] : to[0] + inside;
      const std::int64_t from_step = back ? together() : apart();
      const std::int64_t to_step = back ? apart() : together();
      switch (element_bytes) {
        case 1:
          move_each<std::uint8_t>(source, from_step, destination, to_step, n);
          break;
        case 2:
          move_each<std::uint16_t>(source, from_step, destination, to_step, n);
          break;
        case 4:
          move_each<std::uint32_t>(source, from_step, destination, to_step, n);
          break;
        default:
          move_each<std::uint64_t>(source, from_step, destination, to_step, n);
      }
    }
    advance(n);
  }

  /// Groups of a line of each stream.
  void move_lines(std::int64_t groups, bool streaming) {
    if (groups == 0) return;
    Ports ports;
    ports.from_step = back ? 64 * k : 64;
    ports.to_step = back ? 64 : 64 * k;
    for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
      const auto line = static_cast<std::ptrdiff_t>(64 * j);
      ports.from[j] = back ? from[0] + line : from[j];
      ports.to[j] = back ? to[j] : to[0] + line;
    }
    permutation_of(k, element_bytes, back).run(ports, groups, streaming);
    advance(groups * (64 / element_bytes));
  }

  void advance(std::int64_t n) {
    for (std::size_t j = 0; j < 4; ++j) {
      if (from[j] != nullptr) from[j] += n * (back ? together() : apart());
      if (to[j] != nullptr) to[j] += n * (back ? apart() : together());
    }
  }

  bool aligned_after(std::int64_t n) const {
    const std::int64_t bytes = n * (back ? apart() : together());
    for (const std::byte* address : to) {
      if (address == nullptr) continue;
      const auto number =
          reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(bytes);
      if (number % kLine != 0) return false;
    }
    return true;
  }
};

/// For lines that cannot be aligned by a head: they are assembled in the first-level cache and
/// written as aligned lines of the destination.
void move_through_writers(Meeting meeting, std::int64_t n) {
  constexpr std::int64_t kRoom = 4096;
  constexpr std::int64_t kWhole = kRoom + 4 * kLine;
  alignas(kLine) std::array<std::byte, 4 * kWhole> memory;
  const int outputs = meeting.back ? meeting.k : 1;
  const std::int64_t room = meeting.back ? kRoom / 4 : kRoom;
  std::array<std::unique_ptr<LineWriter>, 4> writers;
  for (int j = 0; j < outputs; ++j) {
    writers[static_cast<std::size_t>(j)] =
        std::make_unique<LineWriter>(memory.data() + j * kWhole, kWhole);
  }
  const std::int64_t step = meeting.back ? meeting.apart() : meeting.together();
  const std::int64_t line_elements = 64 / meeting.element_bytes;
  const std::int64_t at_once = room / step / line_elements * line_elements;
  for (std::int64_t done = 0; done < n; done += at_once) {
    const std::int64_t now = std::min(at_once, n - done);
    Meeting part = meeting;
    for (int j = 0; j < outputs; ++j) {
      const auto o = static_cast<std::size_t>(j);
      part.to[o] = writers[o]->reserve(meeting.to[o], now * step);
    }
    part.move_lines(now / line_elements, false);
    part.move_plainly(now % line_elements);
    meeting.advance(now);
  }
}

void move(Meeting meeting, std::int64_t n, bool streaming) {
  const std::int64_t line_elements = 64 / meeting.element_bytes;
  if (streaming) {
    std::int64_t head = 0;
    while (head < line_elements && !meeting.aligned_after(head)) ++head;
    if (head == line_elements) return move_through_writers(meeting, n);
    meeting.move_plainly(std::min(head, n));
    n -= std::min(head, n);
  }
  meeting.move_lines(n / line_elements, streaming);
  meeting.move_plainly(n % line_elements);
}

}  // namespace

void interleave(const std::byte* const* streams, int k, std::byte* out, std::int64_t n,
                int element_bytes, bool streaming) {
  assert(k >= 2 && k <= 4);
  Meeting meeting{k, element_bytes, false};
  std::copy_n(streams, k, meeting.from.begin());
  meeting.to[0] = out;
  move(meeting, n, streaming);
}

void deinterleave(const std::byte* in, int k, std::byte* const* streams, std::int64_t n,
                  int element_bytes, bool streaming) {
  assert(k >= 2 && k <= 4);
  Meeting meeting{k, element_bytes, true};
  meeting.from[0] = in;
  std::copy_n(streams, k, meeting.to.begin());
  move(meeting, n, streaming);
}

}  // namespace tessera::relayout
