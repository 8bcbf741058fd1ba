// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "tools/bench/bench_reshard.h"

namespace tessera::tools {
namespace {

/// Consecutive indices along a dim that stay together in both layouts.
struct Run {
  std::int64_t from = 0;  ///< what they add to the number of the place
  std::int64_t to = 0;
  std::int64_t length = 0;
};

std::int64_t place_number(const Layout& layout, const Index& index) {
  Place place;
  std::int64_t slot = 0;
  layout.form().evaluate(index, place, slot);
  return layout.mesh().linear(place);
}

std::vector<Run> runs_along(const Layout& from, const Layout& to, std::size_t dim) {
  std::vector<Run> runs;
  Index index(from.shape().rank(), 0);
  const std::int64_t from_zero = place_number(from, index);
  const std::int64_t to_zero = place_number(to, index);
  for (index[dim] = 0; index[dim] < from.shape()[dim]; ++index[dim]) {
    const std::int64_t a = place_number(from, index) - from_zero;
    const std::int64_t b = place_number(to, index) - to_zero;
    if (runs.empty() || runs.back().from != a || runs.back().to != b) runs.push_back({a, b, 0});
    ++runs.back().length;
  }
  return runs;
}

/// Physical coordinates of a number on the layout's own mesh, which starts at the first place.
struct Position {
  std::int64_t row = 0, col = 0;
};
Position spot_of(std::int64_t number, const Shape& mesh) {
  return {number / mesh[1], number % mesh[1]};
}

}  // namespace

PairTotals totals_by_pairs(const Layout& from, const Layout& to, const reshard::Reshard& reshard) {
  std::unordered_map<std::int64_t, std::int64_t> elements;  // by source, then destination
  const std::int64_t places = to.places();
  const std::vector<Run> columns = runs_along(from, to, 1);
  for (const Run& row : runs_along(from, to, 0)) {
    for (const Run& column : columns) {
      elements[(row.from + column.from) * places + row.to + column.to] +=
          row.length * column.length;
    }
  }
  const std::int64_t rows = reshard.physical().mesh[0];
  const std::int64_t cols = reshard.physical().mesh[1];
  std::vector<std::int64_t> links(static_cast<std::size_t>(rows * cols * 4), 0);
  PairTotals totals;
  for (const auto& [pair, count] : elements) {
    Position at = spot_of(pair / places, from.mesh());
    const Position end = spot_of(pair % places, to.mesh());
    if (at.row == end.row && at.col == end.col) continue;
    const std::int64_t wavelets = reshard.wavelets(count);
    totals.bytes += reshard.bytes(count);
    totals.messages += 1;
    totals.wavelets += wavelets;
    const auto pass = [&](std::int64_t direction) {
      std::int64_t& link =
          links[static_cast<std::size_t>((at.row * cols + at.col) * 4 + direction)];
      link += wavelets;
      totals.hops += wavelets;
      totals.max_link_wavelets = std::max(totals.max_link_wavelets, link);
    };
    for (; at.col < end.col; ++at.col) pass(0);
    for (; at.col > end.col; --at.col) pass(1);
    for (; at.row < end.row; ++at.row) pass(2);
    for (; at.row > end.row; --at.row) pass(3);
  }
  return totals;
}

}  // namespace tessera::tools
