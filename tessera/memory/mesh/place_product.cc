// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/mesh/place_product.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace tessera::memory {
namespace {

// Masks have 64 bits, parts a byte.
constexpr std::size_t kMaxSets = 64;
constexpr std::size_t kMaxParts = 255;
constexpr std::int64_t kMaxRuns = 4096;
constexpr std::int64_t kMaxTable = std::int64_t{1} << 16;

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;  ///< [from, to)

/// The coordinates of a set along one axis; empty when there are too many runs.
std::optional<Runs> runs_along(const PlaceSet& set, std::size_t axis) {
  Runs runs = {{set.first[axis], set.first[axis] + 1}};
  std::vector<PlaceLoop> loops;
  for (const PlaceLoop& loop : set.loops) {
    if (static_cast<std::size_t>(loop.axis) == axis) loops.push_back(loop);
  }
  std::sort(loops.begin(), loops.end(),
            [](const PlaceLoop& a, const PlaceLoop& b) { return a.stride < b.stride; });
  for (const PlaceLoop& loop : loops) {
    if (runs.size() == 1 && loop.stride == runs[0].second - runs[0].first) {
      runs[0].second += loop.stride * (loop.count - 1);
      continue;
    }
    if (loop.count > kMaxRuns / static_cast<std::int64_t>(runs.size())) return std::nullopt;
    Runs more;
    for (std::int64_t i = 0; i < loop.count; ++i) {
      for (const auto& [from, to] : runs) {
        more.emplace_back(from + i * loop.stride, to + i * loop.stride);
      }
    }
    runs = std::move(more);
  }
  return runs;
}

/// The parts of one axis, distinguished by the sets (bits of `masks`) that contain them.
std::optional<AxisParts> parts_along(const std::vector<SizedSet>& sets, std::size_t axis,
                                     std::int64_t extent, std::vector<std::uint64_t>& masks) {
  struct Edge {
    std::int64_t at;
    std::uint64_t bit;
  };
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::optional<Runs> runs = runs_along(sets[i].set, axis);
    if (!runs || edges.size() + 2 * runs->size() > 2 * kMaxRuns) return std::nullopt;
    for (const auto& [from, to] : *runs) {
      edges.push_back({from, std::uint64_t{1} << i});
      edges.push_back({to, std::uint64_t{1} << i});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  AxisParts out;
  std::map<std::uint64_t, std::uint8_t> number;
  std::uint64_t mask = 0;
  std::size_t next = 0;
  for (std::int64_t at = 0; at < extent;) {
    while (next < edges.size() && edges[next].at == at) mask ^= edges[next++].bit;
    const auto [found, fresh] = number.try_emplace(mask, static_cast<std::uint8_t>(masks.size()));
    if (fresh) {
      if (masks.size() == kMaxParts) return std::nullopt;
      masks.push_back(mask);
    }
    out.starts.push_back(at);
    out.part.push_back(found->second);
    at = next < edges.size() ? edges[next].at : extent;
  }
  out.parts = masks.size();
  return out;
}

/// Merges parts of an axis whose bytes are equal for all parts of the other axes.
void join_parts(TensorPlaces& out, std::size_t axis) {
  std::int64_t inner = 1;
  for (std::size_t a = axis + 1; a < out.axes.size(); ++a) {
    inner *= static_cast<std::int64_t>(out.axes[a].parts);
  }
  const auto parts = static_cast<std::int64_t>(out.axes[axis].parts);
  const std::int64_t outer = static_cast<std::int64_t>(out.bytes.size()) / (inner * parts);
  const auto at = [&](std::int64_t o, std::int64_t p, std::int64_t i) {
    return out.bytes[static_cast<std::size_t>((o * parts + p) * inner + i)];
  };
  std::vector<std::uint8_t> becomes;
  std::vector<std::int64_t> kept;
  for (std::int64_t p = 0; p < parts; ++p) {
    const auto alike = std::find_if(kept.begin(), kept.end(), [&](std::int64_t k) {
      for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
          if (at(o, p, i) != at(o, k, i)) return false;
        }
      }
      return true;
    });
    becomes.push_back(static_cast<std::uint8_t>(alike - kept.begin()));
    if (alike == kept.end()) kept.push_back(p);
  }
  if (static_cast<std::int64_t>(kept.size()) == parts) return;
  std::vector<std::int64_t> bytes;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t k : kept) {
      for (std::int64_t i = 0; i < inner; ++i) bytes.push_back(at(o, k, i));
    }
  }
  out.bytes = std::move(bytes);
  AxisParts joined;
  joined.parts = kept.size();
  for (std::size_t i = 0; i < out.axes[axis].part.size(); ++i) {
    const std::uint8_t part = becomes[out.axes[axis].part[i]];
    if (!joined.part.empty() && joined.part.back() == part) continue;
    joined.starts.push_back(out.axes[axis].starts[i]);
    joined.part.push_back(part);
  }
  out.axes[axis] = std::move(joined);
}

}  // namespace

std::optional<TensorPlaces> as_product(const Shape& mesh, const std::vector<SizedSet>& sets) {
  if (sets.size() > kMaxSets) return std::nullopt;
  TensorPlaces out;
  std::vector<std::uint64_t> cells = {sets.empty() ? 0 : ~std::uint64_t{0} >> (64 - sets.size())};
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    std::vector<std::uint64_t> masks;
    std::optional<AxisParts> parts = parts_along(sets, axis, mesh[axis], masks);
    if (!parts || static_cast<std::int64_t>(cells.size() * masks.size()) > kMaxTable) {
      return std::nullopt;
    }
    std::vector<std::uint64_t> more;
    for (const std::uint64_t cell : cells) {
      for (const std::uint64_t mask : masks) more.push_back(cell & mask);
    }
    cells = std::move(more);
    out.axes.push_back(*std::move(parts));
  }
  for (const std::uint64_t cell : cells) {
    out.bytes.push_back(cell == 0 ? 0
                                  : sets[static_cast<std::size_t>(std::countr_zero(cell))].bytes);
  }
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) join_parts(out, axis);
  return out;
}

}  // namespace tessera::memory
