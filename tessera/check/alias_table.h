// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/check/mlir_scan.h"

namespace tessera::check {

/// The aliases of a file by name.
///
/// An alias is looked up in the section of its use. If that section does not define it, and the
/// file has exactly one definition, that definition is used: a row of dashes may be only
/// decoration. A definition may come after its use.
class AliasTable {
 public:
  AliasTable(std::string_view text, const std::vector<MlirAlias>& aliases);

  /// The number of the alias that `name`, with its sigil, refers to in a section.
  std::optional<std::size_t> find(std::string_view name, std::size_t section) const;

  /// The value of an alias, without surrounding spaces.
  /// Example: of `#a = dense<[[0, -1]]> : tensor<1x2xi64>` everything after `= `.
  Span value(std::size_t alias) const;

  const MlirAlias& at(std::size_t alias) const { return (*aliases_)[alias]; }

 private:
  std::string_view text_;
  const std::vector<MlirAlias>* aliases_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_name_;
  mutable std::vector<std::optional<Span>> values_;  // computed on first use
};

}  // namespace tessera::check
