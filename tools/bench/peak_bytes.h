// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace tessera::tools {

/// The most bytes that `work` and everything it calls had allocated at the same time, beyond what
/// was allocated before. Counts operator new in all threads. Calls must not be nested.
std::int64_t peak_bytes_of(const std::function<void()>& work);

}  // namespace tessera::tools
