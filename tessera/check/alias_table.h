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
/// An alias is looked for in the section of its use. Where that has none the only definition of the
/// file counts, if there is one alone: a row of dashes may be an ornament. Definitions may stand
/// behind their use.
class AliasTable {
 public:
  AliasTable(std::string_view text, const std::vector<MlirAlias>& aliases);

  /// The number of the alias that `name`, with its sigil, means in a section.
  std::optional<std::size_t> find(std::string_view name, std::size_t section) const;

  /// The value of an alias, without blanks around it.
  /// Example: of `#a = dense<[[0, -1]]> : tensor<1x2xi64>` all behind `= `.
  Span value(std::size_t alias) const;

  const MlirAlias& at(std::size_t alias) const { return (*aliases_)[alias]; }

 private:
  std::string_view text_;
  const std::vector<MlirAlias>* aliases_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_name_;
  mutable std::vector<std::optional<Span>> values_;  // found when first asked for
};

}  // namespace tessera::check
