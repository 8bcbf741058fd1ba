// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/casts/cast_block.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tessera::relayout {

Blocking::Blocking(FlatNest nest, std::int64_t room, std::vector<FlatNest>& rests)
    : nest_(std::move(nest)), room_(room), rests_(rests) {}

void Blocking::take_run(std::int64_t most) {
  for (std::size_t a = 0; a < nest_.axes.size(); ++a) {
    if (nest_.axes[a].src != 1 || nest_.axes[a].dst != 1) continue;
    take(a, most);
    return;
  }
}

void Blocking::take_along(std::int64_t Axis::* side, std::int64_t most) {
  std::int64_t row = 1;
  // Cutting can leave loops of one step, which continue nothing.
  const auto continues = [&](const Axis& axis) {
    return std::abs(axis.*side) == row && axis.extent > 1;
  };
  while (row < most) {
    const auto inside = std::find_if(inner_.begin(), inner_.end(), continues);
    if (inside != inner_.end()) {
      row *= inside->extent;
      continue;
    }
    const auto outside = std::find_if(nest_.axes.begin(), nest_.axes.end(), continues);
    if (outside == nest_.axes.end()) return;
    if (!take(static_cast<std::size_t>(outside - nest_.axes.begin()), most / row)) return;
    row *= inner_.back().extent;
  }
}

void Blocking::fill_up() {
  for (std::size_t a = nest_.axes.size(); a-- > 0;) {
    if (nest_.axes[a].extent <= room_ / elements_) take(a, nest_.axes[a].extent);
  }
}

Blocked Blocking::blocked() && {
  return {nest_.src, nest_.dst, std::move(nest_.axes), std::move(inner_)};
}

bool Blocking::take(std::size_t axis, std::int64_t most) {
  most = std::min(most, room_ / elements_);
  if (most < 2) return false;
  if (nest_.axes[axis].extent > most) {
    Split split = split_axis(nest_, axis, most);
    if (split.rest) {
      // The inner axes so far belong to the remainder as well.
      split.rest->axes.insert(split.rest->axes.end(), inner_.begin(), inner_.end());
      rests_.push_back(simplified(*std::move(split.rest)));
    }
    nest_ = std::move(split.whole);
    ++axis;
  }
  inner_.push_back(nest_.axes[axis]);
  elements_ *= nest_.axes[axis].extent;
  nest_.axes.erase(nest_.axes.begin() + static_cast<std::ptrdiff_t>(axis));
  return true;
}

ThroughSourceOrder in_source_order(std::vector<Axis> block) {
  std::sort(block.begin(), block.end(), [](const Axis& a, const Axis& b) {
    const std::int64_t step_a = std::abs(a.src);
    const std::int64_t step_b = std::abs(b.src);
    return step_a != step_b ? step_a < step_b : a.dst < b.dst;
  });
  ThroughSourceOrder through;
  std::int64_t step = 1;
  for (const Axis& axis : block) {
    if (axis.src == 0) {
      through.moves.axes.push_back(axis);
      continue;
    }
    const bool backwards = axis.src < 0;
    through.loads.axes.push_back({axis.extent, std::abs(axis.src), step});
    through.moves.axes.push_back({axis.extent, backwards ? -step : step, axis.dst});
    if (backwards) {
      through.loads.src += axis.src * (axis.extent - 1);
      through.moves.src += step * (axis.extent - 1);
    }
    step *= axis.extent;
  }
  return {simplified(std::move(through.loads)), simplified(std::move(through.moves))};
}

ThroughDestinationOrder in_destination_order(std::vector<Axis> block) {
  std::sort(block.begin(), block.end(), [](const Axis& a, const Axis& b) { return a.dst < b.dst; });
  ThroughDestinationOrder through;
  std::int64_t step = 1;
  for (const Axis& axis : block) {
    through.loads.axes.push_back({axis.extent, axis.src, step});
    if (axis.dst == through.stretch && through.stretches.empty()) {
      through.stretch *= axis.extent;
    } else {
      through.stretches.push_back({axis.extent, step, axis.dst});
    }
    step *= axis.extent;
  }
  through.loads = simplified(std::move(through.loads));
  return through;
}

}  // namespace tessera::relayout
