// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/dtensor/shards.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::notation {
namespace {

constexpr std::size_t kMaxWork = std::size_t{1} << 18;  // ranges examined one by one

/// Calls visit(coordinates, line) for every shard that is not empty.
Status for_each_shard(const ShardLine& line, const std::vector<ChunkLevel>& levels,
                      std::vector<std::int64_t>& coordinates, std::size_t& budget,
                      const std::function<void(const ShardLine&)>& visit) {
  if (line.empty()) return ok_status();
  const std::size_t at = coordinates.size();
  if (at == levels.size()) {
    visit(line);
    return ok_status();
  }
  const std::int64_t length = length_of(line);
  const std::int64_t block = ceil_div(length, levels[at].split_factor);
  const std::int64_t blocks = levels[at].places == 1 || block == 1 ? 1 : ceil_div(length, block);
  const std::int64_t places = block == 1 ? 1 : std::min(levels[at].places, length);
  const Checked work = Checked(blocks) * static_cast<std::int64_t>(line.size()) * places;
  if (work.saturated() > static_cast<std::int64_t>(budget)) return too_many_runs();
  budget -= static_cast<std::size_t>(work.raw());
  for (std::int64_t coordinate = 0; coordinate < places; ++coordinate) {
    coordinates.push_back(coordinate);
    const ShardLine part = part_of(line, levels[at], coordinate);
    TESSERA_CHECK_OK(for_each_shard(part, levels, coordinates, budget, visit));
    coordinates.pop_back();
  }
  return ok_status();
}

}  // namespace

std::int64_t length_of(const ShardLine& line) {
  std::int64_t length = 0;
  for (const ChunkRange& range : line) length += range.to - range.from;
  return length;
}

void append_part(const ShardLine& line, std::int64_t from, std::int64_t to, ShardLine& out) {
  std::int64_t start = 0;
  for (const ChunkRange& range : line) {
    const std::int64_t low = std::max(from - start, std::int64_t{0});
    const std::int64_t high = std::min(to - start, range.to - range.from);
    if (low < high) {
      const ChunkRange part{range.from + low, range.from + high};
      if (!out.empty() && out.back().to == part.from) {
        out.back().to = part.to;
      } else {
        out.push_back(part);
      }
    }
    start += range.to - range.from;
  }
}

ShardLine part_of(const ShardLine& line, const ChunkLevel& level, std::int64_t coordinate) {
  ShardLine part;
  const std::int64_t length = length_of(line);
  if (length == 0) return part;
  if (level.places == 1) return line;
  const std::int64_t block = ceil_div(length, level.split_factor);
  if (block == 1) return coordinate == 0 ? line : part;  // the first chunk of each is all of it
  for (std::int64_t from = 0; length > from; from += std::min(block, length - from)) {
    const std::int64_t size = std::min(block, length - from);
    const std::int64_t chunk = ceil_div(size, level.places);
    if (coordinate > size / chunk) continue;
    const std::int64_t start = coordinate * chunk;
    append_part(line, from + start, from + start + std::min(chunk, size - start), part);
  }
  return part;
}

Result<std::vector<ChunkRun>> listed_runs(std::int64_t extent,
                                          const std::vector<ChunkLevel>& levels, bool one_extent) {
  std::vector<ChunkRun> runs;
  std::vector<std::int64_t> coordinates;
  std::size_t budget = kMaxWork;
  TESSERA_CHECK_OK(
      for_each_shard({{0, extent}}, levels, coordinates, budget, [&](const ShardLine& line) {
        std::int64_t position = 0;
        for (const ChunkRange& range : line) {
          runs.push_back({range.from, range.to, {}, coordinates, position, length_of(line)});
          position += range.to - range.from;
        }
      }));
  std::sort(runs.begin(), runs.end(),
            [](const ChunkRun& a, const ChunkRun& b) { return a.from < b.from; });
  return joined_runs(std::move(runs), one_extent);
}

}  // namespace tessera::notation
