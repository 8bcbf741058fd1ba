// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/regions.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"

namespace tessera {

Box Box::whole(const Shape& shape) { return {Index(shape.rank(), 0), shape.extents()}; }

std::int64_t Box::elements() const {
  std::int64_t product = 1;
  for (std::size_t dim = 0; dim < from.size(); ++dim) {
    product *= std::max<std::int64_t>(0, to[dim] - from[dim]);
  }
  return product;
}

bool Box::contains(const Index& index) const {
  for (std::size_t dim = 0; dim < from.size(); ++dim) {
    if (index[dim] < from[dim] || index[dim] >= to[dim]) return false;
  }
  return true;
}

std::optional<Box> meet(const Box& a, const Box& b) {
  // Most pairs of boxes do not meet; they take no memory.
  for (std::size_t dim = 0; dim < a.from.size(); ++dim) {
    if (std::max(a.from[dim], b.from[dim]) >= std::min(a.to[dim], b.to[dim])) return std::nullopt;
  }
  Box both = a;
  for (std::size_t dim = 0; dim < a.from.size(); ++dim) {
    both.from[dim] = std::max(a.from[dim], b.from[dim]);
    both.to[dim] = std::min(a.to[dim], b.to[dim]);
  }
  return both;
}

Index minus(Index index, const Index& corner) {
  for (std::size_t dim = 0; dim < index.size(); ++dim) index[dim] -= corner[dim];
  return index;
}

Index plus(Index index, const Index& corner) {
  for (std::size_t dim = 0; dim < index.size(); ++dim) index[dim] += corner[dim];
  return index;
}

namespace {

constexpr std::int64_t kMaxEnumerated = std::int64_t{1} << 22;

void sort_weights(std::vector<Reach::Weight>& weights) {
  std::erase_if(weights, [](const Reach::Weight& weight) { return weight.count == 1; });
  std::sort(weights.begin(), weights.end(),
            [](const Reach::Weight& a, const Reach::Weight& b) { return a.stride > b.stride; });
}

/// Whether `number` is a sum of digits times strides of the loops from i on. Where strides nest,
/// one digit of a loop leaves what the loops after it can make up.
bool is_sum(const std::vector<PlaceLoop>& loops, std::size_t i, std::int64_t number) {
  if (i == loops.size()) return number == 0;
  std::int64_t rest = 0;  // the most that the loops after it make up
  for (std::size_t k = i + 1; k < loops.size(); ++k) rest += (loops[k].count - 1) * loops[k].stride;
  const std::int64_t stride = loops[i].stride;
  const std::int64_t least = ceil_div(std::max<std::int64_t>(0, number - rest), stride);
  const std::int64_t most = std::min(loops[i].count - 1, floor_div(number, stride));
  for (std::int64_t d = least; d <= most; ++d) {
    if (is_sum(loops, i + 1, number - d * stride)) return true;
  }
  return false;
}

Result<std::vector<Hole>> entangled_holes(const Reach& reach) {
  if (reach.extent > kMaxEnumerated) {
    return Error{ErrorCode::kTooLarge,
                 cat("entangled strides are compared one by one, but reach over ", reach.extent),
                 std::nullopt, "use strides that nest: each a multiple of what is below it"};
  }
  std::vector<bool> reached(static_cast<std::size_t>(reach.extent), false);
  reached[static_cast<std::size_t>(reach.first)] = true;
  for (const Reach::Weight& weight : reach.weights) {
    const std::vector<bool> before = reached;
    const auto sums = std::count(before.begin(), before.end(), true);
    if (!Work::reserve((Checked(sums) * weight.count + reach.extent).saturated())) {
      return Work::too_large("finding the slots between elements");
    }
    for (std::int64_t at = 0; at < reach.extent; ++at) {
      if (!before[static_cast<std::size_t>(at)]) continue;
      for (std::int64_t d = 1; d < weight.count; ++d) {
        const std::int64_t to = at + d * weight.stride;
        if (to < reach.extent) reached[static_cast<std::size_t>(to)] = true;
      }
    }
  }
  std::vector<Hole> list;
  for (std::int64_t at = reach.first; at < reach.extent;) {
    std::int64_t end = at;
    while (end < reach.extent && !reached[static_cast<std::size_t>(end)]) ++end;
    if (end > at) list.push_back({at, end - at, {}});
    at = end + 1;
  }
  return list;
}

}  // namespace

std::int64_t PlaceSet::count() const {
  std::int64_t product = 1;
  for (const PlaceLoop& loop : loops) product *= loop.count;
  return product;
}

bool PlaceSet::is_rectangle() const {
  std::vector<bool> looped(first.size(), false);
  for (const PlaceLoop& loop : loops) {
    const auto axis = static_cast<std::size_t>(loop.axis);
    if (loop.stride != 1 || looped[axis]) return false;
    looped[axis] = true;
  }
  return true;
}

std::vector<Place> PlaceSet::places() const {
  std::vector<Place> list = {first};
  for (const PlaceLoop& loop : loops) {
    std::vector<Place> more;
    more.reserve(list.size() * static_cast<std::size_t>(loop.count));
    for (const Place& place : list) {
      for (std::int64_t i = 0; i < loop.count; ++i) {
        more.push_back(place);
        more.back()[static_cast<std::size_t>(loop.axis)] += i * loop.stride;
      }
    }
    list = std::move(more);
  }
  return list;
}

bool PlaceSet::contains(const Place& place) const {
  // Loops on different axes are independent, so each axis is tested separately.
  for (std::size_t axis = 0; axis < first.size(); ++axis) {
    std::vector<PlaceLoop> own;
    for (const PlaceLoop& loop : loops) {
      if (static_cast<std::size_t>(loop.axis) == axis) own.push_back(loop);
    }
    if (!is_sum(own, 0, place[axis] - first[axis])) return false;
  }
  return true;
}

void PlaceSet::simplify() {
  std::erase_if(loops, [](const PlaceLoop& loop) { return loop.count == 1; });
  std::sort(loops.begin(), loops.end(), [](const PlaceLoop& a, const PlaceLoop& b) {
    return a.axis != b.axis ? a.axis < b.axis : a.stride > b.stride;
  });
  for (std::size_t i = 0; i + 1 < loops.size();) {
    PlaceLoop& inner = loops[i + 1];
    if (loops[i].axis == inner.axis && loops[i].stride == inner.count * inner.stride) {
      inner.count *= loops[i].count;
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

bool Reach::reaches_nothing() const {
  return std::any_of(weights.begin(), weights.end(),
                     [](const Weight& weight) { return weight.count == 0; });
}

Reach memory_reach(const Form& form, std::int64_t slots) {
  Reach reach;
  reach.first = form.offset;
  reach.extent = slots;
  for (const Fold& fold : form.folds) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_memory()) reach.weights.push_back({cut.count, cut.stride});
    }
  }
  sort_weights(reach.weights);
  return reach;
}

Reach mesh_reach(const Form& form, int axis) {
  Reach reach;
  reach.extent = form.mesh[static_cast<std::size_t>(axis)];
  for (const Fold& fold : form.folds) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh() && cut.target.axis() == axis) {
        reach.weights.push_back({cut.count, cut.stride});
      }
    }
  }
  for (const Fill& fill : form.fills) {
    if (fill.axis != axis) continue;
    if (fill.kind == Fill::Kind::kFixed) {
      reach.first += fill.value;
    } else {
      reach.weights.push_back({fill.count, fill.stride});
    }
  }
  sort_weights(reach.weights);
  return reach;
}

Result<std::vector<Hole>> holes(const Reach& reach) {
  std::vector<Hole> list;
  if (reach.reaches_nothing()) {
    if (reach.extent > 0) list.push_back({0, reach.extent, {}});
    return list;
  }
  if (reach.first > 0) list.push_back({0, reach.first, {}});
  std::int64_t end = 1;  // one past the largest sum of the weights from i + 1 on
  for (std::size_t i = reach.weights.size(); i-- > 0;) {
    const Reach::Weight& weight = reach.weights[i];
    if (weight.stride < end) {
      TESSERA_TRY(const std::vector<Hole> listed, entangled_holes(reach));
      list.resize(reach.first > 0 ? 1 : 0);
      list.insert(list.end(), listed.begin(), listed.end());
      return list;
    }
    if (weight.stride > end) {
      Hole hole{reach.first + end, weight.stride - end, {}};
      hole.loops.assign(reach.weights.begin(),
                        reach.weights.begin() + static_cast<std::ptrdiff_t>(i));
      hole.loops.push_back({weight.count - 1, weight.stride});
      list.push_back(std::move(hole));
    }
    end += (weight.count - 1) * weight.stride;
  }
  end += reach.first;
  if (end < reach.extent) list.push_back({end, reach.extent - end, {}});
  return list;
}

Result<std::vector<PlaceSet>> unreached_places(const Form& form) {
  // Places are grouped by their first unreached axis: the coordinates before it are reached, those
  // after it are arbitrary.
  std::vector<PlaceSet> list;
  const int rank = static_cast<int>(form.mesh.rank());
  for (int off = 0; off < rank; ++off) {
    TESSERA_TRY(const std::vector<Hole> gaps, holes(mesh_reach(form, off)));
    for (const Hole& hole : gaps) {
      PlaceSet set{Place(form.mesh.rank(), 0), {}};
      for (int axis = 0; axis < rank; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        if (axis < off) {
          const Reach reached = mesh_reach(form, axis);
          set.first[a] = reached.first;
          for (const Reach::Weight& weight : reached.weights) {
            set.loops.push_back({axis, weight.count, weight.stride});
          }
        } else if (axis == off) {
          set.first[a] = hole.first;
          for (const Reach::Weight& loop : hole.loops) {
            set.loops.push_back({axis, loop.count, loop.stride});
          }
          set.loops.push_back({axis, hole.length, 1});
        } else {
          set.loops.push_back({axis, form.mesh[a], 1});
        }
      }
      set.simplify();
      if (set.count() > 0) list.push_back(std::move(set));
    }
  }
  return list;
}

}  // namespace tessera
