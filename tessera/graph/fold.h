// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/graph/graph.h"

namespace tessera::graph {

/// The most elements that folding computes; a fill counts as one.
inline constexpr std::int64_t kMostFolded = std::int64_t{1} << 16;

/// The results of a node whose inputs are known: the arithmetic and the moves with which models
/// compute their shapes, and tensors that are filled with one number. `outputs` are the types of
/// its results. nullopt if an input's elements are not at hand, if there are too many, or if the op
/// or type is not one of these:
///     shape, size, constant, constant_of_shape, range; identity, reshape and other views;
///     concat, gather, slice, split, transpose, expand, tile; cast; where, comparisons, logic;
///     add, sub, mul, div, mod, min, max, neg, abs, sign, floor, ceil, sqrt; reduce_sum, _prod,
///     _max, _min
/// for booleans, integers, f32 and f64. Integers wrap as in their type; what divides an integer by
/// 0 is left alone.
/// Law: the results are those of the reference evaluator.
std::optional<std::vector<Data>> fold(const Call& call, std::span<const Data* const> inputs,
                                      const Types& outputs);

}  // namespace tessera::graph
