// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/common_mesh.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::run {
namespace {

/// Where an axis of a virtual mesh leads.
struct AxisMap {
  int axis = 0;
  std::int64_t stride = 1;
};

Error unsupported(const Layout& layout, std::string_view why) {
  return {ErrorCode::kNotSupported,
          cat("a layout on a mesh of ", bracketed(layout.mesh().extents()), " whose device map ",
              why, " cannot be run"),
          std::nullopt, "name places by their coordinates on the machine"};
}

/// The axes of a folded map that moves each axis as a whole.
Result<std::vector<AxisMap>> axes_of(const Layout& layout) {
  const DeviceMap& map = layout.spec().device_map;
  std::vector<AxisMap> axes(layout.mesh().rank(), AxisMap{-1, 1});
  if (map.kind() == DeviceMap::Kind::kTable) return unsupported(layout, "is a table");
  for (const Fold& fold : map.folds()) {
    const std::vector<std::int64_t> needed = fold.needed(layout.mesh());
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (needed[k] <= 1) continue;
      const bool plain = fold.terms.size() == 1 && fold.terms[0].coef == 1 && fold.start == 0 &&
                         fold.cuts[k].width == 1 && fold.cuts[k].target.is_mesh();
      if (!plain) return unsupported(layout, "joins or divides axes");
      AxisMap& axis = axes[static_cast<std::size_t>(fold.terms[0].dim)];
      if (axis.axis >= 0) return unsupported(layout, "divides an axis");
      axis = {fold.cuts[k].target.axis(), fold.cuts[k].stride};
    }
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].axis < 0) axes[a].axis = static_cast<int>(a);
  }
  return axes;
}

}  // namespace

std::int64_t reach_on(const Form& form, std::size_t axis) {
  std::int64_t last = 0;
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      if (cut.target != Target::mesh(static_cast<int>(axis))) continue;
      last += (std::max(needed[k], cut.count) - 1) * cut.stride;
    }
  }
  for (const Fill& fill : form.fills) {
    if (fill.axis != static_cast<int>(axis)) continue;
    last += fill.kind == Fill::Kind::kFixed ? fill.value : (fill.count - 1) * fill.stride;
  }
  return std::max<std::int64_t>(last, 0) + 1;
}

Box places_around(const Form& form) {
  Box box;
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    std::int64_t first = 0;
    for (const Fill& fill : form.fills) {
      const bool begins = fill.axis == static_cast<int>(axis) && fill.kind == Fill::Kind::kFixed;
      if (begins) first += fill.value;
    }
    box.from.push_back(std::clamp<std::int64_t>(first, 0, form.mesh[axis] - 1));
    box.to.push_back(std::clamp(reach_on(form, axis), box.from.back() + 1, form.mesh[axis]));
  }
  return box;
}

Box around_both(Box a, const Box& b) {
  for (std::size_t axis = 0; axis < a.from.size(); ++axis) {
    a.from[axis] = std::min(a.from[axis], b.from[axis]);
    a.to[axis] = std::max(a.to[axis], b.to[axis]);
  }
  return a;
}

bool is_said(const Form& form, std::size_t axis) {
  const int a = static_cast<int>(axis);
  return std::ranges::any_of(form.fills, [&](const Fill& fill) { return fill.axis == a; }) ||
         std::ranges::any_of(form.folds, [&](const Fold& fold) {
           return std::ranges::any_of(
               fold.cuts, [&](const Cut& cut) { return cut.target == Target::mesh(a); });
         });
}

Result<Layout> on_coordinates(const Layout& layout, const Machine& machine) {
  const Shape machine_mesh = machine.shape();
  LayoutSpec spec = layout.spec();
  Form& form = spec.form;
  const DeviceMap& map = layout.spec().device_map;
  const bool is_identity = map.kind() == DeviceMap::Kind::kIdentity;
  const std::size_t rank = is_identity ? layout.mesh().rank() : map.physical().rank();
  if (layout.mesh().elements() == 1 && (is_identity || map.kind() != DeviceMap::Kind::kTable) &&
      rank != machine_mesh.rank()) {
    for (Fold& fold : form.folds) {
      for (Cut& cut : fold.cuts) {
        if (cut.target.is_mesh()) cut.target = Target::nothing();
      }
    }
    form.fills.clear();
  } else if (rank != machine_mesh.rank()) {
    return Error{ErrorCode::kMeshMismatch,
                 cat("a layout on a mesh of ", bracketed(layout.mesh().extents()), " on ",
                     machine.name, ", whose places are ", bracketed(machine_mesh.extents())),
                 std::nullopt, cat("use a mesh of ", machine_mesh.rank(), " axes")};
  } else if (!is_identity) {
    TESSERA_TRY(const std::vector<AxisMap> axes, axes_of(layout));
    for (Fold& fold : form.folds) {
      for (Cut& cut : fold.cuts) {
        if (!cut.target.is_mesh()) continue;
        const AxisMap& axis = axes[static_cast<std::size_t>(cut.target.axis())];
        cut.target = Target::mesh(axis.axis);
        cut.stride *= axis.stride;
      }
    }
    for (Fill& fill : form.fills) {
      const AxisMap& axis = axes[static_cast<std::size_t>(fill.axis)];
      fill.axis = axis.axis;
      fill.stride *= axis.stride;
      fill.value *= axis.stride;
    }
    for (std::size_t a = 0; a < map.origin().size(); ++a) {
      if (map.origin()[a] == 0) continue;
      const auto fixed = std::ranges::find_if(form.fills, [&](const Fill& fill) {
        return fill.axis == static_cast<int>(a) && fill.kind == Fill::Kind::kFixed;
      });
      if (fixed != form.fills.end()) {
        fixed->value += map.origin()[a];
      } else {
        form.fills.push_back(Fill::fixed(static_cast<int>(a), map.origin()[a]));
      }
    }
  }
  spec.device_map = DeviceMap::identity();
  std::vector<std::int64_t> extents(machine_mesh.rank(), 1);
  for (std::size_t a = 0; a < extents.size(); ++a) {
    extents[a] = reach_on(form, a);
    if (extents[a] > machine_mesh[a]) {
      return Error{ErrorCode::kMeshTooSmall,
                   cat("the layout needs ", extents[a], " places along axis ", a, " of ",
                       machine.name, ", which has ", machine_mesh[a]),
                   std::nullopt, "divide the tensor over fewer places"};
    }
  }
  TESSERA_TRY(form.mesh, Shape::make(std::move(extents)));
  return Layout::make(std::move(spec));
}

Shape common_mesh(const std::vector<Layout>& layouts, std::size_t rank) {
  std::vector<std::int64_t> extents(rank, 1);
  for (const Layout& layout : layouts) {
    for (std::size_t a = 0; a < rank && a < layout.mesh().rank(); ++a) {
      extents[a] = std::max(extents[a], layout.mesh()[a]);
    }
  }
  return *Shape::make(std::move(extents));
}

Result<Layout> on_mesh(const Layout& layout, const Shape& mesh) {
  LayoutSpec spec = layout.spec();
  spec.form.mesh = mesh;
  for (std::size_t a = 0; a < mesh.rank(); ++a) {
    if (mesh[a] > 1 && !is_said(spec.form, a)) {
      spec.form.fills.push_back(Fill::fixed(static_cast<int>(a), 0));
    }
  }
  return Layout::make(std::move(spec));
}

}  // namespace tessera::run
