// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/graph/op.h"
#include "tessera/layout/form.h"

/// ops/: what an op allows. In: the call of an op of graph/, layouts of its operands, a division of
/// its work over places. Out: its loops; which layouts supply the work and which result from it;
/// what is partial; halos; what each place computes and reads. It knows no machine (that is a
/// predicate on top, in ops/machines/), runs nothing and reads no elements.
///
/// Every op is stated in one way: as a nest of loops, its *factors*. An iteration f reads one
/// element of each operand and contributes to one element of each output. Which element is a sum:
/// the index of dim d is
///
///     x_d = start_d + Σ coef·f                over the factors f that the dim touches
///
/// An iteration whose index lies outside an operand reads nothing there (the padding of a window,
/// the other inputs of a concat). A matrix product has three factors:
///
///     i  pass      A[i, k]
///     j  pass      B[k, j]
///     k  reduce    C[i, j]
///
/// and a convolution with stride 2 and padding 1 reads row 2·y + a - 1 of its input for the output
/// row y and the kernel row a. How a factor may be divided over places is its kind:
///
///     pass     freely: iterations with different values contribute to different elements
///     reduce   freely, but places then hold shares of an element, which the reduction combines
///     whole    not at all: a place that performs one value performs all (the axis of a softmax)
///
/// Shapes that are cut differently on both sides (6x4 reshaped to 4x6) have whole factors of their
/// own for each side: [i=2 j=3, m=2 n=2] -> [i=2 k=2, l=3 n=2], where only i and n are shared.
///
/// The law, which the tests check with poisoned elements: the elements of the outputs that a set of
/// iterations contributes to are a function of the elements that the set reads, provided that the
/// set has every value of each whole factor; for sets that divide a reduced factor, the reduction
/// of the shares is the element.
namespace tessera::ops {

enum class FactorKind : std::uint8_t { kPass, kReduce, kWhole };
/// "pass", "reduce", "whole".
std::string_view kind_name(FactorKind kind);

struct Factor {
  std::string name;  ///< for messages: "i", "heads"
  std::int64_t extent = 1;
  FactorKind kind = FactorKind::kPass;
  Reduction reduction = Reduction::kSum;  ///< of kReduce
  /// Which iterations contribute depends on elements: a table of which indices choose rows. The
  /// others contribute the neutral element of the reduction.
  bool masked = false;
};

/// The index of one dim of an operand: start + Σ coef·factor. `Term::dim` is the number of a
/// factor.
struct DimAccess {
  std::vector<Term> terms;
  std::int64_t start = 0;

  friend bool operator==(const DimAccess&, const DimAccess&) = default;
};
/// coef·factor
DimAccess at(int factor, std::int64_t coef = 1);
DimAccess operator+(DimAccess a, const DimAccess& b);
DimAccess operator+(DimAccess a, std::int64_t start);

/// What an iteration touches of an operand, one entry per dim.
struct Access {
  std::vector<DimAccess> dims;
  /// Reads only where the reduced factors that it lacks are 0: a bias is added to one share of a
  /// sum.
  bool once = false;

  bool has(int factor) const;
  /// The index of the element, which may lie outside the operand.
  Index index(const Index& iteration) const;
  friend bool operator==(const Access&, const Access&) = default;
};

/// Memory that a kernel needs beside its operands while it runs: an element of `dtype` for each
/// combination of values that a place has of these factors.
/// Example: a product of bf16 matrices adds up in f32, one number for each i and j.
struct Buffer {
  std::string name;  ///< "accumulator"
  std::vector<int> factors;
  DType dtype = DType::kF32;
};

/// The loops of a call.
struct Loops {
  std::vector<Factor> factors;
  std::vector<std::optional<Access>> inputs;  ///< empty for an input that is left out
  std::vector<Access> outputs;
  /// What kernels of the straightforward kind keep: sums in a wide type where they are added up
  /// from several parts, statistics of rows. Halos and panels depend on layouts (scratch.h).
  std::vector<Buffer> scratch;

  /// The extents of the factors.
  Result<Shape> iterations() const;
  /// Sizes in the form of a rule: "([i, k], [k, j]) -> [i, j], i=2, j=3, k=4 reduce sum".
  std::string to_string() const;
};

/// The loops of a call whose outputs have these types, which must be those of graph::infer.
/// kNotSupported for ops without a rule: opaque ones.
/// Example: matmul of [2, 4] and [4, 3] has factors i=2, j=3 (pass) and k=4 (reduce).
Result<Loops> loops_of(const graph::Call& call, const graph::Types& outputs);

}  // namespace tessera::ops
