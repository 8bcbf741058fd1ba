// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/texts.h"

#include <string>
#include <variant>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/base/utf8.h"

namespace tessera::graph {

Status check_text(std::string_view text) {
  if (is_utf8(text)) return ok_status();
  return Error{ErrorCode::kBadGraph, cat("the text ", quote_name(text), " is not UTF-8"),
               std::nullopt, "names and other texts of a graph are UTF-8"};
}

Status check_texts(std::string_view name, const Attributes& attributes) {
  TESSERA_CHECK_OK(check_text(name));
  for (const auto& [key, value] : attributes) {
    TESSERA_CHECK_OK(check_text(key));
    if (const auto* const text = std::get_if<std::string>(&value)) {
      TESSERA_CHECK_OK(check_text(*text));
    }
  }
  return ok_status();
}

}  // namespace tessera::graph
