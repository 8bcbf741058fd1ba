// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/graph/fold.h"
#include "tessera/graph/fold_parts.h"

namespace tessera::graph::folding {
namespace {

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

}  // namespace

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

}  // namespace tessera::graph::folding
