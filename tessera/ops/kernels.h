// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/ops/loops.h"

namespace tessera::ops {

/// What the kernels of a machine do by themselves while they run, so that operands need not lie
/// where the loops alone want them. Kernels that do nothing of the kind are `Kernels{}`.
struct Kernels {
  /// What kernels bring of an input.
  struct Brings {
    bool everywhere = false;  ///< it is in a memory that every place reads
    /// Mesh axes along which pieces are multicast: a place reads what any place along them has.
    std::vector<int> axes;

    bool nothing() const { return !everywhere && axes.empty(); }
  };
  std::vector<Brings> inputs;          ///< one per input, or none at all
  std::vector<bool> outputs_anywhere;  ///< written to a memory that every place reaches
  /// Whole factors that may be divided, because places exchange statistics of their parts.
  std::vector<int> exchanged;
  /// The order of memory in which an output is written, for a layout that is row-major in a place;
  /// empty where the order of the inputs is kept (memory_order.h).
  std::function<std::optional<Layout>(std::size_t output, const Layout& made,
                                      const std::vector<std::optional<Layout>>& inputs)>
      order;

  Brings of_input(std::size_t i) const { return i < inputs.size() ? inputs[i] : Brings{}; }
  bool is_anywhere(std::size_t o) const {
    return o < outputs_anywhere.size() && outputs_anywhere[o];
  }
};

/// Where kernels find the elements of an operand: the form on `mesh`, in which every element is on
/// all places to which it is brought. Only an operand that is brought everywhere may be on another
/// mesh.
Form as_brought(const Form& form, const Kernels::Brings& brings, const Shape& mesh);

}  // namespace tessera::ops
