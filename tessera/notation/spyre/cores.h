// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/spyre/spyre.h"

namespace tessera::notation {

/// The byte range of the undivided device tensor from the first to the last byte of a core's piece.
/// A core addresses the whole range, even if its piece does not fill it, so the device limits its
/// size.
struct SpyreSpan {
  std::int64_t core = 0;
  std::int64_t first_byte = 0;
  std::int64_t bytes = 0;  ///< 0 for a core whose piece is empty
  friend bool operator==(const SpyreSpan&, const SpyreSpan&) = default;
};

/// The span of one core; kOutOfRange when there is no such core. An undivided tensor is the piece
/// of core 0.
///
///     bytes = (1 + Σ (piece extent - 1)·device stride) elements
///
/// Example: [32, 8192, 17408] f16 by default is [8192, 272, 32, 64]; cores=[32, 1, 1, 1] gives each
/// core 256·272·32 sticks in one range: 285212672 bytes, 272 MiB.
Result<SpyreSpan> core_span(const SpyreLayout& words, const Shape& shape, DType dtype,
                            std::int64_t core);

/// The spans of all cores, by core number; kTooLarge for more than 2^16 cores.
Result<std::vector<SpyreSpan>> core_spans(const SpyreLayout& words, const Shape& shape,
                                          DType dtype);

/// kTooLarge when a core's span exceeds the limit of the machine (Spyre: 256 MiB less 4 KiB); the
/// error names the core, its span, and a division that would fit. Its reason is core_span with the
/// facts bytes, limit and fitting_cores.
Status check_core_spans(const SpyreLayout& words, const Shape& shape, DType dtype,
                        std::int64_t limit_bytes);

}  // namespace tessera::notation
