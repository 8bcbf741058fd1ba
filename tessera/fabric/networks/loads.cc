// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/loads.h"

#include <algorithm>

namespace tessera::fabric {

InnerLoads::InnerLoads(const InnerNetwork& network, std::int64_t devices)
    : network_(network), slots_(network.grid.links()) {
  if (!network.cells.empty()) {
    lines_ = true;
    set_lines(network.grid);
  }
  loads_ = ZeroedArray<std::int64_t>(static_cast<std::size_t>(slots_ * devices));
  is_noted_ = ZeroedArray<std::uint8_t>(loads_.size());
}

void InnerLoads::set_lines(const Grid& grid) {
  const std::size_t axes = grid.axes.size();
  cols_.axis = grid.axes.back();
  cols_.number = static_cast<std::int64_t>(axes) - 1;
  cols_.first = grid.order.front() == axes - 1;
  if (axes == 2) rows_.axis = grid.axes.front();
  rows_.first = !cols_.first;
  for (Lines* const lines : {&cols_, &rows_}) {
    lines->extent = lines->axis.extent;
    lines->count = grid.routers / lines->extent;
  }
  cols_.down = grid.routers;
  rows_.up = 2 * grid.routers;
  rows_.down = 3 * grid.routers;
  slots_ = grid.routers * (rows_.extent == 1 ? 2 : 4);
}

InnerLoads::Steps InnerLoads::add(std::int64_t device, std::int64_t from, std::int64_t to,
                                  std::int64_t bytes) {
  if (!lines_) return add_walked(device, from, to, bytes);
  const Cell a = network_.cells[static_cast<std::size_t>(from)];
  const Cell b = network_.cells[static_cast<std::size_t>(to)];
  const Steps along = add_line(cols_, device, cols_.first ? a.row : b.row, a.col, b.col, bytes);
  if (rows_.extent == 1) return along;
  const Steps more = add_line(rows_, device, cols_.first ? b.col : a.col, a.row, b.row, bytes);
  return {along.there + more.there, along.back + more.back};
}

InnerLoads::Steps InnerLoads::add_walked(std::int64_t device, std::int64_t from, std::int64_t to,
                                         std::int64_t bytes) {
  const Grid& grid = network_.grid;
  Steps steps;
  if (from == to) return steps;
  std::int64_t* const loads = note(device * slots_, slots_);
  steps.back = grid.distance(to, from);
  while (from != to) {
    const GridStep step = grid.step(from, to);
    loads[step.slot] += bytes;
    ++steps.there;
    from = step.next;
  }
  return steps;
}

void InnerLoads::add_pairs(const std::vector<std::int64_t>& bytes) {
  const std::int64_t* entry = bytes.data();
  for (const Lines* const lines : {&cols_, &rows_}) {
    if (lines->extent == 1) {
      entry += lines->count;
      continue;
    }
    for (std::int64_t line = 0; line < lines->count; ++line) {
      for (std::int64_t from = 0; from < lines->extent; ++from) {
        for (std::int64_t to = 0; to < lines->extent; ++to, ++entry) {
          if (*entry != 0 && from != to) add_line(*lines, 0, line, from, to, *entry);
        }
      }
    }
  }
}

void InnerLoads::clear() {
  for (const Noted& noted : noted_) {
    is_noted_[noted.first] = 0;
    std::fill_n(loads_.data() + noted.first, noted.count, 0);
  }
  noted_.clear();
}

InnerLoads::Largest InnerLoads::sum_up() {
  Largest largest;
  std::size_t busiest = 0;
  for (const Noted& noted : noted_) {
    std::int64_t* const line = loads_.data() + noted.first;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < noted.count; ++i) {
      sum = lines_ ? sum + line[i] : line[i];
      line[i] = sum;
      const bool more = sum > largest.bytes || (sum == largest.bytes && noted.first + i < busiest);
      if (!more) continue;
      largest.bytes = sum;
      busiest = noted.first + i;
    }
  }
  if (largest.bytes > 0) largest.link = link_at(busiest);
  return largest;
}

std::int64_t InnerLoads::link_at(std::size_t at) const {
  const std::int64_t device = static_cast<std::int64_t>(at) / slots_;
  const std::int64_t slot = static_cast<std::int64_t>(at) % slots_;
  const std::int64_t first = network_.first_link + device * network_.grid.links();
  if (!lines_) return first + slot;
  const bool along_rows = slot >= rows_.up;
  const Lines& lines = along_rows ? rows_ : cols_;
  const bool up = slot < lines.down;
  const std::int64_t position = slot - (up ? lines.up : lines.down);
  const std::int64_t line = position / lines.extent;
  // The link down from i + 1 to i is at i of its line.
  const std::int64_t coordinate = (position + (up ? 0 : 1)) % lines.extent;
  const std::int64_t router =
      along_rows ? coordinate * cols_.extent + line : line * cols_.extent + coordinate;
  const auto axes = static_cast<std::int64_t>(network_.grid.axes.size());
  return first + (router * axes + lines.number) * 2 + (up ? 0 : 1);
}

}  // namespace tessera::fabric
