// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/gspmd/devices.h"
#include "tessera/notation/gspmd/gspmd.h"

namespace tessera::notation {
namespace {

using Copies = GspmdLayout::Copies;
using Kind = GspmdLayout::Kind;

constexpr std::int64_t kMaxListed = std::int64_t{1} << 20;  // devices written one by one

Fill copies_fill(Copies copies, std::int64_t count, std::int64_t stride) {
  return copies == Copies::kReplicated ? Fill::replicate(0, count, stride)
                                       : Fill::partial(0, count, Reduction::kSum, stride);
}

class Lowering {
 public:
  Lowering(const GspmdLayout& words, const Shape& shape, DType dtype)
      : words_(words), shape_(shape), dtype_(dtype) {}

  Result<Placement> run() {
    if (words_.kind == Kind::kTiled) {
      tiles_.assign(words_.tiles.begin(),
                    words_.tiles.begin() + static_cast<std::ptrdiff_t>(shape_.rank()));
      TESSERA_TRY(const Shape all, Shape::make(words_.tiles));
      devices_ = all.elements();
    } else {
      tiles_.assign(shape_.rank(), 1);
      devices_ = words_.partitions;
    }
    TESSERA_CHECK_OK(cut());
    if (words_.kind != Kind::kTiled) return whole();
    std::optional<DeviceSteps> steps = words_.devices.empty()
                                           ? steps_of(words_.reshape, words_.transpose)
                                           : steps_of(words_.devices);
    const bool from_zero = words_.devices.empty() || words_.devices.front() == 0;
    if (steps && from_zero) {
      if (const auto dims = dealt(*std::move(steps), words_.tiles)) return one_rule(*dims);
    }
    if (shape_.empty()) return nowhere();
    if (devices_ > kMaxListed) {
      return Error{ErrorCode::kTooLarge,
                   cat(devices_, " devices in an irregular order; at most ", kMaxListed),
                   std::nullopt, "use fewer devices, or devices in an order of strides"};
    }
    const std::vector<std::int64_t> devices =
        words_.devices.empty() ? numbers_of(steps_of(words_.reshape, words_.transpose))
                               : words_.devices;
    return has_even_copies(devices) ? a_box_a_tile(devices) : by_table(devices);
  }

 private:
  /// The whole tensor on one device, or on all.
  Result<Placement> whole() const {
    std::vector<Fill> fills;
    if (words_.kind == Kind::kMaximal) {
      fills.push_back(Fill::fixed(0, words_.device));
    } else if (devices_ > 1) {
      fills.push_back(
          copies_fill(words_.kind == Kind::kReplicated ? Copies::kReplicated : Copies::kUnreduced,
                      devices_, 1));
    }
    TESSERA_TRY(Layout layout, make(shape_, std::vector<DeviceSteps>(shape_.rank()), fills));
    return Placement(std::move(layout));
  }

  Result<Placement> one_rule(const std::vector<DeviceSteps>& dims,
                             const DeviceMap& device_map = {}) const {
    std::vector<Fill> fills;
    for (std::size_t dim = shape_.rank(); dim < dims.size(); ++dim) {
      for (const DeviceStep& step : dims[dim]) {
        fills.push_back(copies_fill(words_.copies[dim - shape_.rank()], step.count, step.stride));
      }
    }
    // The places of an element are listed in the order of the fills; this order makes them
    // increase.
    std::sort(fills.begin(), fills.end(),
              [](const Fill& a, const Fill& b) { return a.stride > b.stride; });
    TESSERA_TRY(Layout layout, make(shape_, dims, fills, device_map));
    return Placement(std::move(layout));
  }

  /// Tiles and copies on the places 0, 1, .. of a mesh in the order of the list, and the device of
  /// each place from a table.
  Result<Placement> by_table(const std::vector<std::int64_t>& devices) const {
    TESSERA_TRY(Shape physical, Shape::make({devices_}));
    std::vector<Place> places;
    places.reserve(devices.size());
    for (const std::int64_t device : devices) places.push_back({device});
    const auto dims = dealt(steps_of({devices_}, {}), words_.tiles);
    return one_rule(*dims, DeviceMap::table(std::move(physical), std::move(places)));
  }

  /// The number of devices of a tile, and of tiles that hold elements.
  std::int64_t copies_of_tile() const {
    std::int64_t copies = 1;
    for (std::size_t dim = shape_.rank(); dim < words_.tiles.size(); ++dim) {
      copies *= words_.tiles[dim];
    }
    return copies;
  }
  std::vector<std::int64_t> used_tiles() const {
    std::vector<std::int64_t> used;
    for (std::size_t dim = 0; dim < shape_.rank(); ++dim) {
      used.push_back(ceil_div(shape_[dim], shard_[dim]));
    }
    return used;
  }

  /// Whether there are few enough tiles for a box each, and the devices of each are of one kind and
  /// a sum of strides.
  bool has_even_copies(const std::vector<std::int64_t>& devices) const {
    Checked tiles = 1;
    for (const std::int64_t used : used_tiles()) tiles *= used;
    if (tiles.saturated() > static_cast<std::int64_t>(kMaxPieces)) return false;
    const bool one_kind = std::adjacent_find(words_.copies.begin(), words_.copies.end(),
                                             std::not_equal_to<>()) == words_.copies.end();
    const auto copies = static_cast<std::ptrdiff_t>(copies_of_tile());
    if (copies == 1) return true;
    if (!one_kind) return false;
    for (auto first = devices.begin(); first != devices.end(); first += copies) {
      std::vector<std::int64_t> own(first, first + copies);
      std::sort(own.begin(), own.end());
      if (!steps_of(own)) return false;
    }
    return true;
  }

  /// Shards and their strides from the number of tiles.
  Status cut() {
    shard_.clear();
    for (std::size_t dim = 0; dim < shape_.rank(); ++dim) {
      shard_.push_back(ceil_div(shape_[dim], tiles_[dim]));
    }
    strides_.assign(shape_.rank(), 1);
    for (std::size_t dim = shape_.rank(); dim-- > 1;) {
      const std::int64_t extent = std::max<std::int64_t>(shard_[dim], 1);
      TESSERA_TRY(strides_[dim - 1],
                  (Checked(strides_[dim]) * extent).value("the number of slots"));
    }
    return ok_status();
  }

  /// No elements, and so no slots.
  Result<Placement> nowhere() {
    tiles_.assign(shape_.rank(), 1);
    TESSERA_CHECK_OK(cut());
    TESSERA_TRY(Layout layout, make(shape_, std::vector<DeviceSteps>(shape_.rank()), {}));
    return Placement(std::move(layout));
  }

  /// The tiles that are not empty, each with its own devices.
  Result<Placement> a_box_a_tile(const std::vector<std::int64_t>& devices) const {
    TESSERA_TRY(const Shape grid, Shape::make(tiles_));
    TESSERA_TRY(const Shape used_grid, Shape::make(used_tiles()));
    const auto copies = static_cast<std::ptrdiff_t>(copies_of_tile());
    std::vector<LayoutPiece> pieces;
    Index tile(shape_.rank(), 0);
    do {
      const auto first = devices.begin() + static_cast<std::ptrdiff_t>(grid.linear(tile)) * copies;
      TESSERA_TRY(LayoutPiece made, piece(tile, {first, first + copies}));
      pieces.push_back(std::move(made));
    } while (used_grid.next(tile));
    if (pieces.size() == 1) return Placement(std::move(pieces.front().layout));
    TESSERA_TRY(Piecewise all, Piecewise::by_rule(shape_, std::move(pieces)));
    return Placement(std::move(all));
  }

  Result<LayoutPiece> piece(const Index& tile, std::vector<std::int64_t> devices) const {
    std::sort(devices.begin(), devices.end());
    std::vector<Fill> fills = {Fill::fixed(0, devices.front())};
    const std::optional<DeviceSteps> steps = steps_of(devices);
    for (const DeviceStep& step : *steps) {
      fills.push_back(copies_fill(words_.copies.front(), step.count, step.stride));
    }
    Box box = Box::whole(shape_);
    std::vector<std::int64_t> extents;
    for (std::size_t dim = 0; dim < shape_.rank(); ++dim) {
      box.from[dim] = tile[dim] * shard_[dim];
      box.to[dim] = box.from[dim] + std::min(shard_[dim], shape_[dim] - box.from[dim]);
      extents.push_back(box.to[dim] - box.from[dim]);
    }
    TESSERA_TRY(const Shape part, Shape::make(std::move(extents)));
    TESSERA_TRY(Layout layout, make(part, std::vector<DeviceSteps>(shape_.rank()), fills));
    return LayoutPiece{std::move(box), std::move(layout)};
  }

  /// Places every dim by its steps over the devices, then row-major over the shard.
  Result<Layout> make(const Shape& shape, const std::vector<DeviceSteps>& dims,
                      std::vector<Fill> fills, const DeviceMap& device_map = {}) const {
    LayoutSpec spec;
    spec.device_map = device_map;
    spec.dtype = dtype_;
    spec.atom = Atom::scalar(dtype_);
    spec.form.shape = shape;
    TESSERA_TRY(spec.form.mesh, Shape::make({devices_}));
    spec.form.fills = std::move(fills);
    bool on_mesh = !spec.form.fills.empty();
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      Fold fold;
      fold.terms = {{static_cast<int>(dim), 1}};
      Checked width = std::max<std::int64_t>(shard_[dim], 1);
      for (const DeviceStep& step : std::views::reverse(dims[dim])) {
        TESSERA_TRY(const std::int64_t at, width.value("a tile"));
        fold.cuts.insert(fold.cuts.begin(),
                         {at, step.count, Target::mesh(0), step.stride, Cause::kGrid});
        width *= step.count;
        on_mesh = true;
      }
      if (fold.cuts.empty() || fold.cuts.back().width != 1 || shard_[dim] != 1) {
        fold.cuts.push_back({1, shard_[dim], Target::memory(), strides_[dim], Cause::kGrid});
      }
      spec.form.folds.push_back(std::move(fold));
    }
    if (!on_mesh && devices_ > 1) spec.form.fills.push_back(Fill::fixed(0, 0));
    return Layout::make(std::move(spec));
  }

  const GspmdLayout& words_;
  const Shape& shape_;
  DType dtype_;
  std::int64_t devices_ = 1;
  std::vector<std::int64_t> tiles_;    // a dim
  std::vector<std::int64_t> shard_;    // elements of a tile, per dim
  std::vector<std::int64_t> strides_;  // row-major over the shard
};

Error contradiction(std::string message, std::string help) {
  return Error{ErrorCode::kContradiction, std::move(message), std::nullopt, std::move(help)};
}

Status check_listed(const std::vector<std::int64_t>& devices, std::int64_t count) {
  if (static_cast<std::int64_t>(devices.size()) != count) {
    return contradiction(cat(devices.size(), " devices for ", count, " tiles"),
                         "one device per tile and copy");
  }
  std::vector<bool> seen(devices.size(), false);
  for (const std::int64_t device : devices) {
    if (device < 0 || device >= count) {
      return contradiction(cat("device ", device, " of ", count),
                           cat("devices are 0 to ", count - 1));
    }
    if (seen[static_cast<std::size_t>(device)]) {
      return contradiction(cat("device ", device, " is listed twice"), "list every device once");
    }
    seen[static_cast<std::size_t>(device)] = true;
  }
  return ok_status();
}

Status check_iota(const GspmdLayout& words, std::int64_t count) {
  for (const std::int64_t extent : words.reshape) {
    if (extent < 1) return contradiction(cat("an extent of ", extent), "extents are 1 or more");
  }
  TESSERA_TRY(const Shape reshape, Shape::make(words.reshape));
  if (reshape.elements() != count) {
    return contradiction(cat(reshape.elements(), " devices for ", count, " tiles"),
                         "one device per tile and copy");
  }
  std::vector<bool> seen(reshape.rank(), false);
  const bool whole = words.transpose.empty() || words.transpose.size() == reshape.rank();
  for (const std::int64_t dim : words.transpose) {
    const bool inside = dim >= 0 && dim < static_cast<std::int64_t>(seen.size());
    if (!whole || !inside || seen[static_cast<std::size_t>(dim)]) {
      return contradiction(cat("T(", join(words.transpose, ","), ") of ", reshape.rank(), " dims"),
                           "name every dim once");
    }
    seen[static_cast<std::size_t>(dim)] = true;
  }
  return whole ? ok_status()
               : contradiction(cat("T() of ", reshape.rank(), " dims"), "name every dim once");
}

Status check(const GspmdLayout& words, const Shape& shape) {
  if (words.kind != Kind::kTiled) {
    if (words.partitions < 1) {
      return contradiction(cat("num_partitions=", words.partitions), "1 device or more");
    }
    if (words.kind == Kind::kMaximal && (words.device < 0 || words.device >= words.partitions)) {
      return contradiction(cat("device ", words.device, " of ", words.partitions),
                           cat("devices are 0 to ", words.partitions - 1));
    }
    return ok_status();
  }
  if (words.tiles.size() != shape.rank() + words.copies.size()) {
    const auto dims = static_cast<std::int64_t>(words.tiles.size()) -
                      static_cast<std::int64_t>(words.copies.size());
    return contradiction(cat("tiles for ", dims, dims == 1 ? " dim" : " dims",
                             " of a tensor of rank ", shape.rank()),
                         words.copies.empty()
                             ? "one number per dim; one more is last_tile_dim_replicate"
                             : "one number per dim, then those of the copies");
  }
  for (const std::int64_t tiles : words.tiles) {
    if (tiles < 1) return contradiction(cat(tiles, " tiles"), "1 tile or more");
  }
  TESSERA_TRY(const Shape all, Shape::make(words.tiles));
  return words.devices.empty() ? check_iota(words, all.elements())
                               : check_listed(words.devices, all.elements());
}

}  // namespace

Result<Placement> lower(const GspmdLayout& words, const Shape& shape, DType dtype) {
  TESSERA_CHECK_OK(check(words, shape));
  return Lowering(words, shape, dtype).run();
}

}  // namespace tessera::notation
