// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/bench/bench_ranks.h"

namespace tessera::tools {

std::vector<RanksCase> ranks_cases(std::int64_t ranks) {
  std::int64_t side = 1;
  while (side * side < ranks) side *= 2;
  // Large enough that the largest grid still has whole blocks, and not a multiple of 100.
  const std::int64_t extent = 65536;
  const std::int64_t elements = extent * extent;
  const std::int64_t rows = extent / ranks == 0 ? 1 : extent / ranks;
  const auto tensor = [&](std::string_view items) {
    return cat("tensor<", extent, "x", extent, "xf32, native<", items, ">>");
  };
  // One axis of ranks.
  const auto on_line = [&](std::string_view items) {
    return tensor(cat("mesh=[", ranks, "], ", items));
  };
  // A square grid of ranks.
  const auto on_grid = [&](std::string_view items) {
    return tensor(cat("mesh=[", side, ", ", side, "], ", items));
  };
  const std::string by_rows =
      cat("{d0} / (", rows, " -> m0, 1 -> mem*", extent, "), {d1} / (1 -> mem)");
  const std::string by_cols =
      cat("{d0} / (1 -> mem*", rows, "), {d1} / (", rows, " -> m0, 1 -> mem)");
  // Places of a grid of `grid_rows` rows, numbered row-major along one axis.
  const auto grid_on_line = [&](std::int64_t grid_rows) {
    const std::int64_t grid_cols = ranks / grid_rows;
    const std::int64_t height = extent / grid_rows;
    const std::int64_t width = extent / grid_cols;
    return on_line(cat("{d0} / (", height, " -> m0*", grid_cols, ", 1 -> mem*", width,
                       "), {d1} / (", width, " -> m0, 1 -> mem)"));
  };
  const auto cyclic = [&](std::int64_t block) {
    const std::int64_t round = block * side;
    const std::int64_t kept = ceil_div(extent, round) * block;
    return on_grid(cat("{d0} / (", round, " -> mem*", block * kept, ", ", block,
                       " -> m0, 1 -> mem*", kept, "), {d1} / (", round, " -> mem*", block, ", ",
                       block, " -> m1, 1 -> mem)"));
  };
  // Rows over the rows of the grid, whole or cut further over its columns.
  const std::int64_t band = extent / side;
  const std::string bands =
      cat("{d0} / (", band, " -> m0, 1 -> mem*", extent, "), {d1} / (1 -> mem)");
  const std::string cut_bands = on_grid(
      cat("{d0} / (", band, " -> m0, ", rows, " -> m1, 1 -> mem*", extent, "), {d1} / (1 -> mem)"));
  const std::string columns_on_grid = on_grid(
      cat("{d0} / (1 -> mem*", rows, "), {d1} / (", band, " -> m0, ", rows, " -> m1, 1 -> mem)"));
  return {
      {"rows-to-columns", ranks, on_line(by_rows), on_line(by_cols), elements},
      {"grid-change", ranks, grid_on_line(side), grid_on_line(side / 2), elements},
      {"cyclic-64x64-to-100x100", ranks, cyclic(64), cyclic(100), elements},
      {"replicas-to-shards", ranks, on_grid(cat(bands, ", replicate(m1)")), columns_on_grid,
       elements},
      {"shards-to-replicas", ranks, cut_bands, on_grid(cat(bands, ", replicate(m1)")),
       elements * side},
      {"partial-sums-to-shards", ranks, on_grid(cat(bands, ", partial(m1, sum)")), cut_bands,
       elements * side},
      {"partial-sums-to-one", ranks,
       on_line(cat("{d0} / (1 -> mem*", extent, "), {d1} / (1 -> mem), partial(m0, sum)")),
       on_line(cat("{d0} / (1 -> mem*", extent, "), {d1} / (1 -> mem), fixed(m0=0)")),
       elements * ranks},
  };
}

}  // namespace tessera::tools
