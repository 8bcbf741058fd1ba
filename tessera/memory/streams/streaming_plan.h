// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/memory/streaming.h"

/// streams/: how to cut data into chunks for streaming.h. In: the size of the data or a tensor's
/// shape, the memory options and the costs of loads and computes. Out: a chunk size, or slices of
/// the tensor, with their times. It must not move data.
namespace tessera::memory {

/// The costs of a chunk: a load of b bytes takes load_latency + b / load_rate, and a compute the
/// same with its own numbers. Rates are in bytes per unit of time, above 0; infinity means "costs
/// nothing".
struct StreamCosts {
  double load_rate = 1;
  double load_latency = 0;
  double compute_rate = 1;
  double compute_latency = 0;

  double load(std::int64_t bytes) const;
  double compute(std::int64_t bytes) const;
};

/// The data to stream. Chunks are whole granules; the last one ends where the data end.
struct StreamData {
  std::int64_t total_bytes = 0;
  std::int64_t granule_bytes = 1;
};

/// A stream cut into equal chunks; the last one may be smaller.
/// Law: (chunks - 1)·chunk_bytes + last_bytes = total_bytes, 0 < last_bytes <= chunk_bytes.
struct StreamPlan {
  std::int64_t chunks = 0;  ///< 0 when there are no bytes
  std::int64_t chunk_bytes = 0;
  std::int64_t last_bytes = 0;
  StreamCosts costs;  ///< of each chunk
  StreamMemory memory;
  StreamTimes times;

  std::int64_t bytes_of(std::int64_t chunk) const {
    return chunk + 1 < chunks ? chunk_bytes : last_bytes;
  }
};

/// kTooLarge for more granules than this.
inline constexpr std::int64_t kMostGranules = std::int64_t{1} << 40;
/// The longest schedule that is listed step by step.
inline constexpr std::int64_t kMostStreamSteps = std::int64_t{1} << 20;

/// The chunk size with which a stream finishes first; on a tie, the fewest chunks, then the
/// smallest chunk. Small chunks pay latencies; large chunks pay a long first load and last compute.
///
/// Law: no number of granules per chunk, with buffers that fit the budget and all have that size,
/// has a lower times.total, which is the total of schedule_stream for these chunks.
/// Example: 1 MiB in granules of 1 KiB through 36 KiB, 4 of them scratch, with loads of 1000 + b/4
/// and computes of b/2: 256 chunks of 4 KiB, the smallest whose loads, 2024, hide behind computes,
/// 2048. Only the first load shows.
/// Time: at most about 2^21 sizes are tried, however many there are, and usually a few hundred.
/// Errors: as schedule_stream; kOutOfRange also for invalid rates and latencies; kDoesNotFit when
/// not even one granule fits; kTooLarge.
Result<StreamPlan> plan_stream(const StreamData& data, const StreamOptions& options,
                               const StreamCosts& costs);

/// The plan step by step; kTooLarge for more than kMostStreamSteps chunks.
Result<StreamSchedule> schedule_of(const StreamPlan& plan, const StreamOptions& options);

}  // namespace tessera::memory
