// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/exchange/scaling_page.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/notation.h"

namespace tessera::test {
namespace {

constexpr std::int64_t kStrongExtent = 65536;
constexpr std::int64_t kWeakExtent = 4096;  // on each rank, in both dims
constexpr std::int64_t kMostRanks = 16384;
// Number of examined nodes, on up to 1024 ranks and on more, whose plans take longer.
constexpr int kAskedOfFew = 32;
constexpr int kAskedOfMany = 4;
constexpr int kDrawn = 3;  // the lines of the fourth would coincide with those of the second

std::int64_t side_of(std::int64_t ranks) {
  std::int64_t side = 1;
  while (side * side < ranks) side *= 2;
  return side;
}

Result<ScalingPoint> point_of(const ScalingCase& question, int ranks, std::int64_t extent) {
  TESSERA_TRY(const Tensor from, parse_tensor(question.from));
  TESSERA_TRY(const Tensor to, parse_tensor(question.to));
  reshard::PhysicalMesh physical;
  physical.mesh = from.placement.mesh();
  physical.why_no_fabric = "ranks are joined by messages";
  TESSERA_TRY(reshard::Reshard made,
              reshard::Reshard::make(from.placement, to.placement, physical));
  const auto reshard = std::make_shared<const reshard::Reshard>(std::move(made));
  TESSERA_TRY(const exchange::RankMap map,
              exchange::RankMap::blocks(physical.mesh.elements(), ranks));
  const exchange::Cluster slow = exchange::Cluster::of_100_gb();
  const exchange::Cluster fast = exchange::Cluster::of_400_gb();
  TESSERA_TRY(const std::vector<exchange::RankLoad> loads,
              exchange::rank_loads(reshard, map, map, slow.ranks_per_node, {},
                                   ranks <= 1024 ? kAskedOfFew : kAskedOfMany));
  const auto most = std::max_element(loads.begin(), loads.end(),
                                     [](const exchange::RankLoad& a, const exchange::RankLoad& b) {
                                       return a.sent_bytes < b.sent_bytes;
                                     });
  return ScalingPoint{question.name,
                      ranks,
                      extent,
                      exchange::slowest(loads, ranks, slow),
                      exchange::slowest(loads, ranks, fast),
                      *most};
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= 1024 && unit + 1 < kUnits.size()) {
    number /= 1024;
    ++unit;
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), number < 1000 ? "%.3g %s" : "%.0f %s", number,
                kUnits[unit]);
  return text.data();
}

std::vector<std::string> names_of(const std::vector<ScalingPoint>& points) {
  std::vector<std::string> names;
  for (const ScalingPoint& point : points) {
    if (std::find(names.begin(), names.end(), point.name) == names.end()) {
      names.push_back(point.name);
    }
  }
  return names;
}

/// A table with one column per number of ranks; `cell` gives the text of a cell.
template <typename Cell>
std::string rows_of(const std::vector<ScalingPoint>& points, const std::string& name,
                    const std::string& what, const Cell& cell) {
  std::string text = cat("| ", name, " | ", what, " |");
  for (const ScalingPoint& point : points) {
    if (point.name == name) text += cat(" ", cell(point), " |");
  }
  return cat(text, "\n");
}

std::string head_of(const std::vector<ScalingPoint>& points, const std::string& what) {
  std::string text = cat("| reshard | ", what, " |");
  std::string rule = "|---|---|";
  for (const ScalingPoint& point : points) {
    if (point.name != points.front().name) continue;
    text += cat(" ", point.ranks, " |");
    rule += "---|";
  }
  return cat(text, "\n", rule, "\n");
}

std::string times_table(const std::vector<ScalingPoint>& points) {
  std::string text = head_of(points, "card \\ ranks");
  for (const std::string& name : names_of(points)) {
    text += rows_of(points, name, exchange::Cluster::of_100_gb().name,
                    [](const ScalingPoint& point) { return short_seconds(point.slow.seconds()); });
    text += rows_of(points, name, exchange::Cluster::of_400_gb().name,
                    [](const ScalingPoint& point) { return short_seconds(point.fast.seconds()); });
  }
  return text;
}

std::string work_table(const std::vector<ScalingPoint>& points) {
  std::string text = head_of(points, "ranks");
  for (const std::string& name : names_of(points)) {
    text += rows_of(points, name, "sends to and receives from",
                    [](const ScalingPoint& point) { return cat(point.load.partners); });
    text += rows_of(points, name, "sends",
                    [](const ScalingPoint& point) { return bytes_text(point.load.sent_bytes); });
    text += rows_of(points, name, "in packets",
                    [](const ScalingPoint& point) { return cat(point.load.sent_packets); });
    text += rows_of(points, name, "bound by",
                    [](const ScalingPoint& point) { return std::string(point.slow.bound()); });
  }
  return text;
}

ChartPanel panel_of(const std::vector<ScalingPoint>& points, const std::string& title) {
  ChartPanel panel{title, "ranks, 8 on a node", {}};
  int colour = 0;
  for (const std::string& name : names_of(points)) {
    ChartLine slow{cat(name, ", ", exchange::Cluster::of_100_gb().name), colour, false, {}};
    ChartLine fast{cat(name, ", ", exchange::Cluster::of_400_gb().name), colour, true, {}};
    for (const ScalingPoint& point : points) {
      if (point.name != name) continue;
      slow.points.push_back({static_cast<double>(point.ranks), point.slow.seconds()});
      fast.points.push_back({static_cast<double>(point.ranks), point.fast.seconds()});
    }
    panel.lines.push_back(std::move(slow));
    panel.lines.push_back(std::move(fast));
    if (++colour == kDrawn) break;
  }
  return panel;
}

}  // namespace

std::vector<ScalingCase> scaling_cases(std::int64_t ranks, std::int64_t extent) {
  const std::int64_t side = side_of(ranks);
  const auto tensor = [&](std::string_view items) {
    return cat("tensor<", extent, "x", extent, "xf32, native<", items, ">>");
  };
  const auto on_line = [&](std::string_view items) {
    return tensor(cat("mesh=[", ranks, "], ", items));
  };
  const std::int64_t share = extent / ranks;
  const std::string rows =
      on_line(cat("{d0} / (", share, " -> m0, 1 -> mem*", extent, "), {d1} / (1 -> mem)"));
  const std::string columns =
      on_line(cat("{d0} / (1 -> mem*", share, "), {d1} / (", share, " -> m0, 1 -> mem)"));
  // Ranks number the places of the grid row by row.
  const auto grid = [&](std::int64_t high) {
    const std::int64_t wide = ranks / high;
    return on_line(cat("{d0} / (", extent / high, " -> m0*", wide, ", 1 -> mem*", extent / wide,
                       "), {d1} / (", extent / wide, " -> m0, 1 -> mem)"));
  };
  const auto cyclic = [&](std::int64_t block) {
    const std::int64_t round = block * side;
    const std::int64_t kept = ceil_div(extent, round) * block;
    return tensor(cat("mesh=[", side, ", ", side, "], {d0} / (", round, " -> mem*", block * kept,
                      ", ", block, " -> m0, 1 -> mem*", kept, "), {d1} / (", round, " -> mem*",
                      block, ", ", block, " -> m1, 1 -> mem)"));
  };
  return {{"rows to columns", rows, columns},
          {"square grid to one half as high", grid(side), grid(side / 2)},
          {"block-cyclic 8x8 to 100x100", cyclic(8), cyclic(100)},
          {"block-cyclic 64x64 to 128x128", cyclic(64), cyclic(128)}};
}

Result<Scaling> scaling() {
  Scaling all;
  for (std::int64_t ranks = 4; ranks <= kMostRanks; ranks *= 4) {
    const auto count = static_cast<int>(ranks);
    for (const ScalingCase& question : scaling_cases(ranks, kStrongExtent)) {
      TESSERA_TRY(ScalingPoint point, point_of(question, count, kStrongExtent));
      all.strong.push_back(std::move(point));
    }
    const std::int64_t grown = kWeakExtent * side_of(ranks);
    for (const ScalingCase& question : scaling_cases(ranks, grown)) {
      TESSERA_TRY(ScalingPoint point, point_of(question, count, grown));
      all.weak.push_back(std::move(point));
    }
  }
  return all;
}

std::vector<PagePart> scaling_parts(const Scaling& scaling) {
  return {{"scaling-strong", times_table(scaling.strong)},
          {"scaling-work", work_table(scaling.strong)},
          {"scaling-weak", times_table(scaling.weak)}};
}

LineChart scaling_chart(const Scaling& scaling) {
  return {"How long reshards take by the model, from 4 to 16384 ranks",
          {panel_of(scaling.strong, "65536x65536 f32 in all (16 GiB)"),
           panel_of(scaling.weak, "4096x4096 f32 on each rank (64 MiB)")}};
}

}  // namespace tessera::test
