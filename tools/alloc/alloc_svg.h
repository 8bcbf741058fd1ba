// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/alloc/alloc_print.h"

namespace tessera::tools {

/// The plan as a picture: address over time, one rectangle per buffer (dashed for parts of others),
/// the peak, the capacity and the live bytes over time. Ids determine the colours and appear as
/// labels, where there is room, and as tooltips. When there are many buffers, the largest are drawn
/// one by one and the others together in grey; the picture states this. So no picture is larger
/// than about a megabyte.
std::string alloc_svg(const AllocAnswer& answer);

}  // namespace tessera::tools
