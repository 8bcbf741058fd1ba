// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/frontend/elements.h"
#include "tessera/frontend/node.h"
#include "tessera/frontend/place.h"

namespace tessera::frontend {
namespace {

/// A node that is not computed, of this type and on this layout.
Result<NodePointer> source(std::string_view stem, Extents shape, DType dtype,
                           std::optional<Layout> layout) {
  auto node = std::make_shared<Tensor::Node>();
  TESSERA_TRY(node->type.shape, Shape::make(std::move(shape)));
  node->type.dtype = dtype;
  if (!dtype_bytes(dtype, node->type.shape.elements())) {
    return Error{ErrorCode::kOverflow, cat(stem, ": the bytes of ", node->type.to_string(),
                                           " do not fit a signed 64-bit integer")};
  }
  node->stem = stem;
  node->kind = graph::Kind::kConstant;
  if (layout) TESSERA_CHECK_OK(check_place(stem, node->type, *layout));
  node->layout = std::move(layout);
  return node;
}

Error in(std::string_view stem, Error error) {
  error.message = cat(stem, ": ", error.message);
  return error;
}

}  // namespace

Status check_place(std::string_view what, const graph::TensorType& type, const Layout& layout) {
  if (!(layout.shape() == type.shape)) {
    return Error{
        ErrorCode::kShapeMismatch,
        cat(what, ": a layout of ", bracketed(layout.shape().extents()), " for ", type.to_string()),
        std::nullopt, "give a layout of this shape"};
  }
  if (layout.dtype() == type.dtype) return ok_status();
  return Error{ErrorCode::kBadDType,
               cat(what, ": a layout of ", dtype_name(layout.dtype()), " for ", type.to_string()),
               std::nullopt, "give a layout of this element type"};
}

Result<Tensor> randn(Extents shape, std::uint64_t seed, DType dtype, std::optional<Layout> layout) {
  if (!graph::is_float(dtype) || is_block_float(dtype)) {
    return Error{ErrorCode::kBadDType,
                 cat("randn: ", dtype_name(dtype), " has no normally distributed numbers"),
                 std::nullopt, "f64, f32, f16, bf16 and 8-bit floats have"};
  }
  TESSERA_TRY(const NodePointer node, source("randn", std::move(shape), dtype, std::move(layout)));
  node->kind = graph::Kind::kParameter;
  node->seed = seed;
  return tensor_of(node);
}

Result<Tensor> full(Extents shape, double number, DType dtype, std::optional<Layout> layout) {
  TESSERA_TRY(const NodePointer node, source("full", std::move(shape), dtype, std::move(layout)));
  const std::int64_t elements = node->type.shape.elements();
  if (graph::element_bytes(dtype)) {
    Result<std::string> element = elements_of(std::array{number}, dtype);
    if (!element) return in("full", element.error());
    node->data = graph::Data::of_fill(*std::move(element));
    return tensor_of(node);
  }
  TESSERA_CHECK_OK(check_room((Checked(elements) * std::int64_t{sizeof number}).saturated()));
  const std::vector<double> numbers(static_cast<std::size_t>(elements), number);
  Result<std::string> bytes = elements_of(numbers, dtype);
  if (!bytes) return in("full", bytes.error());
  node->data = graph::Data::of_bytes(*std::move(bytes));
  return tensor_of(node);
}

Result<Tensor> zeros(Extents shape, DType dtype, std::optional<Layout> layout) {
  return full(std::move(shape), 0, dtype, std::move(layout));
}

Result<Tensor> ones(Extents shape, DType dtype, std::optional<Layout> layout) {
  return full(std::move(shape), 1, dtype, std::move(layout));
}

Result<Tensor> arange(double start, double limit, double step, DType dtype) {
  constexpr double kMost = 1e8;
  const double count = std::ceil((limit - start) / step);
  if (step == 0 || !std::isfinite(count) || count > kMost) {
    return Error{ErrorCode::kBadNumber,
                 cat("arange: from ", std::to_string(start), " to ", std::to_string(limit), " by ",
                     std::to_string(step), " are not at most 10^8 numbers"),
                 std::nullopt, "give finite numbers, and a step that is not 0"};
  }
  std::vector<double> numbers(static_cast<std::size_t>(std::max(count, 0.0)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = start + static_cast<double>(i) * step;
  }
  return from_numbers({std::ssize(numbers)}, numbers, dtype);
}

Result<Tensor> from_numbers(Extents shape, std::span<const double> numbers, DType dtype,
                            std::optional<Layout> layout) {
  TESSERA_TRY(const Shape extents, Shape::make(shape));
  if (extents.elements() != std::ssize(numbers)) {
    return Error{ErrorCode::kShapeMismatch, cat("from_numbers: ", std::ssize(numbers),
                                                " numbers for ", bracketed(extents.extents()))};
  }
  Result<std::string> bytes = elements_of(numbers, dtype);
  if (!bytes) return in("from_numbers", bytes.error());
  return from_bytes(std::move(shape), dtype, *std::move(bytes), std::move(layout));
}

Result<Tensor> from_bytes(Extents shape, DType dtype, std::string bytes,
                          std::optional<Layout> layout) {
  TESSERA_TRY(const NodePointer node, source("data", std::move(shape), dtype, std::move(layout)));
  if (node->type.bytes() != std::ssize(bytes)) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("from_bytes: ", std::ssize(bytes), " bytes for ", node->type.to_string(),
                     ", which has ", node->type.bytes())};
  }
  node->kind = graph::Kind::kParameter;
  node->data = graph::Data::of_bytes(std::move(bytes));
  return tensor_of(node);
}

}  // namespace tessera::frontend
