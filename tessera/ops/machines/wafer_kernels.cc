// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/machines/kernels_of.h"

/// The kernels of a wafer multicast panels of a matrix product: pieces of A along the rows of
/// processors, pieces of B along the columns. Norms and softmax exchange statistics along one axis.
/// Everything else is local.
namespace tessera::ops::machines {
namespace {

/// The axis that divides k of input 0 or 1 of a matrix product, in panels that travel along it.
std::vector<int> panel_axes(const Asked& asked, std::size_t i) {
  const Layout* x = asked.in(i);
  const std::size_t rank = x->shape().rank();
  if (rank < 2) return {};
  const bool turned = asked.is("gemm") && asked.call.integer(i == 0 ? "trans_a" : "trans_b") != 0;
  const bool k_is_last = (i == 0) != turned;
  const int along = i == 0 ? 1 : 0;
  const std::vector<int> axes = axes_of(*x, k_is_last ? rank - 1 : rank - 2);
  return axes == std::vector<int>{along} ? axes : std::vector<int>{};
}

Kernels wafer_kernels(const Asked& asked) {
  Kernels made;
  made.inputs.resize(asked.operands.inputs.size());
  const Layout* a = asked.in(0);
  if (asked.is_any({"matmul", "gemm"}) && a != nullptr && asked.in(1) != nullptr) {
    const std::size_t rank = a->shape().rank();
    // One row: shares of k are added up along columns instead (matmul vector).
    const bool vector = rank >= 2 && axes_of(*a, rank - 1) == std::vector<int>{0};
    for (std::size_t i = 0; i < 2 && !vector; ++i) made.inputs[i].axes = panel_axes(asked, i);
  }
  const bool statistics = asked.is_any({"softmax", "log_softmax", "layer_norm", "rms_norm"});
  const Result<Loops> loops = loops_of(asked.call, asked.types);
  if (!statistics || !loops || a == nullptr || !loops->inputs[0]) return made;
  for (std::size_t d = 0; d < a->shape().rank(); ++d) {
    const DimAccess& dim = loops->inputs[0]->dims[d];
    if (!is_divided(*a, d) || dim.terms.size() != 1) continue;
    const int f = dim.terms[0].dim;
    if (loops->factors[static_cast<std::size_t>(f)].kind == FactorKind::kWhole) {
      made.exchanged.push_back(f);
    }
  }
  return made;
}

/// Dims in blocks over the two axes, which are replicated where no dim is on them.
Result<Layout> in_blocks(const graph::TensorType& type, const Shape& mesh,
                         const std::vector<std::pair<std::size_t, int>>& divided) {
  LayoutSpec spec;
  spec.form.shape = type.shape;
  spec.form.mesh = mesh;
  std::vector<bool> used(mesh.rank());
  Checked stride(1);
  for (std::size_t d = type.shape.rank(); d-- > 0;) {
    Fold fold{{Term{static_cast<int>(d), 1}}, 0, {}};
    std::int64_t here = type.shape[d];
    for (const auto& [dim, axis] : divided) {
      const auto a = static_cast<std::size_t>(axis);
      if (dim != d) continue;
      here = std::max<std::int64_t>(ceil_div(type.shape[d], mesh[a]), 1);
      fold.cuts.push_back(
          {here, ceil_div(type.shape[d], here), Target::mesh(axis), 1, Cause::kGrid});
      used[a] = true;
    }
    if (fold.cuts.empty() || here > 1) {
      fold.cuts.push_back({1, here, Target::memory(), stride.saturated(), Cause::kAlignment});
    }
    stride *= std::max<std::int64_t>(here, 1);
    spec.form.folds.insert(spec.form.folds.begin(), std::move(fold));
  }
  for (std::size_t a = 0; a < mesh.rank(); ++a) {
    if (!used[a]) spec.form.fills.push_back(Fill::replicate(static_cast<int>(a), mesh[a]));
  }
  spec.dtype = type.dtype;
  spec.atom = Atom::scalar(type.dtype);
  return Layout::make(std::move(spec));
}

std::vector<Layout> wafer_inputs(const Asked& asked, std::size_t i) {
  std::vector<Layout> list;
  const Layout* like = nullptr;
  for (const Asked::Named& operand : asked.all()) {
    if (like == nullptr || operand.layout->places() > like->places()) like = operand.layout;
  }
  if (like == nullptr || like->mesh().rank() != 2) return list;
  const graph::TensorType& type = asked.call.type(i);
  const std::size_t rank = type.shape.rank();
  const auto add = [&](const std::vector<std::pair<std::size_t, int>>& divided) {
    Result<Layout> made = in_blocks(type, like->mesh(), divided);
    if (!made || like->spec().device_map.kind() == DeviceMap::Kind::kIdentity) {
      if (made) list.push_back(*std::move(made));
      return;
    }
    LayoutSpec spec = made->spec();
    spec.device_map = like->spec().device_map;
    if (Result<Layout> mapped = Layout::make(std::move(spec))) list.push_back(*std::move(mapped));
  };
  if (rank >= 2) add({{rank - 2, 0}, {rank - 1, 1}});
  if (rank >= 1) add({{rank - 1, 1}});
  if (rank >= 2) add({{rank - 2, 0}});
  add({});
  return list;
}

}  // namespace

Ways wafer_ways() { return {wafer_kernels, wafer_inputs, nullptr}; }

}  // namespace tessera::ops::machines
