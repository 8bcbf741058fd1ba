// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"

/// rules/: the entries of the table of ops, one file for each family, and what their type rules
/// share. Rules are pure functions of types and attributes. Their errors do not name the op:
/// `infer` adds it.
namespace tessera::graph::rules {

std::vector<OpRule> elementwise_ops();
std::vector<OpRule> reduction_ops();
std::vector<OpRule> contraction_ops();
std::vector<OpRule> normalization_ops();
std::vector<OpRule> window_ops();
std::vector<OpRule> movement_ops();
std::vector<OpRule> creation_ops();

// Attributes of entries: with a default, required, or optional without a default.
AttributeRule integer(std::string_view name, std::int64_t otherwise);
AttributeRule real(std::string_view name, double otherwise);
AttributeRule text(std::string_view name, std::string_view otherwise);
AttributeRule required(std::string_view name, AttributeKind kind);
AttributeRule optional(std::string_view name, AttributeKind kind);

/// kBadNode: an attribute or a number of inputs that is wrong.
Error bad(std::string message, std::string help = "");
/// kShapeMismatch: "f32[2, 3] and f32[4, 5]: `why`".
Error disagree(const TensorType& a, const TensorType& b, std::string_view why,
               std::string help = "");

/// `axis` as a dim of a tensor of this rank; negative ones count from the end. kBadNode outside.
Result<std::size_t> dim_of(std::int64_t axis, std::size_t rank, std::string_view name = "axis");
/// Which of `rank` dims a list names. kBadNode for one that is outside or named twice.
Result<std::vector<bool>> dims_of(const std::vector<std::int64_t>& axes, std::size_t rank);

/// The shape of two operands together, by the rule of NumPy and ONNX: shapes are aligned at the
/// last dim; extents are equal, or one of them is 1. kShapeMismatch names both.
/// Example: [2, 1, 4] and [3, 1] give [2, 3, 4].
Result<Shape> broadcast(const TensorType& a, const TensorType& b);
/// The same for all inputs that are given.
Result<Shape> broadcast_all(const Call& call);

/// The inputs that are given have one element type. kBadDType names two that differ.
Status same_dtype(const Call& call, std::size_t from = 0);
enum class Accepts : std::uint8_t { kAll, kNumbers, kFloats, kIntegers, kBooleans };
Status accept_dtype(const Call& call, std::size_t input, Accepts accepts);
/// The element type that a text attribute names. kBadDType for another text.
Result<DType> dtype_attribute(const Call& call, std::string_view name);

/// One output.
Result<Types> one(std::vector<std::int64_t> extents, DType dtype);
Result<Types> one(Shape shape, DType dtype);
/// The output is like input 0, which may have any type, or must be a float or a number.
Result<Types> like_first(const Call& call);
Result<Types> like_first_float(const Call& call);
Result<Types> like_first_number(const Call& call);

/// A product that saturates at INT64_MAX.
std::int64_t product(std::initializer_list<std::int64_t> factors);
/// Arithmetic of `count` operations for each element of input 0.
template <std::int64_t kCount>
std::int64_t per_input_element(const Call& call, const Types& /*outputs*/) {
  return product({call.shape(0).elements(), kCount});
}

}  // namespace tessera::graph::rules
