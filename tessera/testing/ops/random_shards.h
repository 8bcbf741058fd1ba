// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"
#include "tessera/testing/generate.h"

namespace tessera::test {

/// A layout with all that layouts of operands say on machines. Over places: blocks that are even,
/// wide or dealt round robin, on all coordinates of a mesh axis or on some of them from an origin
/// on, side by side or with gaps; blocks that begin inside a block; replicas on all or on some
/// coordinates; shares; one coordinate. In memory: dims in any order, tiles, or sticks.
/// What `told` says of an axis holds, whatever the dice say.
Layout random_shards(Dice& dice, const graph::TensorType& type, const Shape& mesh,
                     const std::optional<Fill>& told = std::nullopt);

}  // namespace tessera::test
