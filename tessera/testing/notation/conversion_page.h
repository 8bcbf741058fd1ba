// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

/// docs/conversions.md, which contains two generated tables between markers.
namespace tessera::test {

/// The share of random tensors of one notation that another can express, 0 to 1, by names (from,
/// to).
struct ConversionTable {
  std::map<std::pair<std::string, std::string>, double> shares;
};

/// The 13x13 table as the page has it: percent, rounded down but never to 0; `-` for none.
std::string table_text(const ConversionTable& table);

/// The table of what each notation can express, from Notation::scope.
std::string scopes_text();

/// Empty when the page has these tables; with TESSERA_UPDATE_DOCS=1 in the environment the page is
/// updated. Otherwise how to fix it.
std::string page_mistake(const ConversionTable& table);

}  // namespace tessera::test
