// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/run/host_tensor.h"

namespace tessera::tools {

using GivenTensors = std::map<std::string, run::HostTensor>;

/// The tensors of "x=x.npy" for inputs, parameters and constants of a graph, in either order of
/// NumPy. A * in the name stands for any characters, and a * in the file for the same ones:
/// "layer*.past_keys=cache/layer*.keys.npy". Errors: kUsage for a text without "=", a name given
/// twice; kUnknownName for a name that the graph does not have; those of open_array, kShapeMismatch
/// and kBadDType with what was expected and found, all of which name the value.
Result<GivenTensors> read_given(const graph::Graph& graph, const std::vector<std::string>& texts);

/// Reads the elements that the graph has in files.
Status load_data(const graph::Graph& graph, const std::string& folder, GivenTensors& given);

/// kBadGraph, naming all inputs, parameters and constants that have no elements.
Status check_given(const graph::Graph& graph, const GivenTensors& given);

/// Adds random elements for every input that is not given: floats in [-1, 1), integers in [0, 2),
/// and positions inside the table that they choose from.
Status add_random_inputs(const graph::Graph& graph, std::uint64_t seed, GivenTensors& given);

}  // namespace tessera::tools
