// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace tessera {

#if defined(_LIBCPP_HAS_NO_THREADS)
/// What std::mutex is where there are no threads, such as in a WebAssembly module: nothing to wait
/// for.
class NoMutex {
 public:
  void lock() {}
  void unlock() {}
};
#define TESSERA_MUTEX NoMutex
#else
#define TESSERA_MUTEX std::mutex
#endif

/// std::mutex where there are threads.
using Mutex = TESSERA_MUTEX;

#undef TESSERA_MUTEX

}  // namespace tessera
