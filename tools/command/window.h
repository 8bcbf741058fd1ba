// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// How many elements, or slots, one question about a part of a tensor may ask for.
inline constexpr std::int64_t kMostInWindow = std::int64_t{1} << 16;

/// The elements from + i·steps of a tensor, 0 <= i < counts: what a picture shows of it.
struct Window {
  std::vector<std::int64_t> from;
  Shape counts;
  std::vector<std::int64_t> steps;

  /// The index of element `number`, counted row-major over `counts`.
  Index element(std::int64_t number) const;
};

/// The window of the flags --from, --counts and --steps. Law: all of its elements lie in `shape`.
/// Errors: kOutOfRange; kTooLarge for more than kMostInWindow elements.
Result<Window> read_window(const Request& request, const Shape& shape);

}  // namespace tessera::tools
