// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/metal/form.h"
#include "tessera/notation/metal/guess.h"
#include "tessera/notation/mlir/affine_map_algebra.h"

namespace tessera::notation {
namespace {

using Coordinates = std::vector<std::int64_t>;

/// Mixed-radix digits of a number; the first one has no bound.
Coordinates digits_of(std::int64_t number, const std::vector<std::int64_t>& radices) {
  Coordinates digits(radices.size(), 0);
  for (std::size_t i = radices.size(); i-- > 0;) {
    const std::int64_t radix = i == 0 ? 0 : radices[i];
    digits[i] = radix > 0 ? number % radix : number;
    number = radix > 0 ? number / radix : 0;
  }
  return digits;
}

}  // namespace

Result<Coordinates> coordinates(Position position, const MetalFrame& frame) {
  const std::size_t rank = frame.grid.size();
  if (position.place == INT64_MIN || position.slot == INT64_MIN) {
    return Error{ErrorCode::kOverflow, "a step of a line"};
  }
  const Coordinates place =
      digits_of(position.place < 0 ? -position.place : position.place, frame.grid);
  const std::int64_t slot = position.slot < 0 ? -position.slot : position.slot;
  const Coordinates atom = digits_of(slot / frame.element.elements(), frame.atoms);
  const std::int64_t inside = slot % frame.element.elements();
  Coordinates steps(rank, 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    Checked local = Checked(atom[axis]) * tile_extent(frame.element, axis, rank);
    if (axis + 1 == rank) local += inside % frame.element.cols;
    if (axis + 2 == rank) local += inside / frame.element.cols;
    const Checked away = Checked(place[axis]) * frame.shard[axis];
    TESSERA_TRY(steps[axis], ((position.place < 0 ? Checked(0) - away : away) +
                              (position.slot < 0 ? Checked(0) - local : local))
                                 .value("a step of a line"));
  }
  return steps;
}

namespace {

/// A digit of a place or slot number: `unit` is its step and `radix` its number of values.
struct Level {
  std::int64_t unit = 1;
  std::int64_t radix = 1;
};

std::vector<Level> levels_of(const std::vector<std::int64_t>& radices) {
  std::vector<Level> levels;
  std::int64_t unit = 1;
  for (std::size_t i = radices.size(); i-- > 1;) {  // the first level has no next one
    levels.push_back({unit, radices[i]});
    unit *= radices[i];
  }
  return levels;
}

std::vector<Level> place_levels(const MetalFrame& frame) { return levels_of(frame.grid); }

/// Columns and rows of a tile, then the atoms.
std::vector<Level> slot_levels(const MetalFrame& frame) {
  std::vector<std::int64_t> radices = frame.atoms;
  if (frame.element.is_tile()) {
    radices.push_back(frame.element.rows);
    radices.push_back(frame.element.cols);
  }
  return levels_of(radices);
}

/// How many steps of `move` fill a level, when the step is inside one level and divides it.
std::int64_t steps_to_carry(std::int64_t move, const std::vector<Level>& levels, std::int64_t first,
                            std::int64_t& offset) {
  for (const Level& level : levels) {
    if (move < level.unit || move % level.unit != 0 || move / level.unit >= level.radix) continue;
    const std::int64_t step = move / level.unit;
    if (level.radix % step != 0) return 0;
    offset = first / level.unit % level.radix / step;
    return level.radix / step;
  }
  return 0;
}

/// Cuts the line where its digits carry from one axis or line to the next. Canonical lines number
/// places and slots with one number each, in which (d0 floordiv 8, d0 mod 8) on 8x8 is a single
/// step.
void split_carries(Lines& lines, Line& line, const MetalFrame& frame, Position zero) {
  const std::vector<Level> places = place_levels(frame);
  const std::vector<Level> slots = slot_levels(frame);
  for (std::size_t k = line.cuts.size(); k-- > 0;) {
    while (line.cuts.size() < kMaxRank) {
      const LineCut cut = line.cuts[k];
      std::int64_t place_offset = 0;
      std::int64_t slot_offset = 0;
      std::int64_t steps = steps_to_carry(cut.move.place, places, zero.place, place_offset);
      std::int64_t offset = place_offset;
      const std::int64_t by_slot = steps_to_carry(cut.move.slot, slots, zero.slot, slot_offset);
      if (by_slot > 1 && (steps <= 1 || by_slot < steps)) {
        steps = by_slot;
        offset = slot_offset;
      }
      if (k > 0) offset = 0;  // lower digits keep where they start
      const std::int64_t left = k == 0 ? last_value(lines, line) : line.cuts[k - 1].width - 1;
      if (steps <= 1 || left / cut.width + offset < steps) break;
      const Checked width = Checked(cut.width) * steps;
      const Checked start = Checked(cut.width) * offset + line.start;
      if (width.overflowed() || start.overflowed()) break;
      line.start = start.raw();
      lines.base += cut.move * -offset;
      // The digit above restarts where this one began.
      zero = zero - cut.move * offset;
      line.cuts.insert(line.cuts.begin() + static_cast<std::ptrdiff_t>(k),
                       {width.raw(), cut.move * steps});
    }
  }
}

/// The part of line `axis` that one canonical line drives. Adjacent cuts whose steps are
/// proportional to their widths count the line itself: r·(digit·width + ..) = r·(remainder of p).
Result<AffineResult> driven_part(const Line& line, const Shape& shape,
                                 const std::vector<Coordinates>& steps, std::size_t axis) {
  const auto step = [&](std::size_t cut) { return steps[cut][axis]; };
  std::size_t first = 0;
  while (first < line.cuts.size() && step(first) == 0) ++first;
  if (first == line.cuts.size()) return affine::constant(0);
  std::size_t last = line.cuts.size() - 1;
  while (step(last) == 0) --last;
  for (std::size_t cut = first; cut < last; ++cut) {
    if ((Checked(step(cut)) * line.cuts[last].width).saturated() !=
        (Checked(step(last)) * line.cuts[cut].width).saturated()) {
      return Error{ErrorCode::kNotSupported,
                   cat("a cut at ", line.cuts[cut].width, " of d", line.terms[0].dim,
                       " that memory does not follow row-major")};
    }
    if (last + 1 < line.cuts.size() && line.cuts[cut].width % line.cuts[last].width != 0) {
      return Error{ErrorCode::kNotSupported,
                   cat("a cut at ", line.cuts[cut].width, " above ", line.cuts[last].width)};
    }
  }
  AffineResult value{line.terms, line.start, 0, 1};
  std::sort(value.terms.begin(), value.terms.end(),
            [](const Term& a, const Term& b) { return a.dim < b.dim; });
  for (std::size_t cut = 0; cut < first; ++cut) {
    const std::int64_t width = line.cuts[cut].width;
    const auto divides = [&](const LineCut& later) { return width % later.width == 0; };
    const auto begin = line.cuts.begin() + static_cast<std::ptrdiff_t>(cut) + 1;
    const auto end = line.cuts.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::any_of(begin, end, divides)) continue;  // x mod 6 mod 2 is x mod 2
    TESSERA_TRY(value, affine::remainder(std::move(value), width));
  }
  TESSERA_TRY(value, affine::floor_divide(std::move(value), line.cuts[last].width));
  return affine::multiply(affine::simplified(std::move(value), shape),
                          affine::constant(step(last)));
}

/// The coordinates of sample elements on the lines: element 0; for every dim with more than one
/// element, the second, a middle and the last element along it; and the last element of all.
/// Differences of elements are exact even if a step increases on one line and decreases on another.
struct Samples {
  struct Along {
    int dim;
    std::int64_t middle;
    std::int64_t last;
    Coordinates stands_second, stands_middle, stands_last;
  };
  Coordinates first;
  std::vector<Along> along;
  Index end;
  Coordinates stands_end;
};

Result<Samples> samples_of(const Lines& lines, const MetalFrame& frame) {
  const Shape& shape = lines.shape;
  Samples samples;
  Index index(shape.rank(), 0);
  TESSERA_TRY(samples.first, coordinates(lines.position(index), frame));
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] == 1) continue;
    Samples::Along along{static_cast<int>(dim), shape[dim] / 2, shape[dim] - 1, {}, {}, {}};
    index[dim] = 1;
    TESSERA_TRY(along.stands_second, coordinates(lines.position(index), frame));
    index[dim] = along.middle;
    TESSERA_TRY(along.stands_middle, coordinates(lines.position(index), frame));
    index[dim] = along.last;
    TESSERA_TRY(along.stands_last, coordinates(lines.position(index), frame));
    index[dim] = 0;
    samples.along.push_back(std::move(along));
  }
  samples.end = index;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) samples.end[dim] = shape[dim] - 1;
  TESSERA_TRY(samples.stands_end, coordinates(lines.position(samples.end), frame));
  return samples;
}

/// The value along `axis` as a plain sum, if the samples are consistent with one.
std::optional<AffineResult> straight_value(const Samples& samples, std::size_t axis) {
  AffineResult sum;
  sum.constant = samples.first[axis];
  for (const Samples::Along& along : samples.along) {
    const std::int64_t step = along.stands_second[axis] - sum.constant;  // both are 0 or more
    const auto stands = [&](std::int64_t x, std::int64_t where) {
      const Checked expected = Checked(step) * x + sum.constant;
      return !expected.overflowed() && expected.raw() == where;
    };
    if (!stands(along.middle, along.stands_middle[axis])) return std::nullopt;
    if (!stands(along.last, along.stands_last[axis])) return std::nullopt;
    if (step != 0) sum.terms.push_back({along.dim, step});
  }
  return sum.at(samples.end) == samples.stands_end[axis] ? std::optional(sum) : std::nullopt;
}

/// The value along `axis` with quotients and remainders, from the cuts of the canonical lines.
/// `steps` are those of every cut of every line.
Result<AffineResult> cut_value(const Lines& lines,
                               const std::vector<std::vector<Coordinates>>& steps, std::size_t axis,
                               std::int64_t first) {
  AffineResult value;
  for (std::size_t i = 0; i < lines.lines.size(); ++i) {
    TESSERA_TRY(AffineResult part, driven_part(lines.lines[i], lines.shape, steps[i], axis));
    TESSERA_TRY(value, affine::add(std::move(value), std::move(part), lines.shape));
  }
  const Index zero(lines.shape.rank(), 0);
  TESSERA_TRY(const std::int64_t rest, (Checked(first) - value.at(zero)).value("a constant"));
  return affine::add(std::move(value), affine::constant(rest), lines.shape);
}

}  // namespace

std::int64_t last_value(const Lines& lines, const Line& line) {
  Checked last = line.start;
  for (const Term& term : line.terms) {
    if (term.coef > 0) {
      last += Checked(term.coef) * (lines.shape[static_cast<std::size_t>(term.dim)] - 1);
    }
  }
  return last.saturated();
}

Lines with_carries(Lines lines, const MetalFrame& frame) {
  const Position zero = lines.position(Index(lines.shape.rank(), 0));
  for (std::size_t i = 0; i < lines.lines.size(); ++i) {
    split_carries(lines, lines.lines[i], frame, zero);
  }
  return lines;
}

Result<std::vector<AffineResult>> line_values(const Lines& lines, const MetalFrame& frame) {
  TESSERA_TRY(const Samples samples, samples_of(lines, frame));
  std::vector<std::vector<Coordinates>> steps;
  for (const Line& line : lines.lines) {
    steps.emplace_back();
    for (const LineCut& cut : line.cuts) {
      TESSERA_TRY(Coordinates step, coordinates(cut.move, frame));
      steps.back().push_back(std::move(step));
    }
  }
  std::vector<AffineResult> values(frame.grid.size());
  for (std::size_t axis = 0; axis < values.size(); ++axis) {
    if (auto straight = straight_value(samples, axis)) {
      values[axis] = *std::move(straight);
    } else {
      TESSERA_TRY(values[axis], cut_value(lines, steps, axis, samples.first[axis]));
    }
  }
  return values;
}

}  // namespace tessera::notation
