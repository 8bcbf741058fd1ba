// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/notation/metal_today.h"

namespace tessera {

/// Where the parts of today's attribute stand, so that a contradiction can point at its part.
struct MetalTodaySpans {
  Span logical_shape;
  Span dim_alignments;
  Span collapsed_intervals;
};
Result<Layout> lower(const MetalTodayLayout& words, const MetalTodaySpans* spans);

}  // namespace tessera
