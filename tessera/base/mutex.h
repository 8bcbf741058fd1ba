// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace tessera {

/// std::mutex; on machines without threads, such as a WebAssembly module, nothing to wait for.
#if defined(_LIBCPP_HAS_NO_THREADS)
class Mutex {
 public:
  void lock() {}
  void unlock() {}
};
#else
using Mutex = std::mutex;
#endif

}  // namespace tessera
