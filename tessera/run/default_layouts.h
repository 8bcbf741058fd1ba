// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/run/execution.h"

namespace tessera::run {

/// A layout for a tensor on a machine: its last dim is cut into blocks along the last mesh axis,
/// the one before along the axis before, each in halves of the longer side until a block has at
/// most `most` elements. Where the last dims are too short for that, the longest ones are cut.
/// Other dims, and all of small tensors, stay whole on the first places. Inputs, parameters and
/// constants are in a memory of banks or in a shared one other than the host's, if the machine has
/// such a memory. Example: f32[32, 1024] on wse2 with at most 256 elements a block: 4 rows and 32
/// columns of places, blocks of 8x32.
/// `spared` are dims that are only cut when the others cannot be cut any more.
Result<Layout> default_layout(const graph::Value& value, const Machine& machine, std::int64_t most,
                              const std::vector<std::size_t>& spared = {});

/// Compiles a graph with these layouts, and default layouts for values without one: with the
/// largest blocks (of 4096, 1024, .., 1 elements) with which the execution fits. First all work is
/// divided as outputs are; only if no blocks fit so, some as the largest operands are, or in
/// panels. Where parameters stay in the memory of places, blocks of less than 256 elements are only
/// tried after this: every value on places of its own (sub_meshes.h), so that no place has a part
/// of all of them, and work divided in any of these ways. What fits with none of them, but has
/// attention, is tried once more with attention written as products and a softmax: the graph of the
/// execution then has their nodes and values behind those of `graph`.
/// Errors: those of compile; kDoesNotFit if it fits with none.
Result<Execution> compile_with_defaults(const graph::Graph& graph, const Machine& machine,
                                        const std::vector<std::optional<Layout>>& layouts);

/// The same with all values from the first place on, and attention as it is: executions that a
/// planner can compare its own with, which counts all memory on each place.
Result<Execution> compile_from_first_place(const graph::Graph& graph, const Machine& machine,
                                           const std::vector<std::optional<Layout>>& layouts);

}  // namespace tessera::run
