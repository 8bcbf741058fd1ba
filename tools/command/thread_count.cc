// SPDX-License-Identifier: Apache-2.0
#include "tools/command/thread_count.h"

#include <algorithm>
#include <thread>

#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kMostThreads = 1024;

}  // namespace

Result<int> thread_count(std::int64_t requested) {
  if (requested == 0) {
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  if (requested >= 1 && requested <= kMostThreads) return static_cast<int>(requested);
  return Error{ErrorCode::kOutOfRange, cat("--threads is ", requested), std::nullopt,
               cat("use 1 to ", kMostThreads)};
}

}  // namespace tessera::tools
