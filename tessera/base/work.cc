// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/work.h"

#include "tessera/base/text.h"

namespace tessera {

Error Work::too_large(std::string_view what) {
  return Error{ErrorCode::kTooLarge,
               cat(what, " takes more than ", state().limit - state().begin, " steps"),
               std::nullopt, "ask about a smaller part, or use strides and cuts that nest"};
}

}  // namespace tessera
