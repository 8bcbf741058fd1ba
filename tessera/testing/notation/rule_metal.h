// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/testing/notation/rule_grid.h"

/// tt-mlir's metal layouts by their own rules, as plain loops: the attribute of the tt-mlir layout
/// specification and today's attribute. Nothing here calls notation/ or layout/.
namespace tessera::test {

/// The attribute of the tt-mlir layout specification. Extent of a line: map(N - 1) + 1; shard:
/// ceil(extent / grid); memref: ceil(shard / tile) in the last two lines.
struct MetalRule {
  Numbers shape;
  std::string dtype = "f32";
  std::vector<RuleResult> linear;
  std::string oob = "undef";
  Numbers grid;
  Numbers tile;  ///< rows and cols; empty for a memref of scalars
  std::string storage = "f32";
  std::string space = "l1";
  std::string dialect = "tt";
  struct Device {
    Numbers physical;
    std::vector<RuleResult> map;
  };
  std::optional<Device> device = std::nullopt;

  Numbers extents() const;
  Numbers shards() const;
  Numbers memref() const;
  std::string text() const { return text(memref()); }
  /// With a memref that need not be correct.
  std::string text(const Numbers& memref) const;
  std::vector<RuleLine> lines() const;
  /// Whether the largest value of every result is that of the last index, as the rule assumes.
  bool rises() const;
};
RuleGrid grid_of(const MetalRule& rule);
Ruled ruled(const MetalRule& rule);

/// The physical place of every virtual one, row-major.
std::vector<Numbers> physical_places(const MetalRule& rule);

/// A small layout: collapsed, permuted and offset maps, constants, dims in two results, quotients
/// and remainders, uneven grids, tiles of any size. Always injective and rising.
MetalRule random_metal(Dice& dice);
/// The same in 32x32 tiles, block floats among them.
MetalRule random_metal_32x32(Dice& dice);
/// The arrangement of the virtual grid: identity, transposed, refactored, staircase.
MetalRule::Device random_device(Dice& dice, const Numbers& grid);

/// Today's attribute. Within an interval, inner to outer: c = up(L[last], A[last]), then
/// c = up(L[j]·c, A[j]); the stride of a dim is the c below it. The grid divides exactly.
struct TodayRule {
  Numbers shape;  ///< logical_shape
  Numbers alignments;
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals;  ///< as written
  std::string oob = {};                                          ///< empty when not given
  Numbers grid;
  Numbers tile = {};
  std::string storage = "f32";
  std::string space = "l1";
  std::string memory_layout = "sharded";
  std::string dialect = "ttcore";

  /// The dims of each line, missing ones on separate lines; a tiled rank 1 has an empty line before
  /// it.
  std::vector<std::vector<std::size_t>> groups() const;
  /// Length of each line after alignment.
  Numbers collapsed() const;
  RuleResult result(const std::vector<std::size_t>& group) const;
  Numbers shard() const;
  std::string text() const { return text(shard()); }
  std::string text(const Numbers& shard) const;
  std::string intervals_text() const;
};
RuleGrid grid_of(const TodayRule& rule);
Ruled ruled(const TodayRule& rule);

TodayRule random_today(Dice& dice);
TodayRule random_today_32x32(Dice& dice);

}  // namespace tessera::test
