// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"

namespace tessera::ops {

/// The places that hold some element, without replicas.
std::int64_t spread(const Form& form);

/// What a layout takes on the places that hold some of it.
std::int64_t held_bytes(const Layout& layout);

/// The same work with less of it repeated: where every coordinate of a mesh axis performs the same
/// iterations, the factor of an output with the largest blocks is divided over them. Empty if no
/// factor has as many values as the axis has coordinates.
/// Example: a softmax of [64, 64] over columns with rows over axis 0 of 4x4, repeated over axis 1,
/// has 16 rows on each place; spread out, 4.
std::optional<WorkMap> spread_out(const Loops& loops, const WorkMap& work);

}  // namespace tessera::ops
