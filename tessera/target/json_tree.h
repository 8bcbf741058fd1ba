// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::target {

/// A JSON value with its position in the text.
struct JsonNode {
  enum class Kind : std::uint8_t {
    kNull,
    kBool,
    kInteger,      ///< fits a signed 64-bit integer
    kOtherNumber,  ///< a fraction, an exponent, or too large for that; finite
    kText,
    kList,
    kObject,
  };
  Kind kind = Kind::kNull;
  Span span = {};
  std::int64_t integer = 0;            ///< kInteger
  double number = 0;                   ///< kOtherNumber
  std::string text = {};               ///< kText, without quotes and escapes
  std::vector<std::string> keys = {};  ///< kObject: one per item, all distinct
  std::vector<Span> key_spans = {};
  std::vector<JsonNode> items = {};  ///< kList and kObject

  /// The item with this key, or null.
  const JsonNode* find(std::string_view key) const;
};

inline constexpr std::size_t kMaxJsonTreeDepth = 16;
inline constexpr std::size_t kMaxJsonTreeKeys = 64;  ///< of one object
inline constexpr std::size_t kMaxJsonTreeNodes = std::size_t{1} << 18;

/// The tree of a text of at most kMaxMachineBytes. Every error has a span: kSyntax if the text is
/// not JSON, kBadNumber for a number that does not fit a double, kContradiction for a key that is
/// listed twice in one object, kTooLarge beyond the limits above.
Result<JsonNode> parse_json_tree(std::string_view text);

}  // namespace tessera::target
