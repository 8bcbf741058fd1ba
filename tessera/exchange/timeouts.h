// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace tessera::exchange {

/// How long ranks wait for each other.
struct Timeouts {
  /// After this long without progress, a rank that others wait for is asked whether it is alive.
  std::chrono::milliseconds silence{60'000};
  /// How long its answer may take.
  std::chrono::milliseconds answer{5'000};
};

}  // namespace tessera::exchange
