// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/ttnn/rule.h"

namespace tessera::notation {
namespace {

using Memory = TtnnLayout::Memory;

/// TTNN's own map if the memref follows from it: then the given map is wrong, not the memref.
std::optional<AffineMap> map_of_memref(const TtnnLayout& words, const Shape& shape) {
  TtnnLayout usual = words;
  const Result<AffineMap> map = ttnn_collapse(shape, words.memref.element);
  if (!map || *map == words.linear) return std::nullopt;
  usual.linear = *map;
  const Result<TtnnNumbers> numbers = ttnn_numbers(usual, shape);
  if (!numbers || numbers->memref != words.memref.shape) return std::nullopt;
  return usual.linear;
}

Status check_memref(const TtnnLayout& words, const TtnnNumbers& numbers, const Shape& shape,
                    const TtnnSpans* spans) {
  if (words.memref.shape == numbers.memref) return ok_status();
  const std::string_view memory = ttnn_memory_name(words.memory);
  const std::string found =
      words.memref.shape.empty() ? "of one element" : join(words.memref.shape, "x");
  const std::string where = cat(shape.to_string(), " ", memory, memory.empty() ? "" : " ", "in ",
                                words.memref.space, " on ", join(words.grid, "x"));
  if (const std::optional<AffineMap> map = map_of_memref(words, shape)) {
    const std::string right = write_affine_map(*map);
    return at_part(Error{ErrorCode::kContradiction,
                         cat("the map makes memref ", join(numbers.memref, "x"), " of ", where,
                             ", found ", found, ": expected ", right),
                         std::nullopt, "the memref follows from TTNN's own map", right},
                   spans, &TtnnSpans::linear);
  }
  MemRef right = words.memref;
  right.shape = numbers.memref;
  std::string help = cat("write ", write_memref(right, words.dialect));
  const Result<AffineMap> map = ttnn_collapse(shape, words.memref.element);
  if (map && *map != words.linear) {
    help += cat(" for this map; TTNN's own is ", write_affine_map(*map));
  }
  return at_part(
      Error{ErrorCode::kContradiction,
            cat("memref ", found, " for ", where, ": expected ", join(numbers.memref, "x")),
            std::nullopt, std::move(help),
            cat(join(numbers.memref, "x"), words.memref.shape.empty() ? "x" : "")},
      spans, &TtnnSpans::memref_shape);
}

/// The smallest rectangle around the ranges. Only for ranges that are checked and not empty.
CoreRange bounding_box(const std::vector<CoreRange>& ranges) {
  CoreRange box = ranges.front();
  for (const CoreRange& range : ranges) {
    for (std::size_t i = 0; i < 2; ++i) {
      box.start[i] = std::min(box.start[i], range.start[i]);
      box.end[i] = std::max(box.end[i], range.end[i]);
    }
  }
  return box;
}

/// Block sharding keeps the grid's shape on the device; the other two fill cores in order.
Result<DeviceMap> cores_of(const TtnnLayout& words, const Shape& grid) {
  if (words.core_ranges.empty()) {
    const bool block = words.memory == Memory::kBlockSharded;
    const std::string cores =
        write_core_ranges(canonical_core_ranges(grid.elements(), block ? grid[1] : 8));
    return Error{ErrorCode::kContradiction,
                 cat("a ", ttnn_memory_name(words.memory), " tensor without core ranges"),
                 std::nullopt, cat("such as core_ranges = ", cores), block ? cores : std::string()};
  }
  TESSERA_CHECK_OK(check_core_ranges(words.core_ranges));
  if (words.memory != Memory::kBlockSharded) return device_map_of(words.core_ranges, grid);
  const CoreRange box = bounding_box(words.core_ranges);
  TESSERA_TRY(const std::int64_t cores, cores_in(words.core_ranges));
  const Checked height = Checked(box.end[1]) - box.start[1] + 1;
  const Checked width = Checked(box.end[0]) - box.start[0] + 1;
  if (cores != grid.elements() || height.saturated() != grid[0] || width.saturated() != grid[1]) {
    const std::int64_t right = (Checked(box.start[0]) + grid[1] - 1).saturated();
    const std::int64_t bottom = (Checked(box.start[1]) + grid[0] - 1).saturated();
    const std::string rectangle = write_core_ranges({{box.start, {right, bottom}}});
    return Error{ErrorCode::kContradiction,
                 cat(cores, " cores in a box of ", height.saturated(), "x", width.saturated(),
                     " for a block_sharded tensor on grid ", grid.to_string()),
                 std::nullopt, cat("a rectangle of that shape: core_ranges = ", rectangle),
                 rectangle};
  }
  return device_map_of({box}, grid);
}

/// If no ranges are given, the error points after the memory layout, where they are missing.
Error at_cores(Error error, const TtnnLayout& words, const TtnnSpans* spans) {
  if (spans == nullptr || !words.core_ranges.empty() || spans->cores.from < spans->cores.to) {
    return at_part(error, spans, &TtnnSpans::cores);
  }
  if (error.correction.empty()) return at_part(error, spans, &TtnnSpans::memory);
  error.correction = cat(", core_ranges = ", error.correction);
  return at_part(error, spans, &TtnnSpans::cores);
}

/// Adds the digits that put pieces of length `width` of a line on the grid's places: on the line's
/// own axis for block sharding, otherwise on both axes, row by row.
Status add_places(const TtnnLayout& words, std::size_t line, std::int64_t width,
                  std::vector<Cut>& cuts) {
  const std::vector<std::int64_t>& grid = words.grid;
  if (words.memory == Memory::kBlockSharded) {
    cuts.push_back({width, grid[line], Target::mesh(static_cast<int>(line)), 1, Cause::kGrid});
    return ok_status();
  }
  if (grid[0] > 1) {
    TESSERA_TRY(const std::int64_t row, (Checked(width) * grid[1]).value("a row of places"));
    cuts.push_back({row, grid[0], Target::mesh(0), 1, Cause::kGrid});
  }
  if (grid[1] > 1) cuts.push_back({width, grid[1], Target::mesh(1), 1, Cause::kGrid});
  return ok_status();
}

/// How one line is cut: over places, into atoms, and inside the atom.
struct LinePlan {
  std::int64_t count = 0;   ///< atoms of a place
  std::int64_t stride = 1;  ///< slots between atoms
  std::int64_t inner = 1;   ///< slots between neighbours inside an atom
};

Result<Fold> fold_line(const TtnnLayout& words, const TtnnNumbers& numbers, const Shape& shape,
                       std::size_t line, const LinePlan& plan) {
  const AffineResult& result = words.linear.results[line];
  const std::int64_t tile = numbers.tile[line];
  const std::int64_t pieces = numbers.pieces[line];
  TESSERA_TRY(const std::int64_t needed, line_length(result, shape));
  const std::int64_t whole = numbers.physical[line];
  TESSERA_TRY(const std::int64_t piece, (Checked(plan.count) * tile).value("a shard"));
  std::vector<Cut> cuts;
  if (pieces > 1) {
    TESSERA_TRY(const std::int64_t reach,
                (Checked(piece) * pieces).value("a line over its places"));
    const bool tile_pads = needed < whole;
    const bool grid_pads = whole < reach;
    // A digit that is always 0 separates the padding of the tile from the padding of the grid.
    if (tile_pads && grid_pads) cuts.push_back({whole, 1, Target::nothing(), 1, Cause::kTile});
    const std::size_t first = cuts.size();
    TESSERA_CHECK_OK(add_places(words, line, std::max<std::int64_t>(piece, 1), cuts));
    if (tile_pads && !grid_pads) cuts[first].cause = Cause::kTile;
  }
  const Cause end = tile > 1 ? Cause::kTile : Cause::kGrid;
  if (tile > 1) cuts.push_back({tile, plan.count, Target::memory(), plan.stride, end});
  cuts.push_back({1, tile > 1 ? tile : plan.count, Target::memory(),
                  tile > 1 ? plan.inner : plan.stride, end});
  return fold_of(result, shape, std::move(cuts));
}

Result<std::vector<Fold>> fold_lines(const TtnnLayout& words, const TtnnNumbers& numbers,
                                     const Shape& shape) {
  const Atom& element = words.memref.element;
  const std::size_t lines = numbers.tile.size();
  std::vector<Fold> folds(lines);
  Checked stride = element.elements();
  for (std::size_t line = lines; line-- > 0;) {
    LinePlan plan;
    plan.count = words.is_sharded() ? numbers.memref[line] : numbers.atoms[line];
    TESSERA_TRY(plan.stride, stride.value("the slots of a place"));
    plan.inner = line + 1 == lines ? 1 : element.cols;
    TESSERA_TRY(folds[line], fold_line(words, numbers, shape, line, plan));
    stride *= std::max<std::int64_t>(plan.count, 1);
  }
  TESSERA_CHECK_OK(stride.value("the slots of a place"));
  return folds;
}

}  // namespace

Result<Layout> lower_ttnn(const TtnnLayout& words, const Shape& shape, DType dtype,
                          const TtnnSpans* spans) {
  TESSERA_TRY(const TtnnNumbers numbers, ttnn_numbers(words, shape, spans));
  TESSERA_CHECK_OK(check_memref(words, numbers, shape, spans));
  LayoutSpec spec;
  spec.form.shape = shape;
  TESSERA_TRY(spec.form.mesh,
              Shape::make(words.is_sharded() ? words.grid : std::vector<std::int64_t>{1, 1}));
  if (words.is_sharded()) {
    Result<DeviceMap> cores = cores_of(words, spec.form.mesh);
    if (!cores) return at_cores(cores.error(), words, spans);
    spec.device_map = *std::move(cores);
  }
  Result<std::vector<Fold>> folds = fold_lines(words, numbers, shape);
  if (!folds) return at_part(folds.error(), spans, &TtnnSpans::linear);
  spec.form.folds = *std::move(folds);
  spec.dtype = dtype;
  spec.atom = words.memref.element;
  spec.space = words.memref.space;
  Result<Layout> layout = Layout::make(std::move(spec));
  if (!layout) return at_part(layout.error(), spans, &TtnnSpans::linear);
  return layout;
}

Result<Layout> lower(const TtnnLayout& words, const Shape& shape, DType dtype) {
  return lower_ttnn(words, shape, dtype, nullptr);
}

}  // namespace tessera::notation
