// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tessera/graph/rules/rules.h"

namespace tessera::graph::rules {
namespace {

/// The shape of input 0 without the reduced dims, or with extent 1 there.
std::vector<std::int64_t> kept(const Shape& shape, const std::vector<bool>& reduced, bool keep) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (!reduced[d]) {
      extents.push_back(shape[d]);
    } else if (keep) {
      extents.push_back(1);
    }
  }
  return extents;
}

/// Without axes all dims are reduced.
Result<Types> reduce(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  std::vector<bool> reduced(call.shape(0).rank(), true);
  if (call.given("axes")) {
    TESSERA_TRY(reduced, dims_of(call.integers("axes"), call.shape(0).rank()));
  }
  return one(kept(call.shape(0), reduced, call.integer("keepdims") != 0), call.dtype(0));
}

Result<Types> position(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_TRY(const std::size_t dim, dim_of(call.integer("axis"), call.shape(0).rank()));
  if (call.shape(0)[dim] == 0) {
    return bad(cat("axis ", dim, " of ", call.type(0).to_string(), " has no element to choose"));
  }
  std::vector<bool> reduced(call.shape(0).rank(), false);
  reduced[dim] = true;
  return one(kept(call.shape(0), reduced, call.integer("keepdims") != 0), DType::kI64);
}

Result<Types> running(const Call& call) {
  TESSERA_CHECK_OK(dim_of(call.integer("axis"), call.shape(0).rank()));
  return like_first_number(call);
}

}  // namespace

std::vector<OpRule> reduction_ops() {
  constexpr Arity kOne{1, 1};
  constexpr Family kFamily = Family::kReduction;
  std::vector<OpRule> ops;
  const auto add = [&](std::string_view name, std::vector<AttributeRule> attributes,
                       Result<Types> (*infer)(const Call&),
                       std::int64_t (*flops)(const Call&, const Types&)) {
    ops.push_back({name, kFamily, kOne, kOne, std::move(attributes), infer, flops});
  };
  const std::vector<AttributeRule> axes = {optional("axes", AttributeKind::kIntegers),
                                           integer("keepdims", 1)};
  for (const std::string_view name :
       {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_log_sum"}) {
    add(name, axes, reduce, per_input_element<1>);
  }
  for (const std::string_view name :
       {"reduce_l1", "reduce_l2", "reduce_sum_square", "reduce_log_sum_exp"}) {
    add(name, axes, reduce, per_input_element<2>);
  }
  const std::vector<AttributeRule> axis = {integer("axis", 0), integer("keepdims", 1),
                                           integer("select_last", 0)};
  add("argmax", axis, position, per_input_element<1>);
  add("argmin", axis, position, per_input_element<1>);
  add("cumsum",
      {required("axis", AttributeKind::kInteger), integer("exclusive", 0), integer("reverse", 0)},
      running, per_input_element<1>);
  return ops;
}

}  // namespace tessera::graph::rules
