// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"

namespace tessera::tools {

/// The number of threads for --threads: for 0, as many as the hardware runs concurrently.
/// kOutOfRange above 1024.
Result<int> thread_count(std::int64_t requested);

}  // namespace tessera::tools
