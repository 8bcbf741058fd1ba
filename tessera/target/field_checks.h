// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/target/machine_check.h"

/// Checks of single fields of a description. Each check returns the problem, or empty.
namespace tessera::target {

using Found = std::optional<Problem>;

/// Checks that the number, if given, is at least `least`.
Found at_least(std::int64_t least, std::optional<std::int64_t> number, const std::string& path);
/// Checks that the number is from `least` to `most`.
Found between(std::int64_t least, std::int64_t number, std::int64_t most, const std::string& path);
/// Checks that coordinates are inside extents, and as many.
Found inside(const Place& coordinates, const std::vector<std::int64_t>& extents,
             const std::string& path);
/// Checks that the figure, if given, is from kMinFigure to kMaxFigure, or 0 where that is allowed.
enum class Zero : std::uint8_t { kRefused, kAllowed };
Found in_range(const std::optional<double>& figure, const std::string& path,
               Zero zero = Zero::kRefused);
/// Checks that at most one of two figures with the same meaning is given; `path` is that of the
/// object that has them.
Found not_both(const std::optional<double>& first, std::string_view first_name,
               const std::optional<double>& second, std::string_view second_name,
               const std::string& path);
/// Checks that a list has at most `most` items.
Found at_most(std::size_t most, std::size_t count, std::string_view what, const std::string& path);
/// Checks that a name has only letters, digits, '_' and '-', so that command lines and notations
/// can use it.
Found plain_name(const std::string& name, const std::string& path);
/// Checks for UTF-8 without control characters, which could control a terminal.
Found plain_text(const std::string& text, const std::string& path);
/// Checks that no two names are equal; `path_of(i)` is the path of name i.
Found distinct(const std::vector<std::string>& names,
               const std::function<std::string(std::size_t)>& path_of);

/// The same for items that have a name.
template <typename Item>
Found distinct_items(const std::vector<Item>& items, const std::string& path) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return distinct(names, [&](std::size_t i) { return cat(path, "/", i, "/name"); });
}

/// The first problem that any of the checks finds; later checks are not called.
template <typename... Checks>
Found first_of(const Checks&... checks) {
  Found found;
  static_cast<void>(((found = checks()).has_value() || ...));
  return found;
}

/// The first problem of any item; `check` takes the item and its path.
template <typename Item, typename Check>
Found each(const std::vector<Item>& items, const std::string& path, const Check& check) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (Found found = check(items[i], cat(path, "/", i))) return found;
  }
  return std::nullopt;
}

}  // namespace tessera::target
