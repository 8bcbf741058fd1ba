// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/alloc/alloc_print.h"

namespace tessera::tools {

/// The plan as a picture: address over time, a rectangle for each buffer (dashed ones for parts of
/// others), the peak, the capacity and the bytes that live over time. Ids are colours, labels where
/// there is room, and tooltips. Of many buffers the largest are drawn one by one and the others
/// together in grey, which the picture says, so that no picture is larger than about a megabyte.
std::string alloc_svg(const AllocAnswer& answer);

}  // namespace tessera::tools
