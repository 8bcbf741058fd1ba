// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/rules/rules.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/data.h"

namespace tessera::graph::rules {

AttributeRule integer(std::string_view name, std::int64_t otherwise) {
  return {name, AttributeKind::kInteger, false, otherwise};
}
AttributeRule real(std::string_view name, double otherwise) {
  return {name, AttributeKind::kReal, false, otherwise};
}
AttributeRule text(std::string_view name, std::string_view otherwise) {
  return {name, AttributeKind::kText, false, std::string(otherwise)};
}
AttributeRule required(std::string_view name, AttributeKind kind) { return {name, kind, true, {}}; }
AttributeRule optional(std::string_view name, AttributeKind kind) {
  return {name, kind, false, {}};
}

Error bad(std::string message, std::string help) {
  return Error{ErrorCode::kBadNode, std::move(message), std::nullopt, std::move(help)};
}

Error disagree(const TensorType& a, const TensorType& b, std::string_view why, std::string help) {
  return Error{ErrorCode::kShapeMismatch, cat(a.to_string(), " and ", b.to_string(), ": ", why),
               std::nullopt, std::move(help)};
}

Result<std::size_t> dim_of(std::int64_t axis, std::size_t rank, std::string_view name) {
  const auto dims = static_cast<std::int64_t>(rank);
  if (axis >= -dims && axis < dims) return static_cast<std::size_t>(axis < 0 ? axis + dims : axis);
  return bad(cat(name, " ", axis, " of a tensor of rank ", rank),
             rank == 0 ? "a tensor of rank 0 has no axis" : cat("from ", -dims, " to ", dims - 1));
}

Result<std::vector<bool>> dims_of(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<bool> named(rank, false);
  for (const std::int64_t axis : axes) {
    TESSERA_TRY(const std::size_t dim, dim_of(axis, rank));
    if (named[dim]) return bad(cat("axis ", axis, " is listed twice"), "list each axis once");
    named[dim] = true;
  }
  return named;
}

Result<Shape> broadcast(const TensorType& a, const TensorType& b) {
  const std::size_t rank = std::max(a.shape.rank(), b.shape.rank());
  std::vector<std::int64_t> extents(rank);
  for (std::size_t i = 0; i < rank; ++i) {  // from the last dim
    const std::int64_t x = i < a.shape.rank() ? a.shape[a.shape.rank() - 1 - i] : 1;
    const std::int64_t y = i < b.shape.rank() ? b.shape[b.shape.rank() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return disagree(a, b, cat("extents ", x, " and ", y, " cannot be broadcast"),
                      "aligned at the last dim, extents are equal or one of them is 1");
    }
    extents[rank - 1 - i] = x == 1 ? y : x;
  }
  return Shape::make(std::move(extents));
}

Result<Shape> broadcast_all(const Call& call) {
  TensorType all;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (!call.has(i)) continue;
    all.dtype = call.dtype(i);
    TESSERA_TRY(all.shape, broadcast(all, call.type(i)));
  }
  return all.shape;
}

Status same_dtype(const Call& call, std::size_t from) {
  for (std::size_t i = from; i < call.inputs(); ++i) {
    if (!call.has(i) || call.dtype(i) == call.dtype(from)) continue;
    return Error{ErrorCode::kBadDType,
                 cat("inputs ", from, " and ", i, " are ", call.type(from).to_string(), " and ",
                     call.type(i).to_string()),
                 std::nullopt, "give them the same element type with a cast"};
  }
  return ok_status();
}

Status accept_dtype(const Call& call, std::size_t input, Accepts accepts) {
  if (!call.has(input)) return ok_status();
  const DType dtype = call.dtype(input);
  const auto refuse = [&](std::string_view wanted) {
    return Error{ErrorCode::kBadDType,
                 cat("input ", input, " is ", call.type(input).to_string(), ", expected ", wanted),
                 std::nullopt, "cast it first"};
  };
  switch (accepts) {
    case Accepts::kAll:
      break;
    case Accepts::kNumbers:
      if (dtype == DType::kBool) return refuse("a number type");
      break;
    case Accepts::kFloats:
      if (!is_float(dtype)) return refuse("a float type");
      break;
    case Accepts::kIntegers:
      if (!is_integer(dtype)) return refuse("an integer type");
      break;
    case Accepts::kBooleans:
      if (dtype != DType::kBool) return refuse("booleans (i1)");
      break;
  }
  return ok_status();
}

Result<DType> dtype_attribute(const Call& call, std::string_view name) {
  const std::optional<DType> dtype = parse_dtype(call.text(name));
  if (dtype) return *dtype;
  return Error{
      ErrorCode::kBadDType,
      cat("attribute ", name, " is ", quote_name(call.text(name)), ", which is no element type"),
      std::nullopt, "such as f32, bf16, i64, ui8 or i1"};
}

Result<Types> one(std::vector<std::int64_t> extents, DType dtype) {
  TESSERA_TRY(Shape shape, Shape::make(std::move(extents)));
  return one(std::move(shape), dtype);
}

Result<Types> one(Shape shape, DType dtype) { return Types{{std::move(shape), dtype}}; }

Result<Types> like_first(const Call& call) { return Types{call.type(0)}; }

Result<Types> like_first_float(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kFloats));
  return like_first(call);
}

Result<Types> like_first_number(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  return like_first(call);
}

std::int64_t product(std::initializer_list<std::int64_t> factors) {
  Checked all(1);
  for (const std::int64_t factor : factors) all *= factor;
  return all.saturated();
}

}  // namespace tessera::graph::rules
