// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/loads.h"

namespace tessera::fabric {

InnerLoads::InnerLoads(const InnerNetwork& network, std::int64_t devices)
    : network_(network), loads_(static_cast<std::size_t>(devices)) {
  slots_ = static_cast<std::size_t>(network.grid.links());
  if (network.cells.empty()) return;
  lines_ = true;
  set_lines(network.grid);
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
  slots_ = static_cast<std::size_t>(grid.routers) * (rows_.extent == 1 ? 2 : 4);
}

InnerLoads::Steps InnerLoads::add(std::int64_t device, std::int64_t from, std::int64_t to,
                                  std::int64_t bytes) {
  if (!lines_) return add_walked(device, from, to, bytes);
  const Cell a = network_.cells[static_cast<std::size_t>(from)];
  const Cell b = network_.cells[static_cast<std::size_t>(to)];
  std::int64_t* const loads = of_device(device);
  const Steps along = add_line(cols_, loads, cols_.first ? a.row : b.row, a.col, b.col, bytes);
  if (rows_.extent == 1) return along;
  const Steps more = add_line(rows_, loads, cols_.first ? b.col : a.col, a.row, b.row, bytes);
  return {along.there + more.there, along.back + more.back};
}

InnerLoads::Steps InnerLoads::add_walked(std::int64_t device, std::int64_t from, std::int64_t to,
                                         std::int64_t bytes) {
  const Grid& grid = network_.grid;
  std::int64_t* const loads = of_device(device);
  Steps steps;
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
  std::int64_t* const loads = of_device(0);
  const std::int64_t* entry = bytes.data();
  for (const Lines* const lines : {&cols_, &rows_}) {
    if (lines->extent == 1) {
      entry += lines->count;
      continue;
    }
    for (std::int64_t line = 0; line < lines->count; ++line) {
      for (std::int64_t from = 0; from < lines->extent; ++from) {
        for (std::int64_t to = 0; to < lines->extent; ++to, ++entry) {
          if (*entry != 0 && from != to) add_line(*lines, loads, line, from, to, *entry);
        }
      }
    }
  }
}

void InnerLoads::sum_lines(const Lines& lines, std::int64_t* loads) const {
  for (const std::int64_t first : {lines.up, lines.down}) {
    std::int64_t* line = loads + first;
    for (std::int64_t l = 0; l < lines.count; ++l, line += lines.extent) {
      for (std::int64_t i = 1; i < lines.extent; ++i) line[i] += line[i - 1];
    }
  }
}

InnerLoads::Largest InnerLoads::sum_up() {
  Largest largest;
  std::size_t busiest_device = 0;
  std::size_t busiest = 0;
  for (std::size_t device = 0; device < loads_.size(); ++device) {
    if (loads_[device].empty()) continue;
    std::int64_t* const loads = loads_[device].data();
    for (const Lines* const lines : {&cols_, &rows_}) {
      if (lines_ && lines->extent > 1) sum_lines(*lines, loads);
    }
    for (std::size_t at = 0; at < slots_; ++at) {
      if (loads[at] <= largest.bytes) continue;
      largest.bytes = loads[at];
      busiest_device = device;
      busiest = at;
    }
  }
  if (largest.bytes > 0) {
    largest.link = link_at(static_cast<std::int64_t>(busiest_device), busiest);
  }
  return largest;
}

std::int64_t InnerLoads::link_at(std::int64_t device, std::size_t at) const {
  const std::int64_t first = network_.first_link + device * network_.grid.links();
  const auto slot = static_cast<std::int64_t>(at);
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
