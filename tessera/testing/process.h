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

/// Whether this build uses the address sanitizer. It slows the naive reference by an order of
/// magnitude, so random tests try fewer cases there. Only the preprocessor can tell.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tessera::test
