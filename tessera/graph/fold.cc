// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/fold.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::graph {
namespace {

/// Elements of a tensor: reals for float types, integers for the others.
struct Numbers {
  Shape shape;
  DType dtype = DType::kI64;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;

  bool real() const { return is_float(dtype); }
  std::size_t size() const { return real() ? reals.size() : integers.size(); }
};

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

/// `out` with element i taken from position source(i) of `from`; -1 gives up.
template <typename Source>
std::optional<Numbers> moved(const Numbers& from, const Shape& shape, const Source& source) {
  Numbers out{shape, from.dtype, {}, {}};
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::int64_t at = source(i);
    if (at < 0 || at >= static_cast<std::int64_t>(from.size())) return std::nullopt;
    const auto k = static_cast<std::size_t>(at);
    if (from.real()) {
      out.reals.push_back(from.reals[k]);
    } else {
      out.integers.push_back(from.integers[k]);
    }
  }
  return out;
}

/// The position in `from` of the element that broadcasting puts at `index` of a larger shape.
std::int64_t broadcast_position(const Shape& from, const Index& index) {
  const std::vector<std::int64_t> strides = from.row_major_strides();
  const std::size_t skipped = index.size() - from.rank();
  std::int64_t at = 0;
  for (std::size_t d = 0; d < from.rank(); ++d) {
    if (from[d] != 1) at += index[skipped + d] * strides[d];
  }
  return at;
}

std::optional<Numbers> expanded(const Numbers& from, const Shape& shape) {
  if (from.shape.rank() > shape.rank()) return std::nullopt;
  return moved(from, shape,
               [&](std::int64_t i) { return broadcast_position(from.shape, shape.delinear(i)); });
}

std::int64_t wrapped(std::int64_t value, DType dtype) {
  const auto bytes = bytes_of(std::vector{value}, dtype);
  if (!bytes) return value;
  const auto back = integers_of(Data::of_bytes(*bytes), Shape(), dtype, 1);
  return back ? back->front() : value;
}

std::optional<double> real_result(std::string_view op, double a, double b) {
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "div") return a / b;
  if (op == "min") return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
  if (op == "max") return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
  return std::nullopt;
}

std::optional<std::int64_t> integer_result(std::string_view op, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  if (op == "add") return static_cast<std::int64_t>(ua + ub);
  if (op == "sub") return static_cast<std::int64_t>(ua - ub);
  if (op == "mul") return static_cast<std::int64_t>(ua * ub);
  if (op == "min") return std::min(a, b);
  if (op == "max") return std::max(a, b);
  if (op == "and") return a & b;
  if (op == "or") return a | b;
  if (op == "xor") return a ^ b;
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  if (op == "div") return a / b;
  if (op == "mod") return (a % b != 0 && (a % b < 0) != (b < 0)) ? a % b + b : a % b;
  return std::nullopt;
}

template <typename T>
std::optional<bool> compared(std::string_view op, T a, T b) {
  if (op == "equal") return a == b;
  if (op == "less") return a < b;
  if (op == "less_or_equal") return a <= b;
  if (op == "greater") return a > b;
  if (op == "greater_or_equal") return a >= b;
  return std::nullopt;
}

std::optional<Numbers> binary(const Call& call, const Numbers& x, const Numbers& y,
                              const TensorType& type) {
  const std::string_view op = call.op().name();
  if (op == "mod" && (x.real() || call.integer("fmod") != 0)) return std::nullopt;
  const std::optional<Numbers> a = expanded(x, type.shape);
  const std::optional<Numbers> b = expanded(y, type.shape);
  if (!a || !b) return std::nullopt;
  Numbers out{type.shape, type.dtype, {}, {}};
  for (std::size_t i = 0; i < a->size(); ++i) {
    const std::optional<bool> order = a->real() ? compared(op, a->reals[i], b->reals[i])
                                                : compared(op, a->integers[i], b->integers[i]);
    if (order) {
      out.integers.push_back(*order ? 1 : 0);
    } else if (a->real()) {
      const std::optional<double> value = real_result(op, a->reals[i], b->reals[i]);
      if (!value) return std::nullopt;
      out.reals.push_back(*value);
    } else {
      const std::optional<std::int64_t> value = integer_result(op, a->integers[i], b->integers[i]);
      if (!value) return std::nullopt;
      out.integers.push_back(wrapped(*value, type.dtype));
    }
  }
  return out;
}

std::optional<Numbers> unary(const Call& call, Numbers x) {
  const std::string_view op = call.op().name();
  for (double& value : x.reals) {
    if (op == "neg") value = -value;
    if (op == "abs") value = std::fabs(value);
    if (op == "sign") value = value > 0 ? 1 : value < 0 ? -1 : value;
    if (op == "floor") value = std::floor(value);
    if (op == "ceil") value = std::ceil(value);
    if (op == "sqrt") value = std::sqrt(value);
  }
  for (std::int64_t& value : x.integers) {
    if (op == "neg") value = wrapped((Checked(0) - value).raw(), x.dtype);
    if (op == "abs" && value < 0) value = wrapped((Checked(0) - value).raw(), x.dtype);
    if (op == "sign") value = value > 0 ? 1 : value < 0 ? -1 : 0;
    if (op == "not") value = value == 0 ? 1 : 0;
  }
  return x;
}

/// Conversions whose result C++ defines; a float beyond the integer's range is left alone.
std::optional<Numbers> cast(const Numbers& x, const TensorType& type) {
  if (!is_known_type(type.dtype)) return std::nullopt;
  Numbers out{type.shape, type.dtype, {}, {}};
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (type.dtype == DType::kBool) {
      out.integers.push_back((x.real() ? x.reals[i] != 0 : x.integers[i] != 0) ? 1 : 0);
    } else if (out.real()) {
      out.reals.push_back(x.real() ? x.reals[i] : static_cast<double>(x.integers[i]));
    } else if (!x.real()) {
      out.integers.push_back(wrapped(x.integers[i], type.dtype));
    } else {
      constexpr double kLimit = 9e18;
      if (!(std::fabs(x.reals[i]) < kLimit)) return std::nullopt;
      const auto whole = static_cast<std::int64_t>(x.reals[i]);
      if (wrapped(whole, type.dtype) != whole) return std::nullopt;
      out.integers.push_back(whole);
    }
  }
  return out;
}

std::optional<Numbers> where(const Numbers& c, const Numbers& x, const Numbers& y,
                             const TensorType& type) {
  const std::optional<Numbers> chosen = expanded(c, type.shape);
  std::optional<Numbers> out = expanded(x, type.shape);
  const std::optional<Numbers> other = expanded(y, type.shape);
  if (!chosen || !out || !other) return std::nullopt;
  for (std::size_t i = 0; i < chosen->size(); ++i) {
    if (chosen->integers[i] != 0) continue;
    if (out->real()) {
      out->reals[i] = other->reals[i];
    } else {
      out->integers[i] = other->integers[i];
    }
  }
  return out;
}

std::size_t dim(const Call& call, std::string_view name, std::size_t rank) {
  const std::int64_t axis = call.integer(name);
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

std::optional<Numbers> gather(const Call& call, const Numbers& x, const Numbers& indices,
                              const TensorType& type) {
  const std::size_t axis = dim(call, "axis", x.shape.rank());
  const std::vector<std::int64_t> strides = x.shape.row_major_strides();
  return moved(x, type.shape, [&](std::int64_t i) -> std::int64_t {
    const Index index = type.shape.delinear(i);
    const auto first = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const Index at(first, first + static_cast<std::ptrdiff_t>(indices.shape.rank()));
    std::int64_t chosen = indices.integers[static_cast<std::size_t>(indices.shape.linear(at))];
    if (chosen < 0) chosen += x.shape[axis];
    if (chosen < 0 || chosen >= x.shape[axis]) return -1;
    std::int64_t position = chosen * strides[axis];
    for (std::size_t d = 0; d < x.shape.rank(); ++d) {
      if (d < axis) position += index[d] * strides[d];
      if (d > axis) position += index[d + indices.shape.rank() - 1] * strides[d];
    }
    return position;
  });
}

std::optional<Numbers> slice(const Call& call, const Numbers& x, const TensorType& type) {
  std::vector<std::int64_t> first(x.shape.rank(), 0);
  std::vector<std::int64_t> step(x.shape.rank(), 1);
  const auto& starts = call.integers("starts");
  const auto& axes = call.integers("axes");
  const auto& steps = call.integers("steps");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    std::int64_t axis = axes.empty() ? static_cast<std::int64_t>(i) : axes[i];
    if (axis < 0) axis += static_cast<std::int64_t>(x.shape.rank());
    const auto d = static_cast<std::size_t>(axis);
    const std::int64_t extent = x.shape[d];
    step[d] = steps.empty() ? 1 : steps[i];
    const std::int64_t start = starts[i] < 0 ? (Checked(starts[i]) + extent).raw() : starts[i];
    first[d] = std::clamp<std::int64_t>(
        start, 0, step[d] > 0 ? extent : std::max<std::int64_t>(extent - 1, 0));
  }
  const std::vector<std::int64_t> strides = x.shape.row_major_strides();
  return moved(x, type.shape, [&](std::int64_t i) {
    const Index index = type.shape.delinear(i);
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      at += (first[d] + index[d] * step[d]) * strides[d];
    return at;
  });
}

std::optional<Numbers> transposed(const Call& call, const Numbers& x, const TensorType& type) {
  const std::vector<std::int64_t> strides = x.shape.row_major_strides();
  const auto& perm = call.integers("perm");
  return moved(x, type.shape, [&](std::int64_t i) {
    const Index index = type.shape.delinear(i);
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::size_t from =
          perm.empty() ? index.size() - 1 - d : static_cast<std::size_t>(perm[d]);
      at += index[d] * strides[from];
    }
    return at;
  });
}

std::optional<Numbers> tiled(const Numbers& x, const TensorType& type) {
  return moved(x, type.shape, [&](std::int64_t i) {
    Index index = type.shape.delinear(i);
    for (std::size_t d = 0; d < index.size(); ++d) index[d] %= x.shape[d];
    return x.shape.linear(index);
  });
}

std::optional<Numbers> concat(const Call& call, const std::vector<Numbers>& parts,
                              const TensorType& type) {
  const std::size_t axis = dim(call, "axis", type.shape.rank());
  Numbers out{type.shape, type.dtype, {}, {}};
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    Index index = type.shape.delinear(i);
    std::size_t p = 0;
    while (index[axis] >= parts[p].shape[axis]) index[axis] -= parts[p++].shape[axis];
    const auto at = static_cast<std::size_t>(parts[p].shape.linear(index));
    if (out.real()) {
      out.reals.push_back(parts[p].reals[at]);
    } else {
      out.integers.push_back(parts[p].integers[at]);
    }
  }
  return out;
}

std::optional<Numbers> reduced(const Call& call, const Numbers& x, const TensorType& type) {
  const std::string_view op = call.op().name();
  const std::string_view step = op == "reduce_sum"    ? "add"
                                : op == "reduce_prod" ? "mul"
                                : op == "reduce_max"  ? "max"
                                                      : "min";
  std::vector<bool> gone(x.shape.rank(), !call.given("axes"));
  for (const std::int64_t axis : call.integers("axes")) {
    gone[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.shape.rank())
                                           : axis)] = true;
  }
  const bool keep = call.integer("keepdims") != 0;
  if (x.size() == 0) return std::nullopt;
  Numbers out{type.shape, type.dtype, {}, {}};
  std::vector<bool> begun(static_cast<std::size_t>(type.shape.elements()), false);
  out.integers.resize(x.real() ? 0 : begun.size());
  out.reals.resize(x.real() ? begun.size() : 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    Index to;
    const Index index = x.shape.delinear(static_cast<std::int64_t>(i));
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (!gone[d]) {
        to.push_back(index[d]);
      } else if (keep) {
        to.push_back(0);
      }
    }
    const auto at = static_cast<std::size_t>(type.shape.linear(to));
    if (x.real()) {
      const double sum = begun[at] ? *real_result(step, out.reals[at], x.reals[i]) : x.reals[i];
      out.reals[at] = type.dtype == DType::kF32 ? static_cast<float>(sum) : sum;
    } else {
      out.integers[at] =
          begun[at] ? wrapped(*integer_result(step, out.integers[at], x.integers[i]), x.dtype)
                    : x.integers[i];
    }
    begun[at] = true;
  }
  return out;
}

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

bool is_binary(std::string_view op) {
  constexpr std::string_view kOps[] = {
      "add", "sub",   "mul",  "div",           "mod",     "min",
      "max", "equal", "less", "less_or_equal", "greater", "greater_or_equal",
      "and", "or",    "xor"};
  return std::ranges::count(kOps, op) > 0;
}

bool is_unary(std::string_view op, bool real) {
  if (op == "not") return !real;
  if (op == "neg" || op == "abs" || op == "sign") return true;
  return real && (op == "floor" || op == "ceil" || op == "sqrt");
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

std::optional<std::vector<Data>> split(const Call& call, const Numbers& x, const Types& outputs) {
  const std::size_t axis = dim(call, "axis", x.shape.rank());
  std::vector<Data> results;
  std::int64_t before = 0;
  for (const TensorType& type : outputs) {
    const std::optional<Numbers> part = moved(x, type.shape, [&](std::int64_t i) {
      Index index = type.shape.delinear(i);
      index[axis] += before;
      return x.shape.linear(index);
    });
    std::optional<Data> data = part ? data_of(*part) : std::nullopt;
    if (!data) return std::nullopt;
    results.push_back(*std::move(data));
    before += type.shape[axis];
  }
  return results;
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
