// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::graph {

/// A constant of a node: a number, a text or a list of numbers. Booleans are 0 and 1, element types
/// are texts ("f32").
using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

/// The alternatives of Attribute, in its order.
enum class AttributeKind : std::uint8_t { kInteger, kReal, kText, kIntegers, kReals };

AttributeKind kind_of(const Attribute& attribute);
/// "an integer", "a number", "a text", "a list of integers", "a list of numbers".
std::string_view kind_text(AttributeKind kind);
/// As printed: 3, 1e-05, "f32", [1, 1].
std::string to_string(const Attribute& attribute);
/// Equal kinds and bits, so that a NaN equals itself and 0.0 differs from -0.0, as in JSON and in
/// hashes.
bool is_same(const Attribute& a, const Attribute& b);

/// The attributes of a node by name, in the order of names, so that equal sets are equal lists.
/// Example: Attributes{{"axis", std::int64_t{1}}, {"to", "f16"}}.
class Attributes {
 public:
  using Item = std::pair<std::string, Attribute>;

  Attributes() = default;
  Attributes(std::initializer_list<Item> items);

  /// Adds an attribute, or replaces the one of this name.
  void set(std::string_view name, Attribute value);
  /// The attribute of this name; null without one.
  const Attribute* find(std::string_view name) const;

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  std::vector<Item> items_;
};

}  // namespace tessera::graph
