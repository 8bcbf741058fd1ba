// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/graph/op.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/padding/state.h"

/// What loops alone do not say about padding: the neutral numbers of ops that keep an axis whole,
/// and what ops do with values. Everything is a table by op.
namespace tessera::ops::padding {

/// How the elements of the inputs make an element of the output.
enum class Making : std::uint8_t {
  kElements,  ///< elementwise
  kMoves,     ///< an element of one of the inputs that are not positions
  kProduct,   ///< sums of products of the inputs; those that are read once are added
  kOther,
};
Making making_of(const graph::Call& call);

/// Inputs whose elements are positions in another input: whoever reads padding there needs 0.
bool is_position(const graph::Call& call, std::size_t input);

/// What an op needs along a factor that runs beyond its extent, of every input that has it; for
/// products see padding_of. `factor` is clean: the whole index of every dim that has it.
PaddingNeed need_along(const graph::Call& call, const Loops& loops, int factor);

/// What it needs along a dim of an input that a window slides over.
PaddingNeed need_under_window(const graph::Call& call);

/// Whether the elements that the op reads of an input do not depend on where the dim ends, although
/// the dim is not simply the range of a factor: slices, shorter lists of positions, the last input
/// of a concat.
bool reads_by_position(const graph::Call& call, const Loops& loops, std::size_t input,
                       std::size_t dim);

/// Whether a window of an op slides over a dim of an input.
bool is_window_dim(const graph::Call& call, std::size_t input, std::size_t dim);

/// Whether an input is added to the products of the others.
bool is_added(const graph::Call& call, std::size_t input);

/// Whether attention sums products along this factor, and nothing depends on its extent.
bool is_product_of_attention(const graph::Call& call, const Loops& loops, int factor);

/// The needs of attention along its keys, one per input.
std::optional<std::vector<PaddingNeed>> needs_of_attention(const graph::Call& call,
                                                           const Loops& loops, int factor);

/// What an op of kMoves makes of inputs in these states.
PaddingState moved_state(const graph::Call& call, const std::vector<PaddingState>& inputs);

/// What an op of kOther makes of inputs in these states for its output `o`.
PaddingState other_state(const graph::Call& call, const std::vector<PaddingState>& inputs,
                         std::size_t o, DType dtype);

/// What is left along a factor that both the reduction and the output have: the axis of a softmax.
/// `inputs` are the states there, `beside` what all other elements of input 0 are.
PaddingState state_along_axis(const graph::Call& call, const std::vector<PaddingState>& inputs,
                              const PaddingState& beside, DType output);

}  // namespace tessera::ops::padding
