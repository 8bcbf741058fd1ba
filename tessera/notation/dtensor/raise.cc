// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/notation/dtensor/dtensor.h"
#include "tessera/notation/dtensor/guess.h"
#include "tessera/notation/raising/along_dim.h"
#include "tessera/notation/raising/elsewhere.h"

namespace tessera::notation {
namespace {

using Kind = DtensorPlacement::Kind;

constexpr std::string_view kName = "dtensor";

Error cannot(std::string_view reason, std::string_view words, std::vector<Fact> facts) {
  return cannot_express(kName, obstacle(reason, words, std::move(facts)));
}

/// Replicate or Partial, if fills specify it for the whole axis; nullopt if no fill repeats.
Result<std::optional<DtensorPlacement>> repeated(const Form& form, int axis) {
  const OffsetSet all = all_offsets(form.fills, axis);
  if (all.size() == 1) return std::optional<DtensorPlacement>();
  const std::int64_t places = form.mesh[static_cast<std::size_t>(axis)];
  if (all.size() != places) {
    return cannot(why::kPartlyRepeated,
                  "copies on {coordinates} of the {of} coordinates of mesh axis {axis}",
                  {fact("axis", axis), fact("coordinates", all.size()), fact("of", places)});
  }
  DtensorPlacement placement;
  if (replica_offsets(form.fills, axis, Fill::Kind::kReplicate) == all) {
    return std::optional(placement);
  }
  placement.kind = Kind::kPartial;
  for (const Reduction reduction :
       {Reduction::kSum, Reduction::kProduct, Reduction::kMin, Reduction::kMax}) {
    if (replica_offsets(form.fills, axis, Fill::Kind::kPartial, reduction) != all) continue;
    placement.reduction = reduction;
    return std::optional(placement);
  }
  return cannot(why::kMixedCopies,
                "copies and partial results along mesh axis {axis} at once, or a bitwise reduction",
                {fact("axis", axis)});
}

/// The dim whose elements are on more than one coordinate of the axis, if any.
Result<std::optional<int>> driver(const Placement& placement, int axis) {
  std::optional<int> found;
  for (int dim = 0; dim < static_cast<int>(placement.shape().rank()); ++dim) {
    if (!drives(placement, dim, axis)) continue;
    if (found) {
      return cannot(why::kAxisShared, "mesh axis {axis}, which dims {dims:and} share",
                    {fact("axis", axis), fact("dims", *found, dim)});
    }
    found = dim;
  }
  return found;
}

/// Nullopt when `words` express the placement, otherwise why they do not.
std::optional<Error> mistake(const DtensorLayout& words, const Placement& placement) {
  const Result<Placement> again = lower(words, placement.shape(), placement.dtype());
  if (!again) return cannot_express(kName, obstacle_of(again.error(), "this layout: "));
  if (again->slots() != placement.slots()) {
    return cannot(why::kAllocation,
                  "an allocation of {slots} slots where the largest shard has {expected_slots}",
                  {fact("slots", placement.slots()), fact("expected_slots", again->slots())});
  }
  if (same_description(*again, placement)) return std::nullopt;
  const Result<Comparison> same = same_placement(*again, placement);
  if (!same) return cannot_express(kName, obstacle_of(same.error(), "this layout: "));
  if (same->equal) return std::nullopt;
  const Index& index = *same->first_difference;
  return cannot_express(
      kName, copies_elsewhere(cat("this layout: it splits as torch.chunk does and stores every "
                                  "shard row-major without gaps, so ",
                                  write(words)),
                              placement, *again, index));
}

/// For axes on which all data have coordinate 0: a chunk of at most one element is not cut further,
/// and chunks of one element each leave the other coordinates empty.
Result<DtensorPlacement> resting(const Shape& shape,
                                 const std::vector<std::vector<ChunkLevel>>& levels, int axis) {
  if (shape.rank() == 0) {
    return cannot(why::kScalarOnMesh, "a scalar on coordinate 0 of mesh axis {axis} only",
                  {fact("axis", axis)});
  }
  for (int dim = 0; dim < static_cast<int>(shape.rank()); ++dim) {
    const auto at = static_cast<std::size_t>(dim);
    if (largest_chunk(shape[at], levels[at]) <= 1) return DtensorPlacement{Kind::kShard, dim};
  }
  return DtensorPlacement{Kind::kStridedShard, 0, largest_chunk(shape[0], levels[0])};
}

class Raising {
 public:
  explicit Raising(const Placement& placement) : placement_(placement) {}

  Result<DtensorLayout> run() {
    words_.mesh = placement_.mesh().extents();
    words_.placements.resize(words_.mesh.size());
    drivers_.resize(words_.mesh.size());
    rests_.resize(words_.mesh.size());
    for (std::size_t axis = 0; axis < words_.mesh.size(); ++axis) {
      if (words_.mesh[axis] > 1) TESSERA_CHECK_OK(find_kind(axis));
    }
    std::optional<Error> first;
    for (const Guess guess : {Guess::kPlain, Guess::kDigits, Guess::kShards}) {
      TESSERA_TRY(const DtensorLayout words, attempt(guess));
      std::optional<Error> why = mistake(words, placement_);
      if (!why) return words;
      if (!first) first = std::move(why);
    }
    return *first;
  }

 private:
  Status find_kind(std::size_t axis) {
    const Form& form = *form_pieces(placement_).front().form;
    TESSERA_TRY(const std::optional<DtensorPlacement> copies,
                repeated(form, static_cast<int>(axis)));
    if (copies) {
      words_.placements[axis] = *copies;
      return ok_status();
    }
    if (placement_.shape().empty()) {
      rests_[axis] = true;
      return ok_status();
    }
    TESSERA_TRY(drivers_[axis], driver(placement_, static_cast<int>(axis)));
    if (drivers_[axis]) return ok_status();
    const std::int64_t coordinate = place_along(placement_, 0, 0)[axis];
    if (coordinate != 0) {
      return cannot(why::kOneCoordinate, "all data on coordinate {coordinate} of mesh axis {axis}",
                    {fact("axis", axis), fact("coordinate", coordinate)});
    }
    rests_[axis] = true;
    return ok_status();
  }

  /// All placements, with the split factors of one kind of guess.
  Result<DtensorLayout> attempt(Guess guess) const {
    DtensorLayout words = words_;
    std::vector<std::vector<ChunkLevel>> levels(placement_.shape().rank());
    for (std::size_t axis = 0; axis < words.mesh.size(); ++axis) {
      if (!drivers_[axis]) continue;
      const auto dim = static_cast<std::size_t>(*drivers_[axis]);
      levels[dim].push_back({static_cast<int>(axis), words.mesh[axis], 1});
    }
    for (std::size_t dim = 0; dim < levels.size(); ++dim) {
      guess_split_factors(placement_, static_cast<int>(dim), guess, levels[dim]);
      for (const ChunkLevel& level : levels[dim]) {
        DtensorPlacement& placement = words.placements[static_cast<std::size_t>(level.axis)];
        placement.kind = level.split_factor > 1 ? Kind::kStridedShard : Kind::kShard;
        placement.dim = static_cast<int>(dim);
        placement.split_factor = level.split_factor;
      }
    }
    for (std::size_t axis = 0; axis < words.mesh.size(); ++axis) {
      if (!rests_[axis]) continue;
      std::vector<std::vector<ChunkLevel>> before = levels;
      for (std::vector<ChunkLevel>& list : before) {
        std::erase_if(list,
                      [&](const ChunkLevel& level) { return level.axis > static_cast<int>(axis); });
      }
      TESSERA_TRY(words.placements[axis],
                  resting(placement_.shape(), before, static_cast<int>(axis)));
    }
    return words;
  }

  const Placement& placement_;
  DtensorLayout words_;
  std::vector<std::optional<int>> drivers_;  // the dim that each axis cuts
  std::vector<bool> rests_;                  // all data have coordinate 0
};

}  // namespace

Result<DtensorLayout> raise_dtensor(const Placement& placement) {
  if (const auto what = beyond_plain_shards(placement)) return cannot_express(kName, *what);
  return Raising(placement).run();
}

}  // namespace tessera::notation
