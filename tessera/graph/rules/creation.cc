// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/graph/data.h"
#include "tessera/graph/rules/rules.h"

namespace tessera::graph::rules {
namespace {

/// Elements as `integers` or as `reals`, in row-major order.
Result<Types> constant(const Call& call) {
  TESSERA_TRY(const DType dtype, dtype_attribute(call, "dtype"));
  TESSERA_TRY(Types types, one(call.integers("shape"), dtype));
  const std::string_view list = is_float(dtype) ? "reals" : "integers";
  const std::size_t count =
      is_float(dtype) ? call.reals("reals").size() : call.integers("integers").size();
  if (static_cast<std::int64_t>(count) == types[0].shape.elements()) return types;
  return bad(cat("attribute ", list, " has ", count, " elements for ", types[0].to_string()));
}

Result<Types> constant_of_shape(const Call& call) {
  TESSERA_TRY(const DType dtype, dtype_attribute(call, "dtype"));
  return one(call.integers("shape"), dtype);
}

/// Dims [start, end) of the input's shape, as in a slice.
Result<Types> shape_of(const Call& call) {
  const auto rank = static_cast<std::int64_t>(call.shape(0).rank());
  const auto settle = [&](std::int64_t at) {
    return std::clamp(at < 0 ? (Checked(at) + rank).raw() : at, std::int64_t{0}, rank);
  };
  const std::int64_t start = settle(call.integer("start"));
  const std::int64_t end = call.given("end") ? settle(call.integer("end")) : rank;
  return one({std::max<std::int64_t>(end - start, 0)}, DType::kI64);
}

Result<Types> size_of(const Call& /*call*/) {
  return one(std::vector<std::int64_t>{}, DType::kI64);
}

/// max(ceil((limit - start) / delta), 0) numbers.
Result<Types> range(const Call& call) {
  TESSERA_TRY(const DType dtype, dtype_attribute(call, "dtype"));
  const double delta = call.real("delta");
  const double count = std::ceil((call.real("limit") - call.real("start")) / delta);
  constexpr double kMost = 1e15;
  if (delta == 0 || !std::isfinite(count) || count > kMost) {
    return bad("start, limit and delta describe no finite range", "delta is not 0");
  }
  return one({static_cast<std::int64_t>(std::max(count, 0.0))}, dtype);
}

/// one_hot(indices, [off, on]): a new dim of `depth` at `axis`.
Result<Types> one_hot(const Call& call) {
  if (call.shape(1).extents() != std::vector<std::int64_t>{2}) {
    return disagree(call.type(0), call.type(1), "input 1 is the pair [off, on]");
  }
  std::vector<std::int64_t> extents = call.shape(0).extents();
  TESSERA_TRY(const std::size_t dim, dim_of(call.integer("axis"), extents.size() + 1));
  extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(dim), call.integer("depth"));
  return one(std::move(extents), call.dtype(1));
}

Result<Types> top_k(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_TRY(const std::size_t dim, dim_of(call.integer("axis"), call.shape(0).rank()));
  std::vector<std::int64_t> extents = call.shape(0).extents();
  const std::int64_t k = call.integer("k");
  if (k < 0 || k > extents[dim]) {
    return bad(cat("k is ", k, ", but axis ", dim, " has extent ", extents[dim]));
  }
  extents[dim] = k;
  TESSERA_TRY(Types types, one(std::move(extents), call.dtype(0)));
  types.push_back({types[0].shape, DType::kI64});
  return types;
}

Result<Types> eye_like(const Call& call) {
  if (call.shape(0).rank() != 2) return bad(cat("the input is ", call.type(0).to_string()));
  if (!call.given("dtype")) return like_first(call);
  TESSERA_TRY(const DType dtype, dtype_attribute(call, "dtype"));
  return one(call.shape(0), dtype);
}

/// An op of another system: nothing is known but the types that the file declares.
Result<Types> opaque(const Call& call) {
  Types types;
  for (const TensorType* const type : call.declared()) {
    if (type != nullptr) types.push_back(*type);
  }
  if (types.size() == call.outputs()) return types;
  return bad("an output has no declared type",
             "the outputs of an opaque op are listed under values, with shape and dtype");
}

}  // namespace

std::vector<OpRule> creation_ops() {
  constexpr Arity kNone{0, 0};
  constexpr Arity kOne{1, 1};
  constexpr Family kFamily = Family::kCreation;
  constexpr AttributeKind kList = AttributeKind::kIntegers;
  const AttributeRule shape = required("shape", kList);
  const AttributeRule dtype = text("dtype", "f32");
  return {
      {"constant",
       kFamily,
       kNone,
       kOne,
       {shape, dtype, optional("integers", kList), optional("reals", AttributeKind::kReals)},
       constant},
      {"constant_of_shape",
       kFamily,
       kNone,
       kOne,
       {shape, dtype, real("value", 0.0)},
       constant_of_shape},
      {"shape",
       kFamily,
       kOne,
       kOne,
       {integer("start", 0), optional("end", AttributeKind::kInteger)},
       shape_of},
      {"size", kFamily, kOne, kOne, {}, size_of},
      {"range",
       kFamily,
       kNone,
       kOne,
       {real("start", 0.0), required("limit", AttributeKind::kReal), real("delta", 1.0), dtype},
       range},
      {"one_hot",
       kFamily,
       {2, 2},
       kOne,
       {required("depth", AttributeKind::kInteger), integer("axis", -1)},
       one_hot},
      {"topk",
       kFamily,
       kOne,
       {2, 2},
       {required("k", AttributeKind::kInteger), integer("axis", -1), integer("largest", 1),
        integer("sorted", 1)},
       top_k,
       per_input_element<1>},
      {"eye_like",
       kFamily,
       kOne,
       kOne,
       {integer("k", 0), optional("dtype", AttributeKind::kText)},
       eye_like},
      {"opaque",
       Family::kOther,
       {0, kAnyNumber},
       {0, kAnyNumber},
       {},
       opaque,
       nullptr,
       0,
       false,
       true},
  };
}

}  // namespace tessera::graph::rules
