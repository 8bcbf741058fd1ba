// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/gspmd/devices.h"
#include "tessera/notation/gspmd/gspmd.h"
#include "tessera/notation/raising/along_dim.h"
#include "tessera/notation/raising/elsewhere.h"
#include "tessera/notation/raising/plain_memory.h"

namespace tessera::notation {
namespace {

using Copies = GspmdLayout::Copies;
using Kind = GspmdLayout::Kind;

constexpr std::int64_t kMaxListed = std::int64_t{1} << 20;
constexpr int kMaxTries = 64;

constexpr std::string_view kName = "gspmd";

/// Nullopt when `words` express the placement, otherwise why they do not.
std::optional<Error> mistake(const GspmdLayout& words, const Placement& placement) {
  const Result<Placement> again = lower(words, placement.shape(), placement.dtype());
  if (!again) return cannot_express(kName, obstacle_of(again.error(), "this layout: "));
  if (again->slots() != placement.slots()) {
    return cannot_express(
        kName,
        obstacle(
            why::kAllocation,
            cat("an allocation of {slots} slots where ", write(words), " has {expected_slots}"),
            {fact("slots", placement.slots()), fact("expected_slots", again->slots())}));
  }
  if (again->places() != placement.places()) {
    return cannot_express(
        kName,
        obstacle(why::kDevices,
                 cat("{devices} devices where ", write(words), " has {expected_devices}"),
                 {fact("devices", placement.places()), fact("expected_devices", again->places())}));
  }
  if (same_description(*again, placement)) return std::nullopt;
  const Result<Comparison> same = same_on_device(*again, placement);
  if (!same) return cannot_express(kName, obstacle_of(same.error(), "this layout: "));
  if (same->equal && placement.shape().empty() &&
      form_pieces(*again).front().form->replicas() !=
          form_pieces(placement).front().form->replicas()) {
    return cannot_express(
        kName, obstacle(why::kEmptyCopies, "an empty tensor with {copies} copies",
                        {fact("copies", form_pieces(placement).front().form->replicas())}));
  }
  if (same->equal) return std::nullopt;
  const Index& index = *same->first_difference;
  return cannot_express(
      kName, copies_elsewhere(cat("this layout: it splits every dim into even shards and stores "
                                  "them row-major, so ",
                                  write(words)),
                              placement, *again, index));
}

std::int64_t count_of(const DeviceSteps& steps) {
  std::int64_t count = 1;
  for (const DeviceStep& step : steps) count *= step.count;
  return count;
}

/// How an element is repeated, as steps between devices.
struct Repeats {
  DeviceSteps replicas;
  DeviceSteps summands;

  std::int64_t count() const { return count_of(replicas) * count_of(summands); }
  /// Replicas, then summands, which are the fastest.
  DeviceSteps steps() const {
    DeviceSteps all = replicas;
    all.insert(all.end(), summands.begin(), summands.end());
    return all;
  }
};

Result<Repeats> repeats_of(const Form& form) {
  Repeats repeats;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed || fill.count == 1) continue;
    const bool copies = fill.kind == Fill::Kind::kReplicate;
    if (!copies && fill.reduction != Reduction::kSum) {
      return cannot_express(kName, obstacle(why::kPartialResult, "a partial {reduction}",
                                            {fact("reduction", reduction_name(fill.reduction)),
                                             fact("places", fill.count)}));
    }
    (copies ? repeats.replicas : repeats.summands).push_back({fill.count, fill.stride});
  }
  return repeats;
}

class Raising {
 public:
  explicit Raising(const Placement& placement)
      : placement_(placement), shape_(placement.shape()), devices_(placement.places()) {}

  Result<GspmdLayout> run() {
    if (placement_.mesh().rank() > 1 && devices_ > 1) {
      return cannot_express(kName, mesh_rank(cat("a mesh of ", placement_.mesh().rank(),
                                                 " axes: devices have a single number"),
                                             placement_.mesh(), 0, 1));
    }
    TESSERA_TRY(repeats_, repeats_of(*form_pieces(placement_).front().form));
    if (try_words(undivided())) return found_;
    if (devices_ > 1) {
      if (placement_.layout() != nullptr) {
        std::optional<GspmdLayout> words = from_digits();
        if (words && has_list()) list_devices(*words);
        if (words && try_words(*words)) return found_;
      }
      if (devices_ <= kMaxListed && !shape_.empty() && from_tiles()) return found_;
    }
    return *reason_;
  }

 private:
  bool try_words(const GspmdLayout& words) {
    std::optional<Error> why = mistake(words, placement_);
    if (!why) found_ = words;
    const bool fits = !why;
    // The last attempt that lowers without an error is the one closest to the placement.
    if (why && (!reason_ || lower(words, shape_, placement_.dtype()))) reason_ = std::move(why);
    return fits;
  }

  /// The whole tensor on one device or on all of them.
  GspmdLayout undivided() const {
    GspmdLayout words;
    words.partitions = devices_;
    if (repeats_.count() == devices_) {
      words.kind = repeats_.summands.empty() ? Kind::kReplicated : Kind::kUnreduced;
      return words;
    }
    words.kind = Kind::kMaximal;
    if (!shape_.empty()) words.device = device_at(place_along(placement_, 0, 0));
    return words;
  }

  /// The device of a place of the mesh.
  std::int64_t device_at(const Place& place) const {
    const Layout* layout = placement_.layout();
    if (placement_.mesh().rank() == 0) return 0;
    if (layout == nullptr) return place[0];
    return layout->spec().device_map.map(layout->mesh(), place).place[0];
  }

  /// Whether the places are positions in a list of devices.
  bool has_list() const {
    return placement_.layout()->spec().device_map.kind() != DeviceMap::Kind::kIdentity;
  }

  /// Replaces the places that `words` number by their devices.
  void list_devices(GspmdLayout& words) const {
    words.devices = numbers_of(steps_of(words.reshape, words.transpose));
    for (std::int64_t& device : words.devices) device = device_at({device});
    words.reshape.clear();
    words.transpose.clear();
  }

  /// Adds the dims of copies to the tiles.
  void append_copies(GspmdLayout& words) const {
    for (const bool summands : {false, true}) {
      const DeviceSteps& own = summands ? repeats_.summands : repeats_.replicas;
      if (own.empty()) continue;
      words.tiles.push_back(count_of(own));
      words.copies.push_back(summands ? Copies::kUnreduced : Copies::kReplicated);
    }
  }

  /// Tiles from the digits on the mesh, if those cover all devices.
  std::optional<GspmdLayout> from_digits() const {
    GspmdLayout words;
    words.tiles.assign(shape_.rank(), 1);
    std::vector<DeviceSteps> dims(shape_.rank());
    for (const Fold& fold : placement_.layout()->form().folds) {
      for (const Cut& cut : fold.cuts) {
        if (!cut.target.is_mesh() || cut.count == 1) continue;
        if (fold.terms.size() != 1) return std::nullopt;
        const auto dim = static_cast<std::size_t>(fold.terms.front().dim);
        dims[dim].push_back({cut.count, cut.stride});
        const Checked tiles = Checked(words.tiles[dim]) * cut.count;
        if (tiles.overflowed()) return std::nullopt;
        words.tiles[dim] = tiles.raw();
      }
    }
    DeviceSteps steps;
    for (const DeviceSteps& own : dims) steps.insert(steps.end(), own.begin(), own.end());
    const DeviceSteps copies = repeats_.steps();
    steps.insert(steps.end(), copies.begin(), copies.end());
    append_copies(words);
    if (!say_steps(steps, words)) return std::nullopt;
    return words;
  }

  /// Tiles from the places: a tile extends as long as elements along a dim stay on one place.
  bool from_tiles() {
    std::vector<std::int64_t> shard;
    for (std::size_t dim = 0; dim < shape_.rank(); ++dim) {
      const auto ranges = places_along(placement_, static_cast<int>(dim));
      if (!ranges) return false;
      std::int64_t length = shape_[dim];
      for (const PlacedRange& range : *ranges) {
        if (range.place == ranges->front().place) continue;
        length = range.from;
        break;
      }
      shard.push_back(length);
    }
    if (devices_ % repeats_.count() != 0) return false;
    std::vector<std::int64_t> tiles;
    int tries = 0;
    return search_tiles(shard, tiles, devices_ / repeats_.count(), tries);
  }

  /// Tries all numbers of tiles per dim that give shards of these extents, and `left` tiles in
  /// total.
  bool search_tiles(const std::vector<std::int64_t>& shard, std::vector<std::int64_t>& tiles,
                    std::int64_t left, int& tries) {
    const std::size_t dim = tiles.size();
    if (dim == shape_.rank()) {
      return left == 1 && ++tries <= kMaxTries && try_tiles(shard, tiles);
    }
    for (std::int64_t count = ceil_div(shape_[dim], shard[dim]); count <= left; ++count) {
      if (ceil_div(shape_[dim], count) != shard[dim]) break;
      if (left % count != 0) continue;
      tiles.push_back(count);
      if (search_tiles(shard, tiles, left / count, tries)) return true;
      tiles.pop_back();
    }
    return false;
  }

  bool try_tiles(const std::vector<std::int64_t>& shard, const std::vector<std::int64_t>& tiles) {
    GspmdLayout words;
    words.tiles = tiles;
    append_copies(words);
    const auto copies = static_cast<std::size_t>(repeats_.count());
    std::vector<bool> taken(static_cast<std::size_t>(devices_), false);
    const Result<Shape> grid = Shape::make(tiles);
    if (!grid) return false;
    words.devices.assign(static_cast<std::size_t>(devices_), -1);
    Index tile(tiles.size(), 0);
    std::size_t at = 0;
    do {
      Index index(tiles.size());
      bool used = true;
      for (std::size_t dim = 0; dim < tiles.size(); ++dim) {
        index[dim] = (Checked(tile[dim]) * shard[dim]).saturated();
        used = used && index[dim] < shape_[dim];
      }
      if (used) {
        const auto [form, inner] = placement_.form_at(index);
        Place place;
        std::int64_t slot = 0;
        form->evaluate(inner, place, slot);
        const Result<Repeats> own = repeats_of(*form);
        if (!own || count_of(own->replicas) != count_of(repeats_.replicas) ||
            own->count() != repeats_.count()) {
          return false;
        }
        const std::vector<std::int64_t> offsets = numbers_of(own->steps());
        for (std::size_t i = 0; i < copies; ++i) {
          if (place[0] + offsets[i] >= devices_) return false;
          const std::int64_t device = device_at({place[0] + offsets[i]});
          if (device >= devices_ || taken[static_cast<std::size_t>(device)]) return false;
          taken[static_cast<std::size_t>(device)] = true;
          words.devices[at + i] = device;
        }
      }
      at += copies;
    } while (grid->next(tile));
    // Empty tiles get the remaining devices.
    std::int64_t next = 0;
    for (std::int64_t& device : words.devices) {
      if (device >= 0) continue;
      while (taken[static_cast<std::size_t>(next)]) ++next;
      device = next++;
    }
    const std::optional<DeviceSteps> steps = steps_of(words.devices);
    if (steps && words.devices.front() == 0) {
      GspmdLayout even = words;
      even.devices.clear();
      if (say_steps(*steps, even)) return try_words(even);
    }
    return try_words(words);
  }

  const Placement& placement_;
  const Shape& shape_;
  std::int64_t devices_;
  Repeats repeats_;
  GspmdLayout found_;
  std::optional<Error> reason_;
};

}  // namespace

Result<GspmdLayout> raise_gspmd(const Placement& placement) {
  // A device map is a list of devices, unless several places are on one.
  const Layout* layout = placement.layout();
  const bool is_listed = layout != nullptr && placement.mesh().rank() == 1 &&
                         layout->spec().device_map.kind() == DeviceMap::Kind::kTable &&
                         layout->spec().device_map.physical().rank() == 1;
  if (is_listed) {
    LayoutSpec bare = layout->spec();
    bare.device_map = DeviceMap::identity();
    TESSERA_TRY(const Layout unlisted, Layout::make(std::move(bare)));
    if (const auto what = beyond_plain_shards(unlisted)) return cannot_express(kName, *what);
  } else if (const auto what = beyond_plain_shards(placement)) {
    return cannot_express(kName, *what);
  }
  return Raising(placement).run();
}

}  // namespace tessera::notation
