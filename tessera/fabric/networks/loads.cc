// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/loads.h"

namespace tessera::fabric {

LinkLines::LinkLines(const InnerNetwork& own) : network(own), slots(own.grid.links()) {
  if (own.cells.empty()) return;
  present = true;
  const Grid& grid = own.grid;
  const std::size_t axes = grid.axes.size();
  cols.axis = grid.axes.back();
  cols.number = static_cast<std::int64_t>(axes) - 1;
  cols_first = grid.order.front() == axes - 1;
  if (axes == 2) rows.axis = grid.axes.front();
  for (Lines* const lines : {&cols, &rows}) {
    lines->extent = lines->axis.extent;
    lines->count = grid.routers / lines->extent;
  }
  cols.down = grid.routers;
  rows.up = 2 * grid.routers;
  rows.down = 3 * grid.routers;
  slots = grid.routers * (rows.extent == 1 ? 2 : 4);
}

std::int64_t LinkLines::link_at(std::size_t at) const {
  const std::int64_t device = static_cast<std::int64_t>(at) / slots;
  const std::int64_t slot = static_cast<std::int64_t>(at) % slots;
  const std::int64_t first = network.first_link + device * network.grid.links();
  if (!present) return first + slot;
  const bool along_rows = slot >= rows.up;
  const Lines& lines = along_rows ? rows : cols;
  const bool up = slot < lines.down;
  const std::int64_t position = slot - (up ? lines.up : lines.down);
  const std::int64_t line = position / lines.extent;
  // The link down from i + 1 to i is at i of its line.
  const std::int64_t coordinate = (position + (up ? 0 : 1)) % lines.extent;
  const std::int64_t router =
      along_rows ? coordinate * cols.extent + line : line * cols.extent + coordinate;
  const auto axes = static_cast<std::int64_t>(network.grid.axes.size());
  return first + (router * axes + lines.number) * 2 + (up ? 0 : 1);
}

std::vector<InnerLoads::Interval> InnerLoads::intervals(const PairTable& pairs) const {
  std::vector<Interval> all;
  all.reserve(pairs.steps.size());
  for (std::uint32_t entry = 0; entry < pairs.steps.size(); ++entry) {
    const PairTable::Pair pair = pairs.pair(entry);
    const LinkLines::Lines& own = pair.along ? lines().cols : lines().rows;
    all.push_back(own.extent > 1 ? interval(own, pair.line, pair.from, pair.to) : Interval{});
  }
  return all;
}

InnerLoads::Largest InnerLoads::largest() {
  std::int64_t most = 0;
  std::size_t busiest = 0;
  sum_up([&](std::size_t at, std::int64_t bytes) {
    if (bytes < most || (bytes == most && at >= busiest)) return;
    most = bytes;
    busiest = at;
  });
  return most > 0 ? Largest{most, lines().link_at(busiest)} : Largest{};
}

}  // namespace tessera::fabric
