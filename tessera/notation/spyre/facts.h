// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/spyre/nests.h"
#include "tessera/notation/spyre/spyre.h"

namespace tessera::notation {

/// Facts about a tensor that only the notation knows. `show` prints them.
struct SpyreFacts {
  /// At most this many nests are listed; `nest_count` is the number of all nests.
  static constexpr std::size_t kMaxNests = 256;

  std::vector<std::int64_t> device_size;
  std::optional<std::vector<std::int64_t>> dim_map;  ///< nullopt when no dim_map expresses it
  std::vector<std::int64_t> stride_map;
  std::int64_t elements_per_stick = 0;
  std::int64_t device_bytes = 0;  ///< of the undivided device tensor, padding included
  std::vector<SpyreNest> nests;
  /// Nullopt when there are too many to count (see transfer_nests); then none are listed.
  std::optional<std::int64_t> nest_count;
};

Result<SpyreFacts> facts_of(const SpyreLayout& words, const Shape& shape, DType dtype);

}  // namespace tessera::notation
