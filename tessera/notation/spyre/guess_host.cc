// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/notation/spyre/guess.h"

namespace tessera::notation::spyre {
namespace {

/// Joins two digits that move the same number of slots, or places, per host element.
bool join(const Step& outer, Step& inner) {
  const std::int64_t width = std::gcd(outer.width, inner.width);
  const std::int64_t finer = inner.width / width;
  if (inner.move.slot % finer != 0 || inner.move.place % finer != 0) return false;
  const Position move{inner.move.place / finer, inner.move.slot / finer};
  if (outer.move != move * (outer.width / width)) return false;
  inner.bound = (Checked(outer.need() - 1) * outer.width + inner.bound).saturated();
  inner.width = width;
  inner.move = move;
  return true;
}

/// The number of parts that each digit must be cut into so that the stick and the outer digits are
/// whole numbers of parts: slots between elements then correspond to host elements between them.
std::vector<std::int64_t> parts_of(const std::vector<Step>& steps, const Room& room) {
  std::vector<std::int64_t> parts(steps.size(), 1);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Position& move = steps[i].move;
    Position next{room.places, room.slots};
    bool lowest = move.slot > 0;
    for (const Step& other : steps) {
      if (other.move.slot > move.slot) next.slot = std::min(next.slot, other.move.slot);
      if (other.move.place > move.place) next.place = std::min(next.place, other.move.place);
      lowest = lowest && (other.move.slot == 0 || other.move.slot >= move.slot);
    }
    if (move.slot > 0) parts[i] = move.slot / std::gcd(move.slot, next.slot);
    if (move.place > 0) parts[i] = move.place / std::gcd(move.place, next.place);
    if (lowest && move.slot % room.per_stick != 0) parts[i] = move.slot;
  }
  return parts;
}

/// Cuts the digits into those parts. If a width is not a multiple of its parts, all host strides
/// are multiplied until it is. Returns false on overflow.
bool fill_gaps(std::vector<Step>& steps, std::vector<std::int64_t>& host, const Room& room) {
  const std::vector<std::int64_t> parts = parts_of(steps, room);
  std::int64_t stretch = 1;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    stretch = saturating_lcm(stretch, parts[i] / std::gcd(parts[i], steps[i].width));
  }
  for (std::int64_t& stride : host) {
    const Checked stretched = Checked(stride) * stretch;
    if (stretched.overflowed()) return false;
    stride = stretched.raw();
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    const Checked width = Checked(step.width) * stretch;
    const Checked bound = Checked(step.bound - 1) * stretch + 1;
    if (width.overflowed() || bound.overflowed()) return false;
    step.width = width.raw() / parts[i];
    step.bound = bound.raw();
    step.move = {step.move.place / (step.move.place > 0 ? parts[i] : 1),
                 step.move.slot / (step.move.slot > 0 ? parts[i] : 1)};
  }
  return true;
}

}  // namespace

std::optional<std::vector<Step>> steps_of_host(const Lines& lines,
                                               std::vector<std::int64_t>& host_stride,
                                               const Room& room, bool fused) {
  std::vector<Step> steps;
  for (const Line& line : lines.lines) {
    if (line.start != 0) return std::nullopt;
    std::int64_t scale = 0;  // host elements per position of the line
    for (const Term& term : line.terms) {
      const std::int64_t stride = host_stride[static_cast<std::size_t>(term.dim)];
      if (term.coef < 1 || stride % term.coef != 0) return std::nullopt;
      if (scale != 0 && scale != stride / term.coef) return std::nullopt;
      scale = stride / term.coef;
    }
    Checked left = 1;
    for (const Term& term : line.terms) {
      left += Checked(term.coef) * (lines.shape[static_cast<std::size_t>(term.dim)] - 1);
    }
    for (const LineCut& cut : line.cuts) {
      const Checked width = Checked(cut.width) * scale;
      const Checked bound = (left - 1) * scale + 1;
      if (width.overflowed() || bound.overflowed()) return std::nullopt;
      steps.push_back({-1, width.raw(), 0, bound.raw(), cut.move});
      left = std::min(left.raw(), cut.width);
    }
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.width > b.width; });
  for (std::size_t k = 0; fused && k + 1 < steps.size();) {
    if (join(steps[k], steps[k + 1])) {
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(k));
    } else {
      ++k;
    }
  }
  if (fused && !fill_gaps(steps, host_stride, room)) return std::nullopt;
  return steps;
}

std::optional<std::vector<std::int64_t>> host_in_device_order(const Lines& lines, const Room& room,
                                                              HostGuess guess, bool by_last_digit) {
  // The digit by which a line is ordered; lines that are only on the mesh come last.
  const auto digit_of = [&](const Line& line) {
    if (by_last_digit && line.cuts.back().move.slot > 0) return line.cuts.back();
    LineCut result{1, {0, INT64_MAX}};
    for (const LineCut& cut : line.cuts) {
      if (cut.move.slot > 0 && cut.move.slot < result.move.slot) result = cut;
    }
    return result;
  };
  // The number of parts that a digit needs to fill the next outer digit.
  const auto parts = [&](std::int64_t slot) {
    std::int64_t next = room.slots;
    for (const Line& line : lines.lines) {
      for (const LineCut& cut : line.cuts) {
        if (cut.move.slot > slot) next = std::min(next, cut.move.slot);
      }
    }
    return slot / std::gcd(slot, next);
  };
  std::vector<const Line*> order;
  for (const Line& line : lines.lines) order.push_back(&line);
  std::sort(order.begin(), order.end(), [&](const Line* a, const Line* b) {
    return digit_of(*a).move.slot < digit_of(*b).move.slot;
  });
  std::vector<std::int64_t> host(lines.shape.rank(), 1);
  std::vector<LineCut> placed;  // digits so far, in host elements
  Checked end = 1;              // one past the largest offset so far
  for (const Line* line : order) {
    const LineCut digit = digit_of(*line);
    const std::int64_t slots = digit.move.slot / digit.width;
    const bool only_on_mesh = digit.move.slot == INT64_MAX;
    Checked scale = end;
    if ((guess == HostGuess::kSlots || guess == HostGuess::kGaps) &&
        digit.move.slot < room.per_stick) {
      // Elements inside one stick have one stride, so their offsets must be slots.
      if (digit.move.slot % digit.width != 0) return std::nullopt;
      scale = slots;
    } else if (guess == HostGuess::kSlots && slots >= end.saturated() && !only_on_mesh) {
      scale = slots;
    } else if (guess == HostGuess::kGaps && !only_on_mesh) {
      scale *= parts(digit.move.slot);
    } else if (guess == HostGuess::kSteps && !only_on_mesh) {
      std::int64_t least = INT64_MAX;
      for (const LineCut& inside : placed) {
        if (slots % inside.move.slot != 0) continue;
        const Checked in_step = Checked(slots / inside.move.slot) * inside.width;
        if (in_step.saturated() >= end.saturated()) least = std::min(least, in_step.saturated());
      }
      if (least != INT64_MAX) scale = least;
    }
    for (const LineCut& cut : line->cuts) {
      const Checked width = scale * cut.width;
      if (cut.move.slot > 0 && !width.overflowed()) placed.push_back({width.raw(), cut.move});
    }
    for (const Term& term : line->terms) {
      const auto dim = static_cast<std::size_t>(term.dim);
      const Checked stride = scale * term.coef;
      if (term.coef < 1 || stride.overflowed()) return std::nullopt;
      host[dim] = stride.raw();
      end += stride * (lines.shape[dim] - 1);
    }
  }
  return host;
}

}  // namespace tessera::notation::spyre
