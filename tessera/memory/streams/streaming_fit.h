// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/memory/streaming.h"

/// The bytes that a stream needs, and the error when there are fewer.
namespace tessera::memory {

/// The smallest multiple of `alignment` that is at least `end`, for end >= 0.
Result<std::int64_t> aligned_end(std::int64_t end, std::int64_t alignment);

/// The bytes that `buffers` of `bytes` each need, including the scratch; the largest int64 on
/// overflow. Never decreases as `bytes` grow.
std::int64_t stream_need(std::int64_t buffers, std::int64_t bytes, const StreamOptions& options);

/// kDoesNotFit for buffers of up to `largest` bytes that need `need` bytes including the scratch.
Error stream_does_not_fit(std::int64_t buffers, std::int64_t largest, std::int64_t need,
                          const StreamOptions& options);

}  // namespace tessera::memory
