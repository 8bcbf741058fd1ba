// SPDX-License-Identifier: Apache-2.0
#pragma once

/// frontend/: tensors as NumPy has them, on a machine. In: shapes, elements and calls. Out: a graph
/// of what was called for (graph/), its plan (plan/), and the elements after it has run (run/). It
/// has no op, type rule, price or kernel of its own.
///
/// Nothing is computed before it is asked for. A function checks shapes and types at once, so an
/// error belongs to the line that is wrong, and returns a tensor that only knows what it is made
/// of; `eval` (eval.h) computes tensors, each part of an expression once, and every tensor that the
/// program still holds keeps its elements:
///
///     TESSERA_TRY(const Tensor x, randn({32, 1024}, /*seed=*/1));
///     TESSERA_TRY(const Tensor w, randn({1024, 512}, /*seed=*/2));
///     TESSERA_TRY(const Tensor b, zeros({512}));
///     TESSERA_TRY(const Tensor y, relu(matmul(x, w) + b));
///     TESSERA_TRY(const Evaluation done, eval({y}));
///     const std::vector<float> numbers = y.elements<float>();
///
/// Operands are tensors, or results of other calls: the first error of an expression is the error
/// of the whole. Numbers beside a tensor take its element type (kBadDType for a fraction beside
/// integers); element types are never converted otherwise: `cast` does that. Broadcasting is that
/// of NumPy.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"

namespace tessera::frontend {

/// A tensor: its type, what it is made of, and its elements once it has been evaluated. Copies are
/// cheap and are the same tensor. Tensors may be used from several threads at once.
class Tensor {
 public:
  const graph::TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  /// Where it has to be on the machine; empty: where eval puts it.
  const std::optional<Layout>& layout() const;

  /// Whether its elements are at hand.
  bool is_evaluated() const;
  /// The elements in row-major order, packed as dtype_bytes counts them; none before evaluation.
  /// They stay as long as the tensor.
  std::span<const std::byte> bytes() const;
  /// The same as numbers of the element type: float for f32, std::int64_t for i64.
  template <typename T>
  std::vector<T> elements() const {
    std::vector<T> numbers(bytes().size() / sizeof(T));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes().data(), numbers.size() * sizeof(T));
    return numbers;
  }

  struct Node;    // node.h
  struct Handle;  // node.h
  explicit Tensor(std::shared_ptr<const Handle> handle) : handle_(std::move(handle)) {}
  const std::shared_ptr<Node>& node() const;

 private:
  std::shared_ptr<const Handle> handle_;
};

/// What functions take: a tensor, or the result of a call, whose error passes through.
using Operand = Result<Tensor>;
using Extents = std::vector<std::int64_t>;

// Tensors from nothing. A layout is one of a tensor of this shape and type. Errors: those of
// Shape::make; kShapeMismatch and kBadDType for other layouts; kOutOfRange for a number that an
// integer type does not have.

/// Normally distributed numbers of mean 0 and variance 1. Floats only: kBadDType.
/// Law: the same seed and shape give the same numbers; element i depends on the seed and on i.
Result<Tensor> randn(Extents shape, std::uint64_t seed, DType dtype = DType::kF32,
                     std::optional<Layout> layout = {});
Result<Tensor> full(Extents shape, double number, DType dtype = DType::kF32,
                    std::optional<Layout> layout = {});
Result<Tensor> zeros(Extents shape, DType dtype = DType::kF32, std::optional<Layout> layout = {});
Result<Tensor> ones(Extents shape, DType dtype = DType::kF32, std::optional<Layout> layout = {});
/// start, start + step, .. before `limit`. kBadNumber for more than 10^8 of them.
Result<Tensor> arange(double start, double limit, double step = 1, DType dtype = DType::kF32);
/// Elements in row-major order, rounded to the type. kShapeMismatch for another number of them.
Result<Tensor> from_numbers(Extents shape, std::span<const double> numbers,
                            DType dtype = DType::kF32, std::optional<Layout> layout = {});
/// The same packed as `Tensor::bytes` has them.
Result<Tensor> from_bytes(Extents shape, DType dtype, std::string bytes,
                          std::optional<Layout> layout = {});

/// Any op of the table (docs/graph.md) that has one output. Errors have the op and the types of its
/// operands: kUnknownName for an op that does not exist, and those of graph::infer.
/// Example: apply("leaky_relu", {x}, {{"alpha", 0.1}}).
Result<Tensor> apply(std::string_view op, const std::vector<Operand>& operands,
                     graph::Attributes attributes = {});

Result<Tensor> operator+(const Operand& a, const Operand& b);
Result<Tensor> operator-(const Operand& a, const Operand& b);
Result<Tensor> operator*(const Operand& a, const Operand& b);
/// kBadDType for integers, which have no quotients: cast them, or apply("div", ..) for whole ones.
Result<Tensor> operator/(const Operand& a, const Operand& b);
Result<Tensor> operator+(const Operand& a, double b);
Result<Tensor> operator-(const Operand& a, double b);
Result<Tensor> operator*(const Operand& a, double b);
Result<Tensor> operator/(const Operand& a, double b);
Result<Tensor> operator+(double a, const Operand& b);
Result<Tensor> operator-(double a, const Operand& b);
Result<Tensor> operator*(double a, const Operand& b);
Result<Tensor> operator/(double a, const Operand& b);
Result<Tensor> operator-(const Operand& x);
Result<Tensor> matmul(const Operand& a, const Operand& b);

// Comparisons give i1.
Result<Tensor> equal(const Operand& a, const Operand& b);
Result<Tensor> not_equal(const Operand& a, const Operand& b);
Result<Tensor> less(const Operand& a, const Operand& b);
Result<Tensor> less_equal(const Operand& a, const Operand& b);
Result<Tensor> greater(const Operand& a, const Operand& b);
Result<Tensor> greater_equal(const Operand& a, const Operand& b);
/// Elements of `a` where the condition holds, of `b` elsewhere.
Result<Tensor> where(const Operand& condition, const Operand& a, const Operand& b);

// Reductions of the dims `axes` (negative ones count from the end), or of all without any.
Result<Tensor> sum(const Operand& x, const Extents& axes = {}, bool keepdims = false);
Result<Tensor> mean(const Operand& x, const Extents& axes = {}, bool keepdims = false);
Result<Tensor> max(const Operand& x, const Extents& axes = {}, bool keepdims = false);
Result<Tensor> min(const Operand& x, const Extents& axes = {}, bool keepdims = false);
Result<Tensor> prod(const Operand& x, const Extents& axes = {}, bool keepdims = false);

Result<Tensor> relu(const Operand& x);
/// x·Φ(x) by erf.
Result<Tensor> gelu(const Operand& x);
Result<Tensor> softmax(const Operand& x, std::int64_t axis = -1);
/// (x - mean)/sqrt(variance + epsilon) over the dims [axis, rank), times scale plus bias if given.
Result<Tensor> layer_norm(const Operand& x, const std::optional<Tensor>& scale = {},
                          const std::optional<Tensor>& bias = {}, std::int64_t axis = -1,
                          double epsilon = 1e-5);
Result<Tensor> cast(const Operand& x, DType dtype);

/// One extent may be -1: the one that is left.
Result<Tensor> reshape(const Operand& x, Extents shape);
/// Dim i of the result is dim perm[i]; without a permutation all dims are reversed.
Result<Tensor> transpose(const Operand& x, Extents perm = {});
/// Elements starts[d], starts[d] + steps[d], .. before ends[d] of dim d, for the first dims, as op
/// `slice` does it; steps are 1 if there are none.
Result<Tensor> slice(const Operand& x, Extents starts, Extents ends, Extents steps = {});
Result<Tensor> concat(const std::vector<Operand>& operands, std::int64_t axis);
/// The same elements in another layout; `x` itself if it has this layout.
Result<Tensor> to_layout(const Operand& x, const Layout& layout);

}  // namespace tessera::frontend
