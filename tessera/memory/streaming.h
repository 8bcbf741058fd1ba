// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/array.h"
#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

namespace tessera::memory {

/// Streaming: data that are too large for a memory go through it in chunks. While one chunk is
/// computed, the next is loaded.
///
/// The model. Chunks are loaded in order, one at a time, and computed in order, one at a time. A
/// load and a compute may run at the same time. Chunk k goes into buffer k mod `buffers`:
///   load k     begins when load k-1 and compute k-buffers have ended (its buffer is free)
///   compute k  begins when load k and compute k-1 have ended
/// With one buffer nothing overlaps. Two buffers are double buffering:
///
///     buffer A  load 0 | compute 0 | load 2    | compute 2
///     buffer B         | load 1    | compute 1 | load 3    ..
///
/// All times use the same unit, such as seconds or cycles, and are never negative.
struct Chunk {
  std::int64_t bytes = 0;
  double load = 0;
  double compute = 0;
};

/// The memory that a stream may use.
struct StreamOptions {
  std::int64_t budget_bytes = 0;
  std::int64_t buffers = 2;        ///< 1 to kMostStreamBuffers
  std::int64_t scratch_bytes = 0;  ///< for the computation itself, in addition to the buffers
  std::int64_t alignment = 1;      ///< of each buffer and of the scratch
};
inline constexpr std::int64_t kMostStreamBuffers = 4096;

/// Bytes [offset, offset + bytes) of the budget.
struct StreamRegion {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

/// The positions of a stream's buffers: side by side from 0, then the scratch.
struct StreamMemory {
  Array<StreamRegion> buffers;  ///< as many as there are chunks, if there are fewer chunks than
                                ///< buffers
  StreamRegion scratch;
  std::int64_t used_bytes = 0;  ///< one past the last byte; at most the budget
};

/// How long a stream takes, compared with no overlap and with perfect overlap.
///
/// Law: bound <= total <= loads + computes. Something runs at every moment, so the difference
/// between the sum and total is exactly the time in which a load is hidden behind a compute.
struct StreamTimes {
  double total = 0;
  double loads = 0;     ///< of all chunks
  double computes = 0;  ///< of all chunks
  /// The time with one buffer per chunk: the longest chain through loads 0..k and computes k..last.
  /// This includes the chains of all loads and the last compute, and of the first load and all
  /// computes.
  double bound = 0;

  double without_overlap() const { return loads + computes; }
  double hidden() const;
  /// The fraction of load time that is hidden, 0 to 1; 1 when there is nothing to load.
  double overlap() const;
};

struct StreamStep {
  std::size_t buffer = 0;
  double load_start = 0;
  double load_end = 0;
  double compute_start = 0;
  double compute_end = 0;
};

struct StreamSchedule {
  StreamMemory memory;
  Array<StreamStep> steps;  ///< one per chunk
  StreamTimes times;
};

/// The schedule of a chain of chunks.
/// Example: chunks of 16 KB with loads and computes of 1 in 36 KB, of which 4 KB are scratch: two
/// buffers at 0 and 16 KB, scratch at 32 KB; chunk k is loaded in [k, k+1) and computed in
/// [k+1, k+2). All loads but the first are hidden.
/// Errors: kOutOfRange for an invalid number; kBadAlignment; kOverflow; kDoesNotFit with the
/// missing bytes and what would help; kOutOfMemory.
Result<StreamSchedule> schedule_stream(std::span<const Chunk> chunks, const StreamOptions& options);

/// The positions of buffers of these sizes, as in the `memory` of schedule_stream.
Result<StreamMemory> place_stream(std::span<const std::int64_t> buffer_bytes,
                                  const StreamOptions& options);

/// The buffers and the scratch as memory that an op needs from `lower` to `upper`, to be planned
/// together with everything else that is live then. kOutOfRange for a lifetime that ends before it
/// begins.
Result<std::vector<Buffer>> stream_buffers(const StreamMemory& memory, std::int64_t alignment,
                                           std::int64_t lower, std::int64_t upper);

/// kOutOfRange or kBadAlignment for invalid options.
Status check(const StreamOptions& options);

}  // namespace tessera::memory
