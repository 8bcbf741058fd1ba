// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tessera/graph/graph.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {

/// What one run of a graph needs: random elements (small integers) for its inputs, by name.
/// Parameters and constants whose data are not at hand get such elements too.
std::map<std::string, NaiveTensor> random_inputs(Dice& dice, graph::Graph& graph);

/// Equal types, and elements that differ by at most `tolerance`·(1 + |b|). A NaN equals a NaN, and
/// an infinity itself.
bool is_near(const NaiveTensor& a, const NaiveTensor& b, long double tolerance);
/// The same elements, bit by bit except for NaNs and the sign of 0.
inline bool is_equal(const NaiveTensor& a, const NaiveTensor& b) { return is_near(a, b, 0); }

}  // namespace tessera::test
