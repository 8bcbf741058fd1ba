// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/layout/layout.h"

/// Short functions to write layouts in tests, in a form close to that of the essay in layout.h:
///
///     form({53, 63}, {3, 2}, {fold(x(0), {on(0, 18, 3), mem(32, 1, 1024), mem(1, 32, 32)}), ..})
namespace tessera::test {

inline Shape shape(std::vector<std::int64_t> extents) { return *Shape::make(std::move(extents)); }

inline Term x(int dim, std::int64_t coef = 1) { return Term{dim, coef}; }

/// A digit in memory: `count` pieces of `width`, `stride` slots apart.
inline Cut mem(std::int64_t width, std::int64_t count, std::int64_t stride,
               Cause cause = Cause::kAlignment) {
  return Cut{width, count, Target::memory(), stride, cause};
}
/// A digit on a mesh axis.
inline Cut on(int axis, std::int64_t width, std::int64_t count, std::int64_t stride = 1,
              Cause cause = Cause::kGrid) {
  return Cut{width, count, Target::mesh(axis), stride, cause};
}
/// A digit that is placed nowhere.
inline Cut nowhere(std::int64_t width, std::int64_t count, Cause cause = Cause::kAlignment) {
  return Cut{width, count, Target::nothing(), 1, cause};
}

inline Fold fold(std::vector<Term> terms, std::vector<Cut> cuts, std::int64_t start = 0) {
  return Fold{std::move(terms), start, std::move(cuts)};
}
inline Fold fold(Term term, std::vector<Cut> cuts, std::int64_t start = 0) {
  return Fold{{term}, start, std::move(cuts)};
}

inline Form form(std::vector<std::int64_t> extents, std::vector<std::int64_t> mesh,
                 std::vector<Fold> folds, std::vector<Fill> fills = {}, std::int64_t offset = 0) {
  return Form{shape(std::move(extents)), shape(std::move(mesh)), std::move(folds), std::move(fills),
              offset};
}

inline LayoutSpec spec(Form form, DType dtype = DType::kF32) {
  LayoutSpec result;
  result.form = std::move(form);
  result.dtype = dtype;
  result.atom = Atom::scalar(dtype);
  return result;
}

/// Only for forms that are layouts.
inline Layout layout(Form form, DType dtype = DType::kF32) {
  return *Layout::make(spec(std::move(form), dtype));
}

/// 53x63 f32 on 3x2 cores in 32x32 tiles, as in the tt-mlir layout specification: 18 rows and 32
/// columns per core.
inline Form tiled_53x63() {
  return form(
      {53, 63}, {3, 2},
      {fold(x(0), {on(0, 18, 3), mem(32, 1, 1024, Cause::kTile), mem(1, 32, 32, Cause::kTile)}),
       fold(x(1), {on(1, 32, 2), mem(32, 1, 1024, Cause::kTile), mem(1, 32, 1, Cause::kTile)})});
}

}  // namespace tessera::test
