// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/fold.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tessera/graph/fold_parts.h"

namespace tessera::graph {
namespace folding {

bool is_known_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 ||
         (!is_float(dtype) && element_bytes(dtype).has_value());
}

std::optional<Numbers> numbers_of(const Data& data, const TensorType& type) {
  if (!is_known_type(type.dtype)) return std::nullopt;
  Numbers out{type.shape, type.dtype, {}, {}};
  if (out.real()) {
    auto reals = reals_of(data, type.shape, type.dtype, kMostFolded);
    if (!reals) return std::nullopt;
    out.reals = *std::move(reals);
  } else {
    auto integers = integers_of(data, type.shape, type.dtype, kMostFolded);
    if (!integers) return std::nullopt;
    out.integers = *std::move(integers);
  }
  return out;
}

std::optional<Data> data_of(const Numbers& numbers) {
  auto bytes = numbers.real() ? bytes_of(numbers.reals, numbers.dtype)
                              : bytes_of(numbers.integers, numbers.dtype);
  if (!bytes) return std::nullopt;
  return Data::of_bytes(*std::move(bytes));
}

}  // namespace folding

namespace {

using namespace folding;  // NOLINT(google-build-using-namespace): of this file and its parts

std::optional<Numbers> created(const Call& call, const TensorType& type) {
  const std::string_view op = call.op().name();
  Numbers out{type.shape, type.dtype, {}, {}};
  if (!is_known_type(type.dtype) || type.shape.elements() > kMostFolded) return std::nullopt;
  if (op == "constant") {
    out.integers = call.integers("integers");
    out.reals = call.reals("reals");
    if (out.size() != static_cast<std::size_t>(type.shape.elements())) return std::nullopt;
    return out;
  }
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    const double value = call.real("start") + static_cast<double>(i) * call.real("delta");
    if (out.real()) {
      out.reals.push_back(value);
    } else {
      out.integers.push_back(static_cast<std::int64_t>(value));
    }
  }
  return out;
}

std::optional<Data> filled(const Call& call, DType dtype) {
  const double value = call.real("value");
  auto bytes = is_float(dtype) ? bytes_of(std::vector{value}, dtype)
                               : bytes_of(std::vector{static_cast<std::int64_t>(value)}, dtype);
  if (!bytes) return std::nullopt;
  return Data::of_fill(*std::move(bytes));
}

std::optional<Numbers> computed(const Call& call, const std::vector<Numbers>& x,
                                const TensorType& type) {
  const std::string_view op = call.op().name();
  if (call.op().rule().is_view) {
    Numbers out = x[0];
    out.shape = type.shape;
    return out;
  }
  if (is_binary(op)) return binary(call, x[0], x[1], type);
  if (is_unary(op, x.empty() ? false : x[0].real())) return unary(call, x[0]);
  if (op == "cast") return cast(x[0], type);
  if (op == "where") return where(x[0], x[1], x[2], type);
  if (op == "expand") return expanded(x[0], type.shape);
  if (op == "gather") return gather(call, x[0], x[1], type);
  if (op == "slice") return slice(call, x[0], type);
  if (op == "transpose") return transposed(call, x[0], type);
  if (op == "tile") return tiled(x[0], type);
  if (op == "concat") return concat(call, x, type);
  if (op == "reduce_sum" || op == "reduce_prod" || op == "reduce_max" || op == "reduce_min") {
    return reduced(call, x[0], type);
  }
  if (op == "constant" || op == "range") return created(call, type);
  return std::nullopt;
}

/// Whether all elements of the result are equal if those of each input are.
bool keeps_fills(std::string_view op, const Call& call) {
  return call.op().rule().is_view || is_binary(op) || is_unary(op, true) || is_unary(op, false) ||
         op == "cast" || op == "where" || op == "expand" || op == "slice" || op == "transpose" ||
         op == "tile";
}

}  // namespace

std::optional<std::vector<Data>> fold(const Call& call, std::span<const Data* const> inputs,
                                      const Types& outputs) {
  const std::string_view op = call.op().name();
  if (outputs.empty()) return std::nullopt;
  const auto one = [](std::optional<Data> data) -> std::optional<std::vector<Data>> {
    if (!data) return std::nullopt;
    return std::vector{*std::move(data)};
  };
  // These need the type of their input, not its elements.
  if (op == "size") {
    return one(data_of({Shape(), DType::kI64, {call.shape(0).elements()}, {}}));
  }
  if (op == "shape") {
    const std::vector<std::int64_t>& extents = call.shape(0).extents();
    const auto rank = static_cast<std::int64_t>(extents.size());
    std::int64_t start = call.integer("start");
    start = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
    const auto from = extents.begin() + start;
    const std::vector<std::int64_t> part(from, from + outputs[0].shape.elements());
    return one(data_of({outputs[0].shape, DType::kI64, part, {}}));
  }
  if (op == "constant_of_shape") return one(filled(call, outputs[0].dtype));

  bool fills = !inputs.empty() && keeps_fills(op, call);
  for (const Data* const input : inputs) {
    if (input == nullptr || input->form == Data::Form::kNone) return std::nullopt;
    fills = fills && input->form == Data::Form::kFill;
  }
  if (!fills && outputs[0].shape.elements() > kMostFolded) return std::nullopt;
  std::vector<Numbers> x;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    // A fill of any size is computed as a single element.
    const TensorType type = fills ? TensorType{Shape(), call.dtype(i)} : call.type(i);
    std::optional<Numbers> numbers =
        numbers_of(fills ? Data::of_bytes(*inputs[i]->bytes) : *inputs[i], type);
    if (!numbers) return std::nullopt;
    x.push_back(*std::move(numbers));
  }
  if (fills) {
    const TensorType type{Shape(), outputs[0].dtype};
    const bool moves =
        !is_binary(op) && op != "cast" && op != "where" && !is_unary(op, x[0].real());
    std::optional<Numbers> element = moves ? std::optional(x[0]) : computed(call, x, type);
    std::optional<Data> data = element ? data_of(*element) : std::nullopt;
    if (!data) return std::nullopt;
    return std::vector{Data::of_fill(*data->bytes)};
  }
  if (op == "split") return split(call, x[0], outputs);
  if (outputs.size() != 1) return std::nullopt;
  const std::optional<Numbers> result = computed(call, x, outputs[0]);
  return one(result ? data_of(*result) : std::nullopt);
}

}  // namespace tessera::graph
