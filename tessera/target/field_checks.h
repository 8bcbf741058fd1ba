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

/// What any single field of a description can get wrong. Each check answers with the problem, or
/// nothing.
namespace tessera::target {

using Found = std::optional<Problem>;

/// A number that is said is not below `least`.
Found at_least(std::int64_t least, std::optional<std::int64_t> number, const std::string& path);
/// A list is not longer than `most`.
Found at_most(std::size_t most, std::size_t count, std::string_view what, const std::string& path);
/// Letters, digits, '_' and '-': a word for command lines and other notations.
Found plain_name(const std::string& name, const std::string& path);
/// UTF-8 without control characters, which could drive a terminal.
Found plain_text(const std::string& text, const std::string& path);
/// No two names are equal; `path_of(i)` is where name i stands.
Found distinct(const std::vector<std::string>& names,
               const std::function<std::string(std::size_t)>& path_of);

/// The same for items that have a name.
template <typename Item>
Found distinct_items(const std::vector<Item>& items, const std::string& path) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return distinct(names, [&](std::size_t i) { return cat(path, "/", i, "/name"); });
}

/// The first problem that any of the checks finds; later ones are not asked.
template <typename... Checks>
Found first_of(const Checks&... checks) {
  Found found;
  static_cast<void>(((found = checks()).has_value() || ...));
  return found;
}

/// The first problem of any item; `check` gets the item and its path.
template <typename Item, typename Check>
Found each(const std::vector<Item>& items, const std::string& path, const Check& check) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (Found found = check(items[i], cat(path, "/", i))) return found;
  }
  return std::nullopt;
}

}  // namespace tessera::target
