// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/notation/pyflame/raise.h"
#include "tessera/notation/pyflame/text.h"

namespace tessera::notation {
namespace {

/// Records a digit of `count` values that moves an element to another PE: one step along one axis.
Status note_pe_move(PyflameDim& dim, std::size_t number, const LineCut& cut, std::int64_t count,
                    std::int64_t cols) {
  const int axis = cut.move.place % cols == 0 ? 0 : 1;
  const std::int64_t step = axis == 0 ? cut.move.place / cols : cut.move.place;
  if (step >= cols && axis == 1) {
    return pyflame_cannot(why::kDiagonal, "dim {dim} placed diagonally over the PEs",
                          {fact("dim", number)});
  }
  if (step != 1) {
    return pyflame_cannot(why::kAxisStep,
                          cat("dim {dim} in steps of {step} PE ", pe_axis_name(axis)),
                          {fact("axis", axis), fact("dim", number), fact("step", step)});
  }
  const bool wraps = axis == 1 && count > cols;  // from the end of a row to the next
  if (wraps && dim.axis < 0) {
    dim.axis = static_cast<int>(PyflameLayout::kBothAxes);
    dim.block = cut.width;
    return ok_status();
  }
  if (wraps || (dim.axis >= 0 && dim.axis != axis)) {
    return pyflame_cannot(why::kBothAxes, "dim {dim} distributed over both PE axes",
                          {fact("dim", number)});
  }
  if (dim.axis == axis) {
    return pyflame_cannot(why::kAxisTwice, "dim {dim} cut twice for one PE axis",
                          {fact("axis", axis), fact("dim", number)});
  }
  dim.axis = axis;
  dim.block = cut.width;
  return ok_status();
}

Status note_line(std::vector<PyflameDim>& dims, const Line& line, const Shape& shape,
                 std::int64_t cols) {
  if (line.terms.size() != 1) {
    return pyflame_cannot(why::kJoinedDims, "dims {dims:and} cut as one line",
                          {fact("dims", line.terms[0].dim, line.terms[1].dim)});
  }
  const auto number = static_cast<std::size_t>(line.terms[0].dim);
  PyflameDim& dim = dims[number];
  const bool upward = line.terms[0].coef > 0;
  std::int64_t piece = shape[number];  // what the cut divides
  for (const LineCut& cut : line.cuts) {
    if (!upward || cut.move.place < 0 || cut.move.slot < 0) {
      return pyflame_cannot(why::kRunsDownward, "dim {dim} running backwards",
                            {fact("dim", number)});
    }
    const std::int64_t count = ceil_div(piece, cut.width);
    if (cut.move.place > 0) TESSERA_CHECK_OK(note_pe_move(dim, number, cut, count, cols));
    piece = cut.width;
    if (cut.move.slot > 0) dim.stride = cut.move.slot;  // widths decrease: the last one is kept
  }
  if (line.start != 0 || line.terms[0].coef != 1) {
    return pyflame_cannot(
        why::kCutFrom, "dim {dim} cut from position {start} by steps of {step}",
        {fact("dim", number), fact("start", line.start), fact("step", line.terms[0].coef)});
  }
  return ok_status();
}

/// Computes the tile's extents from the strides: each is the next larger stride divided by its own.
Status note_tiles(std::vector<PyflameDim>& dims, std::int64_t slots) {
  std::int64_t above = slots;
  std::optional<std::size_t> outer;
  for (std::size_t number = 0; number < dims.size(); ++number) {
    PyflameDim& dim = dims[number];
    if (dim.stride == 0) continue;
    if (!outer && above % dim.stride != 0) {
      return pyflame_cannot(
          why::kPartOfStep,
          "an allocation of {slots} slots with {step} from one element of dim {dim} to the next",
          {fact("slots", slots), fact("step", dim.stride), fact("dim", number)});
    }
    if (dim.stride > above || above % dim.stride != 0) {
      return pyflame_cannot(
          why::kNotRowMajor,
          "another order of slots than row-major: {step} from one element of dim {dim} to the "
          "next, {inner_step} along dim {inner_dim}",
          {fact("dim", *outer), fact("step", above), fact("inner_dim", number),
           fact("inner_step", dim.stride)});
    }
    outer = number;
    dim.tile = above / dim.stride;
    above = dim.stride;
  }
  if (above == 1) return ok_status();
  if (!outer) {
    return pyflame_cannot(why::kOneElement, "an allocation of {slots} slots for one element per PE",
                          {fact("slots", slots)});
  }
  return pyflame_cannot(why::kGaps, "gaps: {step} slots from one element of dim {dim} to the next",
                        {fact("dim", *outer), fact("step", above)});
}

}  // namespace

Result<std::vector<PyflameDim>> pyflame_dims(const Layout& layout) {
  const Form& form = layout.form();
  const std::int64_t cols = form.mesh.rank() == 2 ? form.mesh[1] : 1;
  TESSERA_TRY(const Lines lines, canonical(form));
  std::vector<PyflameDim> dims(form.shape.rank());
  for (const Line& line : lines.lines) {
    const Status noted = note_line(dims, line, form.shape, cols);
    if (noted) continue;
    // What one line does along a dim is not conclusive when another line moves the dim as well.
    const int dim = line.terms[0].dim;
    const auto lines_of_dim =
        std::count_if(lines.lines.begin(), lines.lines.end(), [&](const Line& other) {
          return std::any_of(other.terms.begin(), other.terms.end(),
                             [&](const Term& term) { return term.dim == dim; });
        });
    if (lines_of_dim < 2 || line.terms.size() > 1) return noted.error();
    return pyflame_cannot(why::kCutInWays, "dim {dim} cut in {ways} ways at once",
                          {fact("dim", dim), fact("ways", lines_of_dim)});
  }
  const Position first = lines.position(Index(form.shape.rank(), 0));
  if (first.place != 0) {
    return pyflame_cannot(why::kFirstPlace, "data that begin on place {place} of the mesh",
                          {fact("place", form.mesh.delinear(first.place))});
  }
  if (first.slot != 0) {
    return pyflame_cannot(why::kFirstSlot, "data that begin in slot {slot}",
                          {fact("slot", first.slot)});
  }
  TESSERA_CHECK_OK(note_tiles(dims, layout.slots()));
  return dims;
}

}  // namespace tessera::notation
