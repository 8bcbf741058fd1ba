// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/testing/check/mlir_parts.h"

namespace tessera::test {
namespace {

const std::vector<PlantedKind>& kinds() {
  static const std::vector<PlantedKind> all = [] {
    std::vector<PlantedKind> out = ttnn_kinds();
    for (const PlantedKind& kind : metal_kinds()) out.push_back(kind);
    for (const PlantedKind& kind : today_kinds()) out.push_back(kind);
    return out;
  }();
  return all;
}

}  // namespace

WrittenTensor random_valid(Dice& dice) {
  switch (dice.below(4)) {
    case 0: {
      const MetalRule rule = any_metal(dice);
      return written(rule, parts_of(rule));
    }
    case 1: {
      const TodayRule rule = any_today(dice);
      return written(rule, parts_of(rule));
    }
    default: {
      const TtnnRule rule = any_ttnn(dice);
      return written(rule, parts_of(rule));
    }
  }
}

const std::vector<std::string>& planted_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const PlantedKind& kind : kinds()) out.push_back(kind.name);
    return out;
  }();
  return names;
}

Planted random_planted(Dice& dice, const std::string& kind) {
  const auto found = std::find_if(kinds().begin(), kinds().end(),
                                  [&](const PlantedKind& k) { return k.name == kind; });
  while (true) {
    if (Attempt made = found->attempt(dice)) {
      made->kind = kind;
      return *made;
    }
  }
}

}  // namespace tessera::test
