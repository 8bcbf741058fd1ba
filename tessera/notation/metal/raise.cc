// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/metal/form.h"
#include "tessera/notation/metal/guess.h"
#include "tessera/notation/metal/text.h"
#include "tessera/notation/mlir/affine_map_algebra.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kName = "metal";

/// The device map as a form from virtual to physical coordinates.
Form device_form(const DeviceMap& map, const Shape& grid) {
  Form form;
  form.shape = grid;
  form.mesh = map.physical();
  form.folds = map.folds();
  for (std::size_t axis = 0; axis < map.physical().rank(); ++axis) {
    const std::int64_t value = axis < map.origin().size() ? map.origin()[axis] : 0;
    form.fills.push_back(Fill::fixed(static_cast<int>(axis), value));
  }
  return form;
}

/// The digit of one cut as a result of a map: the remainders by the widths above it, then divided
/// by its width.
Result<AffineResult> digit_value(const Fold& fold, std::size_t cut, const Shape& grid) {
  AffineResult value{fold.terms, fold.start, 0, 1};
  std::sort(value.terms.begin(), value.terms.end(),
            [](const Term& a, const Term& b) { return a.dim < b.dim; });
  std::int64_t left = fold.extent(grid);
  for (std::size_t above = 0; above < cut; ++above) {
    if (fold.cuts[above].width >= left) continue;
    TESSERA_TRY(value, affine::remainder(std::move(value), fold.cuts[above].width));
    left = fold.cuts[above].width;
  }
  TESSERA_TRY(value, affine::floor_divide(std::move(value), fold.cuts[cut].width));
  return affine::multiply(std::move(value), affine::constant(fold.cuts[cut].stride));
}

Result<MetalLayout::Device> raise_device(const DeviceMap& map, const Shape& grid) {
  if (map.kind() == DeviceMap::Kind::kTable) {
    return cannot_express(kName, obstacle(why::kDeviceMap, "a device map that is a table"));
  }
  MetalLayout::Device device{map.physical().extents(), {static_cast<int>(grid.rank()), {}}};
  device.map.results.resize(device.physical.size());
  for (std::size_t axis = 0; axis < map.origin().size(); ++axis) {
    device.map.results[axis].constant = map.origin()[axis];
  }
  for (const Fold& fold : map.folds()) {
    const std::vector<std::int64_t> needed = fold.needed(grid);
    for (std::size_t cut = 0; cut < fold.cuts.size(); ++cut) {
      if (needed[cut] <= 1 || fold.cuts[cut].target.is_nothing()) continue;
      if (fold.cuts[cut].target.is_memory()) {
        return cannot_express(kName,
                              obstacle(why::kDeviceMap, "places stacked in layers of the device"));
      }
      AffineResult& result =
          device.map.results[static_cast<std::size_t>(fold.cuts[cut].target.axis())];
      TESSERA_TRY(AffineResult digit, digit_value(fold, cut, grid));
      TESSERA_TRY(result, affine::add(std::move(result), std::move(digit)));
    }
  }
  return device;
}

/// An empty tensor has no elements to place: any lines of the correct length express it.
Result<MetalLayout> raise_empty(const Layout& layout, MetalLayout words) {
  const Shape& shape = layout.shape();
  words.grid =
      layout.mesh().rank() == 0 ? std::vector<std::int64_t>{1, 1} : layout.mesh().extents();
  words.linear = {static_cast<int>(shape.rank()), {words.grid.size(), affine::constant(0)}};
  if (layout.slots() == 0) {
    std::size_t empty = 0;
    while (shape[empty] != 0) ++empty;
    words.linear.results[0] = affine::dim(static_cast<int>(empty));
  } else {
    const Checked last = Checked(layout.slots() / layout.atom().elements()) *
                             tile_extent(layout.atom(), 0, words.grid.size()) * words.grid[0] -
                         1;
    TESSERA_TRY(words.linear.results[0].constant, last.value("the length of a line"));
  }
  TESSERA_TRY(words, with_linear(words, shape, words.linear));
  return words;
}

/// Checks the guess of this frame, with the memref that the rule derives.
std::optional<MetalMiss> attempt(const Layout& layout, const MetalFrame& frame, const Lines& lines,
                                 MetalLayout& words) {
  Result<std::vector<AffineResult>> values = line_values(lines, frame);
  if (!values) return MetalMiss{1, obstacle_of(values.error(), "its lines: ")};
  words.grid = frame.grid;
  words.linear = {static_cast<int>(layout.shape().rank()), *std::move(values)};
  const auto shard = metal_shard(words.linear, layout.shape(), words.grid);
  if (!shard) return MetalMiss{1, obstacle_of(shard.error(), "its shard: ")};
  for (std::size_t axis = 0; axis < frame.grid.size(); ++axis) {
    if (frame.grid[axis] > 1 && (*shard)[axis] != frame.shard[axis]) {
      return MetalMiss{
          2, obstacle(why::kShardExtent,
                      "shards of {shard} on grid axis {axis}, where dividing by {places} gives "
                      "{expected}",
                      {fact("axis", axis), fact("shard", frame.shard[axis]),
                       fact("places", frame.grid[axis]), fact("expected", (*shard)[axis])})};
    }
  }
  const auto memref = metal_memref(words.linear, layout.shape(), words.grid, frame.element);
  if (!memref) return MetalMiss{1, obstacle_of(memref.error(), "its memref: ")};
  words.memref.shape = *memref;
  if (*memref != frame.atoms) {
    return MetalMiss{
        2, obstacle(why::kShardShape,
                    frame.element.is_tile()
                        ? "an allocation of {shape:x} tiles per place, where its rule gives "
                          "{expected_shape:x}"
                        : "an allocation of {shape:x} per place, where its rule gives "
                          "{expected_shape:x}",
                    {fact("shape", frame.atoms), fact("expected_shape", *memref)})};
  }
  if (auto difference = differs(layout, lower(words, layout.shape(), layout.dtype()))) {
    return MetalMiss{3, *std::move(difference)};
  }
  return std::nullopt;
}

}  // namespace

Result<MetalLayout> raise_metal(const Layout& layout) {
  if (const auto what = unsaid_by_metal(layout)) return cannot_express(kName, *what);
  const LayoutSpec& spec = layout.spec();
  const bool is_mapped = spec.device_map.kind() != DeviceMap::Kind::kIdentity;
  if (is_mapped && layout.mesh().rank() == 0) {
    return cannot_express(kName, obstacle(why::kDeviceMap, "where a single place is on a device"));
  }
  MetalLayout words;
  words.oob = spec.padding;
  words.memref.element = spec.atom;
  words.memref.space = spec.space;
  if (layout.shape().empty()) {
    TESSERA_TRY(words, raise_empty(layout, std::move(words)));
    if (const auto what = differs(layout, lower(words, layout.shape(), layout.dtype()))) {
      return cannot_express(kName, *what);
    }
  } else {
    const auto miss = try_frames(layout, MetalShards::kAnyWidth,
                                 [&](const MetalFrame& frame, const Lines& lines) {
                                   return attempt(layout, frame, lines, words);
                                 });
    if (miss) return cannot_express(kName, miss->what);
  }
  if (!is_mapped) return words;
  const auto cannot_map = [](const Error& error) {
    if (!error.reasons.empty()) return error;
    return cannot_express(kName,
                          obstacle(why::kDeviceMap, cat("this device map: ", error.message)));
  };
  const Result<MetalLayout::Device> device = raise_device(spec.device_map, layout.mesh());
  if (!device) return cannot_map(device.error());
  words.device = *device;
  const Result<Layout> again = lower(words, layout.shape(), layout.dtype());
  if (!again) return cannot_map(again.error());
  TESSERA_TRY(const Comparison same,
              same_function(device_form(spec.device_map, layout.mesh()),
                            device_form(again->spec().device_map, layout.mesh())));
  if (!same.equal) {
    return cannot_express(kName, obstacle(why::kDeviceMap, "this device map"));
  }
  return words;
}

}  // namespace tessera::notation
