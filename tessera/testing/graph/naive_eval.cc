// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/graph/naive_eval.h"

#include <cmath>
#include <cstring>
#include <utility>

namespace tessera::test {
namespace {

/// Bits of the exponent and of the mantissa.
struct FloatFormat {
  int exponent;
  int mantissa;
};

std::optional<FloatFormat> format_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return FloatFormat{11, 52};
    case DType::kF32:
      return FloatFormat{8, 23};
    case DType::kF16:
      return FloatFormat{5, 10};
    case DType::kBF16:
      return FloatFormat{8, 7};
    default:
      return std::nullopt;
  }
}

int bytes_of_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
      return 8;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
    default:
      return 0;
  }
}

bool is_unsigned(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32 ||
         dtype == DType::kU64;
}

long double decode(std::uint64_t bits, DType dtype) {
  const int width = 8 * bytes_of_type(dtype);
  if (const std::optional<FloatFormat> format = format_of(dtype)) {
    const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format->mantissa) - 1);
    const auto exponent =
        static_cast<int>(bits >> format->mantissa & ((std::uint64_t{1} << format->exponent) - 1));
    const long double sign = (bits >> (width - 1) & 1) != 0 ? -1 : 1;
    const int bias = (1 << (format->exponent - 1)) - 1;
    if (exponent == (1 << format->exponent) - 1) return mantissa != 0 ? NAN : sign * INFINITY;
    const long double fraction = static_cast<long double>(mantissa) +
                                 (exponent == 0 ? 0.0L : std::ldexp(1.0L, format->mantissa));
    return sign * std::ldexp(fraction, (exponent == 0 ? 1 : exponent) - bias - format->mantissa);
  }
  if (dtype == DType::kBool) return bits != 0 ? 1 : 0;
  if (is_unsigned(dtype) || (bits >> (width - 1) & 1) == 0) return static_cast<long double>(bits);
  return static_cast<long double>(bits) - std::ldexp(1.0L, width);
}

}  // namespace

std::optional<NaiveTensor> naive_tensor(const graph::TensorType& type, const graph::Data& data) {
  const auto size = static_cast<std::size_t>(bytes_of_type(type.dtype));
  const bool fills = data.form == graph::Data::Form::kFill;
  if (size == 0 || !data.bytes) return std::nullopt;
  NaiveTensor tensor{type, {}};
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    const std::size_t at = fills ? 0 : static_cast<std::size_t>(i) * size;
    if (at + size > data.bytes->size()) return std::nullopt;
    std::uint64_t bits = 0;
    std::memcpy(&bits, data.bytes->data() + at, size);
    tensor.elements.push_back(decode(bits, type.dtype));
  }
  return tensor;
}

long double as_element(long double number, DType dtype) {
  if (const std::optional<FloatFormat> format = format_of(dtype)) {
    if (!std::isfinite(number) || number == 0) return number;
    const int bias = (1 << (format->exponent - 1)) - 1;
    int exponent = 0;
    (void)std::frexp(number, &exponent);  // number = f * 2^exponent with f in [1/2, 1)
    const int step = std::max(exponent - 1, 1 - bias) - format->mantissa;
    const long double rounded = std::ldexp(std::nearbyint(std::ldexp(number, -step)), step);
    const long double largest = std::ldexp(2.0L - std::ldexp(1.0L, -format->mantissa), bias);
    if (std::fabs(rounded) > largest) return number > 0 ? INFINITY : -INFINITY;
    return rounded;
  }
  if (dtype == DType::kBool) return number != 0 ? 1 : 0;
  if (!std::isfinite(number)) return 0;
  const int width = 8 * bytes_of_type(dtype);
  const long double range = std::ldexp(1.0L, width);
  long double wrapped = std::fmod(std::trunc(number), range);
  if (wrapped < 0) wrapped += range;
  return !is_unsigned(dtype) && wrapped >= range / 2 ? wrapped - range : wrapped;
}

std::int64_t row_major(const Shape& shape, const Index& index) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < index.size(); ++d) at = at * shape[d] + index[d];
  return at;
}

void each_index(const Shape& shape, const std::function<void(const Index&)>& visit) {
  if (shape.elements() == 0) return;
  Index index(shape.rank(), 0);
  while (true) {
    visit(index);
    std::size_t d = shape.rank();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

long double broadcast_at(const NaiveTensor& x, const Index& index) {
  const Shape& shape = x.type.shape;
  Index mine(index.end() - static_cast<std::ptrdiff_t>(shape.rank()), index.end());
  for (std::size_t d = 0; d < mine.size(); ++d) mine[d] = shape[d] == 1 ? 0 : mine[d];
  return x.elements[static_cast<std::size_t>(row_major(shape, mine))];
}

void fill(NaiveCall& call, const std::function<long double(const Index&)>& value) {
  NaiveTensor& out = call.out();
  out.elements.clear();
  each_index(out.type.shape, [&](const Index& index) { out.elements.push_back(value(index)); });
}

std::size_t dim_at(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

bool evaluate_node(NaiveCall& call) {
  return evaluate_elementwise(call) || evaluate_reductions(call) || evaluate_products(call) ||
         evaluate_moves(call) || evaluate_windows(call);
}

std::optional<std::vector<NaiveTensor>> naive_evaluate(
    const graph::Graph& graph, const std::map<std::string, NaiveTensor>& inputs) {
  std::vector<std::optional<NaiveTensor>> values(graph.values.size());
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const graph::Value& value = graph.values[v];
    const auto given = inputs.find(value.name);
    if (value.kind == graph::Kind::kInput) {
      if (given != inputs.end()) values[v] = given->second;
    } else if (value.kind != graph::Kind::kComputed) {
      values[v] = naive_tensor(value.type, value.data);
    }
  }
  for (const graph::Node& node : graph.nodes) {
    std::vector<const graph::TensorType*> types;
    std::vector<const NaiveTensor*> tensors;
    for (const graph::ValueId v : node.inputs) {
      const bool absent = v == graph::kAbsent;
      if (!absent && !values[v]) return std::nullopt;
      types.push_back(absent ? nullptr : &graph.values[v].type);
      tensors.push_back(absent ? nullptr : &*values[v]);
    }
    NaiveCall call{node.op.name(),
                   tensors,
                   {},
                   graph::Call(node.op, types, node.attributes, node.outputs.size())};
    for (const graph::ValueId v : node.outputs) call.outputs.push_back({graph.values[v].type, {}});
    if (!evaluate_node(call)) return std::nullopt;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      for (long double& element : call.outputs[i].elements) {
        element = as_element(element, call.outputs[i].type.dtype);
      }
      values[node.outputs[i]] = std::move(call.outputs[i]);
    }
  }
  std::vector<NaiveTensor> results;
  for (const graph::ValueId v : graph.outputs) {
    if (!values[v]) return std::nullopt;
    results.push_back(*values[v]);
  }
  return results;
}

}  // namespace tessera::test
