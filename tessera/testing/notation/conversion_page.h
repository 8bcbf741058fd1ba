// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

/// docs/conversions.md, between whose markers stand two tables that nobody writes by hand.
namespace tessera::test {

/// What share of random tensors of one notation another can say, 0 to 1, by names (from, to).
struct ConversionTable {
  std::map<std::pair<std::string, std::string>, double> shares;
};

/// The 13x13 table as the page has it: percent, rounded down but never to 0; `-` for none.
std::string table_text(const ConversionTable& table);

/// The table of what each notation has words for, from Notation::scope.
std::string scopes_text();

/// Empty when the page has these tables; with TESSERA_UPDATE_DOCS=1 in the environment it is given
/// them. Else what to do about it.
std::string page_mistake(const ConversionTable& table);

}  // namespace tessera::test
