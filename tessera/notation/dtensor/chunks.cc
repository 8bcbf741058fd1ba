// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/dtensor/chunks.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/dtensor/shards.h"

namespace tessera::notation {
namespace {

constexpr std::size_t kMaxListed = std::size_t{1} << 16;  // runs examined one by one

/// The number of values of a digit of the shard's line, and how far one step moves along the dim.
struct Factor {
  std::int64_t count = 1;
  std::int64_t width = 1;
};

/// Removes a factor `n` from the front of `line`; nullopt when it does not divide.
std::optional<std::vector<Factor>> take(std::vector<Factor>& line, std::int64_t n) {
  std::vector<Factor> taken;
  while (n > 1) {
    if (line.empty()) return std::nullopt;
    Factor& top = line.front();
    if (top.count % n == 0) {
      top.count /= n;
      taken.push_back({n, top.width * top.count});
      n = 1;
    } else if (n % top.count == 0) {
      taken.push_back(top);
      n /= top.count;
      top.count = 1;
    } else {
      return std::nullopt;
    }
    if (top.count == 1) line.erase(line.begin());
  }
  return taken;
}

/// Converts factors to digits: the last has width 1, each other one the product of the counts after
/// it.
void append_digits(const std::vector<Factor>& factors, int level, std::vector<ChunkDigit>& digits) {
  std::int64_t stride = 1;
  for (const Factor& factor : std::views::reverse(factors)) {
    if (level != ChunkDigit::kPosition || factor.width != 1) {
      digits.push_back({factor.width, factor.count, level, stride});
    }
    stride *= factor.count;
  }
}

std::optional<ChunkRun> even_run(std::int64_t extent, const std::vector<ChunkLevel>& levels) {
  ChunkRun run{0, extent, {}, std::vector<std::int64_t>(levels.size(), 0), 0, extent};
  std::vector<Factor> line = {{extent, 1}};
  for (std::size_t level = 0; level < levels.size(); ++level) {
    if (levels[level].places == 1) continue;
    std::optional<std::vector<Factor>> kept = take(line, levels[level].split_factor);
    if (!kept) return std::nullopt;
    const std::optional<std::vector<Factor>> placed = take(line, levels[level].places);
    if (!placed) return std::nullopt;
    line.insert(line.begin(), kept->begin(), kept->end());
    append_digits(*placed, static_cast<int>(level), run.digits);
    run.extent /= levels[level].places;
  }
  append_digits(line, ChunkDigit::kPosition, run.digits);
  std::sort(run.digits.begin(), run.digits.end(),
            [](const ChunkDigit& a, const ChunkDigit& b) { return a.width > b.width; });
  return run;
}

/// The digits that still change in the first `length` elements.
std::vector<ChunkDigit> within(const ChunkRun& run, std::int64_t length) {
  std::vector<ChunkDigit> digits;
  for (ChunkDigit digit : run.digits) {
    if (digit.width >= length) continue;
    if (digits.empty()) digit.count = ceil_div(length, digit.width);
    digits.push_back(digit);
  }
  return digits;
}

std::vector<ChunkDigit> within(const ChunkRun& run) { return within(run, run.to - run.from); }

/// The single difference between the starts of `a` and `b`, as a digit of width `width`; nullopt
/// when there are several differences, or when a number decreases.
std::optional<ChunkDigit> step_between(const ChunkRun& a, const ChunkRun& b, std::int64_t width) {
  std::optional<ChunkDigit> step;
  for (int level = ChunkDigit::kPosition; level < static_cast<int>(a.coordinates.size()); ++level) {
    const auto at = static_cast<std::size_t>(level);
    const std::int64_t moved = level == ChunkDigit::kPosition
                                   ? b.position - a.position
                                   : b.coordinates[at] - a.coordinates[at];
    if (moved == 0) continue;
    if (step || moved < 0) return std::nullopt;
    step = ChunkDigit{width, 2, level, moved};
  }
  return step;
}

/// Whether a digit of the run counts this level; positions are always counted.
bool counts(const ChunkRun& run, int level) {
  return level == ChunkDigit::kPosition ||
         std::any_of(run.digits.begin(), run.digits.end(),
                     [&](const ChunkDigit& digit) { return digit.level == level; });
}

/// How many of the runs starting at `first` form one run, and that run.
std::pair<std::size_t, ChunkRun> longest(const std::vector<ChunkRun>& runs, std::size_t first,
                                         bool one_extent) {
  ChunkRun joined = runs[first];
  const std::int64_t width = joined.to - joined.from;
  std::optional<ChunkDigit> step;
  std::size_t next = first + 1;
  for (; next < runs.size(); ++next) {
    const ChunkRun& run = runs[next];
    const std::int64_t length = run.to - run.from;
    if (length > width || (one_extent && run.extent != joined.extent)) break;
    const std::optional<ChunkDigit> here = step_between(runs[next - 1], run, width);
    if (!here || (step && (here->level != step->level || here->stride != step->stride))) break;
    if (within(run) != within(runs[first], length)) break;
    // If inner digits count the same level, a short block would leave values of them unused.
    if (length < width && counts(runs[first], here->level)) break;
    step = here;
    step->count = static_cast<std::int64_t>(next - first) + 1;
    joined.to = run.to;
    joined.extent = std::max(joined.extent, run.extent);
    if (length < width) {
      ++next;
      break;
    }
  }
  const bool counts_on = step && step->level == ChunkDigit::kPosition && step->stride == width &&
                         joined.digits.empty();
  if (step && !counts_on) joined.digits.insert(joined.digits.begin(), *step);
  return {next - first, std::move(joined)};
}

/// The runs of `extent` elements cut by the levels from `first` on, none of which is strided. The
/// chunks of one level are equal except for the last, so two of them are sufficient.
Result<std::vector<ChunkRun>> plain_runs(std::int64_t extent, const std::vector<ChunkLevel>& levels,
                                         std::size_t first, bool one_extent, std::size_t& budget) {
  if (extent == 0) return std::vector<ChunkRun>{};
  if (budget-- == 0) return too_many_runs();
  while (first < levels.size() && levels[first].places == 1) ++first;
  if (first == levels.size()) {
    return std::vector<ChunkRun>{
        {0, extent, {}, std::vector<std::int64_t>(levels.size(), 0), 0, extent}};
  }
  const std::int64_t chunk = ceil_div(extent, levels[first].places);
  const std::int64_t full = extent / chunk;
  TESSERA_TRY(const std::vector<ChunkRun> inner,
              plain_runs(chunk, levels, first + 1, one_extent, budget));
  TESSERA_TRY(const std::vector<ChunkRun> last,
              plain_runs(extent % chunk, levels, first + 1, one_extent, budget));
  std::vector<ChunkRun> runs;
  const auto append = [&](ChunkRun run, std::int64_t coordinate) {
    run.from += coordinate * chunk;
    run.to += coordinate * chunk;
    run.coordinates[first] = coordinate;
    runs.push_back(std::move(run));
  };
  if (inner.size() == 1) {
    append(inner.front(), 0);
    if (full > 1) {
      runs.front().to = full * chunk;
      runs.front().digits.insert(runs.front().digits.begin(),
                                 {chunk, full, static_cast<int>(first), 1});
    }
    if (!last.empty()) append(last.front(), full);
    if (last.size() == 1 && (!one_extent || last.front().extent == inner.front().extent) &&
        within(last.front()) == within(inner.front(), extent % chunk)) {
      runs.pop_back();
      runs.front().to = extent;
      if (full == 1) {
        runs.front().digits.insert(runs.front().digits.begin(),
                                   {chunk, 1, static_cast<int>(first), 1});
      }
      ++runs.front().digits.front().count;
    }
    for (std::size_t i = 1; i < last.size(); ++i) append(last[i], full);
    return runs;
  }
  if (full > static_cast<std::int64_t>(kMaxListed / inner.size())) return too_many_runs();
  for (std::int64_t coordinate = 0; coordinate < full; ++coordinate) {
    for (const ChunkRun& run : inner) append(run, coordinate);
  }
  for (const ChunkRun& run : last) append(run, full);
  return joined_runs(std::move(runs), one_extent);
}

}  // namespace

Error too_many_runs() {
  return Error{ErrorCode::kTooLarge, cat("uneven shards make more than ", kMaxPieces, " boxes"),
               std::nullopt, "use extents that the mesh divides, or a smaller mesh"};
}

std::vector<ChunkRun> joined_runs(std::vector<ChunkRun> runs, bool one_extent) {
  for (;;) {
    std::vector<ChunkRun> fewer;
    for (std::size_t i = 0; i < runs.size();) {
      auto [count, run] = longest(runs, i, one_extent);
      fewer.push_back(std::move(run));
      i += count;
    }
    if (fewer.size() == runs.size()) return fewer;
    runs = std::move(fewer);
  }
}

std::int64_t largest_chunk(std::int64_t extent, const std::vector<ChunkLevel>& levels) {
  for (const ChunkLevel& level : levels) {
    if (extent == 0 || level.places == 1) continue;
    const std::int64_t block = ceil_div(extent, level.split_factor);
    extent =
        extent / block * ceil_div(block, level.places) + ceil_div(extent % block, level.places);
  }
  return extent;
}

Result<std::vector<ChunkRun>> chunk_runs(std::int64_t extent, const std::vector<ChunkLevel>& levels,
                                         bool one_extent) {
  if (extent == 0) return std::vector<ChunkRun>{};
  if (std::optional<ChunkRun> run = even_run(extent, levels)) return std::vector{*std::move(run)};
  const bool strided = std::any_of(levels.begin(), levels.end(), [](const ChunkLevel& level) {
    return level.split_factor > 1 && level.places > 1;
  });
  std::size_t budget = 4 * kMaxPieces;
  Result<std::vector<ChunkRun>> runs = strided ? listed_runs(extent, levels, one_extent)
                                               : plain_runs(extent, levels, 0, one_extent, budget);
  if (runs && runs->size() > kMaxPieces) return too_many_runs();
  return runs;
}

}  // namespace tessera::notation
