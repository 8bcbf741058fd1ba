// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tessera/reshard/costs/flow_cost.h"
#include "tessera/reshard/simulation/dispatch.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxMessages = std::int64_t{1} << 23;

/// Adds the tree of a multicast to the loads, as differences: a run of links is two entries, and
/// `settle` sums along the lines.
class TreeLoads {
 public:
  explicit TreeLoads(const fabric::FabricMesh& fabric) : fabric_(fabric) {
    loads_.rows = fabric.rows;
    loads_.cols = fabric.cols;
    const auto nodes = static_cast<std::size_t>(fabric.nodes());
    for (auto* direction : {&loads_.east, &loads_.west, &loads_.south, &loads_.north}) {
      direction->assign(nodes, 0);
    }
  }

  void add(std::int64_t source, const std::vector<std::int64_t>& destinations,
           std::int64_t wavelets) {
    const std::int64_t row = source / fabric_.cols;
    const std::int64_t col = source % fabric_.cols;
    ends_.clear();
    for (const std::int64_t to : destinations) {
      ends_.emplace_back(to % fabric_.cols, to / fabric_.cols);
    }
    std::sort(ends_.begin(), ends_.end());
    run(loads_.east, loads_.west, source, ends_.front().first - col, ends_.back().first - col, 1,
        wavelets);
    for (std::size_t i = 0; i < ends_.size();) {
      std::size_t last = i;
      while (last + 1 < ends_.size() && ends_[last + 1].first == ends_[i].first) ++last;
      run(loads_.south, loads_.north, row * fabric_.cols + ends_[i].first, ends_[i].second - row,
          ends_[last].second - row, fabric_.cols, wavelets);
      i = last + 1;
    }
  }

  LinkLoads settle() && {
    const std::int32_t cols = fabric_.cols;
    for (std::int32_t r = 0; r < fabric_.rows; ++r) {
      for (std::int32_t c = 0; c < cols; ++c) {
        const auto at = static_cast<std::size_t>(fabric_.node(r, c));
        if (c > 0) loads_.east[at] += loads_.east[at - 1];
        if (r > 0) loads_.south[at] += loads_.south[at - static_cast<std::size_t>(cols)];
      }
    }
    for (std::int32_t r = fabric_.rows; r-- > 0;) {
      for (std::int32_t c = cols; c-- > 0;) {
        const auto at = static_cast<std::size_t>(fabric_.node(r, c));
        if (c + 1 < cols) loads_.west[at] += loads_.west[at + 1];
        if (r + 1 < fabric_.rows) {
          loads_.north[at] += loads_.north[at + static_cast<std::size_t>(cols)];
        }
      }
    }
    return std::move(loads_);
  }

 private:
  /// From `node`: as far as `least` steps one way (when negative) and `most` the other.
  static void run(std::vector<std::int64_t>& up, std::vector<std::int64_t>& down, std::int64_t node,
                  std::int64_t least, std::int64_t most, std::int64_t step, std::int64_t wavelets) {
    const auto at = [&](std::int64_t steps) {
      return static_cast<std::size_t>(node + steps * step);
    };
    if (most > 0) {
      up[at(0)] += wavelets;
      up[at(most)] -= wavelets;
    }
    if (least < 0) {
      down[at(0)] += wavelets;
      down[at(least)] -= wavelets;
    }
  }

  const fabric::FabricMesh& fabric_;
  LinkLoads loads_;
  std::vector<std::pair<std::int64_t, std::int64_t>> ends_;  // column, row
};

std::int64_t largest(const std::vector<std::int64_t>& loads) {
  return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
}

Result<Dispatches> all_dispatches(const Reshard& reshard) {
  return dispatches_of(reshard, {.boxes = false, .most = kMaxMessages});
}

LinkLoads loads_of(const Reshard& reshard, const Dispatches& dispatches) {
  TreeLoads loads(*reshard.physical().fabric);
  for (const Dispatch& dispatch : dispatches.list) {
    loads.add(dispatch.source, dispatches.sets[dispatch.set], reshard.wavelets(dispatch.elements));
  }
  return std::move(loads).settle();
}

/// The fields that depend only on messages.
void count_messages(const Reshard& reshard, const std::vector<PairBytes>& pairs,
                    ReshardCost& cost) {
  for (const PairBytes& pair : pairs) {
    if (pair.source == pair.destination) {
      cost.local_bytes += pair.bytes;
      continue;
    }
    const std::int64_t wavelets = reshard.wavelets(pair.elements);
    cost.bytes += pair.bytes;
    cost.wavelets += wavelets;
    ++cost.messages;
    if (!cost.fabric) continue;
    const std::int64_t cols = reshard.physical().fabric->cols;
    const std::int64_t far = std::abs(pair.source / cols - pair.destination / cols) +
                             std::abs(pair.source % cols - pair.destination % cols);
    cost.fabric->longest_distance = std::max(cost.fabric->longest_distance, far);
    cost.fabric->hops += far * wavelets;
  }
}

}  // namespace

Result<LinkLoads> listed_loads(const Reshard& reshard) {
  TESSERA_TRY(const Dispatches dispatches, all_dispatches(reshard));
  return loads_of(reshard, dispatches);
}

Result<ReshardCost> listed_cost(const Reshard& reshard) {
  ReshardCost cost;
  if (reshard.physical().fabric) cost.fabric = FabricCost{};
  TESSERA_TRY(const std::vector<PairBytes> pairs,
              pairs_of(reshard, kMaxMessages, {.messages = true, .local = true}));
  count_messages(reshard, pairs, cost);
  if (!cost.fabric) return cost;
  FabricCost& fabric = *cost.fabric;
  TESSERA_TRY(const Dispatches dispatches, all_dispatches(reshard));
  const auto nodes = static_cast<std::size_t>(reshard.physical().fabric->nodes());
  std::vector<std::int64_t> out(nodes, 0);
  std::vector<std::int64_t> in(nodes, 0);
  for (const Dispatch& dispatch : dispatches.list) {
    const std::int64_t wavelets = reshard.wavelets(dispatch.elements);
    out[static_cast<std::size_t>(dispatch.source)] += wavelets;
    for (const std::int64_t to : dispatches.sets[dispatch.set]) {
      in[static_cast<std::size_t>(to)] += wavelets;
    }
  }
  fabric.max_ramp_wavelets = std::max(largest(out), largest(in));
  const LinkLoads loads = loads_of(reshard, dispatches);
  for (const auto* direction : {&loads.east, &loads.west, &loads.south, &loads.north}) {
    fabric.max_link_wavelets = std::max(fabric.max_link_wavelets, largest(*direction));
    for (const std::int64_t load : *direction) fabric.link_hops += load;
  }
  fabric.depth = cost.messages > 0 ? 1 : 0;
  return cost;
}

}  // namespace tessera::reshard
