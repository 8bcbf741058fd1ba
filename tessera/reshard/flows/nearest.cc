// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows/nearest.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxTries = std::int64_t{1} << 22;

/// The constant difference between neighbours of a list; empty when it varies.
std::optional<std::int64_t> even_step(const std::vector<std::int64_t>& list) {
  if (list.size() < 2) return 0;
  const std::int64_t step = list[1] - list[0];
  for (std::size_t i = 2; i < list.size(); ++i) {
    if (list[i] - list[i - 1] != step) return std::nullopt;
  }
  return step;
}

/// {i + j}, each sum once, by ascending physical mesh offset and then virtual number.
using Offsets = std::vector<std::pair<std::int64_t, std::int64_t>>;
Offsets sums(const Offsets& x, const Offsets& y) {
  Offsets all;
  all.reserve(x.size() * y.size());
  for (const auto& i : x) {
    for (const auto& j : y) all.emplace_back(i.first + j.first, i.second + j.second);
  }
  std::sort(all.begin(), all.end());
  const auto same = [](const auto& i, const auto& j) { return i.first == j.first; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

}  // namespace

std::int64_t coordinate(const Shape& mesh, const std::vector<std::int64_t>& strides,
                        std::int64_t place, std::size_t axis) {
  // Divisions of small numbers take a fraction of the time of large ones.
  if (place <= UINT32_MAX && mesh[axis] <= UINT32_MAX) {
    const auto stride =
        static_cast<std::uint32_t>(std::min<std::int64_t>(strides[axis], UINT32_MAX));
    if (stride != strides[axis]) return 0;
    const std::uint32_t above = static_cast<std::uint32_t>(place) / stride;
    return axis == 0 ? above : above % static_cast<std::uint32_t>(mesh[axis]);
  }
  const std::int64_t above = place / strides[axis];
  return axis == 0 ? above : above % mesh[axis];
}

std::optional<Alignment> alignment_of(const PlaceMap& map, const Shape& physical) {
  if (!map.separable()) return std::nullopt;
  const std::vector<std::int64_t> strides = physical.row_major_strides();
  Alignment found;
  // The box of coordinates that the whole mesh reaches: inside the physical mesh on every axis, so
  // that numbers add without a carry.
  std::vector<std::int64_t> low(physical.rank());
  const std::int64_t first = map.physical(0);
  for (std::size_t g = 0; g < physical.rank(); ++g)
    low[g] = coordinate(physical, strides, first, g);
  std::vector<std::int64_t> high = low;
  for (std::size_t v = 0; v < map.mesh().rank(); ++v) {
    const std::optional<std::int64_t> step = even_step(map.along(v));
    if (!step) return std::nullopt;
    const std::int64_t last = map.mesh()[v] - 1;
    bool fits = *step == 0;
    found.axis.push_back(0);
    found.step.push_back(0);
    for (std::size_t g = 0; g < physical.rank() && !fits; ++g) {
      if (*step % strides[g] != 0) continue;
      const std::int64_t move = *step / strides[g];
      if (std::abs(move) * last >= physical[g]) continue;
      (move > 0 ? high : low)[g] += move * last;
      found.axis.back() = g;
      found.step.back() = move;
      fits = true;
    }
    if (!fits) return std::nullopt;
  }
  for (std::size_t g = 0; g < physical.rank(); ++g) {
    if (low[g] < 0 || high[g] >= physical[g]) return std::nullopt;
  }
  return found;
}

Result<NearestSource> NearestSource::make(const Form& form, const PlaceMap& map,
                                          const Shape& physical) {
  NearestSource made;
  made.physical_ = physical;
  made.strides_ = physical.row_major_strides();
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<OffsetSet> sets;
  bool repeated = false;
  for (std::size_t v = 0; v < form.mesh.rank(); ++v) {
    sets.push_back(replica_offsets(form.fills, static_cast<int>(v), Fill::Kind::kReplicate));
    repeated = repeated || sets.back().size() > 1;
  }
  if (!repeated) return made;
  if (const std::optional<Alignment> alignment = alignment_of(map, physical)) {
    for (std::size_t g = 0; g < physical.rank(); ++g) {
      Offsets offsets = {{0, 0}};
      for (std::size_t v = 0; v < sets.size(); ++v) {
        if (sets[v].size() <= 1 || alignment->axis[v] != g) continue;
        Offsets along;
        for (std::int64_t i = 0; i < sets[v].size(); ++i) {
          along.emplace_back(sets[v].at(i) * alignment->step[v], sets[v].at(i) * strides[v]);
        }
        offsets = sums(offsets, along);
      }
      if (offsets.size() <= 1 && offsets.front() == std::pair<std::int64_t, std::int64_t>{0, 0}) {
        continue;
      }
      Axis axis{made.strides_[g], physical[g], 0, {}, {}};
      for (const auto& [offset, place] : offsets) {
        axis.offsets.push_back(offset);
        axis.virtuals.push_back(place);
      }
      axis.step = even_step(axis.offsets).value_or(0);
      made.axes_.push_back(std::move(axis));
    }
    return made;
  }
  made.map_ = &map;
  made.offsets_ = {0};
  for (std::size_t v = 0; v < sets.size(); ++v) {
    if (sets[v].size() <= 1) continue;
    std::vector<std::int64_t> more;
    for (const std::int64_t offset : made.offsets_) {
      for (std::int64_t i = 0; i < sets[v].size(); ++i) {
        more.push_back(offset + sets[v].at(i) * strides[v]);
      }
      if (static_cast<std::int64_t>(more.size()) > kMaxTries) {
        return Error{ErrorCode::kTooLarge,
                     cat("finding the nearest of more than ", kMaxTries,
                         " replicas takes a search through all of them on this device map"),
                     std::nullopt,
                     "keep fewer replicas, or use a device map along rows and columns"};
      }
    }
    made.offsets_ = std::move(more);
  }
  return made;
}

std::int64_t NearestSource::tries() const {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(offsets_.size()));
}

PlacePart NearestSource::nearest(PlacePart first, std::int64_t to) const {
  for (const Axis& axis : axes_) {
    // Distances add over axes, so each is minimised separately; on a tie, the lower one has the
    // smaller number.
    const std::int64_t wanted =
        (to / axis.stride) % axis.extent - (first.physical / axis.stride) % axis.extent;
    const auto last = static_cast<std::int64_t>(axis.offsets.size()) - 1;
    std::int64_t below = 0;  // the last replica at or before the wanted coordinate
    if (axis.step > 0) {
      const std::int64_t past = wanted - axis.offsets[0];
      below = past <= 0 ? 0 : std::min(last, past / axis.step);
    } else {
      const auto above = std::upper_bound(axis.offsets.begin(), axis.offsets.end(), wanted);
      below = std::max<std::int64_t>(0, above - axis.offsets.begin() - 1);
    }
    auto i = static_cast<std::size_t>(below);
    if (below < last &&
        std::abs(axis.offsets[i + 1] - wanted) < std::abs(wanted - axis.offsets[i])) {
      ++i;
    }
    first.place += axis.virtuals[i];
    first.physical += axis.offsets[i] * axis.stride;
  }
  if (offsets_.empty()) return first;
  PlacePart best;
  std::int64_t least = -1;
  for (const std::int64_t offset : offsets_) {
    const std::int64_t place = first.place + offset;
    const PlacePart tried{place, map_->physical(place)};
    std::int64_t distance = 0;
    for (std::size_t g = 0; g < physical_.rank(); ++g) {
      distance += std::abs(coordinate(physical_, strides_, tried.physical, g) -
                           coordinate(physical_, strides_, to, g));
    }
    const bool nearer =
        least < 0 || distance < least || (distance == least && tried.physical < best.physical);
    if (nearer) {
      best = tried;
      least = distance;
    }
  }
  return best;
}

}  // namespace tessera::reshard
