// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/passes/decomposition.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "tessera/graph/data.h"

namespace tessera::graph {

ValueId Decomposition::add(std::string_view name, std::vector<ValueId> inputs,
                           Attributes attributes) {
  if (error_) return kAbsent;
  std::vector<const TensorType*> types;
  for (const ValueId v : inputs) types.push_back(&type(v));
  const Op op = *Op::find(name);
  Result<Types> made = infer(Call(op, types, attributes, 1));
  if (!made) {
    error_ = made.error();
    return kAbsent;
  }
  const auto id = static_cast<ValueId>(first() + values_.size());
  values_.push_back({std::string(name), std::move((*made)[0]), Kind::kComputed});
  nodes_.push_back({"", op, std::move(inputs), {id}, std::move(attributes)});
  return id;
}

ValueId Decomposition::cast(ValueId x, DType dtype) {
  if (error_ || type(x).dtype == dtype) return x;
  return add("cast", {x}, {{"to", std::string(dtype_name(dtype))}});
}

ValueId Decomposition::reshape(ValueId x, std::vector<std::int64_t> extents) {
  if (error_ || type(x).shape.extents() == extents) return x;
  return add("reshape", {x}, {{"shape", std::move(extents)}});
}

ValueId Decomposition::number(double number, DType dtype) {
  const auto id = static_cast<ValueId>(first() + values_.size());
  values_.push_back({"number",
                     {Shape(), dtype},
                     Kind::kConstant,
                     Data::of_bytes(*bytes_of(std::vector<double>{number}, dtype))});
  return id;
}

namespace {

using Axes = std::vector<std::int64_t>;

/// The type in which an op computes on elements of this type.
DType wide(DType dtype) { return dtype == DType::kF64 ? dtype : DType::kF32; }

ValueId reduced(Decomposition& d, std::string_view op, ValueId x, const Axes& axes) {
  return d.add(op, {x}, {{"axes", axes}, {"keepdims", std::int64_t{1}}});
}

std::size_t axis_of(const Decomposition& d) {
  const std::int64_t axis = d.call().integer("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + std::ssize(d.shape(0).extents()) : axis);
}

/// The largest element is subtracted first, so that no exponential overflows.
ValueId below_largest(Decomposition& d, const Axes& axes) {
  const ValueId x = d.cast(d.in(0), wide(d.dtype(0)));
  return d.add("sub", {x, reduced(d, "reduce_max", x, axes)});
}

void softmax(Decomposition& d) {
  const Axes axes = {static_cast<std::int64_t>(axis_of(d))};
  const ValueId e = d.add("exp", {below_largest(d, axes)});
  const ValueId y = d.add("div", {e, reduced(d, "reduce_sum", e, axes)});
  d.returns({d.cast(y, d.dtype(0))});
}

void log_softmax(Decomposition& d) {
  const Axes axes = {static_cast<std::int64_t>(axis_of(d))};
  const ValueId s = below_largest(d, axes);
  const ValueId sum = reduced(d, "reduce_sum", d.add("exp", {s}), axes);
  const ValueId y = d.add("sub", {s, d.add("log", {sum})});
  d.returns({d.cast(y, d.dtype(0))});
}

/// 1 / sqrt(x + epsilon).
ValueId inverse_root(Decomposition& d, ValueId x, DType dtype) {
  return d.add("rsqrt", {d.add("add", {x, d.number(d.call().real("epsilon"), dtype)})});
}

/// What a norm computes from its input along some axes, in type `dtype`.
struct Normal {
  ValueId mean;
  ValueId inverse;  ///< 1 / deviation
  ValueId normal;   ///< (x - mean) / deviation
};
Normal normalize(Decomposition& d, ValueId x, const Axes& axes, DType dtype) {
  const ValueId mean = reduced(d, "reduce_mean", x, axes);
  const ValueId centered = d.add("sub", {x, mean});
  const ValueId squares = d.add("mul", {centered, centered});
  const ValueId inverse = inverse_root(d, reduced(d, "reduce_mean", squares, axes), dtype);
  return {mean, inverse, d.add("mul", {centered, inverse})};
}

/// The dims from the attribute `axis` on.
Axes normalized_axes(const Decomposition& d) {
  Axes axes;
  for (std::size_t k = axis_of(d); k < d.shape(0).rank(); ++k) {
    axes.push_back(static_cast<std::int64_t>(k));
  }
  return axes;
}

void layer_norm(Decomposition& d) {
  const DType dtype = wide(d.dtype(0));
  const Normal n = normalize(d, d.cast(d.in(0), dtype), normalized_axes(d), dtype);
  ValueId y = d.add("mul", {n.normal, d.cast(d.in(1), dtype)});
  if (d.has(2)) y = d.add("add", {y, d.cast(d.in(2), dtype)});
  // The mean and the inverse deviation are outputs of type f32, on request.
  std::vector<ValueId> results = {d.cast(y, d.dtype(0))};
  if (d.outputs() > 1) results.push_back(d.cast(n.mean, DType::kF32));
  if (d.outputs() > 2) results.push_back(d.cast(n.inverse, DType::kF32));
  d.returns(std::move(results));
}

void rms_norm(Decomposition& d) {
  const DType dtype = wide(d.dtype(0));
  const ValueId x = d.cast(d.in(0), dtype);
  const ValueId squares = reduced(d, "reduce_mean", d.add("mul", {x, x}), normalized_axes(d));
  ValueId y = d.add("mul", {x, inverse_root(d, squares, dtype)});
  if (d.has(1)) y = d.add("mul", {y, d.cast(d.in(1), dtype)});
  d.returns({d.cast(y, d.dtype(0))});
}

/// [C] as [C, 1, ..], which is broadcast along dim 1 of input 0.
ValueId per_channel(Decomposition& d, ValueId x) {
  const Shape& shape = d.shape(0);
  Axes extents(std::max<std::size_t>(shape.rank(), 2) - 1, 1);
  if (shape.rank() > 1) extents[0] = shape[1];
  return d.reshape(x, std::move(extents));
}

void batch_norm(Decomposition& d) {
  const DType dtype = wide(d.dtype(0));
  const auto input = [&](std::size_t i) { return d.cast(d.in(i), dtype); };
  const ValueId factor = d.add("mul", {input(1), inverse_root(d, input(4), dtype)});
  const ValueId centered = d.add("sub", {input(0), per_channel(d, input(3))});
  const ValueId scaled = d.add("mul", {centered, per_channel(d, factor)});
  const ValueId y = d.add("add", {scaled, per_channel(d, input(2))});
  d.returns({d.cast(y, d.dtype(0))});
}

/// Groups of channels become one dim that is reduced.
void norm_of_groups(Decomposition& d, std::int64_t groups) {
  const Shape& shape = d.shape(0);
  const DType dtype = wide(d.dtype(0));
  const std::int64_t each = shape.elements() / shape[0] / groups;
  const ValueId x = d.reshape(d.cast(d.in(0), dtype), {shape[0], groups, each});
  const ValueId normal = d.reshape(normalize(d, x, {2}, dtype).normal, shape.extents());
  const ValueId scaled = d.add("mul", {normal, per_channel(d, d.cast(d.in(1), dtype))});
  const ValueId y = d.add("add", {scaled, per_channel(d, d.cast(d.in(2), dtype))});
  d.returns({d.cast(y, d.dtype(0))});
}

void group_norm(Decomposition& d) { norm_of_groups(d, d.call().integer("groups")); }

void instance_norm(Decomposition& d) {
  norm_of_groups(d, d.shape(0).rank() < 2 ? 1 : d.shape(0)[1]);
}

/// x/2·(1 + erf(x/√2)), or with tanh(√(2/π)·(x + 0.044715·x³)) in place of erf.
void gelu(Decomposition& d) {
  const DType dtype = wide(d.dtype(0));
  const auto scaled = [&](ValueId x, double by) { return d.add("mul", {x, d.number(by, dtype)}); };
  const ValueId x = d.cast(d.in(0), dtype);
  ValueId curve = kAbsent;
  if (d.call().text("approximate") == "tanh") {
    const ValueId cube = d.add("mul", {d.add("mul", {x, x}), x});
    const ValueId inner = d.add("add", {x, scaled(cube, 0.044715)});
    curve = d.add("tanh", {scaled(inner, std::numbers::sqrt2 * std::numbers::inv_sqrtpi)});
  } else {
    curve = d.add("erf", {scaled(x, std::numbers::sqrt2 / 2)});
  }
  const ValueId one_more = d.add("add", {curve, d.number(1, dtype)});
  const ValueId y = d.add("mul", {scaled(x, 0.5), one_more});
  d.returns({d.cast(y, d.dtype(0))});
}

/// Which keys [keys] a query [queries, 1] sees: the last query sees all, the one before it all but
/// the last, and so on.
ValueId causal_view(Decomposition& d, std::int64_t queries, std::int64_t keys) {
  const auto positions = [&](std::int64_t from) {
    return d.add("range", {},
                 {{"start", static_cast<double>(from)},
                  {"limit", static_cast<double>(keys)},
                  {"dtype", std::string(dtype_name(DType::kI64))}});
  };
  const ValueId last_seen = d.reshape(positions(keys - queries), {queries, 1});
  return d.add("less_or_equal", {positions(0), last_seen});
}

/// Products have the type of the operands, and what is between them is wide. Where several heads of
/// queries share one of keys, their rows follow each other in memory, so they are rows of one
/// matrix: [12 heads, 5, 64] is [4 heads, 15, 64] for 4 heads of keys.
void attention(Decomposition& d) {
  const Shape& q = d.shape(0);
  const Shape& k = d.shape(1);
  const std::size_t rank = q.rank();
  const DType dtype = wide(d.dtype(0));
  const std::int64_t queries = q[rank - 2];
  const std::int64_t keys = k[rank - 2];
  // `extents` with the rows of heads that share keys put together.
  const auto shared = [&](ValueId x, std::vector<std::int64_t> extents) {
    if (rank > 2) {
      extents[rank - 2] *= q[rank - 3] / k[rank - 3];
      extents[rank - 3] = k[rank - 3];
    }
    return d.reshape(x, std::move(extents));
  };
  std::vector<std::int64_t> perm(rank);
  for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>(i);
  std::swap(perm[rank - 2], perm[rank - 1]);

  const ValueId turned = d.add("transpose", {d.in(1)}, {{"perm", perm}});
  const ValueId product = d.add("matmul", {shared(d.in(0), q.extents()), turned});
  std::vector<std::int64_t> extents = q.extents();
  extents[rank - 1] = keys;
  const double scale = d.call().given("scale") ? d.call().real("scale")
                                               : 1 / std::sqrt(static_cast<double>(q[rank - 1]));
  ValueId scores =
      d.add("mul", {d.cast(d.reshape(product, extents), dtype), d.number(scale, dtype)});
  if (d.has(3)) scores = d.add("add", {scores, d.cast(d.in(3), dtype)});
  if (d.call().integer("causal") != 0) {
    scores = d.add("where", {causal_view(d, queries, keys), scores, d.number(-INFINITY, dtype)});
  }
  const ValueId weights = d.cast(d.add("softmax", {scores}), d.dtype(0));
  const ValueId y = d.add("matmul", {shared(weights, extents), d.in(2)});
  extents[rank - 1] = d.shape(2)[rank - 1];
  d.returns({d.reshape(y, std::move(extents))});
}

}  // namespace

const std::map<std::string_view, void (*)(Decomposition&)>& decompositions() {
  static const std::map<std::string_view, void (*)(Decomposition&)> kAll = {
      {"attention", attention},     {"batch_norm", batch_norm},       {"gelu", gelu},
      {"group_norm", group_norm},   {"instance_norm", instance_norm}, {"layer_norm", layer_norm},
      {"log_softmax", log_softmax}, {"rms_norm", rms_norm},           {"softmax", softmax},
  };
  return kAll;
}

}  // namespace tessera::graph
