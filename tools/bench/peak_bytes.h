// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace tessera::tools {

/// The most bytes that were allocated at one time by `work` and everything it calls, beyond what
/// was allocated before. Counts operator new in all threads; not to be nested.
std::int64_t peak_bytes_of(const std::function<void()>& work);

}  // namespace tessera::tools
