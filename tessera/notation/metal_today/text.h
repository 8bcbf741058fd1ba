// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/notation/metal_today/metal_today.h"

namespace tessera::notation {

/// The spans of the parts of the attribute, so that a contradiction can point at its part.
struct MetalTodaySpans {
  Span logical_shape;
  Span dim_alignments;
  Span collapsed_intervals;
  Span device_shape;  ///< the extents before the layout
};
Result<Layout> lower(const MetalTodayLayout& words, const MetalTodaySpans* spans);

/// `dense<[[0, -1]]> : tensor<1x2xi64>`
std::string write_intervals(const CollapseIntervals& intervals);

}  // namespace tessera::notation
