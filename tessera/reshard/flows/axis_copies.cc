// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows/axis_copies.h"

#include <algorithm>
#include <cstdlib>

#include "tessera/layout/algebra/replicas.h"

namespace tessera::reshard {
namespace {

/// The index of the copy nearest to `at`; on a tie, the smaller one.
std::int32_t nearest(std::int32_t at, std::int32_t first, const Copies& copies) {
  const std::int32_t beyond = at - first;
  if (beyond <= 0) return 0;
  const std::int32_t below = beyond / copies.stride;
  const bool nearer_above = (beyond % copies.stride) * 2 > copies.stride;
  return std::min(below + (nearer_above ? 1 : 0), copies.count - 1);
}

}  // namespace

std::optional<AxisCopies> copies_of(const Form& form, const PlaceMap& map, std::int32_t cols,
                                    Fill::Kind kind) {
  AxisCopies copies;
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    const OffsetSet offsets = replica_offsets(form.fills, static_cast<int>(axis), kind);
    if (offsets.size() == 1) continue;
    if (!offsets.offsets.empty() || !map.separable()) return std::nullopt;
    const std::vector<std::int64_t>& along = map.along(axis);
    // The distance of one step along the virtual axis, from the place of zeros and everywhere else.
    const std::int64_t zeros = map.physical(0) - along.front();
    const auto row = [&](std::size_t v) { return (zeros + along[v]) / cols; };
    const auto col = [&](std::size_t v) { return (zeros + along[v]) % cols; };
    const std::int64_t row_step = row(1) - row(0);
    const std::int64_t col_step = col(1) - col(0);
    for (std::size_t v = 1; v < along.size(); ++v) {
      if (row(v) - row(v - 1) != row_step || col(v) - col(v - 1) != col_step) return std::nullopt;
    }
    if ((row_step == 0) == (col_step == 0)) return std::nullopt;
    Copies& here = copies[row_step != 0 ? 0 : 1];
    if (here.count > 1) return std::nullopt;
    const std::int64_t step = (row_step + col_step) * offsets.stride;
    here.count = static_cast<std::int32_t>(offsets.count);
    here.stride = static_cast<std::int32_t>(std::abs(step));
    here.shift = step < 0 ? static_cast<std::int32_t>((offsets.count - 1) * step) : 0;
  }
  return copies;
}

void lanes_of(std::int32_t source, std::int32_t destination, const Copies& of_a, const Copies& of_b,
              std::vector<Lane>& lanes) {
  lanes.clear();
  const std::int32_t first_source = source + of_a.shift;
  const Span1D all{destination + of_b.shift, of_b.count, of_b.stride};
  if (of_a.count == 1) {
    lanes.push_back({first_source, all});
    return;
  }
  for (std::int32_t j = 0; j < all.count; ++j) {
    const std::int32_t at = all.first + j * all.stride;
    const std::int32_t from = first_source + nearest(at, first_source, of_a) * of_a.stride;
    if (!lanes.empty() && lanes.back().source == from) {
      ++lanes.back().destinations.count;
    } else {
      lanes.push_back({from, {at, 1, all.stride}});
    }
  }
}

}  // namespace tessera::reshard
