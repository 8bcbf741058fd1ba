// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/pyflame/deal.h"
#include "tessera/notation/pyflame/text.h"

namespace tessera::notation {
namespace {

using Kind = PyflameLayout::Kind;

std::int64_t pes_along(const PyflameLayout& words, int axis) {
  return axis == 0 ? words.rows : words.cols;
}

bool is_replicated(const PyflameLayout& words, int axis) {
  return std::count(words.replicate.begin(), words.replicate.end(), axis) > 0;
}

bool is_partial(const PyflameLayout& words, int axis) {
  return std::any_of(words.partial.begin(), words.partial.end(),
                     [axis](const auto& item) { return item.first == axis; });
}

/// The PE axis of each dim, -1 for dims that stay local.
using Axes = std::vector<std::int64_t>;

/// The help text when the tensor has no dim for `axis`.
std::string rank_help(const PyflameLayout& words, int axis, Axes axes) {
  const auto spare = std::find_if(axes.begin(), axes.end(), [&](std::int64_t mapped) {
    return mapped < 0 || pes_along(words, static_cast<int>(mapped)) == 1;
  });
  const std::string copies = cat("replicate=[", axis, "] keeps a copy on each of them");
  if (spare == axes.end()) {
    return cat("dim_to_pe=", bracketed(axes), " keeps the data on the first of the PE ",
               pe_axis_name(axis), ", ", copies);
  }
  *spare = axis;
  return cat("dim_to_pe=", bracketed(axes), " distributes dim ", spare - axes.begin(),
             " over them, ", copies);
}

/// Dim 0 to the rows and dim 1 to the columns, except for axes on which all PEs hold the same.
Result<Axes> default_axes(const PyflameLayout& words, std::size_t rank, const PyflameBlame& blame) {
  Axes axes(rank, -1);
  std::optional<int> missing;
  for (const int axis : {0, 1}) {
    if (is_replicated(words, axis) || is_partial(words, axis)) continue;
    if (axis == 0 && words.kind == Kind::kColPartition) continue;
    if (axis == 1 && words.kind == Kind::kRowPartition) continue;
    if (static_cast<std::size_t>(axis) < rank) {
      axes[static_cast<std::size_t>(axis)] = axis;
    } else if (pes_along(words, axis) > 1 && !missing) {
      missing = axis;
    }
  }
  if (!missing) return axes;
  return Error{ErrorCode::kContradiction,
               cat(pyflame_factory(words.kind), " distributes dim ", *missing, " over ",
                   pes_along(words, *missing), " PE ", pe_axis_name(*missing),
                   ", but the tensor has rank ", rank),
               blame.at(*missing == 0 ? &PyflameSpans::rows : &PyflameSpans::cols),
               rank_help(words, *missing, axes)};
}

/// The span that makes PE axis `axis` replicated or partial.
std::optional<Span> fill_span(const PyflameLayout& words, std::int64_t axis,
                              const PyflameBlame& blame) {
  for (std::size_t i = 0; i < words.replicate.size(); ++i) {
    if (words.replicate[i] == axis) return blame.at(&PyflameSpans::replicate, i);
  }
  for (std::size_t i = 0; i < words.partial.size(); ++i) {
    if (words.partial[i].first == axis) return blame.at(&PyflameSpans::partial, i);
  }
  return std::nullopt;
}

Result<Axes> said_axes(const PyflameLayout& words, std::size_t rank, const PyflameBlame& blame) {
  const Axes& axes = *words.dim_to_pe;
  if (axes.size() != rank) {
    return Error{ErrorCode::kContradiction,
                 cat("dim_to_pe has ", axes.size(), axes.size() == 1 ? " entry" : " entries",
                     " for a tensor of rank ", rank),
                 blame.at(&PyflameSpans::dim_list),
                 "one entry per dim: 0 is the PE rows, 1 the PE columns, -1 keeps the dim local"};
  }
  std::array<std::optional<std::size_t>, 2> user;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const std::int64_t axis = axes[dim];
    if (axis == -1) continue;
    const std::optional<Span> here = blame.at(&PyflameSpans::dim_to_pe, dim);
    const bool is_both = axis == PyflameLayout::kBothAxes;
    if (axis != 0 && axis != 1 && !is_both) {
      return Error{ErrorCode::kOutOfRange, cat("dim ", dim, " maps to PE axis ", axis), here,
                   "0 is the PE rows, 1 the PE columns, -1 keeps the dim local"};
    }
    if (is_both && words.kind == Kind::kBlockCyclic) {
      return Error{ErrorCode::kContradiction,
                   cat("dim ", dim, " maps to both PE axes, which have blocks of their own"), here,
                   "a Grid distributes a dim over both axes"};
    }
    for (const std::int64_t used : {0, 1}) {
      if (!is_both && used != axis) continue;
      const auto name = pe_axis_name(static_cast<int>(used));
      std::optional<std::size_t>& before = user[static_cast<std::size_t>(used)];
      if (before) {
        return Error{ErrorCode::kContradiction,
                     cat("dims ", *before, " and ", dim, " both map to the PE ", name),
                     PyflameBlame::both(blame.at(&PyflameSpans::dim_to_pe, *before), here),
                     "a PE axis takes one dim; -1 keeps the other local"};
      }
      const bool replicated = is_replicated(words, static_cast<int>(used));
      if (replicated || is_partial(words, static_cast<int>(used))) {
        return Error{ErrorCode::kContradiction,
                     cat("dim ", dim, " maps to the PE ", name, ", which are ",
                         replicated ? "replicated" : "partial"),
                     PyflameBlame::both(here, fill_span(words, used, blame)),
                     "-1 keeps the dim local; or distribute it over the other PE axis"};
      }
      before = dim;
    }
  }
  return axes;
}

Result<std::vector<PyflameDeal>> deal_dims(const PyflameLayout& words, const Shape& shape,
                                           const PyflameBlame& blame) {
  TESSERA_TRY(const Axes axes, words.dim_to_pe ? said_axes(words, shape.rank(), blame)
                                               : default_axes(words, shape.rank(), blame));
  std::vector<PyflameDeal> deals;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (axes[dim] < 0) {
      deals.push_back(PyflameDeal::local(shape[dim]));
      continue;
    }
    if (axes[dim] == PyflameLayout::kBothAxes) {
      TESSERA_TRY(const PyflameDeal deal,
                  PyflameDeal::over_both(shape[dim], words.rows, words.cols));
      deals.push_back(deal);
      continue;
    }
    const int axis = static_cast<int>(axes[dim]);
    const std::int64_t pes = pes_along(words, axis);
    std::int64_t block = std::max<std::int64_t>(ceil_div(shape[dim], pes), 1);
    if (words.kind == Kind::kBlockCyclic) block = axis == 0 ? words.block_rows : words.block_cols;
    TESSERA_TRY(const PyflameDeal deal, PyflameDeal::make(axis, shape[dim], pes, block));
    deals.push_back(deal);
  }
  return deals;
}

std::vector<Fill> fills(const PyflameLayout& words, const std::vector<PyflameDeal>& deals) {
  std::vector<Fill> all;
  for (const int axis : words.replicate) {
    all.push_back(Fill::replicate(axis, pes_along(words, axis)));
  }
  for (const auto& [axis, reduction] : words.partial) {
    all.push_back(Fill::partial(axis, pes_along(words, axis), reduction));
  }
  for (const int axis : {0, 1}) {
    const bool said = is_replicated(words, axis) || is_partial(words, axis) ||
                      std::any_of(deals.begin(), deals.end(),
                                  [axis](const PyflameDeal& deal) { return deal.uses(axis); });
    if (!said && pes_along(words, axis) > 1) all.push_back(Fill::fixed(axis, 0));
  }
  return all;
}

/// Where the tiles are on the wafer: their own PEs moved by the origin.
Result<DeviceMap> device_map(const PyflameLayout& words, const PyflameBlame& blame) {
  const PyflameLayout::Pe origin = words.origin.value_or(PyflameLayout::Pe{0, 0});
  const bool custom = words.kind == Kind::kCustom;
  if (!custom && !words.origin) return DeviceMap::identity();
  PyflameLayout::Pe last = {words.rows - 1, words.cols - 1};
  if (custom) {
    last = {0, 0};
    for (const PyflameLayout::Pe& pe : words.pes) {
      last = {std::max(last[0], pe[0]), std::max(last[1], pe[1])};
    }
  }
  const Checked rows = Checked(origin[0]) + last[0] + 1;
  const Checked cols = Checked(origin[1]) + last[1] + 1;
  const Result<Shape> wafer = Shape::make({rows.saturated(), cols.saturated()});
  if (rows.overflowed() || cols.overflowed() || !wafer) {
    return Error{ErrorCode::kOverflow, "the wafer up to the last PE has too many PEs to count",
                 words.origin ? blame.at(&PyflameSpans::origin) : blame.at(&PyflameSpans::pe_list),
                 "use smaller PE rows and columns"};
  }
  if (!custom) {
    std::vector<Fold> folds(2);
    for (const int axis : {0, 1}) {
      folds[static_cast<std::size_t>(axis)] = Fold{
          {{axis, 1}}, 0, {Cut{1, pes_along(words, axis), Target::mesh(axis), 1, Cause::kGrid}}};
    }
    return DeviceMap::folded(*wafer, std::move(folds), {origin[0], origin[1]});
  }
  std::vector<Place> places;
  places.reserve(words.pes.size());
  for (const PyflameLayout::Pe& pe : words.pes) {
    places.push_back({origin[0] + pe[0], origin[1] + pe[1]});
  }
  return DeviceMap::table(*wafer, std::move(places));
}

}  // namespace

Result<Layout> lower_pyflame(const PyflameLayout& words, const Shape& shape, DType dtype,
                             const PyflameBlame& blame) {
  TESSERA_CHECK_OK(check_pyflame(words, blame));
  TESSERA_TRY(const std::vector<PyflameDeal> deals, deal_dims(words, shape, blame));
  LayoutSpec spec;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  spec.form.shape = shape;
  TESSERA_TRY(spec.form.mesh, Shape::make({words.rows, words.cols}));
  spec.form.folds.resize(shape.rank());
  Checked stride = 1;  // of a step along the dim, row-major over the allocated tile
  for (std::size_t dim = shape.rank(); dim-- > 0;) {
    TESSERA_TRY(const std::int64_t slots, stride.value("the slots of a tile"));
    TESSERA_TRY(spec.form.folds[dim], deals[dim].fold(static_cast<int>(dim), slots));
    stride *= std::max<std::int64_t>(deals[dim].tile, 1);
  }
  spec.form.fills = fills(words, deals);
  TESSERA_TRY(spec.device_map, device_map(words, blame));
  return Layout::make(std::move(spec));
}

Result<Layout> lower(const PyflameLayout& words, const Shape& shape, DType dtype) {
  return lower_pyflame(words, shape, dtype, {});
}

Result<std::vector<PyflameDeal>> deals(const PyflameLayout& words, const Shape& shape) {
  TESSERA_CHECK_OK(check_pyflame(words, {}));
  return deal_dims(words, shape, {});
}

}  // namespace tessera::notation
