// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flow_tables.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/replicas.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxTable = std::size_t{1} << 22;

using Point = std::array<std::int32_t, kCoordinates>;  // in the order of Coordinate

/// As operator==, which is a call of memcmp.
bool equal(const Point& x, const Point& y) {
  return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3];
}

/// Elements by their first physical places.
struct PointFlow {
  Point at{};
  std::int64_t elements = 0;
};
using PointTable = std::vector<PointFlow>;

Error too_many(std::size_t flows) {
  return Error{ErrorCode::kTooLarge,
               cat("dims that drive one mesh axis together move between ", flows,
                   " pairs of places, more than ", kMaxTable),
               std::nullopt, "use fewer places, or dims that have axes of their own"};
}

/// Groups of things that share something, each by its smallest member.
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

// --- Virtual tables: dims that drive one virtual axis are one table ------------------------------

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

/// Joins tables that drive an axis together; on a map that is not separable all that drive any.
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
  if (x.size() > kMaxTable / y.size()) return too_many(x.size() * y.size());
  std::vector<VirtualFlow> table;
  table.reserve(x.size() * y.size());
  for (const VirtualFlow& f : x) {
    for (const VirtualFlow& g : y) {
      table.push_back({f.a + g.a, f.b + g.b, f.elements * g.elements});
    }
  }
  return table;
}

// --- Physical tables: what drives one coordinate is one table ------------------------------------

Result<PointTable> product(const PointTable& x, const PointTable& y, const Point& base) {
  if (x.size() > kMaxTable / y.size()) return too_many(x.size() * y.size());
  PointTable table;
  table.reserve(x.size() * y.size());
  for (const PointFlow& f : x) {
    for (const PointFlow& g : y) {
      PointFlow& flow = table.emplace_back();
      for (std::size_t k = 0; k < kCoordinates; ++k) flow.at[k] = f.at[k] + g.at[k] - base[k];
      flow.elements = f.elements * g.elements;
    }
  }
  return table;
}

void gather(PointTable& table) {
  const auto before = [](const PointFlow& x, const PointFlow& y) {
    for (std::size_t k = 0; k + 1 < kCoordinates; ++k) {
      if (x.at[k] != y.at[k]) return x.at[k] < y.at[k];
    }
    return x.at.back() < y.at.back();
  };
  if (!std::is_sorted(table.begin(), table.end(), before)) {
    std::sort(table.begin(), table.end(), before);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (kept > 0 && equal(table[kept - 1].at, table[i].at)) {
      table[kept - 1].elements += table[i].elements;
    } else {
      table[kept++] = table[i];
    }
  }
  table.resize(kept);
}

unsigned driven_coordinates(const PointTable& table, const Point& base) {
  unsigned driven = 0;
  for (const PointFlow& flow : table) {
    for (std::size_t k = 0; k < kCoordinates; ++k) {
      if (flow.at[k] != base[k]) driven |= 1U << k;
    }
  }
  return driven;
}

// --- Replicas ------------------------------------------------------------------------------------

/// Copies at coordinate + shift + i·stride of one physical axis, for i < count.
struct Copies {
  std::int32_t count = 1;
  std::int32_t stride = 1;
  std::int32_t shift = 0;
};
using AxisCopies = std::array<Copies, 2>;  // along rows of places (the row coordinate), columns

/// How the replicas of a form repeat along the physical axes, or nothing when they do not evenly.
std::optional<AxisCopies> copies_of(const Form& form, const PlaceMap& map, std::int32_t cols) {
  AxisCopies copies;
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    const OffsetSet offsets =
        replica_offsets(form.fills, static_cast<int>(axis), Fill::Kind::kReplicate);
    if (offsets.size() == 1) continue;
    if (!offsets.offsets.empty() || !map.separable()) return std::nullopt;
    const std::vector<std::int64_t>& along = map.along(axis);
    // What one step along the virtual axis moves, from the place of zeros and everywhere else.
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

/// Whether different coordinates have no copy in common.
bool are_apart(const PointTable& table, std::size_t coordinate, const Copies& copies,
               std::int32_t extent) {
  if (copies.count == 1) return true;
  std::vector<std::int32_t> first_at(static_cast<std::size_t>(extent), -1);
  for (const PointFlow& flow : table) {
    const std::int32_t first = flow.at[coordinate];
    if (first_at[static_cast<std::size_t>(first + copies.shift)] == first) continue;
    for (std::int32_t i = 0; i < copies.count; ++i) {
      std::int32_t& owner =
          first_at[static_cast<std::size_t>(first + copies.shift + i * copies.stride)];
      if (owner >= 0) return false;
      owner = first;
    }
  }
  return true;
}

/// The number of the copy nearest to `at`: the smaller one of two.
std::int32_t nearest(std::int32_t at, std::int32_t first, const Copies& copies) {
  const std::int32_t beyond = at - first;
  if (beyond <= 0) return 0;
  const std::int32_t below = beyond / copies.stride;
  const bool nearer_above = (beyond % copies.stride) * 2 > copies.stride;
  return std::min(below + (nearer_above ? 1 : 0), copies.count - 1);
}

/// What one physical axis of a flow becomes with replicas.
struct Lane {
  std::int32_t source = 0;
  Span1D destinations;
};

/// Each destination takes from the nearest source; destinations of one source stay together.
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

/// Builds the tables of one part, step by step.
class TableMaker {
 public:
  TableMaker(const ReshardPart& part, const FabricMesh& fabric) : part_(part), fabric_(fabric) {}

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

  /// Leaves one table a coordinate: those that drive one together are joined, and, where A keeps
  /// copies along an axis, those that drive its two ends, because they choose the copy.
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

  /// Coordinates that nothing drives belong to a table of one flow an axis, or, where A keeps
  /// copies, to the table of the other end.
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
      if (!repeats) {
        for (const PointFlow& flow : points_[i]) {
          block.flows.push_back(
              {flow.at[0], flow.at[1], {flow.at[2], 1, 1}, {flow.at[3], 1, 1}, flow.elements});
        }
        continue;
      }
      for (const PointFlow& flow : points_[i]) {
        // A table that owns neither end of an axis has nothing to say about it.
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
        for (const Lane& by_row : row_lanes) {
          for (const Lane& by_col : col_lanes) {
            block.flows.push_back({by_row.source, by_col.source, by_row.destinations,
                                   by_col.destinations, flow.elements});
          }
        }
        if (block.flows.size() > kMaxTable) return too_many(block.flows.size());
      }
    }
    return tables;
  }

  const ReshardPart& part_;
  const FabricMesh& fabric_;
  Point base_{};
  std::int64_t still_ = 1;
  std::vector<PointTable> points_;
  std::array<std::size_t, kCoordinates> owner_{};
};

}  // namespace

Result<std::optional<FlowTables>> flow_tables(const ReshardPart& part, const FabricMesh& fabric) {
  return TableMaker(part, fabric).make();
}

FabricMesh rows_and_columns(const Ground& ground) {
  if (ground.fabric) return *ground.fabric;
  FabricMesh mesh;
  if (ground.mesh.rank() > 0) mesh.cols = static_cast<std::int32_t>(ground.mesh.extents().back());
  mesh.rows = static_cast<std::int32_t>(ground.mesh.elements() / mesh.cols);
  return mesh;
}

Result<std::optional<FlowTables>> flow_tables(const Reshard& reshard) {
  if (reshard.parts().size() != 1) return std::optional<FlowTables>();
  const ReshardPart& part = reshard.parts().front();
  if (reshard.ground().mesh.rank() > 2 && part.a.replicas() > 1) {
    return std::optional<FlowTables>();
  }
  return flow_tables(part, rows_and_columns(reshard.ground()));
}

}  // namespace tessera
