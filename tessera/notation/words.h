// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "tessera/notation/cute/cute.h"
#include "tessera/notation/dtensor/dtensor.h"
#include "tessera/notation/gspmd/gspmd.h"
#include "tessera/notation/metal/metal.h"
#include "tessera/notation/metal_today/metal_today.h"
#include "tessera/notation/morello/morello.h"
#include "tessera/notation/onednn/onednn.h"
#include "tessera/notation/pyflame/pyflame.h"
#include "tessera/notation/spyre/spyre.h"
#include "tessera/notation/strided/strided.h"
#include "tessera/notation/ttnn/ttnn.h"
#include "tessera/notation/xla/xla.h"

namespace tessera::notation {

/// A layout in the words of the notation that it was written in. Native texts say nothing that the
/// layout itself does not hold.
using Words = std::variant<std::monostate, StridedLayout, PyflameLayout, SpyreLayout, MetalLayout,
                           MetalTodayLayout, TtnnLayout, TtnnTerms, MorelloLayout, XlaLayout,
                           OnednnLayout, CuteLayout, GspmdLayout, DtensorLayout>;

}  // namespace tessera::notation
