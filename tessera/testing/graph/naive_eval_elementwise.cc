// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {
namespace {

using Real = long double;

bool unary(NaiveCall& call) {
  const graph::Call& with = call.call;
  const auto alpha = [&] { return static_cast<Real>(with.real("alpha")); };
  static const std::map<std::string_view, Real (*)(Real)> kPlain = {
      {"relu", [](Real x) { return x > 0 || std::isnan(x) ? x : 0; }},
      {"neg", [](Real x) { return -x; }},
      {"abs", [](Real x) { return std::fabs(x); }},
      {"sign", [](Real x) { return x > 0   ? 1.0L
                                   : x < 0 ? -1.0L
                                           : 0.0L; }},
      {"floor", [](Real x) { return std::floor(x); }},
      {"ceil", [](Real x) { return std::ceil(x); }},
      {"round", [](Real x) { return std::nearbyint(x); }},
      {"exp", [](Real x) { return std::exp(x); }},
      {"log", [](Real x) { return std::log(x); }},
      {"sqrt", [](Real x) { return std::sqrt(x); }},
      {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }},
      {"reciprocal", [](Real x) { return 1 / x; }},
      {"erf", [](Real x) { return std::erf(x); }},
      {"sin", [](Real x) { return std::sin(x); }},
      {"cos", [](Real x) { return std::cos(x); }},
      {"tan", [](Real x) { return std::tan(x); }},
      {"asin", [](Real x) { return std::asin(x); }},
      {"acos", [](Real x) { return std::acos(x); }},
      {"atan", [](Real x) { return std::atan(x); }},
      {"sinh", [](Real x) { return std::sinh(x); }},
      {"cosh", [](Real x) { return std::cosh(x); }},
      {"tanh", [](Real x) { return std::tanh(x); }},
      {"asinh", [](Real x) { return std::asinh(x); }},
      {"acosh", [](Real x) { return std::acosh(x); }},
      {"atanh", [](Real x) { return std::atanh(x); }},
      {"sigmoid", [](Real x) { return 1 / (1 + std::exp(-x)); }},
      {"softplus", [](Real x) { return std::log1p(std::exp(x)); }},
      {"softsign", [](Real x) { return x / (1 + std::fabs(x)); }},
      {"hard_swish", [](Real x) { return x * std::clamp(x / 6 + 0.5L, 0.0L, 1.0L); }},
      {"is_nan", [](Real x) { return std::isnan(x) ? 1.0L : 0.0L; }},
      {"not", [](Real x) { return x == 0 ? 1.0L : 0.0L; }},
      {"identity", [](Real x) { return x; }},
      {"dropout", [](Real x) { return x; }},
      {"layout_transform", [](Real x) { return x; }},
  };
  std::function<Real(Real)> f;
  if (const auto plain = kPlain.find(call.op); plain != kPlain.end()) f = plain->second;
  if (call.op == "cast") f = [](Real x) { return x; };  // the type rounds or wraps it
  if (call.op == "leaky_relu") f = [a = alpha()](Real x) { return x < 0 ? a * x : x; };
  if (call.op == "elu") f = [a = alpha()](Real x) { return x < 0 ? a * std::expm1(x) : x; };
  if (call.op == "celu") {
    f = [a = alpha()](Real x) { return std::max(0.0L, x) + std::min(0.0L, a * std::expm1(x / a)); };
  }
  if (call.op == "selu") {
    f = [a = alpha(), g = static_cast<Real>(with.real("gamma"))](Real x) {
      return x > 0 ? g * x : g * (a * std::exp(x) - a);
    };
  }
  if (call.op == "thresholded_relu") f = [a = alpha()](Real x) { return x > a ? x : 0; };
  if (call.op == "shrink") {
    f = [l = static_cast<Real>(with.real("lambd")),
         b = static_cast<Real>(with.real("bias"))](Real x) {
      return x < -l ? x + b : x > l ? x - b : 0;
    };
  }
  if (call.op == "hard_sigmoid") {
    f = [a = alpha(), b = static_cast<Real>(with.real("beta"))](Real x) {
      return std::clamp(a * x + b, 0.0L, 1.0L);
    };
  }
  if (call.op == "gelu") {
    const bool tanh_form = with.text("approximate") == "tanh";
    f = [tanh_form](Real x) {
      const Real inner = std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
      return tanh_form ? x * 0.5L * (1 + std::tanh(inner))
                       : x * 0.5L * (1 + std::erf(x / std::sqrt(2.0L)));
    };
  }
  if (call.op == "is_inf") {
    f = [n = with.integer("detect_negative"), p = with.integer("detect_positive")](Real x) {
      return std::isinf(x) && (x > 0 ? p : n) != 0 ? 1.0L : 0.0L;
    };
  }
  if (!f) return false;
  call.out().elements.clear();
  for (const Real x : call.in(0).elements) call.out().elements.push_back(f(x));
  return true;
}

bool binary(NaiveCall& call) {
  const bool real = call.has(0) && graph::is_float(call.in(0).type.dtype);
  static const std::map<std::string_view, Real (*)(Real, Real)> kPlain = {
      {"add", [](Real x, Real y) { return x + y; }},
      {"sub", [](Real x, Real y) { return x - y; }},
      {"mul", [](Real x, Real y) { return x * y; }},
      {"pow", [](Real x, Real y) { return std::pow(x, y); }},
      {"max", [](Real x, Real y) { return std::isnan(x) || x > y ? x : y; }},
      {"min", [](Real x, Real y) { return std::isnan(x) || x < y ? x : y; }},
      {"equal", [](Real x, Real y) { return x == y ? 1.0L : 0.0L; }},
      {"greater", [](Real x, Real y) { return x > y ? 1.0L : 0.0L; }},
      {"greater_or_equal", [](Real x, Real y) { return x >= y ? 1.0L : 0.0L; }},
      {"less", [](Real x, Real y) { return x < y ? 1.0L : 0.0L; }},
      {"less_or_equal", [](Real x, Real y) { return x <= y ? 1.0L : 0.0L; }},
      {"and", [](Real x, Real y) { return x != 0 && y != 0 ? 1.0L : 0.0L; }},
      {"or", [](Real x, Real y) { return x != 0 || y != 0 ? 1.0L : 0.0L; }},
      {"xor", [](Real x, Real y) { return (x != 0) != (y != 0) ? 1.0L : 0.0L; }},
      {"prelu", [](Real x, Real slope) { return x < 0 ? slope * x : x; }},
  };
  std::function<Real(Real, Real)> f;
  if (const auto plain = kPlain.find(call.op); plain != kPlain.end()) f = plain->second;
  if (call.op == "div") {
    f = [real](Real x, Real y) { return real ? x / y : y == 0 ? 0 : std::trunc(x / y); };
  }
  if (call.op == "mod") {
    // fmod has the sign of x; otherwise the result has the sign of y.
    f = [by_x = call.call.integer("fmod") != 0](Real x, Real y) {
      const Real rest = std::fmod(x, y);
      return by_x || rest == 0 || (rest < 0) == (y < 0) ? rest : rest + y;
    };
  }
  if (call.op == "bit_shift") {
    f = [left = call.call.text("direction") == "left"](Real x, Real y) {
      return left ? std::ldexp(x, static_cast<int>(y))
                  : std::floor(std::ldexp(x, -static_cast<int>(y)));
    };
  }
  if (!f) return false;
  fill(call, [&](const Index& index) {
    return f(broadcast_at(call.in(0), index), broadcast_at(call.in(1), index));
  });
  return true;
}

bool choice(NaiveCall& call) {
  if (call.op == "where") {
    fill(call, [&](const Index& index) {
      return broadcast_at(call.in(0), index) != 0 ? broadcast_at(call.in(1), index)
                                                  : broadcast_at(call.in(2), index);
    });
    return true;
  }
  if (call.op == "clip") {
    call.out().elements = call.in(0).elements;
    for (Real& value : call.out().elements) {
      if (call.has(1)) value = std::max(value, call.in(1).elements[0]);
      if (call.has(2)) value = std::min(value, call.in(2).elements[0]);
    }
    return true;
  }
  return false;
}

}  // namespace

bool evaluate_elementwise(NaiveCall& call) { return unary(call) || binary(call) || choice(call); }

}  // namespace tessera::test
