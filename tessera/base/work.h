// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera {

/// The steps that one question may take: a bound shared by everything that searches or enumerates
/// on its behalf. A step is a few nanoseconds of work; what takes longer counts as several.
///
/// The asker opens a budget for its thread. Loops whose length a text can choose call `spend`, and
/// give up with `too_large` once it returns false. Budgets nest: an inner one limits one part of a
/// question, and never allows more than what the outer one has left. Without a budget, steps are
/// only counted, and the bounds that each operation states for itself apply.
///
/// Law: the same question takes the same number of steps on every machine, so tests check steps
/// instead of time.
/// Example:
///     const Work work(kQuestionSteps);
///     const Result<Injectivity> answer = is_injective(form);   // an answer, or kTooLarge
///     work.used();
class Work {
 public:
  explicit Work(std::int64_t steps) : outer_(state()) {
    State& now = state();
    now.begin = now.used;
    now.limit = steps < outer_.limit - now.used ? now.used + steps : outer_.limit;
  }
  ~Work() {
    State& now = state();
    now.begin = outer_.begin;
    now.limit = outer_.limit;
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// The steps taken since this budget was opened: at most one more than it allows.
  std::int64_t used() const { return state().used - outer_.used; }

  /// Counts steps; false once the budget of this thread is spent.
  static bool spend(std::int64_t steps = 1) {
    State& now = state();
    if (steps <= now.limit - now.used) {
      now.used += steps;
      return true;
    }
    if (now.limit == kUnlimited) return true;
    now.used = now.limit + 1;
    return false;
  }
  /// Counts steps whose number is known before; false, and counts nothing, if fewer are left, so
  /// that the question can go on without this part.
  static bool reserve(std::int64_t steps) { return steps <= left() && spend(steps); }
  static bool is_spent() { return state().used > state().limit; }
  /// The steps that are left; 0 once the budget is spent.
  static std::int64_t left() { return is_spent() ? 0 : state().limit - state().used; }
  /// kTooLarge: `what` ("finding what a slot holds") takes more steps than the budget has.
  static Error too_large(std::string_view what);

 private:
  static constexpr std::int64_t kUnlimited = INT64_MAX / 2;
  struct State {
    std::int64_t used = 0;
    std::int64_t begin = 0;  ///< `used` when the budget was opened
    std::int64_t limit = kUnlimited;
  };
  static State& state() {
    static thread_local State one;
    return one;
  }

  State outer_;
};

/// The budget of one question of the command: well below a second.
inline constexpr std::int64_t kQuestionSteps = std::int64_t{1} << 25;

}  // namespace tessera
