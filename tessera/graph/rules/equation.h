// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"

namespace tessera::graph::rules {

/// An equation of einsum taken apart: one list of labels per operand. Letters are labels; the dims
/// of an ellipsis are labels from 256 on, aligned at the last one.
struct Equation {
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};
inline constexpr int kEllipsisDims = 256;
/// Every label is below this number.
inline constexpr int kLabels = kEllipsisDims + static_cast<int>(kMaxRank);

/// The equation of a call of einsum. Without an arrow, the result has the dims of the ellipsis,
/// then the labels that occur once, by name. kBadNode for what is not an equation of these inputs.
/// Example: "bij,bjk->bik".
Result<Equation> read_equation(const Call& call);

/// The extent of each label, -1 for one that no input has. The dims of an ellipsis are broadcast.
/// kShapeMismatch for a label with two extents.
using LabelExtents = std::array<std::int64_t, kLabels>;
Result<LabelExtents> label_extents(const Call& call, const Equation& equation);

}  // namespace tessera::graph::rules
