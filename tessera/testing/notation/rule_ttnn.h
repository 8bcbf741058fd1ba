// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/testing/notation/rule_grid.h"

/// TTNN's layouts by their own rules, as plain loops: the compiler's attribute, and the terms of
/// the TTNN layout document. Nothing here calls notation/ or layout/.
namespace tessera::test {

/// A rectangle of cores, corners included.
struct RuleCores {
  std::int64_t x0, y0, x1, y1;
};

/// The attribute. Pad the last two dims to the tile; collapse all but the last with those sizes;
/// shard = ceil(physical / grid); memref = ceil(shard / tile); cut at memref·tile.
struct TtnnRule {
  Numbers shape;
  std::string dtype = "bf16";
  Numbers tile;  ///< empty for row-major
  std::string storage = "bf16";
  Numbers grid = {1, 1};
  std::string space = "dram";          ///< "dram", "l1", "system_memory"
  std::string memory = "interleaved";  ///< empty for system memory
  std::vector<RuleCores> cores = {};

  bool interleaved() const { return memory.empty() || memory == "interleaved"; }
  std::vector<RuleResult> linear() const;
  /// The length of both lines after padding.
  Numbers physical() const;
  Numbers memref() const;
  std::vector<RuleLine> lines() const;
  std::string text() const { return text(memref()); }
  std::string text(const Numbers& memref) const;
};
RuleGrid grid_of(const TtnnRule& rule);
Ruled ruled(const TtnnRule& rule);
/// The [row, col] of the core of every place, row-major; only for sharded tensors.
std::vector<Numbers> cores_of(const TtnnRule& rule);
/// `n` cores row by row on a device 8 wide: at most two rectangles.
std::vector<RuleCores> cores_row_by_row(std::int64_t n);

TtnnRule random_ttnn(Dice& dice);
TtnnRule random_ttnn_32x32(Dice& dice);

/// The terms of the TTNN layout document: the physical tensor is stride[0] / stride[-2] rows of
/// stride[-2]; it is cut at shard_shape, and each shard is padded to the tile.
struct TermsRule {
  Numbers shape;
  std::string dtype = "f32";
  Numbers stride;  ///< rank + 1 entries, the first being the volume
  Numbers shard;
  Numbers tile;

  Numbers physical() const;
  Numbers grid() const;
  std::vector<RuleLine> lines() const;
  std::string text() const;
};
RuleGrid grid_of(const TermsRule& rule);
Ruled ruled(const TermsRule& rule);

TermsRule random_terms(Dice& dice);

}  // namespace tessera::test
