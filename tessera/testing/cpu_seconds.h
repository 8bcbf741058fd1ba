// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace tessera::test {

/// CPU time of this thread in seconds. Bounds on work use this clock, because it stops while other
/// processes use the machine.
inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace tessera::test
