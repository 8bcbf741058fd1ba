// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {

/// The ops that can be written with simpler ones, in order of their names.
std::vector<std::string_view> decomposable_ops();

/// The graph with every node of these ops written with simpler ones, for targets that have no
/// kernel for it:
///
///     p = softmax(x)     p.reduce_max = reduce_max(x) {axes=[1]}
///                        p.sub        = sub(x, p.reduce_max)
///                        p.exp        = exp(p.sub)
///                        p.reduce_sum = reduce_sum(p.exp) {axes=[1]}
///                        p            = div(p.exp, p.reduce_sum)
///
/// New nodes have the name of the node that they replace, and new values are called after its first
/// output. Types narrower than f32 are cast to f32 and back, except around the products of
/// attention, so sums do not lose bits that the op itself keeps. A node that reads a tensor without
/// elements stays as it is: nothing has no largest element and no mean.
///
/// Laws: for any inputs, the outputs have the same types, and the same elements up to rounding. No
/// other node of these ops is left. A second time changes nothing.
/// kUnknownName for an op that cannot be decomposed; kOverflow, kTooLarge and the like where the
/// graph becomes too large, as with the scores of attention.
Result<Graph> with_decomposed_ops(const Graph& graph, std::span<const std::string> ops);

}  // namespace tessera::graph
