// SPDX-License-Identifier: Apache-2.0
#include "tools/propagate/one_mesh.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"

namespace tessera::tools {
namespace {

bool all_equal(const std::vector<Layout>& layouts) {
  return std::ranges::all_of(layouts, [&](const Layout& layout) {
    return layout.mesh() == layouts.front().mesh() &&
           layout.spec().device_map == layouts.front().spec().device_map;
  });
}

/// Whether something says where the layout is along this axis.
bool is_covered(const Form& form, int axis) {
  const bool by_fill =
      std::ranges::any_of(form.fills, [&](const Fill& fill) { return fill.axis == axis; });
  return by_fill || std::ranges::any_of(form.folds, [&](const Fold& fold) {
           return std::ranges::any_of(fold.cuts, [&](const Cut& cut) {
             return cut.target.is_mesh() && cut.target.axis() == axis;
           });
         });
}

/// The same coordinates on a larger mesh. A single place is the first of any mesh.
Result<Layout> embedded(const Layout& layout, const Shape& mesh) {
  if (layout.mesh() == mesh) return layout;
  LayoutSpec spec = layout.spec();
  if (layout.places() == 1) {
    for (Fold& fold : spec.form.folds) {
      for (Cut& cut : fold.cuts) {
        if (cut.target.is_mesh()) cut.target = Target::nothing();
      }
    }
    spec.form.fills.clear();
    spec.device_map = DeviceMap::identity();
  }
  spec.form.mesh = mesh;
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    const int a = static_cast<int>(axis);
    if (mesh[axis] > 1 && !is_covered(spec.form, a)) spec.form.fills.push_back(Fill::fixed(a, 0));
  }
  return Layout::make(std::move(spec));
}

Result<Layout> single_layout(const Placement& placement) {
  if (const Layout* const layout = placement.layout()) return *layout;
  return Error{ErrorCode::kNotSupported,
               placement.view() != nullptr
                   ? "elements of an operand share slots, which propagate does not support"
                   : "an operand consists of pieces with different layouts",
               std::nullopt, "give it a layout with one rule in which every element has a slot"};
}

Result<bool> numbers_places(const Tensor& tensor) {
  TESSERA_TRY(const Notation* const notation, find_notation(tensor.notation));
  return notation->numbers_places;
}

}  // namespace

Result<std::vector<Layout>> on_own_meshes(const std::vector<const Tensor*>& tensors) {
  std::vector<Layout> layouts;
  for (const Tensor* tensor : tensors) {
    TESSERA_TRY(Layout layout, single_layout(tensor->placement));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

Result<std::vector<Layout>> on_one_mesh(const std::vector<const Tensor*>& tensors) {
  std::vector<Layout> layouts;
  bool by_number = false;
  bool all_numbers = true;
  std::size_t rank = 0;
  for (const Tensor* tensor : tensors) {
    TESSERA_TRY(Layout layout, single_layout(tensor->placement));
    TESSERA_TRY(const bool is_number, numbers_places(*tensor));
    by_number = by_number || is_number;
    all_numbers = all_numbers && is_number;
    const Shape& device = device_of(tensor->placement);
    if (device.elements() > 1) {
      by_number = by_number || (rank != 0 && rank != device.rank());
      rank = device.rank();
    }
    layouts.push_back(std::move(layout));
  }
  if (layouts.empty() || (all_equal(layouts) && (!by_number || all_numbers))) return layouts;
  if (by_number) {
    for (Layout& layout : layouts) {
      if (layout.places() == 1) continue;
      TESSERA_TRY(const Placement numbered, on_numbered_mesh(layout));
      TESSERA_TRY(layout, single_layout(numbered));
    }
  }
  // What is on one place alone joins the others below.
  std::vector<std::int64_t> extents;
  const Layout* spread = nullptr;
  for (const Layout& layout : layouts) {
    if (layout.places() == 1) continue;
    if (spread == nullptr) spread = &layout;
    const bool mapped = layout.spec().device_map.kind() != DeviceMap::Kind::kIdentity ||
                        spread->spec().device_map.kind() != DeviceMap::Kind::kIdentity;
    if (mapped && !(layout.mesh() == spread->mesh() &&
                    layout.spec().device_map == spread->spec().device_map)) {
      return Error{ErrorCode::kMeshMismatch,
                   cat("operands are on different parts of the machine: meshes of ",
                       bracketed(spread->mesh().extents()), " and ",
                       bracketed(layout.mesh().extents()), " with different device maps"),
                   std::nullopt,
                   "give them the same mesh and origin (tessera reshard moves one of them)"};
    }
    extents.resize(std::max(extents.size(), layout.mesh().rank()), 1);
    for (std::size_t a = 0; a < layout.mesh().rank(); ++a) {
      extents[a] = std::max(extents[a], layout.mesh()[a]);
    }
  }
  if (spread == nullptr) extents = layouts.front().mesh().extents();
  TESSERA_TRY(const Shape mesh, Shape::make(std::move(extents)));
  const DeviceMap map = spread == nullptr ? DeviceMap::identity() : spread->spec().device_map;
  for (Layout& layout : layouts) {
    const bool alone = layout.places() == 1;
    TESSERA_TRY(layout, embedded(layout, mesh));
    if (!alone || map.kind() == DeviceMap::Kind::kIdentity) continue;
    LayoutSpec spec = layout.spec();
    spec.device_map = map;
    TESSERA_TRY(layout, Layout::make(std::move(spec)));
  }
  return layouts;
}

}  // namespace tessera::tools
