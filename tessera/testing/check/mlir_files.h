// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/testing/notation/rule_check.h"

/// Random .mlir files for the checker: tensors laid out by the rules of rule_ttnn.h and
/// rule_metal.h, said inline or through aliases, among everything that a checker must pass over.
/// One layout may be planted: a single number or name changed so that its rule contradicts it.
namespace tessera::test {

/// A tensor and its layout as text. What was changed stands between kChanged and kChangedEnd.
struct WrittenTensor {
  std::string shape;    ///< "3x2x" with the last x, or nothing for rank 0
  std::string element;  ///< "f32", "!ttcore.tile<32x32, f32>"
  std::string layout;
};
inline constexpr char kChanged = '\x01';
inline constexpr char kChangedEnd = '\x02';

/// A valid layout of any of the three attributes.
WrittenTensor random_valid(Dice& dice);

/// A tensor whose layout contradicts it in one place.
struct Planted {
  WrittenTensor tensor;
  std::string kind;   ///< one of planted_kinds()
  std::string right;  ///< what alone would be right in the place of the change, or nothing
};
const std::vector<std::string>& planted_kinds();
Planted random_planted(Dice& dice, const std::string& kind);

struct MlirFile {
  std::string text;
  std::int64_t tensors = 0;   ///< tensor types with a layout that were written
  std::vector<Span> changed;  ///< the planted number or name: one, or none
  std::vector<Span> home;     ///< tensors and definitions that say the planted layout
};
/// Sections, aliases, functions, regions, comments, strings and foreign attributes around some
/// random valid tensors, and `planted` unless it is null.
MlirFile random_file(Dice& dice, const WrittenTensor* planted);

}  // namespace tessera::test
