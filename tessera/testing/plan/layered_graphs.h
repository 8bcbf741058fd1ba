// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/graph/graph.h"
#include "tessera/testing/generate.h"

namespace tessera::test {

/// How large a layered graph is.
struct LayeredSize {
  int layers = 3;
  std::int64_t most_rows = 64;
  std::int64_t most_width = 96;
};

/// A graph as models have them: rows of numbers go through layers one after the other, each a
/// product with weights, a bias, an activation, a softmax over rows, a transpose, or a sum with the
/// rows of an earlier layer. f32.
graph::Graph layered_graph(Dice& dice, const LayeredSize& size = {});

}  // namespace tessera::test
