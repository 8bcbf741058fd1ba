// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/lines.h"
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
    return pyflame_cannot_say(cat("dim ", number, " going diagonally over the PEs"));
  }
  if (step != 1) {
    return pyflame_cannot_say(
        cat("dim ", number, " in steps of ", step, " PE ", pe_axis_name(axis)));
  }
  const bool wraps = axis == 1 && count > cols;  // from the end of a row to the next
  if (wraps || (dim.axis >= 0 && dim.axis != axis)) {
    return pyflame_cannot_say(cat("dim ", number, " spread over both PE axes"));
  }
  if (dim.axis == axis) {
    return pyflame_cannot_say(cat("dim ", number, " cut twice for one PE axis"));
  }
  dim.axis = axis;
  dim.block = cut.width;
  return ok_status();
}

Status note_line(std::vector<PyflameDim>& dims, const Line& line, const Shape& shape,
                 std::int64_t cols) {
  if (line.terms.size() != 1) {
    return pyflame_cannot_say(
        cat("dims ", line.terms[0].dim, " and ", line.terms[1].dim, " cut as one line"));
  }
  const auto number = static_cast<std::size_t>(line.terms[0].dim);
  PyflameDim& dim = dims[number];
  const bool upward = line.terms[0].coef > 0;
  std::int64_t piece = shape[number];  // what the cut divides
  for (const LineCut& cut : line.cuts) {
    if (!upward || cut.move.place < 0 || cut.move.slot < 0) {
      return pyflame_cannot_say(cat("dim ", number, " running backwards"));
    }
    const std::int64_t count = ceil_div(piece, cut.width);
    if (cut.move.place > 0) TESSERA_CHECK_OK(note_pe_move(dim, number, cut, count, cols));
    piece = cut.width;
    if (cut.move.slot > 0) dim.stride = cut.move.slot;  // widths decrease: the last one is kept
  }
  if (line.start != 0 || line.terms[0].coef != 1) {
    return pyflame_cannot_say(cat("dim ", number, " cut from position ", line.start,
                                  " by steps of ", line.terms[0].coef));
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
      return pyflame_cannot_say(cat("an allocation of ", slots, " slots with ", dim.stride,
                                    " from one element of dim ", number, " to the next"));
    }
    if (dim.stride > above || above % dim.stride != 0) {
      return pyflame_cannot_say(cat("another order of slots than row-major: ", above,
                                    " from one element of dim ", *outer, " to the next, ",
                                    dim.stride, " along dim ", number));
    }
    outer = number;
    dim.tile = above / dim.stride;
    above = dim.stride;
  }
  if (above == 1) return ok_status();
  if (!outer)
    return pyflame_cannot_say(cat("an allocation of ", slots, " slots for one element a PE"));
  return pyflame_cannot_say(
      cat("gaps: ", above, " slots from one element of dim ", *outer, " to the next"));
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
    return pyflame_cannot_say(cat("dim ", dim, " cut in ", lines_of_dim, " ways at once"));
  }
  const Position first = lines.position(Index(form.shape.rank(), 0));
  if (first.place != 0) {
    return pyflame_cannot_say(cat("data that begin on place ",
                                  bracketed(form.mesh.delinear(first.place)), " of the mesh"));
  }
  if (first.slot != 0) return pyflame_cannot_say(cat("data that begin in slot ", first.slot));
  TESSERA_CHECK_OK(note_tiles(dims, layout.slots()));
  return dims;
}

}  // namespace tessera::notation
