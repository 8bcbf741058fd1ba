// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/alias_table.h"

#include <algorithm>

namespace tessera::check {
namespace {

/// The position after the bracket that closes the one at `at`; `end` if none does.
std::size_t end_of_group(std::string_view text, std::size_t at, std::size_t end) {
  BracketStack brackets;
  brackets.take(text, at++);
  while (at < end && brackets.depth() > 0) {
    if (text[at] == '"') {
      at = end_of_string(text, at);
    } else if (text.substr(at, 2) == "//") {
      at = end_of_comment(text, at);
    } else {
      brackets.take(text, at++);
    }
  }
  return std::min(at, end);
}

bool opens(char c) { return c == '<' || c == '(' || c == '[' || c == '{'; }

/// NAME GROUP? | STRING | GROUP: one attribute or type, starting at a byte that is not a space.
std::size_t end_of_item(std::string_view text, std::size_t at, std::size_t end) {
  if (at >= end) return end;
  if (text[at] == '"') return std::min(end_of_string(text, at), end);
  if (opens(text[at])) return end_of_group(text, at, end);
  const std::size_t from = at;
  while (at < end && (is_mlir_word(text[at]) || text[at] == '.' || text[at] == '#' ||
                      text[at] == '!' || text[at] == '-' || text[at] == '@')) {
    if (text.substr(at, 2) == "->") break;
    ++at;
  }
  if (at == from) return at;
  if (at < end && opens(text[at])) return end_of_group(text, at, end);
  return at;
}

/// ITEM ((':' | '->') ITEM)*: an attribute with its type, or a whole function type.
std::size_t end_of_value(std::string_view text, std::size_t at, std::size_t end) {
  at = end_of_item(text, at, end);
  for (;;) {
    const std::size_t next = skip_blanks(text, at, end);
    const std::size_t step = text.substr(next, 2) == "->"                  ? 2
                             : next < end && text[next] == ':' && next > 0 ? 1
                                                                           : 0;
    if (step == 0 || next + step > end) return at;
    const std::size_t item = skip_blanks(text, next + step, end);
    const std::size_t after = end_of_item(text, item, end);
    if (after == item) return at;
    at = after;
  }
}

}  // namespace

AliasTable::AliasTable(std::string_view text, const std::vector<MlirAlias>& aliases)
    : text_(text), aliases_(&aliases), values_(aliases.size()) {
  by_name_.reserve(aliases.size());
  for (std::size_t i = 0; i < aliases.size(); ++i) by_name_[aliases[i].name].push_back(i);
}

std::optional<std::size_t> AliasTable::find(std::string_view name, std::size_t section) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  const std::vector<std::size_t>& list = found->second;  // by increasing section, one per section
  const auto here =
      std::lower_bound(list.begin(), list.end(), section,
                       [&](std::size_t alias, std::size_t s) { return at(alias).section < s; });
  if (here != list.end() && at(*here).section == section) return *here;
  if (list.size() == 1) return list.front();
  return std::nullopt;
}

Span AliasTable::value(std::size_t alias) const {
  std::optional<Span>& value = values_[alias];
  if (!value) {
    const MlirAlias& said = at(alias);
    const std::size_t from = skip_blanks(text_, said.value, said.limit);
    const std::size_t to = end_of_value(text_, from, said.limit);
    value = Span{static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)};
  }
  return *value;
}

}  // namespace tessera::check
