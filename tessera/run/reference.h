// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/run/host_tensor.h"

namespace tessera::run {

/// The results of one node from whole tensors, one per input and null where one is left out: by the
/// plain kernel (perform_plainly) in a single task, without layouts, places or moves, and without
/// the faster kernels of a run. What a run does for the node is compared with it. Errors: those of
/// kernels.
Result<std::vector<HostTensor>> evaluate_node(const graph::Graph& graph, const graph::Node& node,
                                              const std::vector<const HostTensor*>& inputs);

/// How far results that are stored so may be apart that took sums in another order, relative to
/// 1 + |number|: f64 1e-9, f32 1e-3, f16 1e-2, bf16 and 8-bit floats 1/16; 0 for integers. Of block
/// floats, relative to 1 + the largest |number| of the tensor: 1/64 with 7 bits, 1/4 with 3, 1 with
/// a single one.
double tolerance_of(DType storage);

/// The largest |a - b| / (1 + |b|) of two tensors of one type, or / (1 + largest |b|) if they are
/// stored as block floats; infinity where only one of them is not a number, or infinite.
Result<double> largest_difference(const HostTensor& a, const HostTensor& b, DType storage);

}  // namespace tessera::run
