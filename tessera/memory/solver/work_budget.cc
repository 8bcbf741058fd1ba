// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {

bool WorkBudget::look_at_the_clock() {
  constexpr double kBetweenReports = 0.1;
  unseen_work_ = 0;
  const double now = seconds();
  if (!(now < options_.seconds)) is_over_ = true;  // also for NaN
  if (!is_over_ && options_.progress != nullptr && now >= last_report_ + kBetweenReports) {
    last_report_ = now;
    is_over_ = !options_.progress(options_.progress_context, {now, nodes_, peak, proven_bound});
  }
  return !is_over_;
}

}  // namespace tessera::memory
