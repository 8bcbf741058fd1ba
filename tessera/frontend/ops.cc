// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/frontend/node.h"
#include "tessera/frontend/place.h"
#include "tessera/notation/tensor.h"

namespace tessera::frontend {
namespace {

/// The error of a call, after the op and the types of its operands: "matmul of f32[2, 3] and
/// f32[4, 5]: the inner extents 3 and 4 differ".
Error in_call(std::string_view op, const std::vector<const graph::TensorType*>& types,
              Error error) {
  std::string operands;
  for (const graph::TensorType* const type : types) {
    operands += cat(operands.empty() ? "" : " and ", type->to_string());
  }
  if (operands.empty()) {
    error.message = cat(op, ": ", error.message);
  } else if (error.message.starts_with(operands)) {
    error.message = cat(op, " of ", error.message);
  } else {
    error.message = cat(op, " of ", operands, ": ", error.message);
  }
  return error;
}

Result<graph::Op> find_op(std::string_view name) {
  if (const std::optional<graph::Op> op = graph::Op::find(name)) return *op;
  std::vector<std::string_view> names;
  for (const graph::OpRule& rule : graph::all_ops()) names.push_back(rule.name);
  return Error{ErrorCode::kUnknownName, cat("there is no op ", quote_name(name)), std::nullopt,
               did_you_mean(name, names)};
}

/// A number as a tensor of the type of `like`. kBadDType for a fraction beside integers.
Result<Tensor> number_like(const Operand& like, double number) {
  if (!like) return like.error();
  if (!graph::is_float(like->dtype()) && std::floor(number) != number) {
    return Error{ErrorCode::kBadDType,
                 cat("the number ", std::to_string(number), " beside ", like->type().to_string()),
                 std::nullopt, "cast the tensor to a float"};
  }
  return full({}, number, like->dtype());
}

Result<Tensor> reduce(std::string_view op, const Operand& x, const Extents& axes, bool keepdims) {
  graph::Attributes attributes{{"keepdims", std::int64_t{keepdims ? 1 : 0}}};
  if (!axes.empty()) attributes.set("axes", axes);
  return apply(op, {x}, std::move(attributes));
}

Result<Tensor> quotient(const Operand& a, const Operand& b) {
  if (a && b && !graph::is_float(a->dtype())) {
    return in_call("/", {&a->type(), &b->type()},
                   {ErrorCode::kBadDType, "only floats have quotients", std::nullopt,
                    "cast them to a float; op div has whole quotients"});
  }
  return apply("div", {a, b});
}

}  // namespace

Result<Tensor> apply(std::string_view op, const std::vector<Operand>& operands,
                     graph::Attributes attributes) {
  TESSERA_TRY(const graph::Op found, find_op(op));
  auto node = std::make_shared<Tensor::Node>();
  std::vector<const graph::TensorType*> types;
  for (const Operand& operand : operands) {
    if (!operand) return operand.error();
    types.push_back(&operand->type());
    node->inputs.push_back(operand->node());
  }
  Result<graph::Types> made = graph::infer(graph::Call(found, types, attributes, 1));
  if (!made) return in_call(op, types, made.error());
  node->type = std::move(made->front());
  node->stem = found.name();
  node->op = found;
  node->attributes = std::move(attributes);
  return tensor_of(node);
}

Result<Tensor> operator+(const Operand& a, const Operand& b) { return apply("add", {a, b}); }
Result<Tensor> operator-(const Operand& a, const Operand& b) { return apply("sub", {a, b}); }
Result<Tensor> operator*(const Operand& a, const Operand& b) { return apply("mul", {a, b}); }
Result<Tensor> operator/(const Operand& a, const Operand& b) { return quotient(a, b); }
Result<Tensor> operator+(const Operand& a, double b) { return a + number_like(a, b); }
Result<Tensor> operator-(const Operand& a, double b) { return a - number_like(a, b); }
Result<Tensor> operator*(const Operand& a, double b) { return a * number_like(a, b); }
Result<Tensor> operator/(const Operand& a, double b) { return a / number_like(a, b); }
Result<Tensor> operator+(double a, const Operand& b) { return number_like(b, a) + b; }
Result<Tensor> operator-(double a, const Operand& b) { return number_like(b, a) - b; }
Result<Tensor> operator*(double a, const Operand& b) { return number_like(b, a) * b; }
Result<Tensor> operator/(double a, const Operand& b) { return number_like(b, a) / b; }
Result<Tensor> operator-(const Operand& x) { return apply("neg", {x}); }

Result<Tensor> matmul(const Operand& a, const Operand& b) { return apply("matmul", {a, b}); }

Result<Tensor> equal(const Operand& a, const Operand& b) { return apply("equal", {a, b}); }
Result<Tensor> not_equal(const Operand& a, const Operand& b) {
  return apply("not", {apply("equal", {a, b})});
}
Result<Tensor> less(const Operand& a, const Operand& b) { return apply("less", {a, b}); }
Result<Tensor> less_equal(const Operand& a, const Operand& b) {
  return apply("less_or_equal", {a, b});
}
Result<Tensor> greater(const Operand& a, const Operand& b) { return apply("greater", {a, b}); }
Result<Tensor> greater_equal(const Operand& a, const Operand& b) {
  return apply("greater_or_equal", {a, b});
}
Result<Tensor> where(const Operand& condition, const Operand& a, const Operand& b) {
  return apply("where", {condition, a, b});
}

Result<Tensor> sum(const Operand& x, const Extents& axes, bool keepdims) {
  return reduce("reduce_sum", x, axes, keepdims);
}
Result<Tensor> mean(const Operand& x, const Extents& axes, bool keepdims) {
  return reduce("reduce_mean", x, axes, keepdims);
}
Result<Tensor> max(const Operand& x, const Extents& axes, bool keepdims) {
  return reduce("reduce_max", x, axes, keepdims);
}
Result<Tensor> min(const Operand& x, const Extents& axes, bool keepdims) {
  return reduce("reduce_min", x, axes, keepdims);
}
Result<Tensor> prod(const Operand& x, const Extents& axes, bool keepdims) {
  return reduce("reduce_prod", x, axes, keepdims);
}

Result<Tensor> relu(const Operand& x) { return apply("relu", {x}); }
Result<Tensor> gelu(const Operand& x) { return apply("gelu", {x}); }
Result<Tensor> softmax(const Operand& x, std::int64_t axis) {
  return apply("softmax", {x}, {{"axis", axis}});
}

Result<Tensor> layer_norm(const Operand& x, const std::optional<Tensor>& scale,
                          const std::optional<Tensor>& bias, std::int64_t axis, double epsilon) {
  std::vector<Operand> operands = {x, scale ? Operand(*scale) : number_like(x, 1)};
  if (bias) operands.emplace_back(*bias);
  return apply("layer_norm", operands, {{"axis", axis}, {"epsilon", epsilon}});
}

Result<Tensor> cast(const Operand& x, DType dtype) {
  return apply("cast", {x}, {{"to", std::string(dtype_name(dtype))}});
}

Result<Tensor> reshape(const Operand& x, Extents shape) {
  if (!x) return x.error();
  std::int64_t* rest = nullptr;
  Checked known(1);
  for (std::int64_t& extent : shape) {
    if (extent == -1 && rest == nullptr) {
      rest = &extent;
    } else {
      known *= extent;
    }
  }
  const std::int64_t others = known.saturated();
  if (rest != nullptr) {
    const std::int64_t elements = x->shape().elements();
    if (others <= 0 || elements % others != 0) {
      return Error{ErrorCode::kShapeMismatch,
                   cat("reshape of ", x->type().to_string(), ": no extent stands for -1 in ",
                       bracketed(shape)),
                   std::nullopt, cat("the extents multiply to ", elements)};
    }
    *rest = elements / others;
  }
  return apply("reshape", {x}, {{"shape", std::move(shape)}});
}

Result<Tensor> transpose(const Operand& x, Extents perm) {
  if (perm.empty()) return apply("transpose", {x});
  return apply("transpose", {x}, {{"perm", std::move(perm)}});
}

Result<Tensor> slice(const Operand& x, Extents starts, Extents ends, Extents steps) {
  graph::Attributes attributes{{"starts", std::move(starts)}, {"ends", std::move(ends)}};
  if (!steps.empty()) attributes.set("steps", std::move(steps));
  return apply("slice", {x}, std::move(attributes));
}

Result<Tensor> concat(const std::vector<Operand>& operands, std::int64_t axis) {
  return apply("concat", operands, {{"axis", axis}});
}

Result<Tensor> to_layout(const Operand& x, const Layout& layout) {
  if (!x) return x.error();
  TESSERA_CHECK_OK(check_place("to_layout", x->type(), layout));
  if (x->layout() && *x->layout() == layout) return x;
  TESSERA_TRY(const Tensor moved,
              apply("layout_transform", {x}, {{"layout", print_native(Placement(layout))}}));
  moved.node()->layout = layout;
  return moved;
}

}  // namespace tessera::frontend
