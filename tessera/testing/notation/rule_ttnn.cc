// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_ttnn.h"

#include <algorithm>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

std::int64_t tile_side(const Numbers& tile, std::size_t line) {
  return tile.empty() ? 1 : tile[line];
}

Numbers padded_sizes(const TtnnRule& rule) {
  Numbers sizes = rule.shape;
  const std::size_t rank = sizes.size();
  if (rank >= 1) sizes[rank - 1] = round_up(sizes[rank - 1], tile_side(rule.tile, 1));
  if (rank >= 2) sizes[rank - 2] = round_up(sizes[rank - 2], tile_side(rule.tile, 0));
  return sizes;
}

}  // namespace

std::vector<RuleResult> TtnnRule::linear() const {
  const Numbers sizes = padded_sizes(*this);
  RuleResult rows;
  RuleResult cols;
  std::int64_t stride = 1;
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    if (dim + 1 == sizes.size()) {
      cols.parts.push_back({dim, 1});
    } else {
      rows.parts.insert(rows.parts.begin(), {dim, stride});
      stride *= sizes[dim];
    }
  }
  return {rows, cols};
}

Numbers TtnnRule::physical() const {
  // A dim that is missing has extent 1, which is padded like any other.
  const Numbers sizes = padded_sizes(*this);
  const std::size_t rank = sizes.size();
  std::int64_t rows = rank < 2 ? tile_side(tile, 0) : 1;
  for (std::size_t dim = 0; dim + 1 < rank; ++dim) rows *= sizes[dim];
  return {rows, rank == 0 ? tile_side(tile, 1) : sizes[rank - 1]};
}

Numbers TtnnRule::memref() const {
  const Numbers whole = physical();
  const Numbers tiles = {whole[0] / tile_side(tile, 0), whole[1] / tile_side(tile, 1)};
  if (interleaved()) {
    if (space != "l1") return tiles;
    return {1, ceil_divide(tiles[0] * tiles[1], grid[0] * grid[1])};
  }
  Numbers out;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t shard = ceil_divide(whole[i], grid[i]);
    out.push_back(ceil_divide(shard, tile_side(tile, i)));
  }
  return out;
}

std::vector<RuleLine> TtnnRule::lines() const {
  const Numbers whole = physical();
  const Numbers atoms = memref();
  std::vector<RuleLine> out;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t side = tile_side(tile, i);
    if (interleaved()) {
      out.push_back({1, whole[i], side, whole[i] / side});
    } else {
      out.push_back({grid[i], atoms[i] * side, side, atoms[i]});
    }
  }
  return out;
}

std::string TtnnRule::text(const Numbers& memref) const {
  std::string said = memory.empty() ? "" : cat(", <", memory, ">");
  if (!cores.empty()) {
    std::string ranges;
    for (const RuleCores& range : cores) {
      ranges += cat(ranges.empty() ? "" : ", ", "#ttnn.core_range<(", range.x0, ",", range.y0,
                    "), (", range.x1, ",", range.y1, ")>");
    }
    said += cat(", core_ranges = <[", ranges, "]>");
  }
  return tensor_text(shape, dtype,
                     cat("#ttnn.ttnn_layout<", map_text(shape.size(), linear()), ", <", times(grid),
                         ">, memref<", times(memref), "x", element_text("ttcore", tile, storage),
                         ", #ttnn.buffer_type<", space, ">>", said, ">"));
}

RuleGrid grid_of(const TtnnRule& rule) {
  const std::vector<RuleResult> linear = rule.linear();
  const Numbers whole = rule.physical();
  const Numbers extents = {extent_of(linear[0], rule.shape), extent_of(linear[1], rule.shape)};
  RuleGrid grid;
  grid.shape = rule.shape;
  grid.lines = rule.lines();
  grid.at = [=](const Numbers& index) {
    Numbers p;
    for (const RuleResult& result : linear) p.push_back(result.at(index));
    return p;
  };
  // Past the padded tensor there is only what the grid rounds up; before that, the edge of the
  // tile.
  grid.failed = [=](std::size_t i, std::int64_t, std::int64_t p) -> std::string_view {
    if (p >= whole[i]) return "grid";
    if (p >= extents[i]) return "tile";
    return "";
  };
  return grid;
}

RuledGrid placed(const TtnnRule& rule) {
  RuledGrid out = placed(grid_of(rule));
  out.ruled.text = rule.text();
  out.one_place = rule.interleaved();
  return out;
}

std::vector<Numbers> cores_of(const TtnnRule& rule) {
  std::vector<Numbers> out;
  for (const RuleCores& range : rule.cores) {
    for (std::int64_t y = range.y0; y <= range.y1; ++y) {
      for (std::int64_t x = range.x0; x <= range.x1; ++x) out.push_back({y, x});
    }
  }
  return out;
}

std::vector<RuleCores> cores_row_by_row(std::int64_t n) {
  std::vector<RuleCores> out;
  const std::int64_t full = n / 8;
  const std::int64_t rest = n % 8;
  if (full > 0) out.push_back({0, 0, 7, full - 1});
  if (rest > 0) out.push_back({0, full, rest - 1, full});
  return out;
}

Numbers TermsRule::physical() const {
  const std::int64_t cols = stride[stride.size() - 2];
  return {stride.front() / cols, cols};
}

Numbers TermsRule::grid() const {
  const Numbers whole = physical();
  return {ceil_divide(whole[0], shard[0]), ceil_divide(whole[1], shard[1])};
}

std::vector<RuleLine> TermsRule::lines() const {
  const Numbers places = grid();
  std::vector<RuleLine> out;
  for (std::size_t i = 0; i < 2; ++i) {
    out.push_back({places[i], shard[i], tile[i], ceil_divide(shard[i], tile[i])});
  }
  return out;
}

std::string TermsRule::text() const {
  return tensor_text(shape, dtype,
                     cat("ttnn<stride=", bracketed(stride), ", shard_shape=", bracketed(shard),
                         ", tile_shape=", bracketed(tile), ">"));
}

RuleGrid grid_of(const TermsRule& rule) {
  const Numbers whole = rule.physical();
  RuleGrid grid;
  grid.shape = rule.shape;
  grid.lines = rule.lines();
  grid.at = [whole, stride = rule.stride](const Numbers& index) {
    Numbers p = {0, index.back()};
    for (std::size_t dim = 0; dim + 1 < index.size(); ++dim) {
      p[0] += index[dim] * stride[dim + 1] / whole[1];
    }
    return p;
  };
  grid.failed = [whole, shard = rule.shard](std::size_t i, std::int64_t inside,
                                            std::int64_t p) -> std::string_view {
    if (inside >= shard[i]) return "tile";
    if (p >= whole[i]) return "grid";
    return "";  // slots that the strides skip are a gap
  };
  return grid;
}

RuledGrid placed(const TermsRule& rule) {
  RuledGrid out = placed(grid_of(rule));
  out.ruled.text = rule.text();
  return out;
}

}  // namespace tessera::test
