// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/graph/data.h"
#include "tessera/run/kernels/nest.h"
#include "tessera/run/kernels/scalar_functions.h"

namespace tessera::run::kernels {
namespace {

constexpr std::size_t kMostArguments = 5;

/// Calls function(x) for every iteration, where x are the elements of the inputs.
template <typename From, typename To, typename Function>
void map_elements(const Task& task, Function function) {
  std::array<Elements<const From>, kMostArguments> from;
  const std::size_t count = std::min(task.inputs.size(), kMostArguments);
  for (std::size_t i = 0; i < count; ++i) from[i] = input_of<From>(task, i);
  const Elements<To> to = output_of<To>(task, 0);
  if (to.data == nullptr) return;
  const Factors passes = factors_of(*task.loops, ops::FactorKind::kPass);
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    if (passes.empty()) {
      std::array<From, kMostArguments> x{};
      for (std::size_t i = 0; i < count; ++i) {
        if (from[i].data != nullptr) x[i] = from[i](f);
      }
      to(f) = function(x.data());
      continue;
    }
    const std::size_t inner = fastest(passes, to.at, block);
    const std::int64_t length = block.to[inner] - block.from[inner];
    std::array<std::int64_t, kMostArguments> steps{};
    for (std::size_t i = 0; i < count; ++i) steps[i] = from[i].at.slope(inner);
    const std::int64_t step = to.at.slope(inner);
    each_setting(block, without(passes, inner), f, [&] {
      std::array<const From*, kMostArguments> at{};
      for (std::size_t i = 0; i < count; ++i) {
        at[i] = from[i].data != nullptr ? &from[i](f) : nullptr;
      }
      To* out = &to(f);
      std::array<From, kMostArguments> x{};
      for (std::int64_t n = 0; n < length; ++n) {
        for (std::size_t i = 0; i < count; ++i) {
          if (at[i] != nullptr) x[i] = at[i][n * steps[i]];
        }
        out[n * step] = function(x.data());
      }
    });
  }
}

Error not_for(const Task& task) {
  return {ErrorCode::kNotSupported, std::string(task.call->op().name()) + " of " +
                                        task.call->type(0).to_string() + " has no kernel"};
}

Status plain(const Task& task) {
  const Numbers numbers = numbers_of(*task.call);
  return with_type(task.call->dtype(0), [&](auto zero) -> Status {
    using W = decltype(zero);
    const Scalar<W> scalar = scalar_of<W>(task.call->op().name());
    if (scalar == nullptr) return not_for(task);
    map_elements<W, W>(task, [&](const W* x) { return scalar(x, numbers); });
    return ok_status();
  });
}

Status test(const Task& task) {
  const Numbers numbers = numbers_of(*task.call);
  return with_type(task.call->dtype(0), [&](auto zero) -> Status {
    using W = decltype(zero);
    const Test<W> function = test_of<W>(task.call->op().name());
    if (function == nullptr) return not_for(task);
    map_elements<W, std::int64_t>(task, [&](const W* x) { return function(x, numbers); });
    return ok_status();
  });
}

/// A number of one type as another: fractions are cut off, integers wrap around, and what is not
/// finite becomes 0.
template <typename To, typename From>
To converted(From x) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (!std::isfinite(x)) return 0;
    const double whole = std::trunc(static_cast<double>(x));
    if (std::fabs(whole) < 9223372036854775808.0) {
      return static_cast<To>(static_cast<std::int64_t>(whole));
    }
    const double rest = std::fmod(whole, 18446744073709551616.0);
    return static_cast<To>(static_cast<std::uint64_t>(rest < 0 ? -rest : rest) *
                           (rest < 0 ? UINT64_MAX : 1));
  } else {
    return static_cast<To>(x);
  }
}

Status cast(const Task& task) {
  const DType to = (*task.outputs)[0].dtype;
  return with_type(task.call->dtype(0), [&](auto from) {
    using From = decltype(from);
    return with_type(to, [&](auto zero) {
      using To = decltype(zero);
      if (to == DType::kBool) {
        map_elements<From, To>(task, [](const From* x) { return static_cast<To>(x[0] != 0); });
      } else {
        map_elements<From, To>(task, [](const From* x) { return converted<To>(x[0]); });
      }
      return ok_status();
    });
  });
}

template <typename W>
W power(W base, double exponent) {
  if constexpr (std::is_floating_point_v<W>) {
    return static_cast<W>(std::pow(static_cast<double>(base), exponent));
  } else {
    if (exponent < 0 || exponent != std::floor(exponent)) {
      return converted<W>(std::pow(static_cast<double>(base), exponent));
    }
    W result = 1;
    W factor = base;
    for (auto rest = converted<std::uint64_t>(exponent); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) result = times(result, factor);
      factor = times(factor, factor);
    }
    return result;
  }
}

/// An op of two inputs of different types, or three of which the first is a condition.
template <typename W, typename First, typename Second, typename Function>
void map_mixed(const Task& task, Function function) {
  const Elements<const First> a = input_of<First>(task, 0);
  const Elements<const Second> b = input_of<Second>(task, 1);
  const Elements<const Second> c = input_of<Second>(task, 2);
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr) return;
  const Factors passes = factors_of(*task.loops, ops::FactorKind::kPass);
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, passes, f,
                 [&] { to(f) = function(a(f), b(f), c.data != nullptr ? c(f) : Second{}); });
  }
}

Status raise(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    return with_type(task.call->dtype(1), [&](auto other) {
      using E = decltype(other);
      map_mixed<W, W, E>(task, [](W x, E y, E) { return power(x, static_cast<double>(y)); });
      return ok_status();
    });
  });
}

Status where(const Task& task) {
  return with_type(task.call->dtype(1), [&](auto zero) {
    using W = decltype(zero);
    map_mixed<W, std::int64_t, W>(
        task, [](std::int64_t condition, W x, W y) { return condition != 0 ? x : y; });
    return ok_status();
  });
}

Status clip(const Task& task) {
  const bool has_low = task.call->has(1);
  const bool has_high = task.call->has(2);
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    map_elements<W, W>(task, [&](const W* x) {
      W value = x[0];
      if (has_low && value < x[1]) value = x[1];
      if (has_high && value > x[2]) value = x[2];
      return value;
    });
    return ok_status();
  });
}

}  // namespace

Numbers numbers_of(const graph::Call& call) {
  const graph::Op op = call.op();
  Numbers numbers;
  numbers.alpha = call.real("alpha");
  if (op.is("hard_sigmoid")) numbers.beta = call.real("beta");
  if (op.is("selu")) numbers.beta = call.real("gamma");
  if (op.is("shrink")) {
    numbers.alpha = call.real("lambd");
    numbers.beta = call.real("bias");
  }
  if (op.is("batch_norm")) numbers.alpha = call.real("epsilon");
  if (op.is("mod")) numbers.first = call.integer("fmod");
  if (op.is("bit_shift")) numbers.first = call.text("direction") == "left" ? 1 : 0;
  if (op.is("gelu")) numbers.first = call.text("approximate") == "tanh" ? 1 : 0;
  if (op.is("is_inf")) {
    numbers.first = call.integer("detect_negative");
    numbers.second = call.integer("detect_positive");
  }
  return numbers;
}

std::vector<Entry> elementwise_kernels() {
  std::vector<Entry> list = {
      {"cast", cast}, {"pow", raise}, {"where", where}, {"clip", clip}, {"batch_norm", plain}};
  for (const std::string_view op :
       {"equal", "greater", "greater_or_equal", "less", "less_or_equal", "is_nan", "is_inf"}) {
    list.push_back({op, test});
  }
  for (const graph::OpRule& rule : graph::all_ops()) {
    const bool listed = std::ranges::find(list, rule.name, &Entry::op) != list.end();
    if (rule.family == graph::Family::kElementwise && !listed) list.push_back({rule.name, plain});
  }
  return list;
}

}  // namespace tessera::run::kernels
