// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/machines/spyre_sticks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/ops/machines/rules.h"

namespace tessera::ops::machines {
namespace {

constexpr std::int64_t kStickBits = 1024;  // 128 bytes

/// The type that fills a stick.
DType stick_storage(DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return DType::kU32;
    case DType::kI64:
      return DType::kI32;
    case DType::kSI64:
      return DType::kSI32;
    case DType::kBool:
      return DType::kU16;
    default:
      return dtype;
  }
}

/// The chain of a dim on the places of a layout: cuts over the mesh, in order. Empty where the dim
/// is in a fold with others, or is cut in memory above a cut over places.
std::optional<Fold> over_places(const Layout& layout, std::size_t dim) {
  Fold out{{Term{static_cast<int>(dim), 1}}, 0, {}};
  for (const Fold& fold : layout.form().folds) {
    const auto is_dim = [&](const Term& term) { return term.dim == static_cast<int>(dim); };
    if (std::ranges::none_of(fold.terms, is_dim)) continue;
    if (fold.terms != out.terms || fold.start != 0) return std::nullopt;
    bool below = false;
    const std::vector<std::int64_t> needed = fold.needed(layout.shape());
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      if (!cut.target.is_mesh()) {
        below = below || (cut.target.is_memory() && needed[k] > 1);
        continue;
      }
      if (below) return std::nullopt;
      out.cuts.push_back(cut);
    }
  }
  return out;
}

}  // namespace

std::int64_t per_stick(const Layout& layout) {
  const auto bits = dtype_bits(layout.atom().storage);
  return bits && layout.atom().elements() == 1 ? kStickBits / *bits : 0;
}

std::vector<int> stick_dims(const Layout& layout) {
  std::vector<int> dims;
  for (const Fold& fold : layout.form().folds) {
    const std::vector<std::int64_t> needed = fold.needed(layout.shape());
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      const bool inside = cut.target.is_memory() && cut.stride < per_stick(layout);
      if (!inside || needed[k] <= 1) continue;
      for (const Term& term : fold.terms) dims.push_back(term.dim);
    }
  }
  return dims;
}

bool is_sparse(const Layout& layout) { return stick_dims(layout).empty(); }

int stick_dim(const Layout& layout) {
  const std::vector<int> dims = stick_dims(layout);
  return dims.empty() ? -1 : dims[0];
}

std::string stick_text(const Layout& layout) {
  return is_sparse(layout) ? "sparse" : cat("in sticks along dim ", stick_dim(layout));
}

namespace {

/// Dims in this order, the last of which runs in sticks, or none of a sparse tensor.
std::optional<Layout> ordered(const Layout& made, const std::vector<std::size_t>& order,
                              bool sparse) {
  LayoutSpec spec = made.spec();
  spec.atom = Atom::scalar(stick_storage(made.dtype()));
  spec.padding = PaddingValue::undef();
  spec.slots.reset();
  spec.form.offset = 0;
  spec.form.folds.clear();
  const auto bits = dtype_bits(spec.atom.storage);
  if (!bits || *bits == 0 || kStickBits % *bits != 0) return std::nullopt;
  const std::int64_t lanes = kStickBits / *bits;

  struct Piece {
    Fold fold;
    std::int64_t extent = 1;  ///< on a place
  };
  std::vector<Piece> pieces;
  for (const std::size_t d : order) {
    std::optional<Fold> fold = over_places(made, d);
    if (!fold) return std::nullopt;
    const std::int64_t extent = fold->cuts.empty() ? made.shape()[d] : fold->cuts.back().width;
    pieces.push_back({*std::move(fold), extent});
  }
  // From the innermost digit outwards: in the stick, dim o[0], sticks, o[n-2] .. o[1].
  const std::size_t n = pieces.size();
  Checked step(1);
  const auto put = [&](std::int64_t width, std::int64_t count, Cause cause) {
    const Cut cut{width, count, Target::memory(), step.saturated(), cause};
    step *= std::max<std::int64_t>(count, 1);
    return cut;
  };
  std::vector<Cut> inside(n);  // the last cut of each dim
  if (sparse || n == 0) {
    spec.form.folds.push_back({{}, 0, {Cut{1, lanes, Target::memory(), 1, Cause::kSynthetic}}});
    step *= lanes;
    for (std::size_t d = 0; d < n; ++d) {
      const std::size_t k = d == 0 ? 0 : n - d;
      pieces[k].fold.cuts.push_back(put(1, pieces[k].extent, Cause::kAlignment));
    }
  } else {
    Piece& last = pieces[n - 1];
    const std::int64_t sticks = ceil_div(last.extent, lanes);
    const Cut lane = put(1, lanes, Cause::kStick);
    if (n > 1) pieces[0].fold.cuts.push_back(put(1, pieces[0].extent, Cause::kAlignment));
    last.fold.cuts.push_back(put(lanes, sticks, Cause::kAlignment));
    last.fold.cuts.push_back(lane);
    for (std::size_t d = n - 1; d-- > 1;) {
      pieces[d].fold.cuts.push_back(put(1, pieces[d].extent, Cause::kAlignment));
    }
  }
  for (Piece& piece : pieces) {
    // A place with one element of a dim needs no digit for it.
    std::vector<Cut>& cuts = piece.fold.cuts;
    const bool doubled = cuts.size() > 1 && cuts[cuts.size() - 2].width == 1;
    if (doubled) cuts.pop_back();
    spec.form.folds.push_back(std::move(piece.fold));
  }
  sort_stably(spec.form.folds, [](const Fold& a, const Fold& b) {
    return !b.terms.empty() && (a.terms.empty() || a.terms[0].dim < b.terms[0].dim);
  });
  Result<Layout> layout = Layout::make(std::move(spec));
  return layout ? std::optional(*std::move(layout)) : std::nullopt;
}

}  // namespace

std::optional<Layout> in_sticks(const Layout& made, std::optional<std::size_t> stick) {
  std::vector<std::size_t> order;
  const std::size_t rank = made.shape().rank();
  for (std::size_t d = 0; d < rank; ++d) {
    if (d != stick.value_or(rank - 1)) order.push_back(d);
  }
  if (rank > 0) order.push_back(stick.value_or(rank - 1));
  return ordered(made, order, false);
}

std::optional<Layout> in_sparse_sticks(const Layout& made) {
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < made.shape().rank(); ++d) order.push_back(d);
  return ordered(made, order, true);
}

std::optional<WorkMap> core_division(const graph::Call& call, const graph::Types& outputs,
                                     const Loops& loops, const Layout& output, std::int64_t cores) {
  struct Units {
    std::size_t factor = 0;
    std::int64_t unit = 1;
    std::int64_t count = 1;
    bool reduced = false;
  };
  std::vector<Units> dims;
  const int stick = stick_dim(output);
  const auto add = [&](const DimAccess& dim, std::int64_t unit, bool reduced) {
    const bool alone = dim.start == 0 && dim.terms.size() == 1 && dim.terms[0].coef == 1;
    if (!alone) return;
    const auto f = static_cast<std::size_t>(dim.terms[0].dim);
    const Factor& factor = loops.factors[f];
    if (factor.kind == FactorKind::kWhole || (factor.kind == FactorKind::kReduce) != reduced)
      return;
    const bool is_new = std::ranges::find(dims, f, &Units::factor) == dims.end();
    if (is_new) dims.push_back({f, unit, ceil_div(factor.extent, unit), reduced});
  };
  const Access& made = loops.outputs[0];
  for (std::size_t d = 0; d < made.dims.size(); ++d) {
    add(made.dims[d], static_cast<int>(d) == stick ? per_stick(output) : 1, false);
  }
  const bool divides_k = call.op().is("matmul") || call.op().is("gemm");
  if (divides_k && loops.inputs[0]) {
    for (const DimAccess& dim : loops.inputs[0]->dims) add(dim, per_stick(output), true);
  }
  sort_stably(dims, [](const Units& a, const Units& b) {
    return a.reduced != b.reduced ? b.reduced : a.count > b.count;
  });
  Form form;
  const Result<Shape> iterations = loops.iterations();
  const Result<Shape> mesh = Shape::make({cores});
  if (!iterations || !mesh || outputs.empty()) return std::nullopt;
  form.shape = *iterations;
  form.mesh = *mesh;
  std::int64_t left = cores;
  std::int64_t stride = 1;
  for (const Units& dim : dims) {
    std::int64_t pieces = std::min(left, dim.count);
    while (pieces > 1 && dim.count % pieces != 0) --pieces;
    if (pieces <= 1) continue;
    const std::int64_t width = dim.count / pieces * dim.unit;
    Fold fold{{Term{static_cast<int>(dim.factor), 1}},
              0,
              {{width, pieces, Target::mesh(0), stride, Cause::kGrid}}};
    if (width > 1) fold.cuts.push_back({1, width, Target::nothing(), 1, Cause::kAlignment});
    form.folds.push_back(std::move(fold));
    stride *= pieces;
    left /= pieces;
  }
  if (form.folds.empty()) form.fills.push_back(Fill::fixed(0, 0));
  Result<WorkMap> work = WorkMap::make(loops, std::move(form));
  return work ? std::optional(*std::move(work)) : std::nullopt;
}

}  // namespace tessera::ops::machines
