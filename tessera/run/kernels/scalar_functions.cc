// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/kernels/scalar_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <type_traits>

#include "tessera/run/kernels/nest.h"

namespace tessera::run::kernels {
namespace {

template <typename W>
using Table = std::map<std::string_view, Scalar<W>>;

/// Ops that floats and integers have.
template <typename W>
const Table<W>& common() {
  using N = const Numbers&;
  static const Table<W> table = {
      {"add", [](const W* x, N) { return plus(x[0], x[1]); }},
      {"sub",
       [](const W* x, N) {
         if constexpr (std::is_integral_v<W>) {
           return static_cast<W>(static_cast<std::uint64_t>(x[0]) -
                                 static_cast<std::uint64_t>(x[1]));
         } else {
           return x[0] - x[1];
         }
       }},
      {"mul", [](const W* x, N) { return times(x[0], x[1]); }},
      {"max", [](const W* x, N) { return is_nan(x[0]) || x[0] > x[1] ? x[0] : x[1]; }},
      {"min", [](const W* x, N) { return is_nan(x[0]) || x[0] < x[1] ? x[0] : x[1]; }},
      {"relu", [](const W* x, N) { return x[0] > W{0} || is_nan(x[0]) ? x[0] : W{0}; }},
      {"neg", [](const W* x, N) { return times(x[0], static_cast<W>(-1)); }},
      {"abs", [](const W* x, N) { return x[0] < W{0} ? times(x[0], static_cast<W>(-1)) : x[0]; }},
      {"sign",
       [](const W* x, N) {
         if (x[0] > W{0}) return W{1};
         return x[0] < W{0} ? static_cast<W>(-1) : W{0};
       }},
      {"shrink",
       [](const W* x, N n) {
         const auto value = static_cast<double>(x[0]);
         if (value < -n.alpha) return static_cast<W>(value + n.beta);
         return value > n.alpha ? static_cast<W>(value - n.beta) : W{0};
       }},
  };
  return table;
}

template <typename W>
W gelu(W x, bool is_tanh) {
  const W half = W{0.5} * x;
  if (!is_tanh) return half * (W{1} + std::erf(x / std::numbers::sqrt2_v<W>));
  const W slope = std::sqrt(W{2} * std::numbers::inv_pi_v<W>);
  return half * (W{1} + std::tanh(slope * (x + static_cast<W>(0.044715) * x * x * x)));
}

/// Ops that only floats have.
template <typename W>
const Table<W>& real() {
  using N = const Numbers&;
  static const Table<W> table = {
      {"div", [](const W* x, N) { return x[0] / x[1]; }},
      {"mod",
       [](const W* x, N n) {
         const W rest = std::fmod(x[0], x[1]);
         return n.first != 0 || rest == 0 || (rest < 0) == (x[1] < 0) ? rest : rest + x[1];
       }},
      {"prelu", [](const W* x, N) { return x[0] < 0 ? x[1] * x[0] : x[0]; }},
      {"floor", [](const W* x, N) { return std::floor(x[0]); }},
      {"ceil", [](const W* x, N) { return std::ceil(x[0]); }},
      {"round", [](const W* x, N) { return std::nearbyint(x[0]); }},
      {"exp", [](const W* x, N) { return std::exp(x[0]); }},
      {"log", [](const W* x, N) { return std::log(x[0]); }},
      {"sqrt", [](const W* x, N) { return std::sqrt(x[0]); }},
      {"rsqrt", [](const W* x, N) { return 1 / std::sqrt(x[0]); }},
      {"reciprocal", [](const W* x, N) { return 1 / x[0]; }},
      {"erf", [](const W* x, N) { return std::erf(x[0]); }},
      {"sin", [](const W* x, N) { return std::sin(x[0]); }},
      {"cos", [](const W* x, N) { return std::cos(x[0]); }},
      {"tan", [](const W* x, N) { return std::tan(x[0]); }},
      {"asin", [](const W* x, N) { return std::asin(x[0]); }},
      {"acos", [](const W* x, N) { return std::acos(x[0]); }},
      {"atan", [](const W* x, N) { return std::atan(x[0]); }},
      {"sinh", [](const W* x, N) { return std::sinh(x[0]); }},
      {"cosh", [](const W* x, N) { return std::cosh(x[0]); }},
      {"tanh", [](const W* x, N) { return std::tanh(x[0]); }},
      {"asinh", [](const W* x, N) { return std::asinh(x[0]); }},
      {"acosh", [](const W* x, N) { return std::acosh(x[0]); }},
      {"atanh", [](const W* x, N) { return std::atanh(x[0]); }},
      {"sigmoid", [](const W* x, N) { return 1 / (1 + std::exp(-x[0])); }},
      // log(1 + e^x), where e^x would overflow for large x.
      {"softplus",
       [](const W* x, N) {
         return x[0] > 0 ? x[0] + std::log1p(std::exp(-x[0])) : std::log1p(std::exp(x[0]));
       }},
      {"softsign", [](const W* x, N) { return x[0] / (1 + std::fabs(x[0])); }},
      {"hard_swish",
       [](const W* x, N) { return x[0] * std::clamp(x[0] / 6 + W{0.5}, W{0}, W{1}); }},
      {"hard_sigmoid",
       [](const W* x, N n) {
         return std::clamp(static_cast<W>(n.alpha) * x[0] + static_cast<W>(n.beta), W{0}, W{1});
       }},
      {"leaky_relu",
       [](const W* x, N n) { return x[0] < 0 ? static_cast<W>(n.alpha) * x[0] : x[0]; }},
      {"elu", [](const W* x,
                 N n) { return x[0] < 0 ? static_cast<W>(n.alpha) * std::expm1(x[0]) : x[0]; }},
      {"celu",
       [](const W* x, N n) {
         const auto alpha = static_cast<W>(n.alpha);
         return std::max(W{0}, x[0]) + std::min(W{0}, alpha * std::expm1(x[0] / alpha));
       }},
      {"selu",
       [](const W* x, N n) {
         const auto gamma = static_cast<W>(n.beta);
         return x[0] > 0 ? gamma * x[0] : gamma * static_cast<W>(n.alpha) * std::expm1(x[0]);
       }},
      {"thresholded_relu",
       [](const W* x, N n) { return x[0] > static_cast<W>(n.alpha) ? x[0] : W{0}; }},
      {"gelu", [](const W* x, N n) { return gelu(x[0], n.first != 0); }},
      {"batch_norm",
       [](const W* x, N n) {
         return x[1] * (x[0] - x[3]) / std::sqrt(x[4] + static_cast<W>(n.alpha)) + x[2];
       }},
  };
  return table;
}

template <typename W>
W quotient(W a, W b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<W>) {
    if (b == -1) return times(a, W{-1});
  }
  return a / b;
}

/// Ops that only integers have, or that differ for them.
template <typename W>
const Table<W>& whole() {
  using N = const Numbers&;
  static const Table<W> table = {
      {"div", [](const W* x, N) { return quotient(x[0], x[1]); }},
      {"mod",
       [](const W* x, N n) -> W {
         if (x[1] == 0) return 0;
         if constexpr (std::is_signed_v<W>) {
           if (x[1] == -1) return 0;
         }
         const W rest = x[0] % x[1];
         return n.first != 0 || rest == 0 || (rest < W{0}) == (x[1] < W{0}) ? rest : rest + x[1];
       }},
      {"bit_shift",
       [](const W* x, N n) -> W {
         const auto by = static_cast<std::uint64_t>(x[1]);
         const auto bits = static_cast<std::uint64_t>(x[0]);
         if (by >= 64) return 0;
         return static_cast<W>(n.first != 0 ? bits << by : bits >> by);
       }},
      {"and", [](const W* x, N) { return W{x[0] != 0 && x[1] != 0}; }},
      {"or", [](const W* x, N) { return W{x[0] != 0 || x[1] != 0}; }},
      {"xor", [](const W* x, N) { return W{(x[0] != 0) != (x[1] != 0)}; }},
      {"not", [](const W* x, N) { return W{x[0] == 0}; }},
  };
  return table;
}

}  // namespace

template <typename W>
Scalar<W> scalar_of(std::string_view op) {
  if (const auto found = common<W>().find(op); found != common<W>().end()) return found->second;
  if constexpr (std::is_integral_v<W>) {
    const auto found = whole<W>().find(op);
    return found != whole<W>().end() ? found->second : nullptr;
  } else {
    const auto found = real<W>().find(op);
    return found != real<W>().end() ? found->second : nullptr;
  }
}

template <typename W>
Test<W> test_of(std::string_view op) {
  using N = const Numbers&;
  static const std::map<std::string_view, Test<W>> table = {
      {"equal", [](const W* x, N) { return std::int64_t{x[0] == x[1]}; }},
      {"greater", [](const W* x, N) { return std::int64_t{x[0] > x[1]}; }},
      {"greater_or_equal", [](const W* x, N) { return std::int64_t{x[0] >= x[1]}; }},
      {"less", [](const W* x, N) { return std::int64_t{x[0] < x[1]}; }},
      {"less_or_equal", [](const W* x, N) { return std::int64_t{x[0] <= x[1]}; }},
      {"is_nan", [](const W* x, N) { return std::int64_t{is_nan(x[0])}; }},
      {"is_inf",
       [](const W* x, N n) -> std::int64_t {
         if constexpr (std::is_integral_v<W>) {
           return 0;
         } else {
           const W infinity = std::numeric_limits<W>::infinity();
           return (x[0] == infinity && n.second != 0) || (x[0] == -infinity && n.first != 0) ? 1
                                                                                             : 0;
         }
       }},
  };
  const auto found = table.find(op);
  return found != table.end() ? found->second : nullptr;
}

template Scalar<float> scalar_of<float>(std::string_view);
template Scalar<double> scalar_of<double>(std::string_view);
template Scalar<std::int64_t> scalar_of<std::int64_t>(std::string_view);
template Scalar<std::uint64_t> scalar_of<std::uint64_t>(std::string_view);
template Test<float> test_of<float>(std::string_view);
template Test<double> test_of<double>(std::string_view);
template Test<std::int64_t> test_of<std::int64_t>(std::string_view);
template Test<std::uint64_t> test_of<std::uint64_t>(std::string_view);

}  // namespace tessera::run::kernels
