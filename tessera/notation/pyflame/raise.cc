// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/pyflame/raise.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/pyflame/deal.h"
#include "tessera/notation/pyflame/text.h"
#include "tessera/notation/raising/elsewhere.h"
#include "tessera/notation/raising/plain_memory.h"

namespace tessera::notation {
namespace {

using Kind = PyflameLayout::Kind;
constexpr std::int64_t kMostTrials = std::int64_t{1} << 16;

/// What PyFlame cannot express about the layout, apart from its folds.
std::optional<Obstacle> unsaid(const LayoutSpec& spec) {
  if (spec.atom.is_tile()) return tiles(spec.atom);
  if (spec.atom.storage != spec.dtype) return stored_as(spec, spec.dtype);
  if (spec.padding != PaddingValue::undef()) return padding_value();
  if (!spec.space.empty()) return memory_space(spec.space);
  const Shape& mesh = spec.form.mesh;
  if (mesh.rank() != 2 && mesh.elements() != 1) {
    return mesh_rank(cat("a mesh of rank ", mesh.rank(), ": PEs are in rows and columns"), mesh, 2,
                     2);
  }
  return std::nullopt;
}

/// Sets the axes on which every PE holds the same data, or a partial value.
Status say_fills(const Layout& layout, PyflameLayout& words) {
  const std::vector<Fill>& fills = layout.form().fills;
  for (std::size_t a = 0; a < layout.mesh().rank(); ++a) {
    const int axis = static_cast<int>(a);
    const std::int64_t pes = layout.mesh()[a];
    std::vector<Fill> here;
    std::copy_if(fills.begin(), fills.end(), std::back_inserter(here), [&](const Fill& fill) {
      // A single replica is no replication; a single partial value is still partial.
      return fill.axis == axis && fill.kind != Fill::Kind::kFixed &&
             (fill.count > 1 || fill.kind == Fill::Kind::kPartial);
    });
    if (here.empty()) continue;
    const Fill& first = here.front();
    const bool alike = std::all_of(here.begin(), here.end(), [&](const Fill& fill) {
      return fill.kind == first.kind && fill.reduction == first.reduction;
    });
    std::int64_t coordinates = 1;  // all different, so their number shows whether all are there
    for (const Fill& fill : here) coordinates *= fill.count;
    if (!alike || coordinates != pes) {
      return pyflame_cannot(
          why::kPartlyRepeated,
          "copies or shares on {coordinates} of {of} coordinates of mesh axis {axis}: an axis is "
          "replicated or partial as a whole",
          {fact("axis", axis), fact("coordinates", coordinates), fact("of", pes)});
    }
    const int pe_axis = layout.mesh().rank() == 2 ? axis : 0;
    if (first.kind == Fill::Kind::kReplicate) {
      words.replicate.push_back(pe_axis);
    } else {
      words.partial.emplace_back(pe_axis, first.reduction);
    }
  }
  return ok_status();
}

/// A block size such that whole blocks give `tile` elements for a dim of `extent`, on one PE.
std::optional<std::int64_t> block_for(const Form& form, std::size_t dim, std::int64_t tile) {
  const std::int64_t extent = form.shape[dim];
  const auto fits = [&](std::int64_t block) {
    return block >= 1 && block <= extent && tile % block == 0 && tile - block < extent;
  };
  for (const Fold& fold : form.folds) {
    if (fold.terms.size() != 1 || fold.terms[0].dim != static_cast<int>(dim)) continue;
    for (const Cut& cut : fold.cuts) {
      if (cut.width > 1 && fits(cut.width)) return cut.width;
    }
  }
  // The largest block is the tile divided by its smallest divisor; if that is too small, all are.
  for (std::int64_t divisor = 2; divisor <= std::min(tile, kMostTrials); ++divisor) {
    if (tile % divisor != 0) continue;
    return fits(tile / divisor) ? std::optional(tile / divisor) : std::nullopt;
  }
  return std::nullopt;
}

/// What each PE axis distributes: the dim and the block size.
struct AxisUse {
  std::optional<std::size_t> dim;
  std::int64_t block = 0;
  bool free = true;  ///< neither distributed nor replicated nor partial
};

struct Uses {
  std::array<AxisUse, 2> axes;
  std::optional<std::size_t> over_both;  ///< the dim that both axes distribute
  bool cyclic = false;                   ///< some blocks are not those of ceil-division
};

/// For a local dim in a tile larger than itself: whole blocks of a one-PE axis.
Status use_for_padding(const Layout& layout, const PyflameLayout& words, std::size_t dim,
                       std::int64_t tile, Uses& uses) {
  const std::array<std::int64_t, 2> pes = {words.rows, words.cols};
  const std::optional<std::int64_t> block = block_for(layout.form(), dim, tile);
  const std::array<std::size_t, 2> order = {dim == 1 ? 1u : 0u, dim == 1 ? 0u : 1u};
  for (const std::size_t axis : order) {
    if (!block || !uses.axes[axis].free || pes[axis] != 1) continue;
    uses.axes[axis] = {dim, *block, false};
    uses.cyclic = true;
    return ok_status();
  }
  return pyflame_cannot(
      why::kDimAllocation, "an allocation of {allocated} elements for the {extent} of dim {dim}",
      {fact("dim", dim), fact("extent", layout.shape()[dim]), fact("allocated", tile)});
}

/// Makes an axis that of a dim, if nothing uses it yet.
Status claim(Uses& uses, int axis, std::size_t number) {
  AxisUse& use = uses.axes[static_cast<std::size_t>(axis)];
  if (use.free) {
    use = {number, 0, false};
    return ok_status();
  }
  if (use.dim) {
    return pyflame_cannot(why::kAxisShared, "dims {dims:and} on one PE axis",
                          {fact("axis", axis), fact("dims", *use.dim, number)});
  }
  return pyflame_cannot(why::kAxisRepeated, "dim {dim} on a PE axis that is replicated or partial",
                        {fact("axis", axis), fact("dim", number)});
}

Result<Uses> find_uses(const Layout& layout, const PyflameLayout& words) {
  Uses uses;
  for (const int axis : words.replicate) uses.axes[static_cast<std::size_t>(axis)].free = false;
  for (const auto& [axis, reduction] : words.partial) {
    uses.axes[static_cast<std::size_t>(axis)].free = false;
  }
  const Shape& shape = layout.shape();
  if (shape.empty()) return uses;
  TESSERA_TRY(const std::vector<PyflameDim> dims, pyflame_dims(layout));
  std::vector<std::size_t> padded;
  for (std::size_t number = 0; number < dims.size(); ++number) {
    const PyflameDim& dim = dims[number];
    if (dim.axis < 0) {
      if (dim.tile != shape[number]) padded.push_back(number);
      continue;
    }
    if (dim.axis == PyflameLayout::kBothAxes) {
      for (const int axis : {0, 1}) {
        TESSERA_CHECK_OK(claim(uses, axis, number));
      }
      TESSERA_TRY(const PyflameDeal deal,
                  PyflameDeal::over_both(shape[number], words.rows, words.cols));
      if (deal.block != dim.block || deal.tile != dim.tile) {
        return pyflame_cannot(why::kBothAxes,
                              "dim {dim} distributed over both PE axes in other blocks than one "
                              "for each PE",
                              {fact("dim", number)});
      }
      uses.over_both = number;
      continue;
    }
    TESSERA_CHECK_OK(claim(uses, dim.axis, number));
    AxisUse& use = uses.axes[static_cast<std::size_t>(dim.axis)];
    const std::int64_t pes = dim.axis == 0 ? words.rows : words.cols;
    TESSERA_TRY(const PyflameDeal deal, PyflameDeal::make(dim.axis, shape[number], pes, dim.block));
    if (deal.tile != dim.tile) {
      return pyflame_cannot(
          why::kBlockAllocation,
          "an allocation of {allocated} elements of dim {dim} where blocks of {block} on {places} "
          "PEs take {expected}",
          {fact("dim", number), fact("allocated", dim.tile), fact("block", dim.block),
           fact("places", pes), fact("expected", deal.tile)});
    }
    use = {number, dim.block, false};
    uses.cyclic = uses.cyclic || dim.block != ceil_div(shape[number], pes);
  }
  for (const std::size_t dim : padded) {
    TESSERA_CHECK_OK(use_for_padding(layout, words, dim, dims[dim].tile, uses));
  }
  return uses;
}

Kind simplest_kind(const PyflameLayout& words, const Uses& uses) {
  if (!words.pes.empty()) return Kind::kCustom;
  if (uses.cyclic) return Kind::kBlockCyclic;
  if (words.rows == 1 && words.cols == 1) return Kind::kSinglePE;
  if (words.cols == 1) return Kind::kRowPartition;
  return words.rows == 1 ? Kind::kColPartition : Kind::kGrid;
}

/// The block size of an axis. By default it distributes dim `axis`, with one block as long as the
/// dim on the first PE.
std::int64_t block_of(const AxisUse& use, std::int64_t pes, const Shape& shape, std::size_t axis) {
  if (use.dim) return use.block;
  const bool stays = use.free && pes > 1 && axis < shape.rank();
  return stays ? std::max<std::int64_t>(shape[axis], 1) : 1;
}

/// The first element that `words` would put elsewhere, as a reason; nullopt when they express the
/// layout.
Result<std::optional<Obstacle>> misplaced(const PyflameLayout& words, const Layout& layout) {
  const Result<Layout> again = lower(words, layout.shape(), layout.dtype());
  if (!again) return std::optional(obstacle_of(again.error(), "this layout: "));
  if (layout.mesh().rank() == 2 && again->mesh() != layout.mesh()) {
    return std::optional(obstacle(
        why::kMeshShape, "a mesh of {mesh:x}, not {expected_mesh:x}",
        {fact("mesh", layout.mesh().extents()), fact("expected_mesh", again->mesh().extents())}));
  }
  TESSERA_TRY(const Comparison comparison, same_function(layout, *again));
  if (!comparison.equal) {
    return std::optional(element_elsewhere(layout, *again, *comparison.first_difference));
  }
  if (again->slots() == layout.slots()) return std::optional<Obstacle>();
  return std::optional(
      obstacle(why::kAllocation, "an allocation of {slots} slots where tiles take {expected_slots}",
               {fact("slots", layout.slots()), fact("expected_slots", again->slots())}));
}

}  // namespace

Error pyflame_cannot_express(Obstacle what) { return cannot_express("PyFlame", std::move(what)); }

Result<PyflameLayout> raise_pyflame(const Layout& layout) {
  if (const auto what = unsaid(layout.spec())) return pyflame_cannot_express(*what);
  PyflameLayout words;
  if (layout.mesh().rank() == 2) {
    words.rows = layout.mesh()[0];
    words.cols = layout.mesh()[1];
  }
  TESSERA_CHECK_OK(say_fills(layout, words));
  TESSERA_TRY(PyflamePes where, pyflame_pes(layout));
  words.origin = where.origin;
  words.pes = std::move(where.pes);
  TESSERA_TRY(const Uses uses, find_uses(layout, words));
  words.kind = simplest_kind(words, uses);
  if (uses.cyclic) {
    if (words.kind == Kind::kCustom) {
      return pyflame_cannot(why::kCyclicOnList, "cyclic blocks on PEs that are listed one by one");
    }
    words.block_rows = block_of(uses.axes[0], words.rows, layout.shape(), 0);
    words.block_cols = block_of(uses.axes[1], words.cols, layout.shape(), 1);
  }
  TESSERA_TRY(const std::optional<Obstacle> by_default, misplaced(words, layout));
  if (!by_default) return words;
  words.dim_to_pe = std::vector<std::int64_t>(layout.shape().rank(), -1);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::optional<std::size_t> dim = uses.axes[axis].dim;
    if (dim) {
      (*words.dim_to_pe)[*dim] =
          dim == uses.over_both ? PyflameLayout::kBothAxes : static_cast<std::int64_t>(axis);
    }
    if (!dim && uses.cyclic) (axis == 0 ? words.block_rows : words.block_cols) = 1;
  }
  TESSERA_TRY(const std::optional<Obstacle> as_mapped, misplaced(words, layout));
  if (!as_mapped) return words;
  return pyflame_cannot_express(*as_mapped);
}

}  // namespace tessera::notation
