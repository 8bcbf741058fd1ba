// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tessera/base/json.h"
#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/sharing.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// Two elements of a view that share a slot although every dim moves elements: overlapping windows,
/// or strides with a typo. Nothing for a broadcast (stride 0) and for layouts, in which every
/// element has a slot of its own. Error kTooLarge when a small part of a question's budget does not
/// decide it.
Result<std::optional<SharedSlot>> shared_slot(const Placement& placement);

/// "elements [0, 1] and [1, 0] share slot 1; ..", with the row-major strides where there is one
/// place.
std::string sharing_sentence(const Placement& placement, const SharedSlot& shared);

/// The warning as a line of its own, which verbs print before their answer; empty without one.
std::string sharing_warning(const Placement& placement, const Terminal& terminal);

/// {"indices": [[0, 1], [1, 0]], "place": [], "slot": 1}.
Json sharing_json(const SharedSlot& shared);

/// The same as the first field of an answer that is written as text: `"shared_slot":{..},`, or
/// nothing.
std::string sharing_field(const Placement& placement);

}  // namespace tessera::tools
