// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/testing/notation/rule_check.h"

/// testing/check/: inputs for the checkers. Random choices come in; valid and deliberately wrong
/// texts and programs, with the expected findings, go out. The expected findings never come from
/// the checkers.
///
/// This header: random .mlir files whose tensors are laid out by the rules of rule_ttnn.h and
/// rule_metal.h, inline or through aliases, among everything that a checker must skip. One planted
/// layout may be included: a single number or name is changed so that it contradicts its rule.
namespace tessera::test {

/// A tensor and its layout as text. The changed part is between kChanged and kChangedEnd.
struct WrittenTensor {
  std::string shape;    ///< "3x2x" with the last x, or nothing for rank 0
  std::string element;  ///< "f32", "!ttcore.tile<32x32, f32>"
  std::string layout;
};
inline constexpr char kChanged = '\x01';
inline constexpr char kChangedEnd = '\x02';

/// A valid layout of any of the three attributes.
WrittenTensor random_valid(Dice& dice);

/// A tensor whose layout contradicts it in exactly one position.
struct Planted {
  WrittenTensor tensor;
  std::string kind;   ///< one of planted_kinds()
  std::string right;  ///< the only correct text at the position of the change, or nothing
};
const std::vector<std::string>& planted_kinds();
Planted random_planted(Dice& dice, const std::string& kind);

struct MlirFile {
  std::string text;
  std::int64_t tensors = 0;   ///< number of written tensor types with a layout
  std::vector<Span> changed;  ///< the planted number or name: one, or none
  std::vector<Span> home;     ///< tensors and definitions that contain the planted layout
};
/// Sections, aliases, functions, regions, comments, strings and foreign attributes around some
/// random valid tensors, and `planted` unless it is null.
MlirFile random_file(Dice& dice, const WrittenTensor* planted);

}  // namespace tessera::test
