// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/memory/mesh/place_sizes.h"

namespace tessera::memory {
namespace {

/// Up to this many classes are compared pair by pair; of more, all are kept.
constexpr std::size_t kMaxCompared = 2048;

}  // namespace

/// Groups of one axis: a group leads another when every tensor has, in its part, at least the bytes
/// that it has in the other's part, for all coordinates of the other axes.
void PlaceSizes::find_leads(std::size_t axis_number) {
  Axis& axis = axes_[axis_number];
  const std::size_t count = tables_.size();
  const std::size_t rank = axes_.size();
  // covers[t][p · parts + q]: part p is nowhere smaller than part q. Each part also has a weight. A
  // part that covers another is at least as heavy, so leaders are searched among heavier groups.
  std::vector<std::vector<bool>> covers(count);
  std::vector<std::size_t> parts(count, 1);
  std::vector<std::vector<double>> weight(count);
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t end = t + 1 < count ? tables_[t + 1].offset : table_.size();
    const std::size_t entries = end - tables_[t].offset;
    const auto stride = static_cast<std::size_t>(strides_[t * rank + axis_number]);
    const std::size_t above =
        axis_number == 0 ? entries : static_cast<std::size_t>(strides_[t * rank + axis_number - 1]);
    parts[t] = above / stride;
    const std::int64_t* table = table_.data() + tables_[t].offset;
    covers[t].assign(parts[t] * parts[t], true);
    weight[t].assign(parts[t], 0);
    for (std::size_t outer = 0; outer < entries; outer += above) {
      for (std::size_t inner = 0; inner < stride; ++inner) {
        for (std::size_t p = 0; p < parts[t]; ++p) {
          const std::int64_t bytes = table[outer + p * stride + inner];
          weight[t][p] += static_cast<double>(bytes);
          for (std::size_t q = 0; q < parts[t]; ++q) {
            if (bytes < table[outer + q * stride + inner]) covers[t][p * parts[t] + q] = false;
          }
        }
      }
    }
  }
  std::vector<double> heavy(axis.groups(), 0);
  for (std::size_t g = 0; g < axis.groups(); ++g) {
    for (std::size_t t = 0; t < count; ++t) heavy[g] += weight[t][axis.part[g * count + t]];
  }
  std::vector<std::uint32_t> order(axis.groups());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return heavy[a] != heavy[b] ? heavy[a] > heavy[b] : a < b;
  });
  axis.lead.assign(axis.groups(), 0);
  std::vector<std::uint32_t> leaders;
  for (const std::uint32_t g : order) {
    const std::uint8_t* own = axis.part.data() + g * count;
    const auto leader = std::find_if(leaders.begin(), leaders.end(), [&](std::uint32_t l) {
      const std::uint8_t* other = axis.part.data() + l * count;
      for (std::size_t t = 0; t < count; ++t) {
        if (other[t] != own[t] && !covers[t][other[t] * parts[t] + own[t]]) return false;
      }
      return true;
    });
    axis.lead[g] = leader == leaders.end() ? g : *leader;
    if (leader == leaders.end()) leaders.push_back(g);
  }
}

void PlaceSizes::find_maximal() {
  const std::size_t rank = axes_.size();
  dominator_.assign(classes_.size(), UINT32_MAX);
  std::vector<std::uint32_t> candidates;
  if (listed_ > 0) {
    candidates.resize(classes_.size());
    std::iota(candidates.begin(), candidates.end(), 0u);
  } else {
    for (std::size_t a = 0; a < rank; ++a) find_leads(a);
    std::vector<std::vector<std::uint32_t>> leaders(rank);
    for (std::size_t a = 0; a < rank; ++a) {
      for (std::uint32_t g = 0; g < axes_[a].groups(); ++g) {
        if (axes_[a].lead[g] == g) leaders[a].push_back(g);
      }
    }
    std::vector<std::size_t> pick(rank, 0);
    for (bool more = true; more;) {
      std::int64_t cell = 0;
      for (std::size_t a = 0; a < rank; ++a) cell += leaders[a][pick[a]] * axes_[a].stride;
      candidates.push_back(cell_class_[static_cast<std::size_t>(cell)]);
      more = false;
      for (std::size_t a = rank; a-- > 0 && !more;) {
        more = ++pick[a] < leaders[a].size();
        if (!more) pick[a] = 0;
      }
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  }
  const bool compare = candidates.size() <= kMaxCompared;
  std::vector<std::vector<std::int64_t>> vectors(compare ? candidates.size() : 0);
  std::vector<double> weight(candidates.size(), 0);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    vectors[i].resize(tables_.size());
    sizes(candidates[i], vectors[i]);
    for (const std::int64_t size : vectors[i]) weight[i] += static_cast<double>(size);
  }
  std::vector<std::uint32_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
  });
  std::vector<std::uint32_t> kept;  // indices in candidates, as maximal_ has indices of classes
  for (const std::uint32_t i : order) {
    const auto above = std::find_if(kept.begin(), kept.end(), [&](std::uint32_t k) {
      return compare &&
             std::equal(vectors[i].begin(), vectors[i].end(), vectors[k].begin(),
                        [](std::int64_t mine, std::int64_t other) { return mine <= other; });
    });
    dominator_[candidates[i]] = static_cast<std::uint32_t>(above - kept.begin());
    if (above == kept.end()) {
      kept.push_back(i);
      maximal_.push_back(candidates[i]);
    }
  }
}

std::size_t PlaceSizes::dominator(std::size_t class_number) const {
  if (dominator_[class_number] != UINT32_MAX) return dominator_[class_number];
  const Groups groups = decode(classes_[class_number].cell);
  std::int64_t cell = 0;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    cell += axes_[a].lead[groups[a]] * axes_[a].stride;
  }
  return dominator_[cell_class_[static_cast<std::size_t>(cell)]];
}

bool PlaceSizes::fits_inside(std::size_t part, std::size_t whole, std::int64_t delta) const {
  const auto inside = [delta](std::int64_t inner, std::int64_t outer) {
    return inner == 0 || (Checked(inner) + delta).saturated() <= outer;
  };
  if (tables_[part].listed >= 0 || tables_[whole].listed >= 0) {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (!inside(size(c, part), size(c, whole))) return false;
    }
    return true;
  }
  // The amounts that an axis adds to the entries of both; each pair of amounts once.
  const std::size_t rank = axes_.size();
  std::vector<std::pair<std::size_t, std::size_t>> entries = {
      {tables_[part].offset, tables_[whole].offset}};
  for (std::size_t a = 0; a < rank; ++a) {
    const Axis& axis = axes_[a];
    std::vector<std::pair<std::size_t, std::size_t>> steps;
    for (std::size_t g = 0; g < axis.groups(); ++g) {
      const std::uint8_t* own = axis.part.data() + g * tables_.size();
      const std::pair<std::size_t, std::size_t> step = {
          own[part] * static_cast<std::size_t>(strides_[part * rank + a]),
          own[whole] * static_cast<std::size_t>(strides_[whole * rank + a])};
      if (steps.empty() || steps.back() != step) steps.push_back(step);
    }
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    std::vector<std::pair<std::size_t, std::size_t>> more;
    for (const auto& [first, second] : entries) {
      for (const auto& [one, two] : steps) more.emplace_back(first + one, second + two);
    }
    entries = std::move(more);
  }
  return std::all_of(entries.begin(), entries.end(), [&](const auto& pair) {
    return inside(table_[pair.first], table_[pair.second]);
  });
}

}  // namespace tessera::memory
