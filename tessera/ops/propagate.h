// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"
#include "tessera/ops/kernels.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/supply.h"
#include "tessera/ops/work_map.h"

namespace tessera::ops {

/// The layouts of a call's operands, as far as they are known. All are on one mesh with one device
/// map.
struct Question {
  const graph::Call* call = nullptr;
  std::vector<std::optional<Layout>> inputs;   ///< one per input of the call
  std::vector<std::optional<Layout>> outputs;  ///< one per output, or none at all
};

/// Layouts of all inputs with which an op can run where those that were asked for cannot.
struct Alternative {
  std::vector<std::optional<Layout>> inputs;  ///< empty for inputs that are left out
  std::vector<bool> changed;                  ///< differ from what was asked
  std::int64_t bytes = 0;  ///< of the changed ones, on all places that hold some of them
  /// What the moves to them take on a machine, one after the other; prices.h fills it in.
  std::optional<double> seconds = std::nullopt;
  std::optional<double> cycles = std::nullopt;  ///< may be known where seconds are not
};

struct Answer {
  bool legal = false;
  std::string reason;  ///< if not legal: the factor, operand or mesh axis that forbids it
  Loops loops;
  std::optional<WorkMap> work;                ///< empty if no division of the work was found
  std::vector<std::optional<Layout>> inputs;  ///< as asked, or as the work needs them
  std::vector<std::vector<Halo>> halos;       ///< per input and dim; none for absent inputs
  std::vector<Layout> outputs;                ///< if legal
  std::vector<Alternative> alternatives;      ///< if not legal, those that allocate least first
};

/// Whether an op can run on operands with these layouts, each place on what it has, and what
/// results. The division of the work follows from the layouts: from the output's if it is given,
/// then from those of the inputs that are spread over the most places. Inputs whose layouts are not
/// given get what the work needs, so that a question with only an output is answered backwards.
///
/// Legal means: every place holds what it reads, but for halos, which are reported and have to be
/// exchanged before; and if an output layout is asked, every place has the elements that it should
/// have. Shares of sums are legal results: the output layout is then partial. Shares are legal
/// inputs where the op may run on them (shares_of_sums.h).
///
/// Inside a place, an output keeps the tiles, sticks and order of the input with the most dims
/// (memory_order.h); otherwise it is row-major.
///
/// With kernels, operands may also lie where these bring them from.
///
/// Errors: kNotSupported for ops without loops; kMeshMismatch; kShapeMismatch for a layout of
/// another shape than the operand's.
Result<Answer> propagate(const Question& question, const Kernels& kernels = {});

/// The mesh axes over which a layout is partial, and how it is reduced.
struct PartialAxis {
  int axis = 0;
  std::int64_t count = 1;
  Reduction reduction = Reduction::kSum;
};
std::vector<PartialAxis> partial_axes(const Layout& layout);

}  // namespace tessera::ops
