// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/metal/guess.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/metal/form.h"
#include "tessera/notation/metal/text.h"
#include "tessera/notation/raising/elsewhere.h"
#include "tessera/notation/raising/plain_memory.h"

namespace tessera::notation {
namespace {

constexpr std::size_t kMaxFrames = 512;  // maximum number of shapes tried; layouts suggest a few
constexpr std::size_t kMaxShards = 8;    // maximum number of widths tried for each tiled line

/// Strides of storage units that a row-major memref of this layout might have: the strides of its
/// digits and the spans of its digits. Each one divides the allocation.
std::vector<std::int64_t> stride_candidates(const Layout& layout, const Lines& lines) {
  const std::int64_t atom = layout.atom().elements();
  const std::int64_t total = layout.slots() / atom;
  std::set<std::int64_t> found = {1, total};
  const auto suggest = [&](Checked stride) {
    const std::int64_t slots = stride.saturated();
    if (slots > 0 && slots % atom == 0 && total % (slots / atom) == 0) found.insert(slots / atom);
  };
  for (const Fold& fold : layout.form().folds) {
    for (const Cut& cut : fold.cuts) {
      if (!cut.target.is_memory()) continue;
      suggest(cut.stride);
      suggest(Checked(cut.stride) * cut.count);
    }
  }
  for (const Line& line : lines.lines) {
    for (std::size_t k = 0; k < line.cuts.size(); ++k) {
      suggest(line.cuts[k].move.slot);
      suggest(Checked(0) - line.cuts[k].move.slot);
      if (k > 0) suggest(Checked(line.cuts[k].move.slot) * line.cuts[k - 1].width);
      if (line.terms.size() == 1 && line.cuts.size() == 1) {
        suggest(Checked(line.cuts[k].move.slot) *
                lines.shape[static_cast<std::size_t>(line.terms[0].dim)]);
      }
    }
  }
  return {found.begin(), found.end()};
}

/// The divisors of numbers up to 2^16; none for larger numbers.
std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= n && n <= std::int64_t{1} << 16; ++d) {
    if (n % d == 0) found.push_back(d);
  }
  return found;
}

/// Every choice of the strides of the lines except the last (which is 1), decreasing and dividing
/// each other.
void choose_atoms(const std::vector<std::int64_t>& strides, std::int64_t above, std::size_t lines,
                  std::vector<std::int64_t>& atoms, std::vector<std::vector<std::int64_t>>& out) {
  if (out.size() >= kMaxFrames) return;
  if (atoms.size() + 1 == lines) {
    atoms.push_back(above);
    out.push_back(atoms);
    atoms.pop_back();
    return;
  }
  for (const std::int64_t stride : strides) {
    if (stride > above) break;
    if (above % stride != 0) continue;
    atoms.push_back(above / stride);
    choose_atoms(strides, stride, lines, atoms, out);
    atoms.pop_back();
  }
}

/// The atoms of each mesh axis in memory, if one fold drives each axis: the shape that the layout
/// itself allocates. Messages should refer to this shape.
std::vector<std::int64_t> allocated_atoms(const Layout& layout) {
  const std::size_t rank = layout.mesh().rank();
  std::vector<std::int64_t> atoms(rank, 0);
  for (const Fold& fold : layout.form().folds) {
    Checked slots = 1;
    std::size_t axis = rank;
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh()) axis = static_cast<std::size_t>(cut.target.axis());
      if (cut.target.is_memory()) slots *= cut.count;
    }
    if (axis == rank || atoms[axis] != 0) return {};
    atoms[axis] = slots.saturated() / tile_extent(layout.atom(), axis, rank);
  }
  return atoms;
}

/// Possible shapes of the shards, most natural first: the one that the layout allocates, then those
/// with more than one atom in every line, and among these the ones that collapse outer dims.
std::vector<std::vector<std::int64_t>> atom_shapes(const Layout& layout,
                                                   const std::vector<std::int64_t>& strides,
                                                   std::size_t rank) {
  const std::int64_t total = layout.slots() / layout.atom().elements();
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::int64_t> atoms;
  choose_atoms(strides, total, rank, atoms, shapes);
  const auto ones = [](const std::vector<std::int64_t>& shape) {
    return std::count(shape.begin(), shape.end(), std::int64_t{1});
  };
  std::sort(shapes.begin(), shapes.end(), [&](const auto& a, const auto& b) {
    if (ones(a) != ones(b)) return ones(a) < ones(b);
    return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  });
  std::vector<std::int64_t> own = allocated_atoms(layout);
  Checked own_total = 1;
  for (const std::int64_t count : own) own_total *= count;
  if (own.size() == rank && own_total.saturated() == total) {
    std::erase(shapes, own);
    shapes.insert(shapes.begin(), std::move(own));
  }
  return shapes;
}

/// The extent of a line along `axis` inside a place; `steps` are the moves of its cuts there. It is
/// exact if the steps are proportional to the widths, otherwise it is a bound.
Checked reach_of(const Lines& lines, const Line& line, const std::vector<std::int64_t>& steps) {
  const std::int64_t last = last_value(lines, line);
  Checked reach = 0;
  bool straight = true;
  std::int64_t left = last;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const std::int64_t width = line.cuts[k].width;
    reach += Checked(std::max<std::int64_t>(steps[k], 0)) * (left / width);
    left = std::min(left, width - 1);
    straight = straight && (Checked(steps.back()) * width).saturated() == steps[k];
  }
  return straight && steps.back() > 0 ? Checked(steps.back()) * last : reach;
}

/// Where the grid may cut tiled line `axis`: a cut onto the axis must be as wide as the part of the
/// line below it, otherwise as wide as the part that one place holds.
std::vector<std::int64_t> shard_candidates(const Lines& lines, const MetalFrame& frame,
                                           std::size_t axis) {
  const std::int64_t tile = tile_extent(frame.element, axis, frame.grid.size());
  const std::int64_t whole = (Checked(frame.atoms[axis]) * tile).saturated();
  if (frame.grid[axis] == 1) return {whole};
  MetalFrame unit = frame;  // one step of a place counts 1, without the position inside
  unit.shard.assign(frame.shard.size(), 1);
  const auto inside = [&](Position position) {
    const Result<std::vector<std::int64_t>> steps = coordinates({0, position.slot}, unit);
    return steps ? (*steps)[axis] : 0;
  };
  const auto away = [&](Position position) {
    const Result<std::vector<std::int64_t>> steps = coordinates({position.place, 0}, unit);
    return steps ? (*steps)[axis] : 0;
  };
  std::vector<std::int64_t> found;
  Checked reach = inside(lines.base);
  for (const Line& line : lines.lines) {
    std::vector<std::int64_t> steps;
    for (const LineCut& cut : line.cuts) steps.push_back(inside(cut.move));
    reach += reach_of(lines, line, steps);
    for (std::size_t k = 0; k < line.cuts.size(); ++k) {
      const std::int64_t places = away(line.cuts[k].move);
      for (std::size_t j = k + 1; places > 0 && j < line.cuts.size(); ++j) {
        const Checked span = Checked(steps[j]) * line.cuts[k].width;
        found.push_back(span.saturated() / line.cuts[j].width / places);
      }
    }
  }
  // If no line continues below the cut, the narrowest shard is correct if any is: a wider one would
  // give the last place fewer elements than the rule requires.
  const std::int64_t narrowest = whole - tile + 1;
  found.push_back(std::max((reach + 1).saturated(), narrowest));
  found.push_back(narrowest);
  found.push_back(whole);
  std::vector<std::int64_t> widths;
  for (const std::int64_t shard : found) {
    const bool fits = narrowest <= shard && shard <= whole;
    if (fits && widths.size() < kMaxShards &&
        std::count(widths.begin(), widths.end(), shard) == 0) {
      widths.push_back(shard);
    }
  }
  return widths;
}

/// All frames of one atom shape: the shards of tiled lines may have several widths.
std::vector<MetalFrame> frames_of(const Lines& lines, MetalFrame frame, MetalShards shards) {
  const std::size_t rank = frame.grid.size();
  frame.shard.resize(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    frame.shard[axis] =
        (Checked(frame.atoms[axis]) * tile_extent(frame.element, axis, rank)).saturated();
  }
  std::vector<MetalFrame> frames = {frame};
  if (shards == MetalShards::kWholeTiles || !frame.element.is_tile()) return frames;
  frames.clear();
  for (const std::int64_t rows : shard_candidates(lines, frame, rank - 2)) {
    for (const std::int64_t cols : shard_candidates(lines, frame, rank - 1)) {
      frames.push_back(frame);
      frames.back().shard[rank - 2] = rows;
      frames.back().shard[rank - 1] = cols;
    }
  }
  return frames;
}

}  // namespace

std::optional<MetalMiss> try_frames(const Layout& layout, MetalShards shards,
                                    const MetalAttempt& attempt) {
  const Result<Lines> lines = canonical(layout.form());
  if (!lines) return MetalMiss{0, obstacle_of(lines.error(), "its lines: ")};
  std::vector<std::vector<std::int64_t>> grids = {layout.mesh().extents()};
  if (layout.mesh().rank() == 0) grids.clear();
  // One place is the same on every mesh, unless a device map specifies where it is.
  if (layout.places() == 1 && layout.spec().device_map.kind() == DeviceMap::Kind::kIdentity) {
    for (const std::vector<std::int64_t>& one : {std::vector<std::int64_t>{1, 1}, {1}}) {
      if (std::find(grids.begin(), grids.end(), one) == grids.end()) grids.push_back(one);
    }
  }
  MetalMiss furthest{0, obstacle(why::kTilesOnAxis, "tiles on a mesh of fewer than two axes")};
  const std::vector<std::int64_t> suggested = stride_candidates(layout, *lines);
  // Data that never move inside a place suggest no shape: then any shape may be correct.
  const bool still = std::all_of(lines->lines.begin(), lines->lines.end(), [](const Line& line) {
    return std::all_of(line.cuts.begin(), line.cuts.end(),
                       [](const LineCut& cut) { return cut.move.slot == 0; });
  });
  const std::vector<std::int64_t> all =
      still ? divisors(layout.slots() / layout.atom().elements()) : std::vector<std::int64_t>();
  for (const std::vector<std::int64_t>* strides : {&suggested, &all}) {
    if (strides->empty()) continue;
    for (const std::vector<std::int64_t>& grid : grids) {
      if (layout.atom().is_tile() && grid.size() < 2) continue;
      for (std::vector<std::int64_t>& atoms : atom_shapes(layout, *strides, grid.size())) {
        const MetalFrame shape{grid, std::move(atoms), {}, layout.atom()};
        const Lines carried = with_carries(*lines, shape);
        for (const MetalFrame& frame : frames_of(carried, shape, shards)) {
          std::optional<MetalMiss> miss = attempt(frame, carried);
          if (!miss) return std::nullopt;
          if (miss->stage > furthest.stage) furthest = *std::move(miss);
        }
      }
    }
  }
  return furthest;
}

std::optional<Obstacle> differs(const Layout& layout, const Result<Layout>& guess) {
  if (!guess) return obstacle_of(guess.error(), "this layout: ");
  if (guess->slots() != layout.slots()) {
    return obstacle(why::kAllocation,
                    "an allocation of {slots} slots where its rule gives {expected_slots}",
                    {fact("slots", layout.slots()), fact("expected_slots", guess->slots())});
  }
  const Result<Comparison> same = same_function(layout, *guess);
  if (!same) return obstacle_of(same.error(), "this layout: ");
  if (same->equal) return std::nullopt;
  return element_elsewhere(layout, *guess, *same->first_difference);
}

std::optional<Obstacle> unsaid_by_metal(const Layout& layout) {
  const LayoutSpec& spec = layout.spec();
  for (const Fill& fill : spec.form.fills) {
    if (fill.kind == Fill::Kind::kPartial) return partial_result(fill);
    if (fill.kind == Fill::Kind::kReplicate && fill.count > 1) return replicated(fill);
  }
  if (!oob_word(spec.padding)) {
    return obstacle(why::kPaddingValue, "a padding value other than 0, 1 and the infinities");
  }
  if (!spec.space.empty() && !is_one_of(spec.space, kMetalSpaces)) {
    return memory_space(spec.space);
  }
  return std::nullopt;
}

}  // namespace tessera::notation
