// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/padding/element_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "tessera/graph/data.h"

namespace tessera::ops {
namespace {

using Unary = double (*)(double x, const graph::Call& call);
using Binary = double (*)(double x, double y);

double gelu(double x, const graph::Call& call) {
  if (call.text("approximate") != "tanh") return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
  const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  return x * 0.5 * (1 + std::tanh(inner));
}

double shrink(double x, const graph::Call& call) {
  if (x < -call.real("lambd")) return x + call.real("bias");
  return x > call.real("lambd") ? x - call.real("bias") : 0.0;
}

const std::map<std::string_view, Unary>& unary() {
  using C = graph::Call;
  static const std::map<std::string_view, Unary> table = {
      {"relu", [](double x, const C&) { return x > 0 ? x : 0.0; }},
      {"neg", [](double x, const C&) { return -x; }},
      {"abs", [](double x, const C&) { return std::fabs(x); }},
      {"sign", [](double x, const C&) { return static_cast<double>((x > 0) - (x < 0)); }},
      {"floor", [](double x, const C&) { return std::floor(x); }},
      {"ceil", [](double x, const C&) { return std::ceil(x); }},
      {"round", [](double x, const C&) { return std::nearbyint(x); }},
      {"exp", [](double x, const C&) { return std::exp(x); }},
      {"log", [](double x, const C&) { return std::log(x); }},
      {"sqrt", [](double x, const C&) { return std::sqrt(x); }},
      {"rsqrt", [](double x, const C&) { return 1 / std::sqrt(x); }},
      {"reciprocal", [](double x, const C&) { return 1 / x; }},
      {"erf", [](double x, const C&) { return std::erf(x); }},
      {"sin", [](double x, const C&) { return std::sin(x); }},
      {"cos", [](double x, const C&) { return std::cos(x); }},
      {"tan", [](double x, const C&) { return std::tan(x); }},
      {"asin", [](double x, const C&) { return std::asin(x); }},
      {"acos", [](double x, const C&) { return std::acos(x); }},
      {"atan", [](double x, const C&) { return std::atan(x); }},
      {"sinh", [](double x, const C&) { return std::sinh(x); }},
      {"cosh", [](double x, const C&) { return std::cosh(x); }},
      {"tanh", [](double x, const C&) { return std::tanh(x); }},
      {"asinh", [](double x, const C&) { return std::asinh(x); }},
      {"acosh", [](double x, const C&) { return std::acosh(x); }},
      {"atanh", [](double x, const C&) { return std::atanh(x); }},
      {"sigmoid", [](double x, const C&) { return 1 / (1 + std::exp(-x)); }},
      {"softplus", [](double x, const C&) { return std::log1p(std::exp(x)); }},
      {"softsign", [](double x, const C&) { return x / (1 + std::fabs(x)); }},
      {"hard_swish", [](double x, const C&) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"is_nan", [](double x, const C&) { return std::isnan(x) ? 1.0 : 0.0; }},
      {"not", [](double x, const C&) { return x == 0 ? 1.0 : 0.0; }},
      {"leaky_relu", [](double x, const C& c) { return x < 0 ? c.real("alpha") * x : x; }},
      {"elu", [](double x, const C& c) { return x < 0 ? c.real("alpha") * std::expm1(x) : x; }},
      {"celu",
       [](double x, const C& c) {
         return x < 0 ? c.real("alpha") * std::expm1(x / c.real("alpha")) : x;
       }},
      {"selu",
       [](double x, const C& c) {
         return c.real("gamma") * (x > 0 ? x : c.real("alpha") * std::expm1(x));
       }},
      {"thresholded_relu", [](double x, const C& c) { return x > c.real("alpha") ? x : 0.0; }},
      {"hard_sigmoid",
       [](double x, const C& c) {
         return std::clamp(c.real("alpha") * x + c.real("beta"), 0.0, 1.0);
       }},
      {"shrink", shrink},
      {"gelu", gelu},
      {"cast", [](double x, const C&) { return x; }},
  };
  return table;
}

const std::map<std::string_view, Binary>& binary() {
  static const std::map<std::string_view, Binary> table = {
      {"add", [](double x, double y) { return x + y; }},
      {"sub", [](double x, double y) { return x - y; }},
      {"mul", [](double x, double y) { return x * y; }},
      {"div", [](double x, double y) { return x / y; }},
      {"pow", [](double x, double y) { return std::pow(x, y); }},
      {"max", [](double x, double y) { return std::max(x, y); }},
      {"min", [](double x, double y) { return std::min(x, y); }},
      {"prelu", [](double x, double slope) { return x < 0 ? slope * x : x; }},
      {"equal", [](double x, double y) { return x == y ? 1.0 : 0.0; }},
      {"greater", [](double x, double y) { return x > y ? 1.0 : 0.0; }},
      {"greater_or_equal", [](double x, double y) { return x >= y ? 1.0 : 0.0; }},
      {"less", [](double x, double y) { return x < y ? 1.0 : 0.0; }},
      {"less_or_equal", [](double x, double y) { return x <= y ? 1.0 : 0.0; }},
      {"and", [](double x, double y) { return x != 0 && y != 0 ? 1.0 : 0.0; }},
      {"or", [](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; }},
      {"xor", [](double x, double y) { return (x != 0) != (y != 0) ? 1.0 : 0.0; }},
  };
  return table;
}

bool is_product(const graph::Call& call) { return call.op().is("mul") || call.op().is("and"); }

}  // namespace

PaddingState state_of(double number, DType dtype) {
  if (std::isnan(number)) return known(PaddingState::undef(), dtype);
  if (graph::is_float(dtype)) {
    // Every float type rounds these to near themselves, or has them.
    const double size = std::fabs(number);
    if (number == 0 || std::isinf(number) || (size >= 1e-4 && size <= 240)) {
      return PaddingState::of(number + 0.0);
    }
    return size < 1 ? PaddingState::dirty() : PaddingState::undef();
  }
  const double least = graph::is_signed(dtype) ? -8 : 0;
  const double most = dtype == DType::kBool ? 1 : 7;
  const bool kept = number == std::trunc(number) && number >= least && number <= most;
  return kept ? PaddingState::of(number + 0.0) : PaddingState::dirty();
}

std::optional<double> element_value(const graph::Call& call,
                                    std::span<const std::optional<double>> inputs) {
  const auto given = [&](std::size_t i) { return i < inputs.size() && inputs[i].has_value(); };
  if (!given(0)) return std::nullopt;
  const std::string_view op = call.op().name();
  if (op == "clip") {
    double x = *inputs[0];
    if (given(1)) x = std::max(x, *inputs[1]);
    return given(2) ? std::min(x, *inputs[2]) : x;
  }
  if (op == "where") {
    if (!given(1) || !given(2)) return std::nullopt;
    return *inputs[0] != 0 ? *inputs[1] : *inputs[2];
  }
  if (const auto found = unary().find(op); found != unary().end()) {
    return found->second(*inputs[0], call);
  }
  const auto found = binary().find(op);
  if (found == binary().end() || !given(1)) return std::nullopt;
  const double value = found->second(*inputs[0], *inputs[1]);
  // The quotient of integers is cut off, and that by 0 is not defined.
  if (op == "div" && !graph::is_float(call.dtype(0))) {
    return *inputs[1] == 0 ? std::nullopt : std::optional(std::trunc(value));
  }
  return value;
}

bool keeps_finite(const graph::Call& call) {
  static constexpr std::array<std::string_view, 16> kMayNot = {
      "exp",        "sinh", "cosh", "pow",  "div",   "mod",   "log",       "sqrt",
      "reciprocal", "tan",  "asin", "acos", "acosh", "atanh", "bit_shift", "rsqrt"};
  if (call.op().is("cast")) {  // to a type of a smaller range
    const std::string_view to = call.text("to");
    return !to.starts_with('f') || to == "f32" || to == "f64";
  }
  return std::ranges::find(kMayNot, call.op().name()) == kMayNot.end();
}

PaddingState element_state(const graph::Call& call, std::span<const PaddingState> inputs,
                           DType output) {
  bool all_values = true;
  bool all_finite = true;
  bool has_zero = false;
  std::vector<std::optional<double>> values;
  for (const PaddingState& state : inputs) {
    const bool has_value = state.kind == PaddingState::Kind::kValue;
    values.push_back(has_value ? std::optional(state.value) : std::nullopt);
    all_values = all_values && (has_value || state.is_absent());
    all_finite = all_finite && state.is_finite();
    has_zero = has_zero || state.is(0);
  }
  if (all_values) {
    const std::optional<double> value = element_value(call, values);
    return known(value ? state_of(*value, output) : PaddingState::undef(), output);
  }
  if (is_product(call) && has_zero && all_finite) return PaddingState::of(0);
  if (call.op().is("where") && values[0]) {
    return known(*values[0] != 0 ? inputs[1] : inputs[2], output);
  }
  if (call.op().is("where")) {
    return known(either(inputs[1], inputs[2]), output);
  }
  return known(all_finite && keeps_finite(call) ? PaddingState::dirty() : PaddingState::undef(),
               output);
}

}  // namespace tessera::ops
