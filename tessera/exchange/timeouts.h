// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace tessera::exchange {

/// How long ranks wait for each other.
struct Timeouts {
  /// After this time without progress, a waiting rank asks the rank it waits for whether it is
  /// alive.
  std::chrono::milliseconds silence{60'000};
  /// The timeout for its answer.
  std::chrono::milliseconds answer{5'000};
};

}  // namespace tessera::exchange
