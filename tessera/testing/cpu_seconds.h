// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace tessera::test {

/// Seconds that this thread has had a processor. Bounds on work are bounds on this clock: it does
/// not run while others use the machine.
inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace tessera::test
