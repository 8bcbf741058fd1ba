// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {

/// What a comparison is worth: how many elements differed in their bits and were compared with
/// their bounds, and for how many of f32 and f64 the bound is above 1/1000.
struct ComparedElements {
  std::int64_t elements = 0;
  std::int64_t loose = 0;
};

/// The law of with_decomposed_ops, on one run; "" if it holds, else what is wrong. The graph that
/// comes out is valid, reads back from JSON, has no node of these ops, and a second time changes
/// nothing. Each node of `graph`, with the inputs that it has in a run of the other graph, gives
/// what that run has: the same elements if its op stays, else elements within the rounding errors
/// of the nodes that take its place (error_bounds.h) and of its own result. So there is no
/// tolerance to choose, and errors of one node do not add to those of the next.
std::string decomposition_mistake(const graph::Graph& graph,
                                  const std::map<std::string, NaiveTensor>& inputs,
                                  const std::vector<std::string>& ops, ComparedElements& compared);

}  // namespace tessera::test
