// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "tessera/base/json.h"
#include "tessera/base/text.h"
#include "tessera/graph/op.h"

namespace tessera::graph {
namespace {

std::string real_text(double value) {
  std::string text = dump(Json(value));
  if (text != "null") return text;
  return value != value ? "nan" : value > 0 ? "inf" : "-inf";
}

bool is_same_real(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

AttributeKind kind_of(const Attribute& attribute) {
  return static_cast<AttributeKind>(attribute.index());
}

std::string_view kind_text(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kInteger:
      return "an integer";
    case AttributeKind::kReal:
      return "a number";
    case AttributeKind::kText:
      return "a text";
    case AttributeKind::kIntegers:
      return "a list of integers";
    case AttributeKind::kReals:
      return "a list of numbers";
  }
  return "";
}

std::string to_string(const Attribute& attribute) {
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&attribute)) return real_text(*real);
  if (const auto* text = std::get_if<std::string>(&attribute)) return dump(Json(*text));
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) {
    return bracketed(*list);
  }
  std::string out = "[";
  for (const double value : *std::get_if<std::vector<double>>(&attribute)) {
    out += cat(out.size() > 1 ? ", " : "", real_text(value));
  }
  return out + "]";
}

bool is_same(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* real = std::get_if<double>(&a)) {
    return is_same_real(*real, *std::get_if<double>(&b));
  }
  if (const auto* reals = std::get_if<std::vector<double>>(&a)) {
    return std::ranges::equal(*reals, *std::get_if<std::vector<double>>(&b), is_same_real);
  }
  return a == b;
}

Attributes::Attributes(std::initializer_list<Item> items) {
  for (const Item& item : items) set(item.first, item.second);
}

void Attributes::set(std::string_view name, Attribute value) {
  const auto at = std::ranges::lower_bound(items_, name, {}, &Item::first);
  if (at != items_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    items_.emplace(at, std::string(name), std::move(value));
  }
}

const Attribute* Attributes::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(items_, name, {}, &Item::first);
  return at != items_.end() && at->first == name ? &at->second : nullptr;
}

bool operator==(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a.items_, b.items_, [](const auto& x, const auto& y) {
    return x.first == y.first && is_same(x.second, y.second);
  });
}

}  // namespace tessera::graph
