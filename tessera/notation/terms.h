// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
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
#include "tessera/notation/tensor.h"
#include "tessera/notation/ttnn/ttnn.h"
#include "tessera/notation/xla/xla.h"

namespace tessera::notation {

/// A layout in the terms of the notation that it was written in.
using AnyTerms = std::variant<std::monostate, StridedLayout, PyflameLayout, SpyreLayout,
                              MetalLayout, MetalTodayLayout, TtnnLayout, TtnnTerms, MorelloLayout,
                              XlaLayout, OnednnLayout, CuteLayout, GspmdLayout, DtensorLayout>;

/// What Tensor::terms points to.
struct Terms {
  AnyTerms value;
};

template <typename Layout>
std::shared_ptr<const Terms> make_terms(Layout layout) {
  return std::make_shared<const Terms>(Terms{std::move(layout)});
}

/// The terms of a tensor; std::monostate for native ones.
const AnyTerms& terms_of(const Tensor& tensor);

}  // namespace tessera::notation
