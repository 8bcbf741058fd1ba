// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/jobs/flat_nest.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::relayout {
namespace {

/// The axis along which both sides step by one element, if there is one.
const Axis* run_axis(const FlatNest& nest, std::int64_t unit) {
  for (const Axis& axis : nest.axes) {
    if (axis.src == unit && axis.dst == unit) return &axis;
  }
  return nullptr;
}

/// Whether all steps are still whole numbers when `group` units of a run move as one.
bool moves_in_groups(const FlatNest& nest, std::int64_t unit, std::int64_t group) {
  const Axis* run = run_axis(nest, unit);
  if (run == nullptr || run->extent % group != 0) return false;
  if (nest.src % (group * unit) != 0 || nest.dst % (group * unit) != 0) return false;
  return std::all_of(nest.axes.begin(), nest.axes.end(), [&](const Axis& axis) {
    return &axis == run || (axis.src % (group * unit) == 0 && axis.dst % (group * unit) == 0);
  });
}

/// The nest with `group` units of its run as one.
void group_run(FlatNest& nest, std::int64_t unit, std::int64_t group) {
  for (Axis& axis : nest.axes) {
    if (axis.src == unit && axis.dst == unit) {
      axis = {axis.extent / group, unit * group, unit * group};
      break;
    }
  }
  nest.width *= group;
}

/// Whether one step of `outer` equals all steps of `inner` on the given side.
bool continues(const Axis& outer, const Axis& inner, std::int64_t Axis::* side) {
  const Checked all = Checked(inner.*side) * inner.extent;
  return !all.overflowed() && all.raw() == outer.*side;
}

}  // namespace

std::int64_t steps_of(const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

std::int64_t FlatNest::steps() const { return steps_of(axes); }

Offsets offsets_at(const std::vector<Axis>& axes, std::int64_t i) {
  Offsets offsets;
  for (std::size_t a = axes.size(); a-- > 0;) {
    const std::int64_t digit = i % axes[a].extent;
    i /= axes[a].extent;
    offsets.src += digit * axes[a].src;
    offsets.dst += digit * axes[a].dst;
  }
  return offsets;
}

FlatNest simplified(FlatNest nest) {
  std::erase_if(nest.axes, [](const Axis& axis) { return axis.extent == 1; });
  for (Axis& axis : nest.axes) {
    if (axis.dst >= 0) continue;
    nest.src += axis.src * (axis.extent - 1);
    nest.dst += axis.dst * (axis.extent - 1);
    axis.src = -axis.src;
    axis.dst = -axis.dst;
  }
  std::sort(nest.axes.begin(), nest.axes.end(), [](const Axis& a, const Axis& b) {
    return a.dst != b.dst ? a.dst > b.dst : a.src > b.src;
  });
  std::vector<Axis> joined;
  for (const Axis& axis : nest.axes) {
    if (!joined.empty() && continues(joined.back(), axis, &Axis::src) &&
        continues(joined.back(), axis, &Axis::dst)) {
      joined.back() = {joined.back().extent * axis.extent, axis.src, axis.dst};
    } else {
      joined.push_back(axis);
    }
  }
  nest.axes = std::move(joined);
  return nest;
}

FlatNest flatten(const Nest& nest, const Memory& from, const Memory& to) {
  FlatNest flat;
  flat.src = from.flat(nest.at.a);
  flat.dst = to.flat(nest.at.b);
  flat.axes.reserve(nest.loops.size());
  for (const Loop& loop : nest.loops) {
    flat.axes.push_back({loop.extent, from.flat(loop.move.a), to.flat(loop.move.b)});
  }
  return simplified(std::move(flat));
}

std::optional<FlatNest> in_tiles(const FlatNest& nest, std::int64_t group, std::int64_t bytes) {
  if (!moves_in_groups(nest, 1, group)) return std::nullopt;
  FlatNest tiles = nest;
  group_run(tiles, 1, group);
  // Steps are still in elements, all multiples of a group.
  const auto scale = [&](std::int64_t& step) { step = step / group * bytes; };
  scale(tiles.src);
  scale(tiles.dst);
  for (Axis& axis : tiles.axes) {
    scale(axis.src);
    scale(axis.dst);
  }
  tiles.width = bytes;
  return simplified(std::move(tiles));
}

std::optional<FlatNest> in_bytes(const FlatNest& nest, std::int64_t bits) {
  std::optional<FlatNest> bytes;
  if (bits < 8) {
    bytes = in_tiles(nest, 8 / bits, 1);
    if (!bytes) return std::nullopt;
  } else {
    const std::int64_t width = bits / 8;
    bytes = nest;
    bytes->src *= width;
    bytes->dst *= width;
    for (Axis& axis : bytes->axes) {
      axis.src *= width;
      axis.dst *= width;
    }
    bytes->width = width;
  }
  while (bytes->width < 8 && moves_in_groups(*bytes, bytes->width, 2)) {
    group_run(*bytes, bytes->width, 2);
  }
  return simplified(*std::move(bytes));
}

Split split_axis(const FlatNest& nest, std::size_t axis, std::int64_t inner) {
  const Axis cut = nest.axes[axis];
  const std::int64_t whole = cut.extent / inner;
  Split split{nest, std::nullopt};
  split.whole.axes[axis] = {whole, cut.src * inner, cut.dst * inner};
  split.whole.axes.insert(split.whole.axes.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                          {inner, cut.src, cut.dst});
  if (whole * inner < cut.extent) {
    split.rest = nest;
    split.rest->src += cut.src * whole * inner;
    split.rest->dst += cut.dst * whole * inner;
    split.rest->axes[axis].extent = cut.extent - whole * inner;
  }
  return split;
}

}  // namespace tessera::relayout
