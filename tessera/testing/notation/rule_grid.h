// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/testing/notation/rule_check.h"

/// What the Tenstorrent notations have in common, written from their rules alone: every index has a
/// position on each of a few lines, a line is cut among the places of one grid axis, and the part
/// of a place is kept in tiles. The notations differ in how long lines are, where they are cut, and
/// how they name the cause of a slot without an element; rule_metal.h and rule_ttnn.h define this.
namespace tessera::test {

/// One line on one axis of the grid.
struct RuleLine {
  std::int64_t grid = 1;   ///< places along the axis
  std::int64_t cut = 0;    ///< positions of the line that one place takes
  std::int64_t tile = 1;   ///< positions in a tile
  std::int64_t atoms = 0;  ///< tiles (or scalars) that one place allocates
};

/// Where a notation puts every element of a tensor, and the cause it gives to every other slot.
struct RuleGrid {
  Numbers shape;
  std::vector<RuleLine> lines;
  /// The position of an index on each line.
  std::function<Numbers(const Numbers& index)> at;
  /// The test that position `p` of a line fails, at offset `inside` within a place: "tile", "grid",
  /// "alignment" or "gap"; empty when it fails none.
  std::function<std::string_view(std::size_t line, std::int64_t inside, std::int64_t p)> failed;
};

/// Plain loops over every index, then over every slot. A position that no index has, and positions
/// that no index has together, are gaps; of several lines' causes the first in the order synthetic,
/// gap, alignment, stick, tile, grid counts.
Ruled ruled(const RuleGrid& rule, std::string text);

/// The digits of one position: which place, which tile of the place, which position in the tile.
struct RuleDigits {
  std::int64_t place;
  std::int64_t atom;
  std::int64_t rest;
};
RuleDigits digits_of(const RuleLine& line, std::int64_t p);
/// Tiles row-major, then rows and columns of the tile.
std::int64_t slot_of(const std::vector<RuleLine>& lines, const std::vector<RuleDigits>& digits);
std::vector<RuleDigits> digits_at(const std::vector<RuleLine>& lines, const Numbers& place,
                                  std::int64_t slot);
/// The positions of each line that some index has.
std::vector<std::set<std::int64_t>> used_positions(const RuleGrid& rule);
/// The cause of a place and slot if no element is there.
std::string_view cause_if_empty(const RuleGrid& rule,
                                const std::vector<std::set<std::int64_t>>& used,
                                const std::vector<RuleDigits>& digits);

/// The number of slots of all places together; an int64 that does not overflow for the tested
/// sizes.
std::int64_t total_slots(const std::vector<RuleLine>& lines);

/// rule_mistake for a tensor that is too large to try every slot: `samples` random indices and as
/// many random slots, in addition to the first and the last of each.
std::string sampled_mistake(const RuleGrid& rule, std::string_view text, Dice& dice, int samples);

/// One result of an affine map: ((constant + Σ coef·d[dim]) mod modulus) floordiv divisor.
struct RuleResult {
  struct Part {
    std::size_t dim;
    std::int64_t coef;
  };
  std::vector<Part> parts;  ///< by increasing dim
  std::int64_t constant = 0;
  std::int64_t modulus = 0;  ///< 0 for none
  std::int64_t divisor = 1;

  std::int64_t at(const Numbers& index) const;
  /// As MLIR prints it: `d0 * 64 + d1`, `(d1 mod 64) floordiv 8`.
  std::string text() const;
};

/// "(d0, d1) -> (d0 * 64 + d1, 0)".
std::string map_text(std::size_t dims, const std::vector<RuleResult>& results);

/// One past the largest value of a result over the shape; 0 when a dim of it is empty. For monotone
/// maps it is map(N - 1) + 1.
std::int64_t extent_of(const RuleResult& result, const Numbers& shape);
/// map(N - 1) + 1, for shapes without empty dims.
std::int64_t last_plus_one(const RuleResult& result, const Numbers& shape);

/// "18x32".
std::string times(const Numbers& numbers);
/// "f32", "!tt.tile<32x32, f32>"; inside tiles ui32 is spelled u32.
std::string element_text(std::string_view dialect, const Numbers& tile, std::string_view dtype);
std::int64_t round_up(std::int64_t n, std::int64_t to);
/// A type that a scalar or a tile of any size may hold.
std::string random_dtype(Dice& dice);
/// The same, or a block float, which exist in 32x32 tiles only.
std::string random_tile_dtype(Dice& dice);

}  // namespace tessera::test
