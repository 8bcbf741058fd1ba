// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/layout/places.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// The tensor drawn over its mesh: a box a place with the index ranges that it holds, rows and
/// columns left out ("...") where they do not fit. A 1-D mesh is a strip; of a mesh with more than
/// two axes the first plane is drawn. A layout on one place is drawn as a table of slots by index.
/// `classes` may tell how much a place holds when its ranges are too many to list.
std::string picture(const Layout& layout, const std::optional<std::vector<PlaceClass>>& classes,
                    const Terminal& terminal);

/// Which of `total` rows or columns to draw when there is room for `room` of them: the first ones,
/// -1 for those left out, and the last.
/// Example: shown_of(10, 4) = {0, 1, -1, 9}.
std::vector<std::int64_t> shown_of(std::int64_t total, std::int64_t room);

}  // namespace tessera::tools
