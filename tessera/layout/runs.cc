// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/runs.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/layout/algebra/merge_dims.h"
#include "tessera/layout/enumerate.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxWalked = std::int64_t{1} << 22;
constexpr Position kNext{0, 1};  // the slot right after, on the same place

/// The gcd of the positions of all breaks, and the gcd of the slots in which a new run begins (0 if
/// there are none).
struct Breaks {
  std::int64_t positions = 0;
  std::int64_t slots = 0;
};

/// The form with dims in the order of the walk, slowest first; neighbouring dims that act as one
/// dim in every fold are merged.
Result<Form> walk_form(const Form& form, const std::vector<int>& order) {
  std::vector<std::int64_t> extents;
  std::vector<int> position(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int dim = order[i];
    if (dim < 0 || static_cast<std::size_t>(dim) >= form.shape.rank() ||
        position[static_cast<std::size_t>(dim)] >= 0) {
      return Error{ErrorCode::kBadView, cat("a walk that names dim ", dim), std::nullopt,
                   "name every dim once"};
    }
    position[static_cast<std::size_t>(dim)] = static_cast<int>(i);
    extents.push_back(form.shape[static_cast<std::size_t>(dim)]);
  }
  if (order.size() != form.shape.rank()) {
    return Error{ErrorCode::kBadView,
                 cat("a walk over ", order.size(), " of ", form.shape.rank(), " dims"),
                 std::nullopt, "name every dim once"};
  }
  Form walk = form;
  TESSERA_TRY(walk.shape, Shape::make(std::move(extents)));
  for (Fold& fold : walk.folds) {
    for (Term& term : fold.terms) term.dim = position[static_cast<std::size_t>(term.dim)];
  }
  for (int dim = static_cast<int>(walk.shape.rank()) - 2; dim >= 0; --dim) {
    if (std::optional<Form> joined = join_dims(walk, dim)) walk = *std::move(joined);
  }
  return walk;
}

/// The part of a position that one dim contributes.
class DimFunction {
 public:
  DimFunction(const Lines& lines, int dim) : index_(lines.shape.rank(), 0), dim_(dim) {
    lines_.shape = lines.shape;
    lines_.mesh = lines.mesh;
    for (const Line& line : lines.lines) {
      if (line.terms[0].dim == dim) lines_.lines.push_back(line);
    }
  }
  Position operator()(std::int64_t x) const {
    index_[static_cast<std::size_t>(dim_)] = x;
    return lines_.position(index_);
  }

 private:
  Lines lines_;
  mutable Index index_;
  int dim_;
};

void add(Breaks& breaks, std::int64_t position, std::int64_t slot) {
  breaks.positions = std::gcd(breaks.positions, position);
  breaks.slots = std::gcd(breaks.slots, slot);
}

/// The breaks along one dim, with all faster dims at their start: x breaks if its step is not
/// `wanted`. Positions count steps of this dim; slots are relative to the dim's start.
///
/// In the loops of a piece all repetitions have the same step, except for the first one, which has
/// a different predecessor. Whether a point breaks depends only on the finest loop that has begun
/// to repeat. So it is enough to test the origin and repetition 1 of each loop.
Breaks breaks_along(const Factor& factor, const DimFunction& function, Position wanted, bool& any) {
  Breaks breaks;
  const Position start = function(0);
  const auto breaks_at = [&](std::int64_t x) {
    if (x == 0 || function(x) - function(x - 1) == wanted) return false;
    any = true;
    add(breaks, x, (function(x) - start).slot);
    return true;
  };
  for (const Piece& piece : factor.pieces) {
    breaks_at(piece.origin[0]);
    for (std::size_t finest = 0; finest < piece.loops.size(); ++finest) {
      const Loop& loop = piece.loops[finest];
      if (!breaks_at(piece.origin[0] + loop.step)) continue;
      if (loop.extent > 2) add(breaks, loop.step, loop.move.a.slot);
      for (std::size_t l = 0; l < finest; ++l) {
        add(breaks, piece.loops[l].step, piece.loops[l].move.a.slot);
      }
    }
  }
  return breaks;
}

/// The gcd of all slots along a dim, relative to the first one.
std::int64_t slot_divisor(const Factor& factor) {
  std::int64_t divisor = 0;
  for (const Piece& piece : factor.pieces) {
    divisor = std::gcd(divisor, (piece.at.a - factor.pieces[0].at.a).slot);
    for (const Loop& loop : piece.loops) divisor = std::gcd(divisor, loop.move.a.slot);
  }
  return divisor;
}

Result<Breaks> breaks_of_separable(const Form& walk, const Lines& lines) {
  TESSERA_TRY(const Refinement refinement, refine(walk));
  const std::vector<std::int64_t> weight = walk.shape.row_major_strides();
  Breaks breaks;
  Position wrap;  // the change when all faster dims start over
  Position origin = lines.position(Index(walk.shape.rank(), 0));
  breaks.slots = origin.slot;
  for (std::size_t d = walk.shape.rank(); d-- > 0;) {
    const auto factor =
        std::find_if(refinement.factors().begin(), refinement.factors().end(),
                     [&](const Factor& f) { return f.dims[0] == static_cast<int>(d); });
    if (factor == refinement.factors().end()) continue;  // one element
    const DimFunction function(lines, static_cast<int>(d));
    bool any = false;
    const Breaks here = breaks_along(*factor, function, kNext - wrap, any);
    if (any) {
      add(breaks, here.positions * weight[d], here.slots);
      for (const Factor& slower : refinement.factors()) {
        if (slower.dims[0] >= static_cast<int>(d)) continue;
        add(breaks, weight[static_cast<std::size_t>(slower.dims[0])], slot_divisor(slower));
      }
    }
    wrap += function(0) - function(walk.shape[d] - 1);
  }
  return breaks;
}

Result<Breaks> breaks_by_walking(const Form& walk) {
  if (walk.shape.elements() > kMaxWalked) {
    return Error{ErrorCode::kTooLarge,
                 cat("runs of entangled dims must be walked, but there are more than ", kMaxWalked,
                     " elements"),
                 std::nullopt, "fold dims so that cuts fall between them"};
  }
  Breaks breaks;
  std::int64_t position = 0;
  Position last;
  TESSERA_CHECK_OK(for_each_row(walk, [&](const Row& row) {
    for (const Position& offset : row.offsets) {
      const Position here = row.base + offset;
      if (position == 0) {
        breaks.slots = here.slot;
      } else if (here - last != kNext) {
        add(breaks, position, here.slot);
      }
      last = here;
      ++position;
    }
  }));
  return breaks;
}

Result<Breaks> breaks_of(const Form& form, const std::vector<int>& order) {
  TESSERA_TRY(const Form walk, walk_form(form, order));
  TESSERA_TRY(const Lines lines, canonical(walk));
  if (lines.separable()) return breaks_of_separable(walk, lines);
  return breaks_by_walking(walk);
}

std::vector<int> row_major_order(const Form& form) {
  std::vector<int> order(form.shape.rank());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

Result<std::int64_t> contiguous_run(const Form& form, const std::vector<int>& order) {
  if (form.shape.empty()) return 0;
  TESSERA_TRY(const Breaks breaks, breaks_of(form, order));
  return breaks.positions == 0 ? form.shape.elements() : breaks.positions;
}

Result<std::int64_t> contiguous_run(const Form& form) {
  return contiguous_run(form, row_major_order(form));
}

Result<bool> is_contiguous(const Form& form) {
  if (form.shape.empty()) return true;
  TESSERA_TRY(const Breaks breaks, breaks_of(form, row_major_order(form)));
  return breaks.positions == 0;
}

Result<std::int64_t> vector_width(const Form& form, const Atom& atom, std::int64_t max_bytes) {
  const std::optional<std::int64_t> bits = dtype_bits(atom.storage);
  if (!bits || form.shape.empty()) return 1;
  TESSERA_TRY(const Breaks breaks, breaks_of(form, row_major_order(form)));
  const std::int64_t common =
      std::gcd(std::gcd(form.shape.elements(), breaks.positions), breaks.slots);
  std::int64_t width = 1;
  while (common % (2 * width) == 0 && width <= (std::int64_t{1} << 40) &&
         2 * width * *bits <= (Checked(max_bytes) * 8).saturated()) {
    width *= 2;
  }
  return width;
}

Result<std::vector<std::int64_t>> strides_of(const Form& form) {
  const Error not_strided{ErrorCode::kNotSupported,
                          "the layout is not one stride per dim on a single place"};
  std::vector<std::int64_t> strides(form.shape.rank(), 0);
  if (form.replicas() != 1) return not_strided;
  if (form.shape.empty()) return strides;
  TESSERA_TRY(const Lines lines, canonical(form));
  // The only candidate is one step along each dim. Cuts may lie between elements, so test whether
  // the functions are equal.
  const Position origin = lines.position(Index(form.shape.rank(), 0));
  Lines plain{lines.shape, lines.mesh, origin, {}};
  for (std::size_t dim = 0; dim < strides.size(); ++dim) {
    if (form.shape[dim] <= 1) continue;
    Index one(form.shape.rank(), 0);
    one[dim] = 1;
    const Position step = lines.position(one) - origin;
    if (step.place != 0) return not_strided;
    strides[dim] = step.slot;
    if (step.slot != 0) plain.lines.push_back({{{static_cast<int>(dim), 1}}, 0, {{1, step}}});
  }
  TESSERA_TRY(const std::optional<Index> differs, first_difference(lines, plain));
  if (differs) return not_strided;
  return strides;
}

Result<bool> is_strided(const Form& form) {
  const Result<std::vector<std::int64_t>> strides = strides_of(form);
  if (strides) return true;
  if (strides.error().code == ErrorCode::kNotSupported) return false;
  return strides.error();
}

}  // namespace tessera
