// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "tessera/base/result.h"
#include "tessera/base/text.h"

namespace tessera::test {

/// The reasons of an error as one line for tables of tests.
/// Example: "element_elsewhere index=[0, 1] slot=3 expected_slot=5; tiles rows=2 cols=2".
inline std::string reasons_text(const Error& error) {
  std::string out;
  for (const Reason& reason : error.reasons) {
    out += cat(out.empty() ? "" : "; ", reason.name);
    for (const Fact& fact : reason.facts) {
      out += cat(" ", fact.name, "=");
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&fact.value)) {
        out += bracketed(*list);
      } else if (const auto* number = std::get_if<std::int64_t>(&fact.value)) {
        out += cat(*number);
      } else {
        out += std::get<std::string>(fact.value);
      }
    }
  }
  return out;
}

}  // namespace tessera::test
