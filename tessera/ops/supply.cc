// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/supply.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"
#include "tessera/ops/blocks.h"

namespace tessera::ops {

bool Supply::has_halos() const {
  return std::ranges::any_of(halos, [](const Halo& halo) { return !(halo == Halo{}); });
}

namespace {

const Factor& factor_of(const Loops& loops, const Term& term) {
  return loops.factors[static_cast<std::size_t>(term.dim)];
}

/// The terms that change the index: a factor of one value does not.
std::vector<Term> moving_terms(const Loops& loops, const DimAccess& dim) {
  std::vector<Term> terms = dim.terms;
  std::erase_if(terms, [&](const Term& term) { return factor_of(loops, term).extent <= 1; });
  return terms;
}

}  // namespace

std::optional<WindowDim> window_dim(const Loops& loops, const DimAccess& dim, std::int64_t extent) {
  const std::vector<Term> terms = moving_terms(loops, dim);
  WindowDim window{0, 0, dim.start, dim.start};
  std::int64_t least_step = INT64_MAX;  // of the factors that do not pass
  for (const Term& term : terms) {
    const Factor& factor = factor_of(loops, term);
    if (factor.kind == FactorKind::kPass) {
      if (window.stride != 0) return std::nullopt;  // digits of one index
      window.position = term.dim;
      window.stride = term.coef;
    } else {
      const std::int64_t reach = term.coef * (factor.extent - 1);
      (reach < 0 ? window.first : window.last) += reach;
      least_step = std::min(least_step, std::abs(term.coef));
    }
  }
  if (window.stride <= 0 || terms.size() < 2) return std::nullopt;
  const std::int64_t positions = loops.factors[static_cast<std::size_t>(window.position)].extent;
  const std::int64_t reach = window.stride * (positions - 1);
  const bool inside = window.first >= 0 && window.last + reach < extent;
  if (inside && reach < least_step) return std::nullopt;
  return window;
}

std::vector<Range> reading_ranges(const Loops& loops, const Access& access, const Shape& shape) {
  std::vector<Range> ranges;
  for (std::size_t f = 0; f < loops.factors.size(); ++f) {
    const Factor& factor = loops.factors[f];
    const bool first_only =
        access.once && factor.kind == FactorKind::kReduce && !access.has(static_cast<int>(f));
    ranges.push_back({0, first_only ? std::min<std::int64_t>(factor.extent, 1) : factor.extent});
  }
  for (std::size_t d = 0; d < access.dims.size(); ++d) {
    const DimAccess& dim = access.dims[d];
    const std::vector<Term> terms = moving_terms(loops, dim);
    if (terms.size() > 1) continue;
    if (terms.empty()) {  // one index for all iterations
      if (dim.start < 0 || dim.start >= shape[d]) {
        for (Range& range : ranges) range = {0, 0};
      }
      continue;
    }
    Range& range = ranges[static_cast<std::size_t>(terms[0].dim)];
    // 0 <= start + coef·f < extent
    const std::int64_t coef = terms[0].coef;
    const std::int64_t low = coef > 0 ? -dim.start : dim.start - (shape[d] - 1);
    const std::int64_t high = coef > 0 ? shape[d] - 1 - dim.start : dim.start;
    const std::int64_t size = coef > 0 ? coef : -coef;
    range.from = std::max(range.from, floor_div(low + size - 1, size));
    range.to = std::min(range.to, floor_div(high, size) + 1);
  }
  for (const Range& range : ranges) {
    if (range.empty()) {
      for (Range& all : ranges) all = {0, 0};
      break;
    }
  }
  return ranges;
}

namespace {

/// How many shifts of windows are looked at one by one: more than the taps of any usual kernel.
constexpr std::int64_t kMostShifts = 1024;

/// Where the taps of a window lie beside its position: the sums of what the other factors add;
/// empty for more than kMostShifts.
std::vector<std::int64_t> taps_of(const Loops& loops, const DimAccess& dim,
                                  const WindowDim& window) {
  std::vector<std::int64_t> taps = {dim.start};
  for (const Term& term : moving_terms(loops, dim)) {
    if (term.dim == window.position) continue;
    const std::int64_t values = factor_of(loops, term).extent;
    const auto before = static_cast<std::int64_t>(taps.size());
    if (values > kMostShifts / before) return {};
    for (std::int64_t value = 1; value < values; ++value) {
      for (std::int64_t n = 0; n < before; ++n) {
        taps.push_back(taps[static_cast<std::size_t>(n)] + term.coef * value);
      }
    }
  }
  return taps;
}

/// From the first to the last index inside [0, extent) that windows at these positions read.
Range read_by(const WindowDim& window, const std::vector<std::int64_t>& taps,
              const Range& positions, std::int64_t extent) {
  const Range all{window.stride * positions.from + window.first,
                  window.stride * (positions.to - 1) + window.last + 1};
  if ((all.from >= 0 && all.to <= extent) || taps.empty()) {
    return {std::clamp<std::int64_t>(all.from, 0, extent),
            std::clamp<std::int64_t>(all.to, 0, extent)};
  }
  // At the ends of the dim a stride or a dilation may pass over elements.
  Range inside{extent, 0};
  for (const std::int64_t tap : taps) {
    const std::int64_t first = std::max(positions.from, -floor_div(tap, window.stride));
    const std::int64_t last =
        std::min(positions.to - 1, floor_div(extent - 1 - tap, window.stride));
    if (first > last) continue;
    inside.from = std::min(inside.from, window.stride * first + tap);
    inside.to = std::max(inside.to, window.stride * last + tap + 1);
  }
  return inside;
}

/// What of a dim is missing on the place with the most: both sides are blocks along one axis.
Halo halo_of(const WindowDim& window, const std::vector<std::int64_t>& taps, const Blocks& owned,
             std::int64_t extent, const Blocks& performed, std::int64_t positions,
             std::int64_t& readers) {
  Halo halo;
  const std::int64_t last = (positions - 1 + performed.start) / performed.width;
  for (std::int64_t c = performed.start / performed.width; c <= last; ++c) {
    const Range work = performed.of(c, positions);
    if (work.empty()) continue;
    const Range read = read_by(window, taps, work, extent);
    if (read.empty()) continue;
    readers = c + 1;
    const Range have = owned.of(c, extent);
    halo.before = std::max(halo.before, have.from - read.from);
    halo.after = std::max(halo.after, read.to - have.to);
  }
  return halo;
}

/// An iteration, and a place that performs it without holding what it reads.
struct Lack {
  Index iteration;
  Place place;
};

std::vector<Place> places_at(const Form& form, const Index& index) {
  Place first;
  std::int64_t slot = 0;
  form.evaluate(index, first, slot);
  return replica_places(form, first);
}

/// Looks at the corners of the nests on which both forms are linear.
std::optional<Lack> find_lack(const Form& held, const Form& performed) {
  constexpr std::int64_t kMost = 4096;
  const Result<Refinement> refinement = refine(held, performed);
  if (!refinement || held.replicas() > kMost || performed.replicas() > kMost) return std::nullopt;
  const auto lacks = [&](const Index& index) -> std::optional<Lack> {
    const std::vector<Place> have = places_at(held, index);
    for (const Place& place : places_at(performed, index)) {
      if (std::ranges::find(have, place) == have.end()) return Lack{index, place};
    }
    return std::nullopt;
  };
  for (std::int64_t n = 0; n < std::min(refinement->nests(), kMost); ++n) {
    const Nest nest = refinement->nest(n);
    if (std::optional<Lack> lack = lacks(nest.origin)) return lack;
    for (const Loop& loop : nest.loops) {
      Index index = nest.origin;
      index[static_cast<std::size_t>(loop.dim)] += loop.step * (loop.extent - 1);
      if (std::optional<Lack> lack = lacks(index)) return lack;
    }
  }
  return std::nullopt;
}

/// Whether every place has all that the windows over these dims read there: shift by shift, the
/// window is a plain access of the positions whose element lies inside the operand.
Result<bool> has_whole_windows(const Loops& loops, const Form& held, const Access& access,
                               const Form& performed, const std::vector<std::size_t>& dims,
                               const std::vector<Range>& ranges) {
  std::vector<std::size_t> taps;  // factors of those dims that are no position
  std::vector<WindowDim> windows;
  Checked shifts(1);
  for (const std::size_t d : dims) {
    windows.push_back(*window_dim(loops, access.dims[d], held.shape[d]));
    for (const Term& term : moving_terms(loops, access.dims[d])) {
      const auto f = static_cast<std::size_t>(term.dim);
      const bool is_new = std::ranges::find(taps, f) == taps.end();
      if (term.dim == windows.back().position || !is_new) continue;
      taps.push_back(f);
      shifts *= ranges[f].to - ranges[f].from;
    }
  }
  if (shifts.saturated() > kMostShifts) return false;
  std::vector<Range> here = ranges;
  for (const std::size_t f : taps) here[f].to = here[f].from + 1;
  while (true) {
    std::vector<Range> inside = here;
    bool reads = true;
    for (std::size_t n = 0; n < dims.size(); ++n) {
      const DimAccess& dim = access.dims[dims[n]];
      std::int64_t start = dim.start;
      for (const Term& term : dim.terms) {
        if (term.dim != windows[n].position) {
          start += term.coef * here[static_cast<std::size_t>(term.dim)].from;
        }
      }
      Range& range = inside[static_cast<std::size_t>(windows[n].position)];
      range.from =
          std::max(range.from, ceil_div(std::max<std::int64_t>(-start, 0), windows[n].stride));
      range.to =
          std::min(range.to, floor_div(held.shape[dims[n]] - 1 - start, windows[n].stride) + 1);
      reads = reads && !range.empty();
    }
    if (reads) {
      TESSERA_TRY(const Form pulled, pull_back(held, access, inside));
      TESSERA_TRY(const Form wanted, restrict_to(performed, inside));
      TESSERA_TRY(const bool complete, compatible_without_movement(pulled, wanted));
      if (!complete) return false;
    }
    std::size_t t = 0;
    for (; t < taps.size(); ++t) {
      Range& tap = here[taps[t]];
      tap = {tap.from + 1, tap.to + 1};
      if (tap.to <= ranges[taps[t]].to) break;
      tap = {ranges[taps[t]].from, ranges[taps[t]].from + 1};
    }
    if (t == taps.size()) return true;
  }
}

bool is_partial(const Form& form) {
  return std::ranges::any_of(form.fills, [](const Fill& fill) {
    return fill.kind == Fill::Kind::kPartial && fill.count > 1;
  });
}

}  // namespace

Result<Supply> supplies(const Loops& loops, const Access& access, const Form& operand,
                        const WorkMap& work) {
  if (!(operand.mesh == work.mesh())) {
    return Error{ErrorCode::kMeshMismatch,
                 cat("the operand is on a mesh of ", bracketed(operand.mesh.extents()),
                     ", the work on one of ", bracketed(work.mesh().extents()))};
  }
  Supply supply;
  supply.halos.resize(access.dims.size());
  supply.readers.resize(access.dims.size());
  if (is_partial(operand)) {
    supply.reason = "the operand is a partial sum, which has to be reduced first";
    return supply;
  }
  const std::vector<Range> ranges = reading_ranges(loops, access, operand.shape);
  const bool reads_nothing =
      operand.shape.empty() ||
      std::ranges::any_of(ranges, [](const Range& range) { return range.empty(); });
  if (reads_nothing) {
    supply.complete = true;
    return supply;
  }

  Form held = operand;
  Form performed = work.form();
  Access narrowed = access;
  std::vector<std::size_t> exact;  // dims under windows where a halo would not do
  std::string why_exact;
  for (std::size_t d = 0; d < access.dims.size(); ++d) {
    const std::optional<WindowDim> window = window_dim(loops, access.dims[d], operand.shape[d]);
    if (!window) continue;
    Blocks owned;
    Blocks blocks;
    const HowDivided of_operand = division_of(operand, static_cast<int>(d), owned);
    if (of_operand == HowDivided::kNot) {
      narrowed.dims[d] = {};  // places do not depend on it
      continue;
    }
    const std::int64_t positions = loops.factors[static_cast<std::size_t>(window->position)].extent;
    const HowDivided of_work = division_of(work.form(), window->position, blocks);
    const bool along = of_operand == HowDivided::kBlocks && of_work == HowDivided::kBlocks &&
                       owned.axis == blocks.axis && owned.stride == blocks.stride;
    if (along) {
      supply.halos[d] = halo_of(*window, taps_of(loops, access.dims[d], *window), owned,
                                operand.shape[d], blocks, positions, supply.readers[d]);
      keep_off_mesh(held, owned);
      keep_off_mesh(performed, blocks);
      narrowed.dims[d] = {};
      continue;
    }
    exact.push_back(d);
    if (!why_exact.empty()) continue;
    why_exact = of_operand == HowDivided::kBlocks
                    ? cat("dim ", d, " is divided over mesh axis ", owned.axis,
                          ", but the positions of the window over it (factor ",
                          loops.factors[static_cast<std::size_t>(window->position)].name,
                          ") are not divided along with it")
                    : cat("dim ", d, " is under a window and is not divided into plain blocks");
  }
  if (!exact.empty()) {
    TESSERA_TRY(supply.complete,
                has_whole_windows(loops, held, narrowed, performed, exact, ranges));
    if (!supply.complete) supply.reason = std::move(why_exact);
    return supply;
  }
  TESSERA_TRY(const Form pulled, pull_back(held, narrowed, ranges));
  TESSERA_TRY(const Form wanted, restrict_to(performed, ranges));
  TESSERA_TRY(supply.complete, compatible_without_movement(pulled, wanted));
  if (supply.complete) return supply;
  if (const std::optional<Lack> lack = find_lack(pulled, wanted)) {
    Index iteration = lack->iteration;
    for (std::size_t f = 0; f < iteration.size(); ++f) iteration[f] += ranges[f].from;
    supply.element = narrowed.index(iteration);
    supply.place = lack->place;
    supply.reason = cat("element ", bracketed(*supply.element), " is read on place ",
                        bracketed(*supply.place), ", which does not have it");
  } else {
    supply.reason = "a place reads elements that it does not have";
  }
  return supply;
}

}  // namespace tessera::ops
