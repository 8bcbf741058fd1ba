// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/testing/check/mlir_files.h"
#include "tessera/testing/notation/rule_metal.h"
#include "tessera/testing/notation/rule_ttnn.h"

/// The parts of layout texts, one by one, so that mlir_planted*.cc can change and mark any of them.
namespace tessera::test {

std::size_t any_of(Dice& dice, std::size_t n);
/// The text between kChanged and kChangedEnd.
std::string mark(std::string_view text);
/// Another number near `n`, never negative.
std::int64_t other_number(Dice& dice, std::int64_t n);
/// "18x32" with the number at `which` marked.
std::string marked_times(const Numbers& numbers, std::size_t which);

/// The parts of `#ttnn.ttnn_layout` and of the `#tt.metal_layout` of the tt-mlir layout
/// specification, each as it is written.
struct Parts {
  std::string map, grid, memref, tile, space, mode, cores;
};
Parts parts_of(const TtnnRule& rule);
Parts parts_of(const MetalRule& rule);
WrittenTensor written(const TtnnRule& rule, const Parts& parts);
WrittenTensor written(const MetalRule& rule, const Parts& parts);
/// The ranges with number `marked` marked, counted x, y, x, y through all of them.
std::string cores_text(const std::vector<RuleCores>& cores, std::int64_t marked);

/// The parts of today's `#ttcore.metal_layout`.
struct TodayParts {
  std::string shape, tile, logical, alignments, intervals;
};
TodayParts parts_of(const TodayRule& rule);
WrittenTensor written(const TodayRule& rule, const TodayParts& parts);

TtnnRule any_ttnn(Dice& dice);
MetalRule any_metal(Dice& dice);
TodayRule any_today(Dice& dice);

/// A change that contradicts the rule, or nothing when these random choices gave none.
using Attempt = std::optional<Planted>;
inline Attempt planted(WrittenTensor tensor, std::string right = {}) {
  return Planted{std::move(tensor), {}, std::move(right)};
}
struct PlantedKind {
  std::string name;
  Attempt (*attempt)(Dice&);
};
std::vector<PlantedKind> ttnn_kinds();
std::vector<PlantedKind> metal_kinds();
std::vector<PlantedKind> today_kinds();

}  // namespace tessera::test
