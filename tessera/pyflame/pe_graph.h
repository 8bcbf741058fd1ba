// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/memory/liveness.h"
#include "tessera/pyflame/memory_plan.h"

namespace tessera::pyflame {

/// A tensor of a graph.
struct PETensor {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kF32;
  memory::Value::Kind kind = memory::Value::Kind::kComputed;
  bool output = false;  ///< must be in memory at the end
  bool stays = false;   ///< an input that stays in memory throughout
};

/// Tensors, and ops in the order in which they run. Transforms between layouts are ops too, so
/// memory is planned after they are inserted, and one that several consumers share is planned once.
struct PEGraph {
  std::vector<PETensor> tensors;
  std::vector<memory::Op> ops;  ///< inputs and outputs are TensorIds

  TensorId add(PETensor tensor);
  /// Adds an op with one output; both have the name `name`.
  TensorId compute(std::string name, std::vector<TensorId> inputs, std::vector<std::int64_t> shape,
                   DType dtype = DType::kF32);
  /// The same, in place of the first input if that is proven to be possible.
  TensorId compute_in_place(std::string name, std::vector<TensorId> inputs,
                            std::vector<std::int64_t> shape, DType dtype = DType::kF32);

  /// The values and ops without shapes, for computing lifetimes.
  memory::Program program() const;
};

}  // namespace tessera::pyflame
