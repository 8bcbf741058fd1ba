// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/graph/rules/rules.h"

namespace tessera::graph::rules {
namespace {

Result<Types> along_axis(const Call& call) {
  TESSERA_CHECK_OK(dim_of(call.integer("axis"), call.shape(0).rank()));
  return like_first_float(call);
}

/// Scale and bias are broadcast to the normalized dims [axis, rank).
Status check_normalized(const Call& call, std::size_t from) {
  const Shape& shape = call.shape(0);
  TensorType part = call.type(0);
  TESSERA_TRY(part.shape, Shape::make({shape.extents().begin() + static_cast<std::ptrdiff_t>(from),
                                       shape.extents().end()}));
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    if (!call.has(i)) continue;
    const Result<Shape> together = broadcast(part, call.type(i));
    if (together && *together == part.shape) continue;
    return disagree(call.type(0), call.type(i),
                    cat("input ", i, " does not fit the normalized dims ", part.to_string()));
  }
  return ok_status();
}

/// Outputs: the result, and on request the means and the inverse deviations.
Result<Types> layer_norm(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kFloats));
  TESSERA_CHECK_OK(same_dtype(call));
  TESSERA_TRY(const std::size_t axis, dim_of(call.integer("axis"), call.shape(0).rank()));
  TESSERA_CHECK_OK(check_normalized(call, axis));
  Types types = {call.type(0)};
  std::vector<std::int64_t> extents = call.shape(0).extents();
  for (std::size_t d = axis; d < extents.size(); ++d) extents[d] = 1;
  TESSERA_TRY(const Shape statistics, Shape::make(std::move(extents)));
  while (types.size() < call.outputs()) types.push_back({statistics, DType::kF32});
  return types;
}

Result<Types> rms_norm(const Call& call) {
  TESSERA_CHECK_OK(same_dtype(call));
  TESSERA_TRY(const std::size_t axis, dim_of(call.integer("axis"), call.shape(0).rank()));
  TESSERA_CHECK_OK(check_normalized(call, axis));
  return like_first_float(call);
}

/// Every input after the first has one element per channel, which is dim 1.
Result<Types> per_channel(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kFloats));
  const Shape& shape = call.shape(0);
  if (shape.rank() < 1) return bad("the input has rank 0", "dim 1 is the channels");
  const std::int64_t channels = shape.rank() < 2 ? 1 : shape[1];
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    if (call.shape(i).extents() != std::vector{channels}) {
      return disagree(call.type(0), call.type(i),
                      cat("input ", i, " has one element for each of ", channels, " channels"));
    }
  }
  return like_first(call);
}

Result<Types> group_norm(const Call& call) {
  TESSERA_TRY(Types types, per_channel(call));
  const std::int64_t groups = call.integer("groups");
  const std::int64_t channels = call.shape(0).rank() < 2 ? 1 : call.shape(0)[1];
  if (groups >= 1 && channels % groups == 0) return types;
  return bad(cat(groups, " groups of ", channels, " channels"), "groups divide the channels");
}

Result<Types> lrn(const Call& call) {
  if (call.integer("size") < 1) return bad(cat("size ", call.integer("size")), "at least 1");
  if (call.shape(0).rank() < 2) return bad("the input has no channels", "dim 1 is the channels");
  return like_first_float(call);
}

std::int64_t lrn_flops(const Call& call, const Types& /*outputs*/) {
  return product(
      {call.shape(0).elements(), 2 * std::min<std::int64_t>(call.integer("size"), 1 << 20)});
}

}  // namespace

std::vector<OpRule> normalization_ops() {
  constexpr Arity kOne{1, 1};
  constexpr Family kFamily = Family::kNormalization;
  const AttributeRule axis = integer("axis", -1);
  const AttributeRule epsilon = real("epsilon", 1e-5);
  return {
      {"softmax", kFamily, kOne, kOne, {axis}, along_axis, per_input_element<5>},
      {"log_softmax", kFamily, kOne, kOne, {axis}, along_axis, per_input_element<5>},
      {"hardmax", kFamily, kOne, kOne, {axis}, along_axis, per_input_element<1>},
      {"layer_norm", kFamily, {2, 3}, {1, 3}, {axis, epsilon}, layer_norm, per_input_element<8>},
      {"rms_norm", kFamily, {1, 2}, kOne, {axis, epsilon}, rms_norm, per_input_element<5>},
      {"batch_norm", kFamily, {5, 5}, kOne, {epsilon}, per_channel, per_input_element<2>},
      {"instance_norm", kFamily, {3, 3}, kOne, {epsilon}, per_channel, per_input_element<8>},
      {"group_norm",
       kFamily,
       {3, 3},
       kOne,
       {required("groups", AttributeKind::kInteger), epsilon},
       group_norm,
       per_input_element<8>},
      {"lrn",
       kFamily,
       kOne,
       kOne,
       {real("alpha", 1e-4), real("beta", 0.75), real("bias", 1.0),
        required("size", AttributeKind::kInteger)},
       lrn,
       lrn_flops},
  };
}

}  // namespace tessera::graph::rules
