// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/testing/notation/rule_check.h"

/// Morello's own rule, evaluated by plain loops: the reference that the notation is tested against.
namespace tessera::test {

/// One physical dim as it is written: `(1, Packed(4))`.
struct MorelloPart {
  enum class Kind : std::uint8_t { kDynamic, kPacked, kOddEven };
  std::int64_t dim = 0;
  Kind kind = Kind::kDynamic;
  std::int64_t size = 0;
};

/// Slowest first. A builder's name replaces the parts in the text only.
struct MorelloRule {
  std::vector<MorelloPart> parts;
  std::string builder;  ///< "row_major", "col_major", "nhwc", or empty
  /// "morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]".
  std::string text() const;
};

/// The size of each physical dim, slowest first, from the back: Dynamic takes the rest of its dim,
/// a pack its size, or the rest if that is less (once per dim; OddEven only if 1 remains). Nothing
/// when a pack does not divide the rest or the shape is not covered exactly.
std::optional<Numbers> morello_sizes(const MorelloRule& rule, const Numbers& shape);

/// Σ α·(floor(d / v) mod p) from the back, with OddEven(p) sending even positions to the first
/// half: for n = 8 the slots are 0 4 1 5 2 6 3 7.
std::int64_t morello_slot(const MorelloRule& rule, const Numbers& shape, const Numbers& index);

Ruled ruled(const MorelloRule& rule, const Numbers& shape, const std::string& dtype);

/// A layout that the rule accepts for this shape.
MorelloRule random_morello(Dice& dice, const Numbers& shape);

/// The value of an indexing expression such as `4*d0 + 24*(d1/4) + d1%4` at an index: integers, d0
/// d1 .., + - * / % (the last three bind tighter; all from left to right) and parentheses. Nothing
/// when it is not one.
std::optional<std::int64_t> evaluate_expression(std::string_view expression, const Numbers& index);

}  // namespace tessera::test
