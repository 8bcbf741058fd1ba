// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/graph/op.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/graph/naive_eval.h"
#include "tessera/testing/process.h"

/// testing/ops/: random calls of every op, and the law of its loops. The law judges by the naive
/// evaluator of testing/graph/ on whole tensors, in which what must not be read is poisoned.
namespace tessera::test {

/// One call of an op with the elements of its inputs.
struct OpCase {
  graph::Op op;
  std::vector<std::optional<NaiveTensor>> inputs;  ///< empty: left out
  graph::Attributes attributes;
  std::size_t outputs = 1;

  /// The types of the inputs, null where one is left out. Valid while this case is.
  std::vector<const graph::TensorType*> types() const;
  Result<graph::Types> infer() const;
  /// The outputs; empty if the evaluator does not know the op.
  std::optional<std::vector<NaiveTensor>> evaluate() const;
  /// Inputs whose elements are positions in another: poison must stay a valid position.
  bool is_index(std::size_t input) const;
  /// "conv of f32[1, 2, 5], f32[3, 2, 2] {pads=[0, 1]}"
  std::string text() const;
};

/// A valid call of this op with small extents and small integers as elements.
OpCase random_call(Dice& dice, std::string_view op);

/// How many of this many random calls are tried: a fifth, rounded up, under the address sanitizer,
/// in which the naive evaluator is slow.
constexpr std::uint64_t tries(std::uint64_t all) { return kSanitized ? (all + 4) / 5 : all; }

/// The ops that have loops: all of the table but `opaque`.
std::vector<std::string_view> ops_with_loops();

}  // namespace tessera::test
