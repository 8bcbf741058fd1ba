// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/dtensor/guess.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/notation/dtensor/shards.h"
#include "tessera/notation/raising/along_dim.h"

namespace tessera::notation {
namespace {

constexpr std::size_t kMaxLines = std::size_t{1} << 16;
constexpr std::int64_t kMaxTries = 4096;

void guess_by_digits(const Placement& placement, int dim, std::vector<ChunkLevel>& levels) {
  const std::vector<FormPiece> along = pieces_along(placement, dim);
  if (along.empty()) return;
  struct Digit {
    std::int64_t width, count;
    int axis;  // -1 in memory
  };
  std::vector<Digit> digits;
  for (const Fold& fold : along.front().form->folds) {
    const Term* term = term_of(fold, dim);
    if (term == nullptr || fold.terms.size() != 1) continue;
    const std::vector<std::int64_t> needed = fold.needed(along.front().form->shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Target target = fold.cuts[k].target;
      digits.push_back({fold.cuts[k].width, needed[k], target.is_mesh() ? target.axis() : -1});
    }
  }
  std::vector<int> taken;
  for (ChunkLevel& level : levels) {
    std::int64_t widest = 0;
    for (const Digit& digit : digits) {
      if (digit.axis == level.axis) widest = std::max(widest, digit.width);
    }
    Checked factor = 1;
    for (const Digit& digit : digits) {
      const bool earlier = std::find(taken.begin(), taken.end(), digit.axis) != taken.end();
      if (digit.width > widest && !earlier) factor *= digit.count;
    }
    if (widest > 0 && !factor.overflowed())
      level.split_factor = std::max<std::int64_t>(factor.raw(), 1);
    taken.push_back(level.axis);
  }
}

/// The part of a line on each coordinate of an axis, according to the places of its elements.
std::map<std::int64_t, ShardLine> kept_by(const ShardLine& line, int axis,
                                          const std::vector<PlacedRange>& places) {
  std::map<std::int64_t, ShardLine> kept;
  for (const ChunkRange& range : line) {
    auto at =
        std::upper_bound(places.begin(), places.end(), range.from,
                         [](std::int64_t x, const PlacedRange& placed) { return x < placed.to; });
    for (; at != places.end() && at->from < range.to; ++at) {
      const ChunkRange part{std::max(range.from, at->from), std::min(range.to, at->to)};
      ShardLine& out = kept[at->place[static_cast<std::size_t>(axis)]];
      if (!out.empty() && out.back().to == part.from) {
        out.back().to = part.to;
      } else {
        out.push_back(part);
      }
    }
  }
  return kept;
}

bool fits(const std::vector<ShardLine>& lines, const ChunkLevel& level,
          const std::vector<PlacedRange>& places) {
  return std::all_of(lines.begin(), lines.end(), [&](const ShardLine& line) {
    for (const auto& [coordinate, kept] : kept_by(line, level.axis, places)) {
      if (part_of(line, level, coordinate) != kept) return false;
    }
    return true;
  });
}

/// The length of the first chunk of a split factor: coordinates increase from 0 inside it and are 0
/// again after it. The whole length when they never return to 0.
std::int64_t first_block(const ShardLine& line, int axis, const std::vector<PlacedRange>& places) {
  const std::map<std::int64_t, ShardLine> kept = kept_by(line, axis, places);
  const std::int64_t length = length_of(line);
  if (kept.size() == 1) return 1;  // chunks of one element, all on coordinate 0
  const ShardLine& zero = kept.begin()->second;
  // Where the second range of coordinate 0 begins in the line.
  std::int64_t position = 0;
  std::int64_t held = 0;
  for (const ChunkRange& range : line) {
    for (const ChunkRange& part : zero) {
      if (part.from < range.from || part.from >= range.to) continue;
      const std::int64_t at = position + part.from - range.from;
      if (at > held) return at;
      held += part.to - part.from;
    }
    position += range.to - range.from;
  }
  return length;
}

void guess_by_shards(const Placement& placement, int dim, std::vector<ChunkLevel>& levels) {
  const auto places = places_along(placement, dim);
  if (!places) return;
  std::vector<ShardLine> lines = {{{0, placement.shape()[static_cast<std::size_t>(dim)]}}};
  for (ChunkLevel& level : levels) {
    const std::int64_t length = length_of(lines.front());
    const std::int64_t block = first_block(lines.front(), level.axis, *places);
    const std::int64_t least = ceil_div(length, block);
    if (block > 1 && least > static_cast<std::int64_t>(kMaxLines)) return;
    const std::int64_t most = block > 1 ? (length - 1) / (block - 1) : least;
    const std::int64_t tries = std::min(most - least, kMaxTries);
    for (std::int64_t more = 0; more <= tries; ++more) {
      level.split_factor = least + more;
      if (fits(lines, level, *places)) break;
    }
    std::vector<ShardLine> parts;
    for (const ShardLine& line : lines) {
      for (auto& [coordinate, kept] : kept_by(line, level.axis, *places)) {
        parts.push_back(std::move(kept));
      }
    }
    lines = std::move(parts);
    if (lines.size() > kMaxLines) return;
  }
}

}  // namespace

void guess_split_factors(const Placement& placement, int dim, Guess guess,
                         std::vector<ChunkLevel>& levels) {
  if (guess == Guess::kDigits) guess_by_digits(placement, dim, levels);
  if (guess == Guess::kShards) guess_by_shards(placement, dim, levels);
}

}  // namespace tessera::notation
