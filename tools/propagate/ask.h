// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/tensor.h"
#include "tools/command/arguments.h"
#include "tools/command/command.h"

/// tools/propagate/: the verb `propagate`. An op, its attributes and tensors come in; what
/// tessera/ops answers goes out as text or JSON. Nothing here decides what an op allows.
namespace tessera::tools {

/// An operand as it was written: a type, and a tensor if it has a layout.
struct Operand {
  graph::TensorType type;
  std::optional<Tensor> tensor;
  /// The tensor's layout, on the mesh that all operands share.
  std::optional<Layout> layout;
};

/// A request of `propagate` that was read.
struct Asked {
  graph::Op op;
  graph::Attributes attributes;
  std::vector<std::optional<Operand>> inputs;  ///< empty for those that are left out
  graph::Types output_types;
  std::vector<std::optional<Operand>> outputs;  ///< one per output; empty if not asked
  std::string notation;                         ///< of the operand given first

  std::vector<const graph::TensorType*> input_types() const;
  /// Valid while `types`, the input_types() of this, and this are.
  graph::Call call(const std::vector<const graph::TensorType*>& types) const;
};

/// With `own_meshes`, tensors stay on their own meshes, because kernels bring data from one to the
/// other; else they are on one. `failure` has the error and, if it has a span, the text that the
/// span refers to.
std::optional<Asked> read_asked(const Request& request, bool own_meshes, std::istream& in,
                                Failure& failure);

}  // namespace tessera::tools
