// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/metal/form.h"
#include "tessera/notation/metal/text.h"

namespace tessera::notation {
namespace {

Error contradiction(std::string message, std::string help, std::string correction = {}) {
  return Error{ErrorCode::kContradiction, std::move(message), std::nullopt, std::move(help),
               std::move(correction)};
}

/// The map of a tensor on a grid of this rank: one line per dim, or all dims except the last in one
/// line.
std::string usual_map(const Shape& shape, std::size_t grid_rank) {
  if (grid_rank == shape.rank()) return write_affine_map(AffineMap::identity(grid_rank));
  if (grid_rank != 2 || shape.rank() < 2) return {};
  const Result<AffineMap> map = collapse(shape, {{0, -1}});
  return map ? write_affine_map(*map) : std::string();
}

Status check_linear(const AffineMap& linear, const Shape& shape, std::size_t grid_rank) {
  if (static_cast<std::size_t>(linear.dims) == shape.rank()) return ok_status();
  return contradiction(cat("the map has ", counted(static_cast<std::size_t>(linear.dims), "dim"),
                           " for a tensor of rank ", shape.rank()),
                       cat("one dim for each extent of ", say_shape(shape.extents())),
                       usual_map(shape, grid_rank));
}

Status check_grid(const AffineMap& linear, const std::vector<std::int64_t>& grid) {
  if (grid.size() != linear.results.size()) {
    return contradiction(cat("the map has ", counted(linear.results.size(), "result"),
                             " but the grid ", say_shape(grid), " has rank ", grid.size()),
                         "the grid divides each result: one number per result");
  }
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    if (grid[axis] < 1) {
      return Error{ErrorCode::kBadShape, cat("grid axis ", axis, " has ", grid[axis], " places"),
                   std::nullopt, "a grid axis has 1 place or more"};
    }
  }
  return ok_status();
}

Status check_tile(const AffineMap& linear, const Atom& element) {
  if (!element.is_tile() || linear.results.size() >= 2) return ok_status();
  return Error{ErrorCode::kBadAtom,
               cat("a tile of ", element.rows, "x", element.cols, " where the map has ",
                   counted(linear.results.size(), "result")),
               std::nullopt, "tiles cut the last two: add a result 0, as in (d0) -> (0, d0)"};
}

/// A dim that no result uses would put all its elements in one slot.
Status check_dims_are_used(const AffineMap& linear, const Shape& shape) {
  if (shape.empty()) return ok_status();
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    const auto uses = [&](const AffineResult& result) {
      return std::any_of(result.terms.begin(), result.terms.end(), [&](const Term& term) {
        return static_cast<std::size_t>(term.dim) == dim;
      });
    };
    if (shape[dim] > 1 && std::none_of(linear.results.begin(), linear.results.end(), uses)) {
      return Error{ErrorCode::kNotInjective,
                   cat("no result of the map uses d", dim, ", so its ", shape[dim],
                       " elements would share a slot"),
                   std::nullopt, "use every dim that is longer than 1"};
    }
  }
  return ok_status();
}

Status check_memref(const MetalLayout& words, const Shape& shape) {
  TESSERA_TRY(std::vector<std::int64_t> expected,
              metal_memref(words.linear, shape, words.grid, words.memref.element));
  if (expected == words.memref.shape) return ok_status();
  const std::string tiles =
      words.memref.element.is_tile()
          ? cat(" of ", words.memref.element.rows, "x", words.memref.element.cols, " tiles")
          : "";
  MemRef right = words.memref;
  right.shape = expected;
  return contradiction(cat("memref ", say_shape(words.memref.shape), tiles, " does not match ",
                           say_shape(shape.extents()), " on ", join(words.grid, "x"), ": expected ",
                           join(expected, "x"), ", found ", say_shape(words.memref.shape)),
                       cat("write ", write_memref(right, words.dialect)),
                       cat(join(expected, "x"), words.memref.shape.empty() ? "x" : ""));
}

Result<DeviceMap> lower_device(const MetalLayout::Device& device, const Shape& grid) {
  if (static_cast<std::size_t>(device.map.dims) != grid.rank()) {
    return contradiction(
        cat("the device map has ", counted(static_cast<std::size_t>(device.map.dims), "dim"),
            " for a grid of rank ", grid.rank()),
        cat("one dim for each axis of ", say_shape(grid.extents())));
  }
  if (device.map.results.size() != device.physical.size()) {
    return contradiction(
        cat("the device map has ", counted(device.map.results.size(), "result"), " but the device ",
            say_shape(device.physical), " has rank ", device.physical.size()),
        "one result per device axis");
  }
  TESSERA_TRY(Shape physical, Shape::make(device.physical));
  std::vector<Fold> folds;
  for (std::size_t axis = 0; axis < device.map.results.size(); ++axis) {
    const AffineResult& result = device.map.results[axis];
    TESSERA_TRY(const std::int64_t length, line_length(result, grid));
    if (length > physical[axis]) {
      return Error{ErrorCode::kBadDeviceMap,
                   cat("the device map reaches coordinate ", length - 1, " of axis ", axis,
                       ", which has ", physical[axis], " places"),
                   std::nullopt, "fold the grid into the device, or name a larger device"};
    }
    TESSERA_TRY(Fold fold,
                fold_of(result, grid,
                        {{1, length, Target::mesh(static_cast<int>(axis)), 1, Cause::kGrid}}));
    folds.push_back(std::move(fold));
  }
  return DeviceMap::folded(std::move(physical), std::move(folds));
}

/// The error with the span of a part of the text, if there is a text.
Error at(const Error& error, const MetalSpans* spans, Span MetalSpans::* part) {
  return spans == nullptr ? error : error.at(spans->*part);
}

}  // namespace

Result<std::vector<std::int64_t>> metal_shard(const AffineMap& linear, const Shape& shape,
                                              const std::vector<std::int64_t>& grid) {
  TESSERA_CHECK_OK(check_linear(linear, shape, grid.size()));
  TESSERA_CHECK_OK(check_grid(linear, grid));
  std::vector<std::int64_t> shard;
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    TESSERA_TRY(const std::int64_t extent, line_length(linear.results[axis], shape));
    shard.push_back(ceil_div(extent, grid[axis]));
  }
  return shard;
}

Result<std::vector<std::int64_t>> metal_memref(const AffineMap& linear, const Shape& shape,
                                               const std::vector<std::int64_t>& grid,
                                               const Atom& element) {
  TESSERA_CHECK_OK(element.check());
  TESSERA_TRY(std::vector<std::int64_t> memref, metal_shard(linear, shape, grid));
  TESSERA_CHECK_OK(check_tile(linear, element));
  for (std::size_t axis = 0; axis < memref.size(); ++axis) {
    memref[axis] = ceil_div(memref[axis], tile_extent(element, axis, memref.size()));
  }
  return memref;
}

Result<Layout> lower(const MetalLayout& words, const Shape& shape, DType dtype,
                     const MetalSpans* spans) {
  if (const Status status = check_linear(words.linear, shape, words.grid.size()); !status) {
    return at(status.error(), spans, &MetalSpans::linear);
  }
  if (const Status status = check_dims_are_used(words.linear, shape); !status) {
    return at(status.error(), spans, &MetalSpans::linear);
  }
  if (const Status status = check_grid(words.linear, words.grid); !status) {
    return at(status.error(), spans, &MetalSpans::grid);
  }
  const Result<std::vector<std::int64_t>> shard = metal_shard(words.linear, shape, words.grid);
  if (!shard) return at(shard.error(), spans, &MetalSpans::linear);
  if (const Status status = check_memref(words, shape); !status) {
    const bool shape_is_wrong = status.error().code == ErrorCode::kContradiction;
    return at(status.error(), spans,
              shape_is_wrong ? &MetalSpans::memref_shape : &MetalSpans::memref);
  }
  std::vector<MetalLine> lines;
  for (std::size_t axis = 0; axis < words.grid.size(); ++axis) {
    lines.push_back({words.linear.results[axis], words.grid[axis], (*shard)[axis],
                     tile_extent(words.memref.element, axis, words.grid.size()),
                     words.memref.shape[axis]});
  }
  TESSERA_TRY(LayoutSpec spec, metal_spec(shape, dtype, words.memref.element, lines, Cause::kGrid));
  spec.padding = words.oob;
  spec.space = words.memref.space;
  if (words.device) {
    Result<DeviceMap> device = lower_device(*words.device, spec.form.mesh);
    if (!device) return at(device.error(), spans, &MetalSpans::device);
    spec.device_map = *std::move(device);
  }
  Result<Layout> layout = Layout::make(std::move(spec));
  if (layout) return layout;
  const bool device = layout.error().code == ErrorCode::kBadDeviceMap;
  return at(layout.error(), spans, device ? &MetalSpans::device : &MetalSpans::linear);
}

Result<Layout> lower(const MetalLayout& words, const Shape& shape, DType dtype) {
  return lower(words, shape, dtype, nullptr);
}

}  // namespace tessera::notation
