// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/costs/flow_cost.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tessera/reshard/costs/link_profiles.h"
#include "tessera/reshard/costs/place_tables.h"

namespace tessera::reshard {
namespace {

constexpr std::array kDirections = {fabric::Port::kEast, fabric::Port::kWest, fabric::Port::kSouth,
                                    fabric::Port::kNorth};

/// Σ |at - x| over the coordinates of a span.
std::int64_t distances(std::int32_t at, const Span1D& to) {
  const auto triangle = [](std::int64_t n) { return n * (n + 1) / 2; };
  const std::int64_t first = std::int64_t{to.first} - at;
  const std::int64_t count = to.count;
  const std::int64_t stride = to.stride;
  if (first >= 0) return first * count + stride * triangle(count - 1);
  // The first `before` coordinates lie below `at`.
  const std::int64_t before = std::min(count, (-first - 1) / stride + 1);
  const std::int64_t below = -first * before - stride * triangle(before - 1);
  const std::int64_t after = count - before;
  const std::int64_t next = first + before * stride;
  return below + next * after + (after > 0 ? stride * triangle(after - 1) : 0);
}

template <std::size_t Classes>
class FlowCost {
 public:
  using M = Measure<Classes>;

  FlowCost(const FlowTables& tables, const fabric::FabricMesh& fabric, const Rates& rates)
      : tables_(tables), fabric_(fabric), rates_(rates) {}

  ReshardCost cost() const {
    const PlaceTable<Classes> sources(tables_, fabric_, At::kSource);
    const PlaceTable<Classes> destinations(tables_, fabric_, At::kDestination);
    const PlaceTable<Classes> local(tables_, fabric_, At::kLocal);
    const PlaceTable<Classes> self(tables_, fabric_, At::kSelf);
    const M stays = local.sum();
    const M crosses = all_pairs() - stays;
    ReshardCost cost;
    cost.bytes = crosses.rounded(rates_.bytes);
    cost.local_bytes = stays.rounded(rates_.bytes);
    cost.messages = crosses.messages();
    cost.wavelets = crosses.rounded(rates_.wavelets);
    FabricCost fabric;
    fabric.hops = (steps(true) + steps(false)).rounded(rates_.wavelets);
    for (const fabric::Port direction : kDirections) {
      const LinkProfiles<Classes> links(tables_, fabric_, direction, rates_.wavelets);
      const auto summary = links.summary();
      fabric.link_hops += summary.sum;
      fabric.max_link_wavelets = std::max(fabric.max_link_wavelets, summary.largest);
    }
    fabric.max_ramp_wavelets =
        std::max(largest_difference(sources, self, rates_.wavelets, fabric_.cols).load,
                 largest_difference(destinations, local, rates_.wavelets, fabric_.cols).load);
    fabric.longest_distance = longest();
    fabric.depth = cost.messages > 0 ? 1 : 0;
    cost.fabric = fabric;
    return cost;
  }

  LinkLoads loads() const {
    LinkLoads loads{fabric_.rows, fabric_.cols, {}, {}, {}, {}};
    const auto nodes = static_cast<std::size_t>(fabric_.nodes());
    for (auto* direction : {&loads.east, &loads.west, &loads.south, &loads.north}) {
      direction->assign(nodes, 0);
    }
    const auto node = [&](std::int32_t row, std::int32_t col) {
      return static_cast<std::size_t>(fabric_.node(row, col));
    };
    const auto profiles = [&](fabric::Port direction) {
      return LinkProfiles<Classes>(tables_, fabric_, direction, rates_.wavelets);
    };
    profiles(fabric::Port::kEast)
        .for_each_link([&](std::int32_t row, std::int32_t at, std::int64_t load) {
          loads.east[node(row, at)] = load;
        });
    profiles(fabric::Port::kWest)
        .for_each_link([&](std::int32_t row, std::int32_t at, std::int64_t load) {
          loads.west[node(row, at + 1)] = load;
        });
    profiles(fabric::Port::kSouth)
        .for_each_link([&](std::int32_t col, std::int32_t at, std::int64_t load) {
          loads.south[node(at, col)] = load;
        });
    profiles(fabric::Port::kNorth)
        .for_each_link([&](std::int32_t col, std::int32_t at, std::int64_t load) {
          loads.north[node(at + 1, col)] = load;
        });
    return loads;
  }

 private:
  /// The number of destinations of a flow, as far as block i decides them.
  std::int64_t copies(std::size_t i, const Flow& flow, bool by_rows = true,
                      bool by_cols = true) const {
    std::int64_t count = 1;
    if (by_rows && tables_.owner_of(Coordinate::kRows) == i) count *= flow.rows.count;
    if (by_cols && tables_.owner_of(Coordinate::kCols) == i) count *= flow.cols.count;
    return count;
  }

  M total(std::size_t i) const {
    M sum;
    for (const Flow& flow : tables_.blocks[i].flows) {
      sum += M::of(flow.elements, copies(i, flow));
    }
    return sum;
  }

  M all_pairs() const {
    M product = M::of(tables_.still);
    for (std::size_t i = 0; i < tables_.blocks.size(); ++i) product = product * total(i);
    return product;
  }

  /// The sum over all pairs of their steps along one axis.
  M steps(bool along_rows) const {
    const std::size_t from = tables_.owner_of(along_rows ? Coordinate::kRow : Coordinate::kCol);
    const std::size_t to = tables_.owner_of(along_rows ? Coordinate::kRows : Coordinate::kCols);
    const auto source = [&](const Flow& flow) { return along_rows ? flow.row : flow.col; };
    const auto ends = [&](const Flow& flow) -> const Span1D& {
      return along_rows ? flow.rows : flow.cols;
    };
    // Along the other axis each destination counts once; along this one its distance counts.
    const auto others = [&](std::size_t i, const Flow& flow) {
      return copies(i, flow, !along_rows, along_rows);
    };
    M product = M::of(tables_.still);
    for (std::size_t i = 0; i < tables_.blocks.size(); ++i) {
      if (i != from && i != to) product = product * total(i);
    }
    if (from == to) {
      M sum;
      for (const Flow& flow : tables_.blocks[from].flows) {
        sum += M::of(flow.elements, others(from, flow) * distances(source(flow), ends(flow)));
      }
      return product * sum;
    }
    const auto extent = static_cast<std::size_t>(along_rows ? fabric_.rows : fabric_.cols);
    std::vector<M> starts(extent);
    std::vector<M> stops(extent);
    for (const Flow& flow : tables_.blocks[from].flows) {
      starts[static_cast<std::size_t>(source(flow))] += M::of(flow.elements, others(from, flow));
    }
    for (const Flow& flow : tables_.blocks[to].flows) {
      const Span1D& span = ends(flow);
      for (std::int32_t k = 0; k < span.count; ++k) {
        stops[static_cast<std::size_t>(span.at(k))] += M::of(flow.elements, others(to, flow));
      }
    }
    // For each of its steps, a pair crosses the boundary after p once, in either direction.
    M below_starts, below_stops, sum;
    M all_starts, all_stops;
    for (const M& measure : starts) all_starts += measure;
    for (const M& measure : stops) all_stops += measure;
    for (std::size_t p = 0; p + 1 < extent; ++p) {
      below_starts += starts[p];
      below_stops += stops[p];
      sum += below_starts * (all_stops - below_stops) + below_stops * (all_starts - below_starts);
    }
    return product * sum;
  }

  /// |x| + |y| is the largest of ±x ± y, and each of those is a sum over the blocks.
  std::int64_t longest() const {
    std::int64_t longest = 0;
    for (const std::int64_t by_row : {1, -1}) {
      for (const std::int64_t by_col : {1, -1}) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < tables_.blocks.size(); ++i) {
          const auto owns = [&](Coordinate k) { return tables_.owner_of(k) == i; };
          std::int64_t most = INT64_MIN;
          for (const Flow& flow : tables_.blocks[i].flows) {
            std::int64_t here = 0;
            if (owns(Coordinate::kRow)) here += by_row * flow.row;
            if (owns(Coordinate::kCol)) here += by_col * flow.col;
            if (owns(Coordinate::kRows)) here -= by_row * extreme(flow.rows, -by_row);
            if (owns(Coordinate::kCols)) here -= by_col * extreme(flow.cols, -by_col);
            most = std::max(most, here);
          }
          sum += most;
        }
        longest = std::max(longest, sum);
      }
    }
    return longest;
  }

  static std::int64_t extreme(const Span1D& span, std::int64_t sign) {
    return sign > 0 ? span.last() : span.first;
  }

  const FlowTables& tables_;
  const fabric::FabricMesh& fabric_;
  const Rates& rates_;
};

std::int64_t denominator(const Rates& rates) {
  return std::lcm(rates.bytes.denominator, rates.wavelets.denominator);
}

template <typename Ask>
auto with_classes(const Rates& rates, const Ask& ask) {
  const std::int64_t needed = denominator(rates);
  if (needed == 1) return ask(std::integral_constant<std::size_t, 1>());
  if (needed == 2) return ask(std::integral_constant<std::size_t, 2>());
  if (needed == 4) return ask(std::integral_constant<std::size_t, 4>());
  if (needed == 8) return ask(std::integral_constant<std::size_t, 8>());
  return ask(std::integral_constant<std::size_t, 64>());
}

}  // namespace

bool has_classes_for(const Rates& rates) { return 64 % denominator(rates) == 0; }

ReshardCost flow_cost(const FlowTables& tables, const fabric::FabricMesh& fabric,
                      const Rates& rates) {
  return with_classes(
      rates, [&](auto classes) { return FlowCost<classes()>(tables, fabric, rates).cost(); });
}

LinkLoads flow_loads(const FlowTables& tables, const fabric::FabricMesh& fabric,
                     const Rates& rates) {
  return with_classes(
      rates, [&](auto classes) { return FlowCost<classes()>(tables, fabric, rates).loads(); });
}

PlaceLoad busiest_destination(const FlowTables& tables, const fabric::FabricMesh& fabric) {
  const PlaceTable<1> destinations(tables, fabric, At::kDestination);
  const PlaceTable<1> local(tables, fabric, At::kLocal);
  return largest_difference(destinations, local, Reshard::Rate{1, 1}, fabric.cols);
}

}  // namespace tessera::reshard
