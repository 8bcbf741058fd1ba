// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/mlir/core_ranges.h"
#include "tessera/notation/raising/refusal.h"

namespace tessera::notation {
namespace {

constexpr std::int64_t kMaxTable = std::int64_t{1} << 16;

/// Whether cores fill one rectangle row by row; the last row may be shorter.
bool fill_a_rectangle(const std::vector<CoreRange>& ranges) {
  if (ranges.size() == 1) return true;
  if (ranges.size() != 2) return false;
  const CoreRange& full = ranges[0];
  const CoreRange& rest = ranges[1];
  return rest.height() == 1 && rest.start[0] == full.start[0] && full.end[1] < INT64_MAX &&
         rest.start[1] == full.end[1] + 1 && rest.width() <= full.width();
}

Result<Shape> bounding_device(const std::vector<CoreRange>& ranges) {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  for (const CoreRange& range : ranges) {
    TESSERA_TRY(const std::int64_t bottom, (Checked(range.end[1]) + 1).value("a core's row"));
    TESSERA_TRY(const std::int64_t right, (Checked(range.end[0]) + 1).value("a core's column"));
    rows = std::max(rows, bottom);
    cols = std::max(cols, right);
  }
  return Shape::make({rows, cols});
}

/// The number of a place is a line over the grid. Cut by the width of the rectangle, it gives a row
/// and a column.
DeviceMap rectangle_map(const CoreRange& first, Shape device, const Shape& grid) {
  Fold number;
  const std::vector<std::int64_t> strides = grid.row_major_strides();
  for (std::size_t axis = 0; axis < grid.rank(); ++axis) {
    if (grid[axis] > 1) number.terms.push_back({static_cast<int>(axis), strides[axis]});
  }
  const std::int64_t width = first.width();
  const std::int64_t rows = ceil_div(grid.elements(), width);
  if (width > 1) number.cuts.push_back({width, rows, Target::mesh(0), 1, Cause::kGrid});
  number.cuts.push_back(width > 1 ? Cut{1, width, Target::mesh(1), 1, Cause::kGrid}
                                  : Cut{1, rows, Target::mesh(0), 1, Cause::kGrid});
  return DeviceMap::folded(std::move(device), {number}, {first.start[1], first.start[0]});
}

}  // namespace

Result<DeviceMap> device_map_of(const std::vector<CoreRange>& ranges, const Shape& grid) {
  TESSERA_CHECK_OK(check_core_ranges(ranges));
  TESSERA_TRY(const std::int64_t cores, cores_in(ranges));
  if (cores != grid.elements()) {
    Error error{
        ErrorCode::kContradiction,
        cat(cores, " cores for the ", grid.elements(), " places of grid ", grid.to_string()),
        std::nullopt, "one core for each place of the grid"};
    if (!ranges.empty()) {  // the same number from the same core, in rows of the same width
      error.correction = write_core_ranges(
          core_ranges_from(ranges.front().start, grid.elements(), ranges.front().width()));
      error.help += cat(": core_ranges = ", error.correction);
    }
    return error;
  }
  if (ranges.empty()) return DeviceMap::identity();
  const CoreRange& first = ranges.front();
  const bool whole = ranges.size() == 1 && first.start == std::array<std::int64_t, 2>{0, 0};
  if (whole && grid.extents() == std::vector<std::int64_t>{first.height(), first.width()}) {
    return DeviceMap::identity();
  }
  TESSERA_TRY(Shape device, bounding_device(ranges));
  if (fill_a_rectangle(ranges)) return rectangle_map(first, std::move(device), grid);
  if (cores > kMaxTable) {
    return Error{
        ErrorCode::kTooLarge,
        cat("scattered core ranges of ", cores, " cores; at most ", kMaxTable, " are listed"),
        std::nullopt, "use one rectangle"};
  }
  std::vector<Place> places;
  for (const CoreRange& range : ranges) {
    for (std::int64_t y = range.start[1]; y <= range.end[1]; ++y) {
      for (std::int64_t x = range.start[0]; x <= range.end[0]; ++x) places.push_back({y, x});
    }
  }
  return DeviceMap::table(std::move(device), std::move(places));
}

namespace {

/// Adds a core to the ranges: to the row that ends directly before it, or as a new row that may
/// then join the rectangle above it.
class RangeBuilder {
 public:
  void add(std::int64_t y, std::int64_t x) {
    if (row_ && row_->start[1] == y && row_->end[0] + 1 == x && !full_row()) {
      row_->end[0] = x;
    } else {
      close_row();
      row_ = CoreRange{{x, y}, {x, y}};
    }
  }
  std::vector<CoreRange> finish() {
    close_row();
    if (block_) ranges_.push_back(*block_);
    return std::move(ranges_);
  }

 private:
  bool continues_block() const {
    return block_ && block_->start[0] == row_->start[0] && block_->end[1] + 1 == row_->start[1];
  }
  bool full_row() const { return continues_block() && row_->width() == block_->width(); }
  void close_row() {
    if (!row_) return;
    if (full_row()) {
      block_->end[1] = row_->end[1];
    } else {
      if (block_) ranges_.push_back(*block_);
      block_ = row_;
    }
    row_.reset();
  }

  std::optional<CoreRange> block_;  // rows of one width
  std::optional<CoreRange> row_;    // being read
  std::vector<CoreRange> ranges_;
};

/// The ranges of a folded map that fills a rectangle row by row, found without visiting every
/// place.
std::optional<std::vector<CoreRange>> rectangle_of(const DeviceMap& map, const Shape& grid) {
  const Place first = map.map(grid, Place(grid.rank(), 0)).place;
  const Place last = map.map(grid, grid.delinear(grid.elements() - 1)).place;
  for (const Fold& fold : map.folds()) {
    for (const Cut& cut : fold.cuts) {
      const bool one_row = cut.width == 1 && last[0] == first[0];
      std::vector<CoreRange> ranges = core_ranges_from({first[1], first[0]}, grid.elements(),
                                                       one_row ? grid.elements() : cut.width);
      const Result<DeviceMap> again = device_map_of(ranges, grid);
      if (again && again->folds() == map.folds() && again->origin() == map.origin()) return ranges;
    }
  }
  return std::nullopt;
}

constexpr std::string_view kName = "core ranges";

}  // namespace

Result<std::vector<CoreRange>> core_ranges_of(const DeviceMap& map, const Shape& grid) {
  const bool identity = map.kind() == DeviceMap::Kind::kIdentity;
  const std::size_t rank = identity ? grid.rank() : map.physical().rank();
  if (rank != 2) {
    return cannot_express(kName,
                          obstacle(why::kDeviceMap, "places of rank {rank}", {fact("rank", rank)}),
                          "cores have a row and a column");
  }
  if (grid.empty()) return std::vector<CoreRange>{};
  if (identity) return std::vector<CoreRange>{{{0, 0}, {grid[1] - 1, grid[0] - 1}}};
  if (map.kind() == DeviceMap::Kind::kFolded) {
    if (auto ranges = rectangle_of(map, grid)) return *std::move(ranges);
  }
  if (grid.elements() > kMaxTable) {
    return Error{
        ErrorCode::kTooLarge,
        cat("a device map of ", grid.elements(), " places; at most ", kMaxTable, " are listed"),
        std::nullopt, "use one rectangle of cores"};
  }
  RangeBuilder builder;
  for (std::int64_t number = 0; number < grid.elements(); ++number) {
    const PhysicalPlace physical = map.map(grid, grid.delinear(number));
    if (physical.layer != 0) {
      return cannot_express(kName, obstacle(why::kDeviceMap, "places that share a core"),
                            "each core holds one shard");
    }
    builder.add(physical.place[0], physical.place[1]);
  }
  return builder.finish();
}

}  // namespace tessera::notation
