// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/streams/streaming_slices.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::memory {
namespace {

/// A tensor as tiles: how many along each dim, and the elements of one tile along it.
struct Tiles {
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> extents;
};

Result<Tiles> tiles_of(const Shape& shape, const SliceRules& rules) {
  const auto bad = [](std::string message, std::string help) {
    return Error{ErrorCode::kOutOfRange, std::move(message), std::nullopt, std::move(help)};
  };
  if (rules.tile.size() > shape.rank()) {
    return bad(cat("a tile of ", rules.tile.size(), " dims for a tensor of ", shape.rank()),
               "tiles are of the last dims, or of none");
  }
  for (const std::int64_t extent : rules.tile) {
    if (extent < 1) {
      return bad(cat("a tile of ", join(rules.tile, "x")), "tiles have extents of at least 1");
    }
  }
  if (rules.tile_bytes < 1) {
    return bad(cat("a tile of ", rules.tile_bytes, " bytes"), "use at least 1");
  }
  if (!(rules.run_latency >= 0) || !std::isfinite(rules.run_latency)) {
    return bad(cat("a run latency of ", std::to_string(rules.run_latency)),
               "use a finite latency of at least 0");
  }
  Tiles tiles;
  const std::size_t plain = shape.rank() - rules.tile.size();
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    tiles.extents.push_back(dim < plain ? 1 : rules.tile[dim - plain]);
    tiles.counts.push_back(ceil_div(shape[dim], tiles.extents[dim]));
  }
  return tiles;
}

/// The number of tiles of dims [from, to).
Checked product(const Tiles& tiles, std::size_t from, std::size_t to) {
  Checked count = 1;
  for (std::size_t dim = from; dim < to; ++dim) count *= tiles.counts[dim];
  return count;
}

class Slicer {
 public:
  Slicer(const Shape& shape, const SliceRules& rules, const StreamOptions& options,
         const StreamCosts& costs, const Tiles& tiles)
      : shape_(shape), rules_(rules), options_(options), costs_(costs), tiles_(tiles) {}

  Result<Slicing> along(std::size_t dim, bool joined) const {
    const std::size_t rank = shape_.rank();
    Slicing slicing;
    slicing.dim = dim;
    slicing.joined = joined;
    slicing.extent = rank == 0 ? 1 : shape_[dim];
    slicing.step_elements = rank == 0 ? 1 : tiles_.extents[dim];
    const std::size_t after = std::min(dim + 1, rank);
    const Checked outer = product(tiles_, 0, dim);
    const Checked own = product(tiles_, std::min(dim, rank), after);
    const Checked inner = product(tiles_, after, rank) * rules_.tile_bytes;
    TESSERA_TRY(slicing.runs, (joined ? Checked(1) : outer).value("the runs of a slice"));
    TESSERA_TRY(slicing.steps, (joined ? outer * own : own).value("the tiles of a tensor"));
    StreamData data;
    TESSERA_TRY(data.granule_bytes, (joined ? inner : outer * inner).value("the bytes of a step"));
    TESSERA_TRY(data.total_bytes,
                (Checked(slicing.steps) * data.granule_bytes).value("the bytes of a tensor"));
    data.granule_bytes = std::max<std::int64_t>(data.granule_bytes, 1);  // for an empty tensor
    StreamCosts costs = costs_;
    costs.load_latency += rules_.run_latency * static_cast<double>(slicing.runs);
    TESSERA_TRY(slicing.plan, plan_stream(data, options_, costs));
    slicing.slice_steps = slicing.plan.chunk_bytes / data.granule_bytes;
    return slicing;
  }

 private:
  const Shape& shape_;
  const SliceRules& rules_;
  const StreamOptions& options_;
  const StreamCosts& costs_;
  const Tiles& tiles_;
};

}  // namespace

std::pair<std::int64_t, std::int64_t> Slicing::steps_of(std::int64_t slice) const {
  const std::int64_t from = slice * slice_steps;
  return {from, steps - from < slice_steps ? steps : from + slice_steps};
}

std::pair<std::int64_t, std::int64_t> Slicing::elements_of(std::int64_t slice) const {
  const auto [from, to] = steps_of(slice);
  return {from * step_elements, to == steps ? extent : to * step_elements};
}

Result<Slicing> slice_stream(const Shape& shape, const SliceRules& rules,
                             const StreamOptions& options, const StreamCosts& costs) {
  TESSERA_TRY(const Tiles tiles, tiles_of(shape, rules));
  const Slicer slicer(shape, rules, options, costs, tiles);
  const std::size_t dims = std::max<std::size_t>(shape.rank(), 1);
  // If steps are too large, or too many to choose from, the other dims are tried.
  const auto hopeless = [](const Error& error) {
    return error.code != ErrorCode::kDoesNotFit && error.code != ErrorCode::kTooLarge;
  };
  std::optional<Slicing> best;
  for (std::size_t dim = 0; dim < dims; ++dim) {
    Result<Slicing> slicing = slicer.along(dim, false);
    if (!slicing.ok()) {
      if (hopeless(slicing.error())) return slicing.error();
    } else if (!best || slicing->plan.times.total < best->plan.times.total) {
      best = std::move(*slicing);
    }
  }
  if (best) return std::move(*best);
  // The fewer dims are joined, the larger the steps, and the larger the part of a slice that is a
  // box.
  for (std::size_t dim = 1; dim < dims; ++dim) {
    Result<Slicing> slicing = slicer.along(dim, true);
    if (slicing.ok() || hopeless(slicing.error())) return slicing;
  }
  return slicer.along(dims - 1, dims > 1).error();
}

}  // namespace tessera::memory
