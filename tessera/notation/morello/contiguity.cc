// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/morello/contiguity.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/morello/fit.h"

// A tile is a product of intervals, one per dim, and the buffer's order is that of the physical
// positions, outermost first. Fix the positions in all but the k innermost physical dims: along a
// dim, the remaining part of the tile's interval is again an interval of the inner volume (its
// lower end, its upper end, or all of it), so the remaining part of the tile is a product of a few
// kinds of intervals. Such a product is one run of slots exactly when, at the first digit that
// takes more than one value, every other dim is complete from there on, the part at the lowest
// value reaches the end of the memory below the digit, and the part at the highest value begins at
// its start.
namespace tessera::notation {
namespace {

constexpr std::int64_t kMaxPositions = 4096;

struct Interval {
  std::int64_t low = 0;
  std::int64_t high = 0;  ///< inclusive
  std::int64_t length() const { return high - low + 1; }
  bool fills(std::int64_t volume) const { return low == 0 && high == volume - 1; }
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

/// A digit of the memory order that has several values. OddEven(n) is two digits: the parity, then
/// the position among the n/2 elements of that parity.
struct Step {
  std::size_t dim = 0;
  std::int64_t count = 1;
  std::int64_t inner = 1;   ///< of the logical dim; for a parity: inside both its digits
  std::int64_t inside = 1;  ///< the volume of the dim inside this step
  bool parity = false;
};

/// An interval divided by a step: the parts at its lowest and at its highest value. Values between
/// have complete parts.
struct Division {
  std::int64_t first = 0;
  std::int64_t last = 0;
  Interval low;
  Interval high;
  bool single() const { return first == last; }
};

/// The part of the interval with positions of parity `odd`, numbered among these positions.
std::optional<Interval> of_parity(const Interval& interval, std::int64_t inner, std::int64_t odd) {
  const std::int64_t first = interval.low / inner;
  const std::int64_t last = interval.high / inner;
  Interval part{((first - odd + 1) / 2) * inner, 0};
  if (first % 2 == odd) part.low = (first / 2) * inner + interval.low % inner;
  if (last < odd) return std::nullopt;
  part.high = ((last - odd) / 2) * inner + (last % 2 == odd ? interval.high % inner : inner - 1);
  if (part.low > part.high) return std::nullopt;
  return part;
}

Division divide(const Interval& interval, const Step& step) {
  if (step.parity) {
    const std::optional<Interval> even = of_parity(interval, step.inner, 0);
    const std::optional<Interval> odd = of_parity(interval, step.inner, 1);
    return {even ? 0 : 1, odd ? 1 : 0, even ? *even : *odd, odd ? *odd : *even};
  }
  Division out{interval.low / step.inner,
               interval.high / step.inner,
               {interval.low % step.inner, step.inner - 1},
               {0, interval.high % step.inner}};
  if (out.single()) out.low = out.high = {interval.low % step.inner, interval.high % step.inner};
  return out;
}

/// The digits of the physical dims, outermost first.
std::vector<Step> steps_of(const std::vector<PhysicalDim>& physical, std::size_t from) {
  std::vector<Step> steps;
  for (std::size_t i = from; i < physical.size(); ++i) {
    const PhysicalDim& part = physical[i];
    if (part.size <= 1) continue;
    std::int64_t count = part.size;
    if (part.odd_even) {
      count /= 2;
      steps.push_back({part.dim, 2, part.inner, count * part.inner, true});
    }
    steps.push_back({part.dim, count, part.inner, part.inner, false});
  }
  return steps;
}

/// Whether the part of dim `dim`, with all other dims whole, reaches the end (or, with `at_end`
/// false, begins at the start) of the memory of the steps from `from` on, and is one run.
bool touches(const std::vector<Step>& steps, std::size_t from, std::size_t dim, std::int64_t volume,
             Interval part, bool at_end) {
  for (std::size_t i = from; i < steps.size(); ++i) {
    if (part.fills(volume)) return true;
    const Step& step = steps[i];
    if (step.dim != dim) return false;  // repeated for each value of a dim that is complete
    const Division division = divide(part, step);
    if (at_end ? division.last != step.count - 1 : division.first != 0) return false;
    const Interval& whole = at_end ? division.high : division.low;
    if (!division.single() && !whole.fills(step.inside)) return false;
    part = at_end ? division.low : division.high;
    volume = step.inside;
  }
  return true;
}

/// The relevant properties of one kind of interval of a dim.
struct Kind {
  std::size_t ranged =
      0;               ///< the first step that takes several values; the number of steps if none
  bool whole = false;  ///< all values of it, and everything inside
  bool joins = true;   ///< alone (other dims whole inside that step) it is one run
  friend bool operator==(const Kind&, const Kind&) = default;
};

Kind kind_of(const std::vector<Step>& steps, std::size_t dim, Interval part, std::int64_t volume) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.dim != dim) continue;
    const Division division = divide(part, step);
    if (!division.single()) {
      return {i, part.fills(volume),
              touches(steps, i + 1, dim, step.inside, division.low, true) &&
                  touches(steps, i + 1, dim, step.inside, division.high, false)};
    }
    part = division.low;
    volume = step.inside;
  }
  return {steps.size(), false, true};
}

/// Whether `kind` of dim `dim`, which takes one value at the steps up to `step`, is whole inside.
bool whole_inside(const std::vector<Step>& steps, std::size_t dim, const Kind& kind,
                  std::size_t step) {
  if (kind.ranged < steps.size() && !kind.whole) return false;
  for (std::size_t i = step + 1; i < kind.ranged; ++i) {
    if (steps[i].dim == dim) return false;
  }
  return true;
}

/// Whether every combination of the dims' kinds is one run of slots.
bool all_run(const std::vector<Step>& steps, const std::vector<std::vector<Kind>>& kinds) {
  for (std::size_t dim = 0; dim < kinds.size(); ++dim) {
    for (const Kind& kind : kinds[dim]) {
      if (kind.ranged == steps.size()) continue;
      bool comes_first = true;  // in some combination
      bool others_whole = true;
      for (std::size_t other = 0; other < kinds.size(); ++other) {
        if (other == dim) continue;
        bool later = false;
        for (const Kind& theirs : kinds[other]) {
          if (theirs.ranged < kind.ranged) continue;
          later = true;
          others_whole = others_whole && whole_inside(steps, other, theirs, kind.ranged);
        }
        comes_first = comes_first && later;
      }
      if (comes_first && !(kind.joins && others_whole)) return false;
    }
  }
  return true;
}

/// The remaining parts of a tile's interval along a dim, over all positions outside a volume of it.
void add_parts(const Interval& tile, std::int64_t volume, std::vector<Interval>& parts) {
  const std::int64_t first = tile.low / volume;
  const std::int64_t last = tile.high / volume;
  if (first == last) {
    parts.push_back({tile.low % volume, tile.high % volume});
    return;
  }
  parts.push_back({tile.low % volume, volume - 1});
  parts.push_back({0, tile.high % volume});
  if (last - first > 1) parts.push_back({0, volume - 1});
}

/// The intervals that the examined tiles have in each dim.
using Tiles = std::vector<std::vector<Interval>>;

TileContiguity measure(const std::vector<PhysicalDim>& physical, const Tiles& tiles) {
  TileContiguity best{physical.empty(), 0, 1};
  std::vector<std::int64_t> volumes(tiles.size(), 1);
  for (std::size_t from = physical.size(); from-- > 0;) {
    volumes[physical[from].dim] *= physical[from].size;
    const std::vector<Step> steps = steps_of(physical, from);
    std::vector<std::vector<Kind>> kinds(tiles.size());
    std::int64_t run = 1;
    for (std::size_t dim = 0; dim < tiles.size(); ++dim) {
      std::vector<Interval> parts;
      for (const Interval& tile : tiles[dim]) add_parts(tile, volumes[dim], parts);
      std::sort(parts.begin(), parts.end());
      parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
      std::int64_t length = 0;
      for (const Interval& part : parts) {
        const Kind kind = kind_of(steps, dim, part, volumes[dim]);
        if (std::find(kinds[dim].begin(), kinds[dim].end(), kind) == kinds[dim].end()) {
          kinds[dim].push_back(kind);
        }
        length = std::gcd(length, part.length());
      }
      run *= length;
    }
    if (!all_run(steps, kinds)) break;
    best = {from == 0, physical.size() - from, run};
  }
  return best;
}

/// Whether tiles of this extent, at multiples of it, all have the same form along a dim, except the
/// last.
bool lie_alike(const std::vector<PhysicalDim>& physical, std::size_t dim, std::int64_t extent,
               std::int64_t tile) {
  for (std::size_t i = physical.size(); i-- > 0;) {
    const PhysicalDim& part = physical[i];
    if (part.dim != dim) continue;
    const std::int64_t rest = tile / part.inner;  // whole, because the sizes inside divide it
    if (rest % part.size == 0) continue;
    return part.size % rest == 0 || part.inner * part.size == extent;
  }
  return true;
}

Status check_tile(const Shape& shape, const Shape& tile) {
  if (tile.rank() != shape.rank()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("a tile of rank ", tile.rank(), " in a tensor of rank ", shape.rank()),
                 std::nullopt, "one extent per dim"};
  }
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (tile[dim] <= shape[dim]) continue;
    return Error{ErrorCode::kOutOfRange,
                 cat("a tile of ", tile[dim], " along dim ", dim, ", whose extent is ", shape[dim]),
                 std::nullopt, cat("at most ", shape[dim])};
  }
  return ok_status();
}

TileContiguity nothing(const std::vector<PhysicalDim>& physical) {
  return {true, physical.size(), 0};
}

}  // namespace

Result<TileContiguity> tile_contiguity(const MorelloLayout& words, const Shape& shape,
                                       const Shape& tile, const Index& origin) {
  TESSERA_TRY(const std::vector<PhysicalDim> physical, fit(words, shape));
  TESSERA_CHECK_OK(check_tile(shape, tile));
  if (origin.size() != shape.rank()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("an origin of rank ", origin.size(), " in a tensor of rank ", shape.rank()),
                 std::nullopt, "one number per dim"};
  }
  Tiles tiles;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (origin[dim] < 0 || origin[dim] > shape[dim] - tile[dim]) {
      return Error{ErrorCode::kOutOfRange,
                   cat("a tile of ", tile[dim], " at ", origin[dim], " along dim ", dim,
                       ", whose extent is ", shape[dim]),
                   std::nullopt, cat("the last one begins at ", shape[dim] - tile[dim])};
    }
    tiles.push_back({{origin[dim], origin[dim] + tile[dim] - 1}});
  }
  return tile.empty() ? nothing(physical) : measure(physical, tiles);
}

Result<TileContiguity> tile_contiguity(const MorelloLayout& words, const Shape& shape,
                                       const Shape& tile) {
  TESSERA_TRY(const std::vector<PhysicalDim> physical, fit(words, shape));
  TESSERA_CHECK_OK(check_tile(shape, tile));
  if (tile.empty()) return nothing(physical);
  Tiles tiles(shape.rank());
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    const std::int64_t positions = ceil_div(shape[dim], tile[dim]);
    const auto add = [&](std::int64_t position) {
      const std::int64_t low = position * tile[dim];
      // Not low + tile - 1, which may overflow at the edge.
      tiles[dim].push_back({low, low + std::min(tile[dim], shape[dim] - low) - 1});
    };
    if (lie_alike(physical, dim, shape[dim], tile[dim])) {
      add(0);
      add(positions - 1);
    } else if (positions > kMaxPositions) {
      return Error{ErrorCode::kTooLarge,
                   cat("tiles of ", tile[dim], " along dim ", dim, " are stored differently at ",
                       positions, " positions"),
                   std::nullopt, "ask about the tile at one origin"};
    } else {
      for (std::int64_t position = 0; position < positions; ++position) add(position);
    }
  }
  return measure(physical, tiles);
}

}  // namespace tessera::notation
