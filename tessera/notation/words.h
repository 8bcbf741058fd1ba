// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "tessera/notation/cute.h"
#include "tessera/notation/dtensor.h"
#include "tessera/notation/gspmd.h"
#include "tessera/notation/metal.h"
#include "tessera/notation/metal_today.h"
#include "tessera/notation/morello.h"
#include "tessera/notation/onednn.h"
#include "tessera/notation/pyflame.h"
#include "tessera/notation/spyre.h"
#include "tessera/notation/strided.h"
#include "tessera/notation/ttnn.h"
#include "tessera/notation/xla.h"

namespace tessera::notation {

/// A layout in the words of the notation that it was written in. Native texts say nothing that the
/// layout itself does not hold.
using Words = std::variant<std::monostate, StridedLayout, PyflameLayout, SpyreLayout, MetalLayout,
                           MetalTodayLayout, TtnnLayout, TtnnTerms, MorelloLayout, XlaLayout,
                           OnednnLayout, CuteLayout, GspmdLayout, DtensorLayout>;

}  // namespace tessera::notation
