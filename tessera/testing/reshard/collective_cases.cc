// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/collective_cases.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace tessera::test {
namespace {

using reshard::CollectiveKind;
using enum reshard::CollectiveKind;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What one side does along one grid axis.
struct Role {
  enum class Kind : std::uint8_t { kCut, kFixed, kReplicated, kPartial };
  Kind kind = Kind::kReplicated;
  std::size_t dim = 0;
  std::int64_t value = 0;
  bool outer = false;  ///< cuts before the others of its dim: the axis does not change
};

struct Axis {
  std::int64_t count = 2;
  Role a;
  Role b;
};

/// Consecutive grid axes as parts of mesh axes.
struct MeshOfAxes {
  std::vector<std::int64_t> extents;
  std::vector<int> mesh_axis;         // of each grid axis
  std::vector<std::int64_t> strides;  // of each grid axis along its mesh axis
};
MeshOfAxes random_mesh(Dice& dice, const std::vector<Axis>& axes) {
  MeshOfAxes mesh;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (k == 0 || !dice.chance(40)) mesh.extents.push_back(1);
    mesh.mesh_axis.push_back(static_cast<int>(mesh.extents.size()) - 1);
    mesh.extents.back() *= axes[k].count;
  }
  mesh.strides.assign(axes.size(), 1);
  for (std::size_t k = axes.size() - 1; k-- > 0;) {
    if (mesh.mesh_axis[k] == mesh.mesh_axis[k + 1]) {
      mesh.strides[k] = mesh.strides[k + 1] * axes[k + 1].count;
    }
  }
  return mesh;
}

/// One side as a form: each dim is cut along its axes, the outer ones first, and the rest is
/// row-major in memory.
Form form_of(const Shape& shape, const std::vector<Axis>& axes, Role Axis::* side,
             const MeshOfAxes& mesh) {
  Form form;
  form.shape = shape;
  form.mesh = *Shape::make(mesh.extents);
  std::int64_t stride = 1;
  for (std::size_t dim = shape.rank(); dim-- > 0;) {
    Fold fold;
    fold.terms = {{static_cast<int>(dim), 1}};
    std::int64_t width = std::max<std::int64_t>(shape[dim], 1);
    for (const bool outer : {true, false}) {
      for (std::size_t k = 0; k < axes.size(); ++k) {
        const Role& role = axes[k].*side;
        if (role.kind != Role::Kind::kCut || role.dim != dim || role.outer != outer) continue;
        width = (width + axes[k].count - 1) / axes[k].count;
        fold.cuts.push_back(
            {width, axes[k].count, Target::mesh(mesh.mesh_axis[k]), mesh.strides[k], Cause::kGrid});
      }
    }
    fold.cuts.push_back({1, width, Target::memory(), stride, Cause::kAlignment});
    stride *= width;
    form.folds.push_back(std::move(fold));
  }
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const Role& role = axes[k].*side;
    const int axis = mesh.mesh_axis[k];
    if (role.kind == Role::Kind::kFixed) {
      form.fills.push_back(Fill::fixed(axis, role.value * mesh.strides[k]));
    } else if (role.kind == Role::Kind::kReplicated) {
      form.fills.push_back(Fill::replicate(axis, axes[k].count, mesh.strides[k]));
    } else if (role.kind == Role::Kind::kPartial) {
      form.fills.push_back(Fill::partial(axis, axes[k].count, Reduction::kSum, mesh.strides[k]));
    }
  }
  return form;
}

/// Where the places of a mesh are: as they are, moved and mirrored, or anywhere.
DeviceMap random_map(Dice& dice, const Shape& mesh, Shape& physical) {
  const std::int64_t kind = dice.below(4);
  std::vector<std::int64_t> extents = mesh.extents();
  if (kind == 1) {
    Place origin;
    for (std::int64_t& extent : extents) {
      origin.push_back(dice.below(3));
      extent += origin.back() + dice.below(2);
    }
    physical = *Shape::make(extents);
    std::vector<Fold> folds;
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      const bool mirrored = dice.chance(50);
      Fold fold;
      fold.terms = {{static_cast<int>(axis), mirrored ? -1 : 1}};
      fold.start = mirrored ? mesh[axis] - 1 : 0;
      fold.cuts = {{1, mesh[axis], Target::mesh(static_cast<int>(axis)), 1, Cause::kGrid}};
      folds.push_back(std::move(fold));
    }
    return DeviceMap::folded(physical, std::move(folds), std::move(origin));
  }
  if (kind >= 2) {
    physical = *Shape::make(kind == 2 ? std::vector<std::int64_t>{mesh.elements() + dice.below(3)}
                                      : std::move(extents));
    std::vector<Place> places;
    for (const std::size_t p : dice.order(at(physical.elements()))) {
      if (places.size() == at(mesh.elements())) break;
      places.push_back(physical.delinear(static_cast<std::int64_t>(p)));
    }
    return DeviceMap::table(physical, std::move(places));
  }
  physical = mesh;
  return DeviceMap::identity();
}

/// Makes the roles of an axis that changes in a given way. Dims below `split` are cut in A, the
/// others in B.
void set_change(Dice& dice, CollectiveKind kind, std::size_t rank, std::size_t split, Axis& axis) {
  const auto cut_a = [&] {
    return Role{Role::Kind::kCut, at(dice.below(static_cast<std::int64_t>(split))), 0, false};
  };
  const auto cut_b = [&] {
    return Role{Role::Kind::kCut, split + at(dice.below(static_cast<std::int64_t>(rank - split))),
                0, false};
  };
  const auto fixed = [&] { return Role{Role::Kind::kFixed, 0, dice.below(axis.count), false}; };
  const Role copies{Role::Kind::kReplicated, 0, 0, false};
  const Role shares{Role::Kind::kPartial, 0, 0, false};
  switch (kind) {
    case kSlice:
      axis.a = copies;
      axis.b = cut_b();
      return;
    case kAllGather:
      axis.a = cut_a();
      axis.b = copies;
      return;
    case kReduceScatter:
      axis.a = shares;
      axis.b = cut_b();
      return;
    case kAllReduce:
      axis.a = shares;
      axis.b = copies;
      return;
    case kAllToAll:
      axis.a = cut_a();
      axis.b = cut_b();
      return;
    case kBroadcast:
      axis.a = fixed();
      axis.b = copies;
      return;
    case kReduce:
      axis.a = shares;
      axis.b = fixed();
      return;
    case kScatter:
      axis.a = fixed();
      axis.b = cut_b();
      return;
    case kGather:
      axis.a = cut_a();
      axis.b = fixed();
      return;
    case kPermute:
      axis.a = fixed();
      axis.b = axis.a;
      axis.b.value = (axis.a.value + 1 + dice.below(axis.count - 1)) % axis.count;
      return;
  }
}

Role random_unchanged(Dice& dice, std::size_t rank, std::int64_t count, bool shares) {
  switch (dice.below(shares ? 5 : 4)) {
    case 0:
      return {Role::Kind::kReplicated, 0, 0, false};
    case 1:
      return {Role::Kind::kFixed, 0, dice.below(count), false};
    case 4:
      return {Role::Kind::kPartial, 0, 0, false};
    default:
      return {Role::Kind::kCut, at(dice.below(static_cast<std::int64_t>(rank))), 0, true};
  }
}

/// Extents that every cut divides, or any extents.
Shape shape_for(Dice& dice, std::size_t rank, const std::vector<Axis>& axes, bool even) {
  std::vector<std::int64_t> extents;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    std::int64_t a = 1;
    std::int64_t b = 1;
    for (const Axis& axis : axes) {
      if (axis.a.kind == Role::Kind::kCut && axis.a.dim == dim) a *= axis.count;
      if (axis.b.kind == Role::Kind::kCut && axis.b.dim == dim) b *= axis.count;
    }
    extents.push_back(even ? a * b * dice.between(1, 2) : dice.between(1, 9));
  }
  return *Shape::make(extents);
}

}  // namespace

CollectiveCase random_collective(Dice& dice) {
  static constexpr std::array kKinds = {kAllGather, kReduceScatter, kAllReduce, kAllToAll,
                                        kBroadcast, kReduce,        kScatter,   kGather,
                                        kSlice,     kPermute};
  while (true) {
    const std::size_t rank = at(dice.between(2, 4));
    const std::size_t split = at(dice.between(1, static_cast<std::int64_t>(rank) - 1));
    std::vector<Axis> axes(at(dice.between(1, 4)));
    const std::int64_t changes = dice.between(1, std::min<std::int64_t>(3, std::ssize(axes)));
    const bool shares = dice.chance(20);
    std::set<CollectiveKind> kinds;
    const std::vector<std::size_t> order = dice.order(axes.size());
    std::int64_t places = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Axis& axis = axes[order[i]];
      axis.count = dice.between(2, 4);
      places *= axis.count;
      if (static_cast<std::int64_t>(i) < changes) {
        const CollectiveKind kind = kKinds[at(dice.below(10))];
        set_change(dice, kind, rank, split, axis);
        kinds.insert(kind);
      } else {
        axis.a = axis.b = random_unchanged(dice, rank, axis.count, shares);
      }
    }
    const bool even = dice.chance(50);
    const Shape shape = shape_for(dice, rank, axes, even);
    if (places > 64 || shape.elements() > 400) continue;
    const MeshOfAxes mesh_a = random_mesh(dice, axes);
    const bool numbers = dice.chance(25);
    const MeshOfAxes mesh_b = numbers ? random_mesh(dice, axes) : mesh_a;
    Shape physical = *Shape::make({places});
    LayoutSpec from;
    LayoutSpec to;
    from.form = form_of(shape, axes, &Axis::a, mesh_a);
    to.form = form_of(shape, axes, &Axis::b, mesh_b);
    if (!numbers) from.device_map = random_map(dice, from.form.mesh, physical);
    to.device_map = from.device_map;
    for (LayoutSpec* spec : {&from, &to}) spec->atom = Atom::scalar(spec->dtype);
    const Result<Layout> a = Layout::make(std::move(from));
    const Result<Layout> b = Layout::make(std::move(to));
    if (!a.ok() || !b.ok()) continue;
    reshard::PhysicalMesh machine;
    machine.mesh = physical;
    machine.why_no_fabric = "the mesh has any rank";
    return {{Placement(*a), Placement(*b), std::move(machine)}, std::move(kinds), even};
  }
}

}  // namespace tessera::test
