// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {

/// The elements of a value in one run of the naive evaluator, which rounds every result of a node
/// once, and how far each may be from what real numbers would give.
struct BoundedTensor {
  NaiveTensor tensor;
  std::vector<long double> error;  ///< infinite where nothing is known
};

/// Half a unit in the last place: the most by which rounding to a type changes a number.
long double rounding_error(long double rounded, DType dtype);

/// Every value of a graph by name, with bounds from a running error analysis (Higham, Accuracy and
/// Stability of Numerical Algorithms, chapter 3): what an op makes of the errors of its inputs, by
/// the first and second derivatives of the op, and the rounding of its result. The values of each
/// list in `known` count as exact for all that comes after the last of them, so errors are those of
/// the nodes in between; a constant that is in no list is a real number that was rounded twice.
/// Ops are those that decompositions add; nullopt for others and for what naive_evaluate refuses.
std::optional<std::map<std::string, BoundedTensor>> evaluate_with_bounds(
    const graph::Graph& graph, const std::map<std::string, NaiveTensor>& inputs,
    const std::vector<std::vector<std::string>>& known);

}  // namespace tessera::test
