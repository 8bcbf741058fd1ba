// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "tessera/graph/data.h"
#include "tessera/graph/rules/rules.h"

namespace tessera::graph::rules {
namespace {

Result<Types> numbers(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_CHECK_OK(same_dtype(call));
  TESSERA_TRY(Shape shape, broadcast_all(call));
  return one(std::move(shape), call.dtype(0));
}

/// The exponent may have another type than the base.
Result<Types> power(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_CHECK_OK(accept_dtype(call, 1, Accepts::kNumbers));
  TESSERA_TRY(Shape shape, broadcast_all(call));
  return one(std::move(shape), call.dtype(0));
}

Result<Types> integers(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kIntegers));
  return numbers(call);
}

Result<Types> comparison(const Call& call) {
  TESSERA_CHECK_OK(same_dtype(call));
  TESSERA_TRY(Shape shape, broadcast_all(call));
  return one(std::move(shape), DType::kBool);
}

Result<Types> logic(const Call& call) {
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    TESSERA_CHECK_OK(accept_dtype(call, i, Accepts::kBooleans));
  }
  TESSERA_TRY(Shape shape, broadcast_all(call));
  return one(std::move(shape), DType::kBool);
}

Result<Types> where(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kBooleans));
  TESSERA_CHECK_OK(same_dtype(call, 1));
  TESSERA_TRY(Shape shape, broadcast_all(call));
  return one(std::move(shape), call.dtype(1));
}

/// The slope is broadcast to the shape of x, never the other way.
Result<Types> prelu(const Call& call) {
  TESSERA_CHECK_OK(same_dtype(call));
  TESSERA_TRY(const Shape shape, broadcast_all(call));
  if (shape == call.shape(0)) return like_first_number(call);
  return disagree(call.type(0), call.type(1), "the slope is larger than the input",
                  "a slope has one element, one per channel as [C, 1, 1], or the input's shape");
}

Result<Types> clip(const Call& call) {
  TESSERA_CHECK_OK(same_dtype(call));
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    if (call.has(i) && call.shape(i).elements() != 1) {
      return disagree(call.type(0), call.type(i), "a limit has one element");
    }
  }
  return like_first_number(call);
}

Result<Types> cast(const Call& call) {
  TESSERA_TRY(const DType dtype, dtype_attribute(call, "to"));
  return one(call.shape(0), dtype);
}

Result<Types> gelu(const Call& call) {
  const std::string_view form = call.text("approximate");
  if (form == "none" || form == "tanh") return like_first_float(call);
  return bad("attribute approximate is neither none nor tanh", "none uses erf");
}

Result<Types> test(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kFloats));
  return one(call.shape(0), DType::kBool);
}

Result<Types> shift(const Call& call) {
  const std::string_view direction = call.text("direction");
  if (direction == "left" || direction == "right") return integers(call);
  return bad("attribute direction is neither left nor right");
}

}  // namespace

std::vector<OpRule> elementwise_ops() {
  constexpr Family kFamily = Family::kElementwise;
  constexpr Arity kOne{1, 1};
  constexpr Arity kTwo{2, 2};
  constexpr Arity kThree{3, 3};
  std::vector<OpRule> ops;
  const auto add = [&](std::string_view name, Arity inputs, std::vector<AttributeRule> attributes,
                       Result<Types> (*infer)(const Call&), std::int64_t per_element) {
    ops.push_back(
        {name, kFamily, inputs, kOne, std::move(attributes), infer, nullptr, per_element});
  };
  for (const std::string_view name : {"add", "sub", "mul", "div", "max", "min"}) {
    add(name, kTwo, {}, numbers, 1);
  }
  add("mod", kTwo, {integer("fmod", 0)}, numbers, 1);
  add("pow", kTwo, {}, power, 1);
  add("bit_shift", kTwo, {text("direction", "left")}, shift, 1);
  for (const std::string_view name :
       {"equal", "greater", "greater_or_equal", "less", "less_or_equal"}) {
    add(name, kTwo, {}, comparison, 1);
  }
  for (const std::string_view name : {"and", "or", "xor"}) add(name, kTwo, {}, logic, 1);
  add("not", kOne, {}, logic, 1);
  add("where", kThree, {}, where, 1);

  for (const std::string_view name : {"relu", "neg", "abs", "sign"}) {
    add(name, kOne, {}, like_first_number, 1);
  }
  add("clip", {1, 3}, {}, clip, 2);
  add("leaky_relu", kOne, {real("alpha", 0.01)}, like_first_float, 2);
  add("prelu", kTwo, {}, prelu, 2);
  add("elu", kOne, {real("alpha", 1.0)}, like_first_float, 3);
  add("celu", kOne, {real("alpha", 1.0)}, like_first_float, 4);
  add("selu", kOne, {real("alpha", 1.6732631921768188), real("gamma", 1.0507009873554805)},
      like_first_float, 4);
  add("thresholded_relu", kOne, {real("alpha", 1.0)}, like_first_float, 1);
  add("shrink", kOne, {real("bias", 0.0), real("lambd", 0.5)}, like_first_number, 2);
  add("hard_sigmoid", kOne, {real("alpha", 0.2), real("beta", 0.5)}, like_first_float, 4);
  add("hard_swish", kOne, {}, like_first_float, 5);
  add("gelu", kOne, {text("approximate", "none")}, gelu, 8);
  for (const std::string_view name :
       {"floor", "ceil", "round", "exp",   "log",   "sqrt", "reciprocal",
        "erf",   "sin",  "cos",   "tan",   "asin",  "acos", "atan",
        "sinh",  "cosh", "tanh",  "asinh", "acosh", "atanh"}) {
    add(name, kOne, {}, like_first_float, 1);
  }
  add("rsqrt", kOne, {}, like_first_float, 2);
  add("sigmoid", kOne, {}, like_first_float, 3);
  add("softplus", kOne, {}, like_first_float, 3);
  add("softsign", kOne, {}, like_first_float, 3);
  add("is_nan", kOne, {}, test, 1);
  add("is_inf", kOne, {integer("detect_negative", 1), integer("detect_positive", 1)}, test, 1);
  add("cast", kOne, {required("to", AttributeKind::kText)}, cast, 1);
  return ops;
}

}  // namespace tessera::graph::rules
