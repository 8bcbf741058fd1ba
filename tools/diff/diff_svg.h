// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/base/result.h"
#include "tessera/notation/same_places.h"

namespace tessera::tools {

/// What becomes of the elements between two layouts, as SVG: "=" stays, "o" changes its slot, and
/// the others have the colour and the number of the place that they move to; below it the places.
/// Larger tensors are drawn by samples, as in show_svg. `result` is a sentence for the title.
/// Errors: those of changes_in.
Result<std::string> diff_svg(const SamePlaces& places, const std::string& result);

}  // namespace tessera::tools
