// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/layout/regions.h"
#include "tessera/notation/same_places.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// The tensor drawn over its mesh: one box per place with the index ranges that it holds, with rows
/// and columns left out ("...") where they do not fit. A 1-D mesh is a strip; of a mesh with more
/// than two axes the first plane is drawn. A layout on one place is drawn as a table of slots by
/// index. Places are in the order of their names. `classes` gives the number of elements of a place
/// when its ranges are too many to list.
std::string picture(const Layout& layout, const PlaceNames& names,
                    const std::optional<std::vector<PlaceClass>>& classes,
                    const Terminal& terminal);

/// Which of `total` rows or columns to draw when `room` of them fit: the first ones, -1 for those
/// left out, and the last.
/// Example: shown_of(10, 4) = {0, 1, -1, 9}.
std::vector<std::int64_t> shown_of(std::int64_t total, std::int64_t room);

}  // namespace tessera::tools
