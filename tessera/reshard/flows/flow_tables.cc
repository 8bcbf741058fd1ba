// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows/flow_tables.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/flows/axis_copies.h"
#include "tessera/reshard/flows/point_table.h"
#include "tessera/reshard/part.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxDestinations = std::int64_t{1} << 23;
constexpr std::int32_t kMaxAxis = 1 << 22;  // loads are kept per row and per column

/// Groups of items that share something, each identified by its smallest member.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t root(std::size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void join(std::size_t i, std::size_t j) {
    const std::size_t a = root(i);
    const std::size_t b = root(j);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

/// The axes of a mesh, as bits, on which some flow leaves the first place.
std::uint64_t driven_axes(const std::vector<VirtualFlow>& table, std::int64_t VirtualFlow::* side,
                          std::int64_t base, const PlaceMap& map) {
  std::array<std::int64_t, kMaxRank> first{};
  map.for_each_coordinate(base, [&](std::size_t axis, std::int64_t at) { first[axis] = at; });
  std::uint64_t axes = 0;
  for (const VirtualFlow& flow : table) {
    if (flow.*side == 0) continue;
    map.for_each_coordinate(base + flow.*side, [&](std::size_t axis, std::int64_t at) {
      if (at != first[axis]) axes |= std::uint64_t{1} << axis;
    });
  }
  return axes;
}

/// Joins tables that drive the same axis; on a map that is not separable, all tables that drive any
/// axis.
void join_by_axes(const std::vector<std::uint64_t>& axes, bool separable, Groups& groups) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool together = separable ? (axes[i] & axes[j]) != 0 : axes[i] != 0 && axes[j] != 0;
      if (together) groups.join(i, j);
    }
  }
}

Result<std::vector<VirtualFlow>> product(const std::vector<VirtualFlow>& x,
                                         const std::vector<VirtualFlow>& y) {
  if (x.size() > kMaxFlowTable / y.size()) return too_many_flows(x.size() * y.size());
  std::vector<VirtualFlow> table;
  table.reserve(x.size() * y.size());
  for (const VirtualFlow& f : x) {
    for (const VirtualFlow& g : y) {
      table.push_back({f.a + g.a, f.b + g.b, f.elements * g.elements});
    }
  }
  return table;
}

/// True when different coordinates have no copy in common.
bool are_apart(const PointTable& table, std::size_t coordinate, const Copies& copies,
               std::int32_t extent) {
  if (copies.count == 1) return true;
  std::vector<std::int32_t> first_at(static_cast<std::size_t>(extent), -1);
  for (const PointFlow& flow : table) {
    const std::int32_t first = flow.at[coordinate];
    const Span1D span{first + copies.shift, copies.count, copies.stride};
    if (first_at[static_cast<std::size_t>(span.first)] == first) continue;
    for (std::int32_t i = 0; i < span.count; ++i) {
      std::int32_t& owner = first_at[static_cast<std::size_t>(span.at(i))];
      if (owner >= 0) return false;
      owner = first;
    }
  }
  return true;
}

/// Builds the tables of one part, step by step.
class TableMaker {
 public:
  TableMaker(const ReshardPart& part, const fabric::FabricMesh& fabric)
      : part_(part), fabric_(fabric) {}

  Result<std::optional<FlowTables>> make() {
    const std::optional<AxisCopies> of_a = copies_of(part_.a, part_.map_a, fabric_.cols);
    const std::optional<AxisCopies> of_b = copies_of(part_.b, part_.map_b, fabric_.cols);
    if (!of_a || !of_b) return std::optional<FlowTables>();
    TESSERA_CHECK_OK(make_points());
    TESSERA_CHECK_OK(join_points(*of_a));
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::int32_t extent = axis == 0 ? fabric_.rows : fabric_.cols;
      if (!are_apart(points_[owner_[axis]], axis, (*of_a)[axis], extent) ||
          !are_apart(points_[owner_[axis + 2]], axis + 2, (*of_b)[axis], extent)) {
        return std::optional<FlowTables>();
      }
    }
    TESSERA_TRY(FlowTables tables, with_replicas(*of_a, *of_b));
    return std::optional<FlowTables>(std::move(tables));
  }

 private:
  Point point(std::int64_t a, std::int64_t b) const {
    const std::int64_t from = part_.map_a.physical(a);
    const std::int64_t to = part_.map_b.physical(b);
    return {static_cast<std::int32_t>(from / fabric_.cols),
            static_cast<std::int32_t>(from % fabric_.cols),
            static_cast<std::int32_t>(to / fabric_.cols),
            static_cast<std::int32_t>(to % fabric_.cols)};
  }

  Status make_points() {
    TESSERA_TRY(VirtualFlows flows, virtual_flows(part_));
    still_ = flows.still;
    base_ = point(flows.base_a, flows.base_b);
    std::vector<std::uint64_t> axes_a;
    std::vector<std::uint64_t> axes_b;
    for (const std::vector<VirtualFlow>& table : flows.factors) {
      axes_a.push_back(driven_axes(table, &VirtualFlow::a, flows.base_a, part_.map_a));
      axes_b.push_back(driven_axes(table, &VirtualFlow::b, flows.base_b, part_.map_b));
    }
    Groups groups(flows.factors.size());
    join_by_axes(axes_a, part_.map_a.separable(), groups);
    join_by_axes(axes_b, part_.map_b.separable(), groups);
    for (std::size_t i = 0; i < flows.factors.size(); ++i) {
      if (groups.root(i) != i) continue;
      std::vector<VirtualFlow> table = std::move(flows.factors[i]);
      for (std::size_t j = i + 1; j < flows.factors.size(); ++j) {
        if (groups.root(j) == i) {
          TESSERA_TRY(table, product(table, flows.factors[j]));
        }
      }
      PointTable points;
      points.reserve(table.size());
      for (const VirtualFlow& flow : table) {
        points.push_back({point(flows.base_a + flow.a, flows.base_b + flow.b), flow.elements});
      }
      gather(points);
      points_.push_back(std::move(points));
    }
    return ok_status();
  }

  /// Leaves one table per coordinate: tables that drive the same coordinate are joined. If A keeps
  /// copies along an axis, tables that drive its two ends are joined too, because they choose the
  /// copy.
  Status join_points(const AxisCopies& of_a) {
    std::vector<unsigned> driven;
    for (const PointTable& table : points_) driven.push_back(driven_coordinates(table, base_));
    Groups groups(points_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        bool together = (driven[i] & driven[j]) != 0;
        for (std::size_t axis = 0; axis < 2; ++axis) {
          const unsigned ends = (1U << axis) | (1U << (axis + 2));
          together = together ||
                     (of_a[axis].count > 1 && (driven[i] & ends) != 0 && (driven[j] & ends) != 0);
        }
        if (together) groups.join(i, j);
      }
    }
    std::vector<PointTable> joined;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (groups.root(i) != i) continue;
      PointTable table = std::move(points_[i]);
      for (std::size_t j = i + 1; j < points_.size(); ++j) {
        if (groups.root(j) != i) continue;
        TESSERA_TRY(table, product(table, points_[j], base_));
      }
      gather(table);
      joined.push_back(std::move(table));
    }
    points_.clear();
    for (PointTable& table : joined) {
      if (table.size() == 1 && table.front().at == base_) {
        still_ *= table.front().elements;
      } else {
        points_.push_back(std::move(table));
      }
    }
    choose_owners(of_a);
    return ok_status();
  }

  /// Coordinates that nothing drives belong to a table of one flow per axis or, if A keeps copies,
  /// to the table of the other end.
  void choose_owners(const AxisCopies& of_a) {
    constexpr std::size_t kNobody = SIZE_MAX;
    owner_.fill(kNobody);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const unsigned driven = driven_coordinates(points_[i], base_);
      for (std::size_t k = 0; k < kCoordinates; ++k) {
        if ((driven & (1U << k)) != 0) owner_[k] = i;
      }
    }
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (of_a[axis].count == 1) continue;
      if (owner_[axis] == kNobody) owner_[axis] = owner_[axis + 2];
      if (owner_[axis + 2] == kNobody) owner_[axis + 2] = owner_[axis];
    }
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (owner_[axis] != kNobody && owner_[axis + 2] != kNobody) continue;
      points_.push_back({PointFlow{base_, 1}});
      for (std::size_t& owner : {std::ref(owner_[axis]), std::ref(owner_[axis + 2])}) {
        if (owner == kNobody) owner = points_.size() - 1;
      }
    }
  }

  Result<FlowTables> with_replicas(const AxisCopies& of_a, const AxisCopies& of_b) const {
    FlowTables tables;
    tables.still = still_;
    tables.owner = owner_;
    const bool repeats =
        of_a[0].count > 1 || of_a[1].count > 1 || of_b[0].count > 1 || of_b[1].count > 1;
    std::vector<Lane> row_lanes;
    std::vector<Lane> col_lanes;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      FlowBlock& block = tables.blocks.emplace_back();
      block.flows.reserve(points_[i].size());
      const auto owns = [&](std::size_t k) { return owner_[k] == i; };
      std::int64_t destinations = 0;  // place by place, where the table decides rows and columns
      if (!repeats) {
        for (const PointFlow& flow : points_[i]) {
          block.flows.push_back(
              {flow.at[0], flow.at[1], {flow.at[2], 1, 1}, {flow.at[3], 1, 1}, flow.elements});
        }
        continue;
      }
      for (const PointFlow& flow : points_[i]) {
        // A table that owns neither end of an axis does not affect it.
        const auto lanes = [&](std::size_t axis, std::vector<Lane>& out) {
          if (owns(axis) || owns(axis + 2)) {
            lanes_of(flow.at[axis], flow.at[axis + 2], of_a[axis],
                     owns(axis + 2) ? of_b[axis] : Copies{}, out);
          } else {
            out.assign(1, Lane{});
          }
        };
        lanes(0, row_lanes);
        lanes(1, col_lanes);
        const std::size_t flows = block.flows.size() + row_lanes.size() * col_lanes.size();
        if (flows > kMaxFlowTable) return too_many_flows(flows);
        for (const Lane& by_row : row_lanes) {
          for (const Lane& by_col : col_lanes) {
            block.flows.push_back({by_row.source, by_col.source, by_row.destinations,
                                   by_col.destinations, flow.elements});
            destinations += std::int64_t{by_row.destinations.count} * by_col.destinations.count;
          }
        }
        if (owns(2) && owns(3) && destinations > kMaxDestinations) {
          return too_many_flows(static_cast<std::size_t>(destinations));
        }
      }
    }
    return tables;
  }

  const ReshardPart& part_;
  const fabric::FabricMesh& fabric_;
  Point base_{};
  std::int64_t still_ = 1;
  std::vector<PointTable> points_;
  std::array<std::size_t, kCoordinates> owner_{};
};

}  // namespace

Result<std::optional<FlowTables>> flow_tables(const ReshardPart& part,
                                              const fabric::FabricMesh& fabric) {
  return TableMaker(part, fabric).make();
}

fabric::FabricMesh rows_and_columns(const PhysicalMesh& physical) {
  if (physical.fabric) return *physical.fabric;
  fabric::FabricMesh mesh;
  if (physical.mesh.rank() > 0)
    mesh.cols = static_cast<std::int32_t>(physical.mesh.extents().back());
  mesh.rows = static_cast<std::int32_t>(physical.mesh.elements() / mesh.cols);
  return mesh;
}

Result<std::optional<FlowTables>> flow_tables(const Reshard& reshard) {
  if (reshard.parts().size() != 1) return std::optional<FlowTables>();
  const ReshardPart& part = reshard.parts().front();
  if (reshard.physical().mesh.rank() > 2 && part.a.replicas() > 1) {
    return std::optional<FlowTables>();
  }
  const fabric::FabricMesh mesh = rows_and_columns(reshard.physical());
  if (const std::int32_t longest = std::max(mesh.rows, mesh.cols); longest > kMaxAxis) {
    return Error{ErrorCode::kTooLarge,
                 cat("an axis of ", longest, " places is longer than ", kMaxAxis), std::nullopt,
                 "describe the part of the target that the tensors are on"};
  }
  return flow_tables(part, mesh);
}

}  // namespace tessera::reshard
