// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/graph/graph.h"
#include "tessera/run/execute.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/graph/naive_eval.h"
#include "tessera/testing/ops/random_calls.h"

namespace tessera::test {

/// A machine of this mesh whose places have a megabyte.
Machine small_machine(const std::vector<std::int64_t>& mesh, std::int64_t bytes = 1048576);
/// The same with a second memory, "dram", of 3 banks.
Machine machine_with_banks(const std::vector<std::int64_t>& mesh, std::int64_t bytes = 1048576);

/// One node and its inputs as a graph, and the elements of the inputs by name.
struct OneNode {
  graph::Graph graph;
  std::map<std::string, NaiveTensor> inputs;
};
OneNode graph_of(const OpCase& made);

/// Numbers as the elements of a tensor.
run::HostTensor host_tensor(const NaiveTensor& tensor);
/// The elements of a tensor as numbers.
NaiveTensor naive_of(const run::HostTensor& tensor);

/// A layout for each value: cut into blocks, dealt round robin, replicated or on one place along
/// each mesh axis, so that some tiles are ragged or empty; a few keep partial sums, and a few of
/// the others are in the banks of machine_with_banks.
std::vector<Layout> random_layouts(Dice& dice, const graph::Graph& graph, const Shape& mesh);

/// How far a result may be from the naive one: absolute, and relative to it.
struct Tolerance {
  long double absolute = 0;
  long double relative = 0;
};
/// Of results of this type: f64 1e-9, f32 1e-4, f16 1e-2, bf16 and 8-bit floats 1/16; integers are
/// exact.
Tolerance tolerance_of(DType dtype);
/// What differs between two tensors, or "".
std::string apart(const NaiveTensor& found, const NaiveTensor& wanted, Tolerance tolerance);

/// The law of a run: the graph with random layouts on a mesh, carried out by a checked device,
/// gives what the naive evaluator gives; and the same bits for 1, 2 and 8 threads. Returns what is
/// wrong, or "". `cut` counts the steps that are in panels.
std::string run_law(Dice& dice, const graph::Graph& graph,
                    const std::map<std::string, NaiveTensor>& inputs,
                    const std::vector<std::int64_t>& mesh, const run::CompileOptions& options = {},
                    int* cut = nullptr);

}  // namespace tessera::test
