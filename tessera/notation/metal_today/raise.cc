// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/metal/form.h"
#include "tessera/notation/metal/guess.h"
#include "tessera/notation/metal/text.h"
#include "tessera/notation/metal_today/metal_today.h"
#include "tessera/notation/raising/plain_memory.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kName = "metal-today";

constexpr std::size_t kFree = SIZE_MAX;

/// The line of each dim that drives one; dims of extent 1 are free.
Result<std::vector<std::size_t>> driven_lines(const Shape& shape,
                                              const std::vector<AffineResult>& values) {
  std::vector<std::size_t> line_of(shape.rank(), kFree);
  for (std::size_t line = 0; line < values.size(); ++line) {
    if (!values[line].is_linear() || values[line].constant != 0) {
      return as_error(obstacle(why::kNoCollapse, "line {line}, which is not a collapse of dims",
                               {fact("line", line)}));
    }
    for (const Term& term : values[line].terms) {
      std::size_t& home = line_of[static_cast<std::size_t>(term.dim)];
      if (home != kFree) {
        return as_error(obstacle(why::kInTwoLines, "d{dim} in two lines", {fact("dim", term.dim)}));
      }
      home = line;
    }
  }
  return line_of;
}

/// Whether the innermost dim of a line has a step of more than 1. Then a dim of extent 1 below it
/// must be aligned to that step.
bool wants_inner_dim(const AffineResult& value) {
  return !value.terms.empty() && std::none_of(value.terms.begin(), value.terms.end(),
                                              [](const Term& term) { return term.coef == 1; });
}

/// Which line each dim belongs to. A free dim joins the line before it if that line needs a step;
/// otherwise it fills a line that has no other dim; otherwise it joins the line after it.
Result<std::vector<std::size_t>> assign_dims(const Shape& shape,
                                             const std::vector<AffineResult>& values) {
  TESSERA_TRY(std::vector<std::size_t> line_of, driven_lines(shape, values));
  std::size_t covered = 0;  // lines below this have a dim
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (line_of[dim] == kFree) {
      std::size_t next = dim;
      while (next < shape.rank() && line_of[next] == kFree) ++next;
      const std::size_t limit = next == shape.rank() ? values.size() : line_of[next];
      const bool spare = next - dim + covered > limit;
      if (covered > 0 && spare && wants_inner_dim(values[covered - 1]) &&
          (dim == 0 || shape[dim - 1] != 1)) {
        line_of[dim] = covered - 1;
      } else if (covered < limit) {
        line_of[dim] = covered;
      } else {
        line_of[dim] = next == shape.rank() ? values.size() - 1 : line_of[next];
      }
    }
    if (line_of[dim] > covered || line_of[dim] + 1 < covered) {
      return as_error(
          obstacle(why::kLineOrder, "d{dim} on line {line} where line {expected_line} is next",
                   {fact("dim", dim), fact("line", line_of[dim]), fact("expected_line", covered)}));
    }
    covered = line_of[dim] + 1;
  }
  if (covered != values.size()) {
    return as_error(obstacle(why::kGridRank, "a grid of rank {grid_rank} for {lines} lines of dims",
                             {fact("grid_rank", values.size()), fact("lines", covered)}));
  }
  return line_of;
}

/// An alignment A with up(value, A) = target; the usual one if it works.
std::optional<std::int64_t> alignment_for(std::int64_t value, std::int64_t target,
                                          std::int64_t customary) {
  for (const std::int64_t candidate : {customary, std::int64_t{1}, target}) {
    if (candidate >= 1 && (Checked(ceil_div(value, candidate)) * candidate).saturated() == target) {
      return candidate;
    }
  }
  return std::nullopt;
}

/// Alignments that give one line, whose dims are [from, to), its strides.
Status align_line(const Shape& shape, const AffineResult& value, std::int64_t length,
                  std::int64_t tile, std::size_t from, std::size_t to,
                  std::vector<std::int64_t>& alignments) {
  const auto stride_of = [&](std::size_t dim) -> std::optional<std::int64_t> {
    for (const Term& term : value.terms) {
      if (static_cast<std::size_t>(term.dim) == dim) return term.coef;
    }
    return std::nullopt;
  };
  std::int64_t c = 1;
  for (std::size_t dim = to; dim-- > from;) {
    if (stride_of(dim).value_or(c) != c) {
      return as_error(obstacle(
          why::kLineStride, "the stride {stride} of d{dim}, where {expected_stride} is expected",
          {fact("dim", dim), fact("stride", *stride_of(dim)), fact("expected_stride", c)}));
    }
    const std::int64_t customary = dim + 1 == to ? tile : 1;
    TESSERA_TRY(const std::int64_t raw, (Checked(c) * shape[dim]).value("a line"));
    // The line so far must become as long as the next outer step, or finally as long as the whole
    // line.
    std::int64_t target = length;
    for (std::size_t outer = dim; outer-- > from;) {
      if (stride_of(outer)) {
        target = *stride_of(outer);
        break;
      }
    }
    const auto alignment = alignment_for(raw, target, customary);
    if (!alignment) {
      return as_error(obstacle(why::kLineLength, "a line of {length} where d{dim} needs {needed}",
                               {fact("dim", dim), fact("length", target), fact("needed", raw)}));
    }
    alignments[dim] = *alignment;
    c = target;
  }
  return ok_status();
}

/// Intervals and alignments whose strides are those of `values`.
Status collapse_like(const Shape& shape, const std::vector<AffineResult>& values,
                     const MetalFrame& frame, MetalTodayLayout& words) {
  words.dim_alignments.assign(shape.rank(), 1);
  words.collapsed_intervals.clear();
  const std::size_t lines = values.size();
  // The plane of rank 0 and 1 has lines without dims before the other lines.
  const bool plane = shape.rank() < 2 && lines == 2;
  const std::size_t skipped = plane ? 2 - shape.rank() : 0;
  const std::vector<AffineResult> lived(values.begin() + static_cast<std::ptrdiff_t>(skipped),
                                        values.end());
  TESSERA_TRY(const std::vector<std::size_t> line_of, assign_dims(shape, lived));
  for (std::size_t from = 0; from < shape.rank();) {
    std::size_t to = from;
    while (to < shape.rank() && line_of[to] == line_of[from]) ++to;
    const std::size_t line = line_of[from] + skipped;
    TESSERA_TRY(const std::int64_t length,
                (Checked(frame.grid[line]) * frame.shard[line]).value("the length of a line"));
    TESSERA_CHECK_OK(align_line(shape, values[line], length,
                                tile_extent(frame.element, line, lines), from, to,
                                words.dim_alignments));
    words.collapsed_intervals.emplace_back(from, to);
    from = to;
  }
  return ok_status();
}

std::optional<MetalMiss> attempt(const Layout& layout, const MetalFrame& frame,
                                 const Result<std::vector<AffineResult>>& values,
                                 MetalTodayLayout& words) {
  if (!values) return MetalMiss{1, obstacle_of(values.error(), "its lines: ")};
  std::vector<std::int64_t> device = frame.grid;
  device.insert(device.end(), frame.atoms.begin(), frame.atoms.end());
  Result<Shape> shape = Shape::make(std::move(device));
  if (!shape) return MetalMiss{1, obstacle_of(shape.error(), "this layout: ")};
  words.device_type = {*std::move(shape), layout.atom()};
  if (const Status status = collapse_like(layout.shape(), *values, frame, words); !status) {
    return MetalMiss{2, obstacle_of(status.error())};
  }
  if (auto difference = differs(layout, lower(words))) return MetalMiss{3, *std::move(difference)};
  return std::nullopt;
}

/// An empty tensor has no elements to place: leading dims are collapsed so that each other dim has
/// its own line, and every line is rounded up to a multiple of the grid.
Result<MetalTodayLayout> raise_empty(const Layout& layout, MetalTodayLayout words) {
  const Shape& shape = layout.shape();
  std::vector<std::int64_t> device = layout.mesh().extents();
  if (device.empty()) device.assign(layout.atom().is_tile() || shape.rank() > 1 ? 2 : 1, 1);
  const std::size_t lines = device.size();
  const std::size_t plane = shape.rank() == 1 && lines == 2 ? 1 : 0;  // its leading line
  if (lines > shape.rank() + plane || (lines < 2 && layout.atom().is_tile())) {
    return cannot_express(
        kName,
        obstacle(why::kEmptyOnGrid, "an empty tensor of rank {rank} on a grid of rank {grid_rank}",
                 {fact("rank", shape.rank()), fact("grid_rank", layout.mesh().rank())}));
  }
  words.dim_alignments.assign(shape.rank(), 1);
  std::size_t from = 0;
  for (std::size_t line = 0; line < lines; ++line) {
    const std::int64_t tile = tile_extent(layout.atom(), line, lines);
    TESSERA_TRY(const std::int64_t unit,
                (Checked(device[line]) * tile).value("the alignment of a line"));
    Checked length = 1;
    if (line < plane) {
      length = 32;
    } else {
      const std::size_t to = shape.rank() - (lines - 1 - line);
      words.collapsed_intervals.emplace_back(from, to);
      words.dim_alignments[from] = unit;
      for (; from < to; ++from) length *= shape[from];
    }
    TESSERA_TRY(const std::int64_t needed, length.value("the length of a line"));
    device.push_back(ceil_div(needed, unit));
  }
  TESSERA_TRY(Shape device_shape, Shape::make(std::move(device)));
  words.device_type = {std::move(device_shape), layout.atom()};
  if (const auto what = differs(layout, lower(words))) return cannot_express(kName, *what);
  return words;
}

}  // namespace

Result<MetalTodayLayout> raise_metal_today(const Layout& layout) {
  if (const auto what = unsaid_by_metal(layout)) return cannot_express(kName, *what);
  const LayoutSpec& spec = layout.spec();
  if (spec.dtype != spec.atom.storage) {
    return cannot_express(kName, stored_as(spec, spec.dtype));
  }
  if (spec.device_map.kind() != DeviceMap::Kind::kIdentity) {
    return cannot_express(kName, device_map());
  }
  MetalTodayLayout words;
  words.logical_shape = layout.shape().extents();
  words.oob = spec.padding;
  words.says_oob = spec.padding != PaddingValue::undef();
  words.space = spec.space;
  if (!spec.space.empty()) words.memory_layout = "sharded";
  if (layout.shape().empty()) return raise_empty(layout, std::move(words));
  if (layout.shape().rank() == 0 && layout.mesh().rank() == 0 && layout.slots() == 1) {
    words.device_type = TensorType::of(Shape(), layout.dtype());  // no plane around it
    return words;
  }
  const auto miss = try_frames(layout, MetalShards::kWholeTiles,
                               [&](const MetalFrame& frame, const Lines& lines) {
                                 return attempt(layout, frame, line_values(lines, frame), words);
                               });
  if (miss) return cannot_express(kName, miss->what);
  return words;
}

}  // namespace tessera::notation
