// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/graph/rules/equation.h"
#include "tessera/graph/rules/rules.h"

namespace tessera::graph::rules {
namespace {

TensorType part(const TensorType& type, std::size_t from, std::size_t to) {
  TensorType out = type;
  const auto begin = type.shape.extents().begin();
  Result<Shape> shape = Shape::make(
      {begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to)});
  out.shape = shape ? *std::move(shape) : Shape();  // a part of a shape that is valid is one too
  return out;
}

/// As NumPy: a vector on the left is a row, on the right a column; leading dims are broadcast.
Result<Types> matmul(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_CHECK_OK(same_dtype(call));
  const TensorType& a = call.type(0);
  const TensorType& b = call.type(1);
  const std::size_t rank_a = a.shape.rank();
  const std::size_t rank_b = b.shape.rank();
  if (rank_a == 0 || rank_b == 0) return disagree(a, b, "an operand has rank 0");
  const std::int64_t inner_a = a.shape[rank_a - 1];
  const std::int64_t inner_b = b.shape[rank_b == 1 ? 0 : rank_b - 2];
  if (inner_a != inner_b) {
    return disagree(a, b, cat("the inner extents ", inner_a, " and ", inner_b, " differ"));
  }
  TESSERA_TRY(const Shape batch, broadcast(part(a, 0, rank_a - std::min<std::size_t>(rank_a, 2)),
                                           part(b, 0, rank_b - std::min<std::size_t>(rank_b, 2))));
  std::vector<std::int64_t> extents = batch.extents();
  if (rank_a > 1) extents.push_back(a.shape[rank_a - 2]);
  if (rank_b > 1) extents.push_back(b.shape[rank_b - 1]);
  return one(std::move(extents), a.dtype);
}

std::int64_t matmul_flops(const Call& call, const Types& outputs) {
  const Shape& a = call.shape(0);
  return product({2, outputs[0].shape.elements(), a[a.rank() - 1]});
}

Result<Types> gemm(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_CHECK_OK(same_dtype(call));
  const TensorType& a = call.type(0);
  const TensorType& b = call.type(1);
  if (a.shape.rank() != 2 || b.shape.rank() != 2) {
    return disagree(a, b, "both are matrices", "use matmul for other ranks");
  }
  const bool turn_a = call.integer("trans_a") != 0;
  const bool turn_b = call.integer("trans_b") != 0;
  const std::int64_t inner_a = a.shape[turn_a ? 0 : 1];
  const std::int64_t inner_b = b.shape[turn_b ? 1 : 0];
  if (inner_a != inner_b) {
    return disagree(a, b, cat("the inner extents ", inner_a, " and ", inner_b, " differ"));
  }
  TESSERA_TRY(Types types, one({a.shape[turn_a ? 1 : 0], b.shape[turn_b ? 0 : 1]}, a.dtype));
  if (!call.has(2)) return types;
  const Result<Shape> sum = broadcast(types[0], call.type(2));
  if (sum && *sum == types[0].shape) return types;
  return disagree(types[0], call.type(2), "the third input does not fit the product");
}

std::int64_t gemm_flops(const Call& call, const Types& outputs) {
  const std::int64_t inner = call.shape(0)[call.integer("trans_a") != 0 ? 0 : 1];
  const std::int64_t sums = call.has(2) ? outputs[0].shape.elements() : 0;
  return (Checked(product({2, outputs[0].shape.elements(), inner})) + sums).saturated();
}

Result<Types> einsum(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_CHECK_OK(same_dtype(call));
  TESSERA_TRY(const Equation equation, read_equation(call));
  TESSERA_TRY(const LabelExtents extents, label_extents(call, equation));
  std::vector<std::int64_t> out;
  for (const int label : equation.output) {
    const std::int64_t extent = extents[static_cast<std::size_t>(label)];
    if (extent == -1) return bad("the result of the equation has a label that no input has");
    if (std::ranges::count(equation.output, label) > 1) {
      return bad("the result of the equation has one label twice");
    }
    out.push_back(extent);
  }
  return one(std::move(out), call.dtype(0));
}

std::int64_t einsum_flops(const Call& call, const Types& /*outputs*/) {
  const Result<Equation> equation = read_equation(call);
  if (!equation) return 0;
  const Result<LabelExtents> extents = label_extents(call, *equation);
  if (!extents) return 0;
  Checked iterations(static_cast<std::int64_t>(std::max<std::size_t>(call.inputs(), 1)));
  for (const std::int64_t extent : *extents) {
    if (extent != -1) iterations *= extent;
  }
  return iterations.saturated();
}

/// softmax(q·kᵀ·scale + mask)·v. Of dim -3, the heads, keys may have a divisor of the queries'.
Result<Types> attention(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kFloats));
  const TensorType& q = call.type(0);
  const TensorType& k = call.type(1);
  const TensorType& v = call.type(2);
  const std::size_t rank = q.shape.rank();
  if (rank < 2 || k.shape.rank() != rank || v.shape.rank() != rank) {
    return disagree(q, k, "queries, keys and values have one rank of at least 2");
  }
  for (std::size_t i = 1; i < 3; ++i) {
    if (call.dtype(i) != q.dtype) {
      return Error{ErrorCode::kBadDType, cat("inputs 0 and ", i, " are ", q.to_string(), " and ",
                                             call.type(i).to_string())};
    }
    for (std::size_t d = 0; d + 2 < rank; ++d) {
      const std::int64_t mine = call.shape(i)[d];
      const bool heads = d + 3 == rank && mine > 0 && q.shape[d] % mine == 0;
      if (mine != q.shape[d] && !heads) {
        return disagree(q, call.type(i), cat("extents ", q.shape[d], " and ", mine, " of dim ", d),
                        "the heads of keys and values divide those of the queries");
      }
    }
  }
  if (q.shape[rank - 1] != k.shape[rank - 1]) return disagree(q, k, "the last extents differ");
  for (std::size_t d = 0; d + 1 < rank; ++d) {
    if (k.shape[d] != v.shape[d]) return disagree(k, v, cat("extents of dim ", d, " differ"));
  }
  std::vector<std::int64_t> extents = q.shape.extents();
  if (call.has(3)) {
    TensorType scores = q;
    extents[rank - 1] = k.shape[rank - 2];
    TESSERA_TRY(scores.shape, Shape::make(extents));
    const Result<Shape> sum = broadcast(scores, call.type(3));
    if (!sum || !(*sum == scores.shape)) {
      return disagree(scores, call.type(3), "the mask does not fit the scores");
    }
  }
  extents[rank - 1] = v.shape[rank - 1];
  return one(std::move(extents), q.dtype);
}

/// Two products and a softmax of five operations per score.
std::int64_t attention_flops(const Call& call, const Types& /*outputs*/) {
  const Shape& q = call.shape(0);
  const Shape& v = call.shape(2);
  const std::size_t last = q.rank() - 1;
  const std::int64_t width = std::max<std::int64_t>(q[last], 1);
  const std::int64_t scores = product({q.elements() / width, v[last - 1]});
  const Checked each = Checked(2) * q[last] + Checked(2) * v[last] + 5;
  return product({scores, each.saturated()});
}

}  // namespace

std::vector<OpRule> contraction_ops() {
  constexpr Arity kOne{1, 1};
  constexpr Family kFamily = Family::kContraction;
  return {
      {"matmul", kFamily, {2, 2}, kOne, {}, matmul, matmul_flops},
      {"gemm",
       kFamily,
       {2, 3},
       kOne,
       {real("alpha", 1.0), real("beta", 1.0), integer("trans_a", 0), integer("trans_b", 0)},
       gemm,
       gemm_flops},
      {"einsum",
       kFamily,
       {1, kAnyNumber},
       kOne,
       {required("equation", AttributeKind::kText)},
       einsum,
       einsum_flops},
      {"attention",
       kFamily,
       {3, 4},
       kOne,
       {optional("scale", AttributeKind::kReal), integer("causal", 0)},
       attention,
       attention_flops},
  };
}

}  // namespace tessera::graph::rules
