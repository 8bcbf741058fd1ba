// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/memory_digits.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/notation/raising/plain_memory.h"

namespace tessera::notation {

namespace {

Error cannot(std::string_view reason, std::string_view words, std::vector<Fact> facts = {}) {
  return as_error(obstacle(reason, words, std::move(facts)));
}

Error cut_in_two_ways(int dim) {
  return cannot(why::kCutInWays, "dim {dim} cut in two ways at once",
                {fact("dim", dim), fact("ways", 2)});
}

/// A line whose points are all multiples of a number, in units of that number: 4·x cut by (8, 2, 1)
/// is x cut by (2, 1), because a step of x is two steps of width 2 with remainder 0.
Line reduced(Line line) {
  std::int64_t step = line.start;
  for (const Term& term : line.terms) step = std::gcd(step, term.coef);
  if (step <= 1) return line;
  std::vector<LineCut> cuts;
  for (const LineCut& cut : line.cuts) {
    if (step % cut.width == 0) {
      cuts.push_back({1, cut.move * (step / cut.width)});
      break;
    }
    if (cut.width % step != 0) return line;
    cuts.push_back({cut.width / step, cut.move});
  }
  for (Term& term : line.terms) term.coef /= step;
  return {std::move(line.terms), line.start / step, std::move(cuts)};
}

/// The dims of a line that joins them row-major without gaps.
Result<std::vector<int>> joined_dims(const Line& line, const Shape& shape) {
  std::vector<int> dims;
  Checked coef = 1;
  for (auto term = line.terms.rbegin(); term != line.terms.rend(); ++term) {
    if (term->coef < 0) {
      return cannot(why::kRunsDownward, "dim {dim} running downward", {fact("dim", term->dim)});
    }
    if (line.start != 0) {
      return cannot(why::kCutFrom, "pieces of dim {dim} that begin at {start}",
                    {fact("dim", term->dim), fact("start", line.start), fact("step", term->coef)});
    }
    if (coef.overflowed() || term->coef != coef.raw()) {
      return cannot(why::kUnevenPoints,
                    "dim {dim} cut where one step of it passes {points} points, not "
                    "{expected_points}",
                    {fact("dim", term->dim), fact("points", term->coef),
                     fact("expected_points", coef.saturated())});
    }
    coef *= shape[static_cast<std::size_t>(term->dim)];
    dims.insert(dims.begin(), term->dim);
  }
  return dims;
}

/// What one line does along a dim is not conclusive when another line moves the dim as well.
Error cannot_along(const Lines& lines, int dim, Error what) {
  const auto of_dim = std::count_if(lines.lines.begin(), lines.lines.end(), [&](const Line& line) {
    return std::any_of(line.terms.begin(), line.terms.end(),
                       [&](const Term& term) { return term.dim == dim; });
  });
  return of_dim > 1 ? cut_in_two_ways(dim) : std::move(what);
}

/// The lines and their digits, line by line, with decreasing widths.
Result<MemoryDigits> unsorted_digits(const Layout& layout) {
  if (layout.places() != 1) {
    return as_error(mesh_rank(cat("a mesh of ", layout.places(), " places"), layout.mesh(), 0, 0));
  }
  const Shape& shape = layout.shape();
  MemoryDigits memory;
  if (shape.empty()) return memory;
  TESSERA_TRY(const Lines lines, canonical(layout.form()));
  for (const Line& canonical_line : lines.lines) {
    const Line line = reduced(canonical_line);
    Result<std::vector<int>> joined = joined_dims(line, shape);
    if (!joined) return cannot_along(lines, line.terms.back().dim, joined.error());
    std::vector<int> dims = *std::move(joined);
    std::int64_t above = 1;
    for (const int dim : dims) above *= shape[static_cast<std::size_t>(dim)];
    const int number = static_cast<int>(memory.lines.size());
    bool top = true;
    for (const LineCut& cut : line.cuts) {
      const std::int64_t extent = ceil_div(above, cut.width);
      if (extent > 1 && cut.move.slot < 0) {
        return cannot_along(lines, dims.front(),
                            cannot(why::kNegativeStep, "dim {dim} with steps of {step} slots",
                                   {fact("dim", dims.front()), fact("step", cut.move.slot)}));
      }
      if (extent > 1) {
        memory.digits.push_back({number, cut.width, extent, cut.move.slot, extent, top});
        top = false;
      }
      above = std::min(above, cut.width);
    }
    memory.lines.push_back(std::move(dims));
  }
  return memory;
}

/// Each dim must be in one line: two lines with the same dim would cut it in two ways.
Status check_lines(const MemoryDigits& memory, std::size_t rank) {
  std::vector<bool> seen(rank, false);
  for (const std::vector<int>& dims : memory.lines) {
    for (const int dim : dims) {
      if (seen[static_cast<std::size_t>(dim)]) return cut_in_two_ways(dim);
      seen[static_cast<std::size_t>(dim)] = true;
    }
  }
  return ok_status();
}

/// Joins the line whose last digit is `at` with the line whose first digit comes next, when both
/// digits count as one: row-major dims that only together fill one step of the next slower digit.
/// Example: 2x2 in 5 slots: x0 in steps of 2 does not divide 5; 2·x0 + x1 in steps of 1 does.
bool join_with_next(MemoryDigits& memory, std::size_t at, const Shape& shape) {
  if (at + 1 >= memory.digits.size()) return false;
  const MemoryDigit slow = memory.digits[at];
  const MemoryDigit fast = memory.digits[at + 1];
  std::vector<int>& fast_dims = memory.lines[static_cast<std::size_t>(fast.line)];
  std::int64_t points = 1;  // of the faster line
  for (const int dim : fast_dims) points *= shape[static_cast<std::size_t>(dim)];
  if (slow.line == fast.line || slow.width != 1 || !fast.top ||
      slow.stride / fast.extent != fast.stride || slow.stride % fast.extent != 0 ||
      fast.width != points / fast.extent || points % fast.extent != 0) {
    return false;
  }
  std::vector<int>& slow_dims = memory.lines[static_cast<std::size_t>(slow.line)];
  fast_dims.insert(fast_dims.begin(), slow_dims.begin(), slow_dims.end());
  slow_dims.clear();
  memory.digits.erase(memory.digits.begin() + static_cast<std::ptrdiff_t>(at));
  memory.digits[at].extent *= slow.extent;
  memory.digits[at].top = slow.top;
  for (MemoryDigit& digit : memory.digits) {
    if (digit.line != slow.line) continue;
    digit.line = fast.line;
    digit.width *= points;
  }
  return true;
}

void forget_joined_lines(MemoryDigits& memory) {
  for (std::size_t line = memory.lines.size(); line-- > 0;) {
    if (!memory.lines[line].empty()) continue;
    memory.lines.erase(memory.lines.begin() + static_cast<std::ptrdiff_t>(line));
    for (MemoryDigit& digit : memory.digits) digit.line -= digit.line > static_cast<int>(line);
  }
}

}  // namespace

std::size_t MemoryDigits::outer() const {
  std::size_t outer = 0;
  while (outer < digits.size() && digits[outer].top &&
         digits[outer].count == digits[outer].extent) {
    ++outer;
  }
  return outer;
}

Result<MemoryDigits> memory_digits(const Layout& layout) {
  TESSERA_TRY(MemoryDigits memory, unsorted_digits(layout));
  TESSERA_CHECK_OK(check_lines(memory, layout.shape().rank()));
  if (!layout.shape().empty()) {
    Place place;
    std::int64_t first = 0;
    layout.form().evaluate(Index(layout.shape().rank(), 0), place, first);
    if (first != 0) {
      return cannot(why::kFirstSlot, "an offset of {slot} slots", {fact("slot", first)});
    }
  }
  std::sort(memory.digits.begin(), memory.digits.end(),
            [](const MemoryDigit& a, const MemoryDigit& b) { return a.stride > b.stride; });
  memory.slots = layout.slots();
  if (!memory.digits.empty()) {
    const MemoryDigit& slowest = memory.digits.front();
    if (slowest.stride == 0) {
      return cannot(why::kSharedSlots, "elements that share a slot");
    }
    if (memory.slots % slowest.stride != 0) {
      memory.slots = (Checked(slowest.stride) * slowest.extent).saturated();
      if (memory.slots > layout.slots()) {
        return cannot(why::kStepsTakeMore,
                      "an allocation of {slots} slots where {steps} steps of {step} slots take "
                      "{taken}",
                      {fact("slots", layout.slots()), fact("steps", slowest.extent),
                       fact("step", slowest.stride), fact("taken", memory.slots)});
      }
    }
  }
  std::int64_t above = memory.slots;
  for (std::size_t i = 0; i < memory.digits.size(); ++i) {
    const MemoryDigit& digit = memory.digits[i];
    if (digit.stride == 0) {
      return cannot(why::kSharedSlots, "elements that share a slot");
    }
    while (above % digit.stride != 0) {
      if (join_with_next(memory, i, layout.shape())) continue;
      return cannot(why::kStepsDoNotDivide,
                    "steps of {step} slots inside steps of {outer_step}, which they do not divide",
                    {fact("step", digit.stride), fact("outer_step", above)});
    }
    if (above / digit.stride < digit.extent) {
      return cannot(
          why::kStepsDoNotFit, "{steps} steps of {step} slots inside a step of {outer_step}",
          {fact("steps", digit.extent), fact("step", digit.stride), fact("outer_step", above)});
    }
    memory.digits[i].count = above / digit.stride;
    above = digit.stride;
  }
  forget_joined_lines(memory);
  return memory;
}

void split_padded_digit(MemoryDigits& memory) {
  const std::size_t at = memory.outer();
  if (at == memory.digits.size()) return;
  const MemoryDigit digit = memory.digits[at];
  const std::int64_t padding = digit.count - digit.extent;
  // The largest power of two that divides the count leaves whole pieces.
  const std::int64_t piece = digit.count & -digit.count;
  if (!digit.top || padding == 0 || piece <= padding || piece == digit.count) return;
  const std::int64_t pieces = digit.count / piece;
  MemoryDigit& inner = memory.digits[at];
  inner.top = false;
  inner.extent = piece;
  inner.count = piece;
  const MemoryDigit outer{digit.line, digit.width * piece, pieces, digit.stride * piece, pieces,
                          true};
  memory.digits.insert(memory.digits.begin() + static_cast<std::ptrdiff_t>(at), outer);
}

Result<std::vector<std::vector<MemoryDigit>>> digits_by_dim(const Layout& layout) {
  TESSERA_TRY(const MemoryDigits memory, unsorted_digits(layout));
  std::vector<std::vector<MemoryDigit>> by_dim(layout.shape().rank());
  for (const MemoryDigit& digit : memory.digits) {
    const std::vector<int>& dims = memory.lines[static_cast<std::size_t>(digit.line)];
    if (dims.size() != 1) {
      return cannot(why::kJoinedDims, "dims {dims:and} joined in one line",
                    {fact("dims", dims[0], dims[1])});
    }
    by_dim[static_cast<std::size_t>(dims.front())].push_back(digit);
  }
  return by_dim;
}

}  // namespace tessera::notation
