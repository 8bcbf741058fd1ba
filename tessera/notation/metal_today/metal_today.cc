// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/metal_today/metal_today.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/metal/form.h"
#include "tessera/notation/metal_today/text.h"

namespace tessera::notation {
namespace {

constexpr std::int64_t kPlane = 32;  // rows and columns that rank 0 and 1 are padded to

/// A collapsed line before the grid divides it.
struct Collapsed {
  AffineResult value;
  std::int64_t length = 0;
};

/// A part of the text, or none.
using Part = Span MetalTodaySpans::*;

Checked round_up(std::int64_t value, std::int64_t multiple) {
  return Checked(ceil_div(value, multiple)) * multiple;
}

Status check_alignments(const MetalTodayLayout& words) {
  const std::size_t rank = words.logical_shape.size();
  if (words.dim_alignments.size() != rank) {
    return Error{
        ErrorCode::kContradiction,
        cat(words.dim_alignments.size(), " dim_alignments for a logical_shape of rank ", rank),
        std::nullopt, cat("one alignment for each extent of ", say_shape(words.logical_shape))};
  }
  for (std::size_t dim = 0; dim < rank; ++dim) {
    if (words.dim_alignments[dim] < 1) {
      return Error{ErrorCode::kOutOfRange,
                   cat("dim ", dim, " is aligned to ", words.dim_alignments[dim]), std::nullopt,
                   "alignments are 1 or more"};
    }
  }
  return ok_status();
}

Result<Collapsed> collapse_interval(const MetalTodayLayout& words, std::int64_t from,
                                    std::int64_t to) {
  Collapsed line{{}, 1};
  for (std::int64_t number = to; number-- > from;) {
    const auto dim = static_cast<std::size_t>(number);
    if (line.length != 0) {
      line.value.terms.insert(line.value.terms.begin(), {static_cast<int>(number), line.length});
    }
    TESSERA_TRY(const std::int64_t length, (Checked(words.logical_shape[dim]) * line.length)
                                               .value(cat("the line that dim ", dim, " ends")));
    TESSERA_TRY(
        line.length,
        round_up(length, words.dim_alignments[dim]).value(cat("the line that dim ", dim, " ends")));
  }
  return line;
}

/// All lines in order, including those that only extend rank 0 and 1 to a plane.
Result<std::vector<Collapsed>> collapsed_lines(const MetalTodayLayout& words) {
  const std::size_t rank = words.logical_shape.size();
  TESSERA_TRY(const CollapseIntervals intervals, every_interval(words.collapsed_intervals, rank));
  std::vector<Collapsed> lines;
  const bool plane = words.device_type.element.is_tile() || words.device_type.shape.rank() == 4;
  if (plane && rank < 2) lines.resize(2 - rank, Collapsed{{}, kPlane});
  for (const auto& [from, to] : intervals) {
    TESSERA_TRY(Collapsed line, collapse_interval(words, from, to));
    lines.push_back(std::move(line));
  }
  return lines;
}

Status check_device_rank(const MetalTodayLayout& words, std::size_t lines) {
  const std::vector<std::int64_t>& device = words.device_type.shape.extents();
  if (words.device_type.element.is_tile() && lines < 2) {
    return Error{
        ErrorCode::kBadAtom,
        cat("a tile of ", words.device_type.element.rows, "x", words.device_type.element.cols,
            " where ", say_shape(words.logical_shape), " collapses to ", counted(lines, "line")),
        std::nullopt, "tiles cut the last two lines: collapse fewer dims"};
  }
  if (device.size() == 2 * lines) return ok_status();
  return Error{
      ErrorCode::kContradiction,
      cat("the tensor's shape ", say_shape(device), " has rank ", device.size(), ": expected ",
          2 * lines, ", grid and shard of ", lines, lines == 1 ? " line" : " lines"),
      std::nullopt, "the shape of a device tensor is its grid, then its shard"};
}

/// Checks that the grid divides the aligned lines exactly. The error names an alignment that would
/// do so.
Status check_division(const MetalTodayLayout& words, const std::vector<Collapsed>& lines) {
  const std::vector<std::int64_t>& device = words.device_type.shape.extents();
  for (std::size_t axis = 0; axis < lines.size(); ++axis) {
    const std::int64_t grid = device[axis];
    if (grid < 1) {
      return Error{ErrorCode::kBadShape, cat("grid axis ", axis, " has ", grid, " places"),
                   std::nullopt, "a grid axis has 1 place or more"};
    }
    const std::int64_t tile = tile_extent(words.device_type.element, axis, lines.size());
    const std::int64_t unit = (Checked(grid) * tile).saturated();
    if (lines[axis].length % unit == 0) continue;
    return Error{
        ErrorCode::kContradiction,
        cat("line ", axis, " is ", lines[axis].length, " long after alignment, which a grid of ",
            grid, tile > 1 ? cat(" and tiles of ", tile) : "", tile > 1 ? " do" : " does",
            " not divide: expected ", round_up(lines[axis].length, unit).saturated(), ", found ",
            lines[axis].length),
        std::nullopt,
        cat("align ", say_shape(words.logical_shape), " to multiples of ", unit, " along line ",
            axis)};
  }
  return ok_status();
}

Status check_shard(const MetalTodayLayout& words, const std::vector<MetalLine>& lines) {
  const std::vector<std::int64_t>& device = words.device_type.shape.extents();
  std::vector<std::int64_t> right(device.begin(),
                                  device.begin() + static_cast<std::ptrdiff_t>(lines.size()));
  for (const MetalLine& line : lines) right.push_back(line.atoms);
  if (right == device) return ok_status();
  const auto shard = [&](const std::vector<std::int64_t>& shape) {
    return join(std::span(shape).subspan(lines.size()), "x");
  };
  return Error{ErrorCode::kContradiction,
               cat("shard ", shard(device), " does not match ", say_shape(words.logical_shape),
                   " on ", join(std::span(device).first(lines.size()), "x"), ": expected ",
                   shard(right), ", found ", shard(device)),
               std::nullopt,
               cat("write tensor<", write_tensor_type(right, words.device_type.element), ", ..>"),
               join(right, "x")};
}

/// `part` is set to the part of the text that an error concerns.
Result<Layout> lower_parts(const MetalTodayLayout& words, Part& part) {
  part = &MetalTodaySpans::logical_shape;
  TESSERA_TRY(Shape shape, Shape::make(words.logical_shape));
  part = &MetalTodaySpans::dim_alignments;
  TESSERA_CHECK_OK(check_alignments(words));
  const Result<std::vector<Collapsed>> collapsed = collapsed_lines(words);
  if (!collapsed) {
    const bool too_long = collapsed.error().code == ErrorCode::kOverflow;
    if (!too_long) part = &MetalTodaySpans::collapsed_intervals;
    return collapsed.error();
  }
  part = &MetalTodaySpans::collapsed_intervals;
  TESSERA_CHECK_OK(check_device_rank(words, collapsed->size()));
  part = &MetalTodaySpans::dim_alignments;
  TESSERA_CHECK_OK(check_division(words, *collapsed));
  std::vector<MetalLine> lines;
  for (std::size_t axis = 0; axis < collapsed->size(); ++axis) {
    const std::int64_t grid = words.device_type.shape[axis];
    const std::int64_t tile = tile_extent(words.device_type.element, axis, collapsed->size());
    const std::int64_t shard = (*collapsed)[axis].length / grid;
    lines.push_back({(*collapsed)[axis].value, grid, shard, tile, shard / tile});
  }
  part = &MetalTodaySpans::device_shape;
  TESSERA_CHECK_OK(check_shard(words, lines));
  part = nullptr;
  TESSERA_TRY(LayoutSpec spec, metal_spec(shape, words.device_type.dtype(),
                                          words.device_type.element, lines, Cause::kAlignment));
  spec.padding = words.oob;
  spec.space = words.space;
  return Layout::make(std::move(spec));
}

bool lowers(const MetalTodayLayout& words) {
  Part part = nullptr;
  return lower_parts(words, part).ok();
}

/// Alignments that agree with the rest of the attribute: the smallest multiples of the given ones
/// that the grid divides, or tt-mlir's defaults if none are given. Empty when neither agree.
std::string right_alignments(MetalTodayLayout words) {
  const std::size_t rank = words.logical_shape.size();
  if (words.dim_alignments.size() != rank) {
    words.dim_alignments.assign(rank, 1);
    for (std::size_t dim = rank < 2 ? 0 : rank - 2; dim < rank; ++dim) {
      words.dim_alignments[dim] = kPlane;
    }
  } else {
    const Result<CollapseIntervals> intervals = every_interval(words.collapsed_intervals, rank);
    const std::size_t lines = words.device_type.shape.rank() / 2;
    if (!intervals || intervals->size() > lines) return {};
    const std::size_t first = lines - intervals->size();  // lines that only make a plane
    for (std::size_t axis = first; axis < lines; ++axis) {
      const std::int64_t grid = words.device_type.shape[axis];
      const std::int64_t tile = tile_extent(words.device_type.element, axis, lines);
      const std::int64_t unit = (Checked(grid) * tile).saturated();
      std::int64_t& alignment =
          words.dim_alignments[static_cast<std::size_t>((*intervals)[axis - first].first)];
      if (unit < 1 || alignment < 1) return {};
      alignment = saturating_lcm(alignment, unit);
    }
  }
  return lowers(words) ? join(words.dim_alignments, "x") : std::string();
}

/// Intervals that agree with the rest of the attribute: all dims except the last in one line, or
/// every dim separately. Empty when neither agree.
std::string right_intervals(MetalTodayLayout words) {
  for (const CollapseIntervals& usual : {CollapseIntervals{{0, -1}}, CollapseIntervals{}}) {
    words.collapsed_intervals = usual;
    if (lowers(words)) return write_intervals(usual);
  }
  return {};
}

}  // namespace

Result<Layout> lower(const MetalTodayLayout& words, const MetalTodaySpans* spans) {
  Part part = nullptr;
  Result<Layout> layout = lower_parts(words, part);
  if (layout || spans == nullptr || part == nullptr) return layout;
  Error error = layout.error();
  if (!words.device_type.extents_at) error.correction.clear();  // it is for those extents
  if (part == &MetalTodaySpans::dim_alignments) error.correction = right_alignments(words);
  if (part == &MetalTodaySpans::collapsed_intervals) error.correction = right_intervals(words);
  return error.at(spans->*part);
}

Result<Layout> lower(const MetalTodayLayout& words) { return lower(words, nullptr); }

Result<MetalFacts> facts_of(const MetalTodayLayout& words) {
  TESSERA_CHECK_OK(check_alignments(words));
  TESSERA_TRY(const std::vector<Collapsed> lines, collapsed_lines(words));
  TESSERA_CHECK_OK(check_device_rank(words, lines.size()));
  const std::vector<std::int64_t>& device = words.device_type.shape.extents();
  const auto middle = device.begin() + static_cast<std::ptrdiff_t>(lines.size());
  AffineMap linear{static_cast<int>(words.logical_shape.size()), {}};
  for (const Collapsed& line : lines) linear.results.push_back(line.value);
  const MemRef memref{{middle, device.end()}, words.device_type.element, words.space, {}};
  MetalFacts facts{write_affine_map(linear),
                   words.collapsed_intervals,
                   {device.begin(), middle},
                   write_memref(memref, words.dialect),
                   {}};
  for (std::size_t axis = 0; axis < lines.size(); ++axis) {
    facts.shard_shape.push_back(memref.shape[axis] *
                                tile_extent(memref.element, axis, lines.size()));
  }
  return facts;
}

}  // namespace tessera::notation
