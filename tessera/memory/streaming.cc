// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/streaming.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/memory/streams/streaming_fit.h"

namespace tessera::memory {
namespace {

Error out_of_range(std::string message, std::string help) {
  return Error{ErrorCode::kOutOfRange, std::move(message), std::nullopt, std::move(help)};
}

Status check(std::span<const Chunk> chunks) {
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const Chunk& chunk = chunks[k];
    if (chunk.bytes < 0) {
      return out_of_range(cat("chunk ", k, " has ", chunk.bytes, " bytes"), "use at least 0");
    }
    const bool load = std::isfinite(chunk.load) && chunk.load >= 0;
    const bool compute = std::isfinite(chunk.compute) && chunk.compute >= 0;
    if (!load || !compute) {
      return out_of_range(cat("the ", load ? "compute" : "load", " time of chunk ", k, ", ",
                              std::to_string(load ? chunk.compute : chunk.load), ", is not a time"),
                          "times are finite and at least 0");
    }
  }
  return ok_status();
}

}  // namespace

double StreamTimes::hidden() const { return std::max(0.0, without_overlap() - total); }

double StreamTimes::overlap() const { return loads > 0 ? std::min(1.0, hidden() / loads) : 1.0; }

Status check(const StreamOptions& options) {
  if (options.budget_bytes < 0) {
    return out_of_range(cat("a budget of ", options.budget_bytes, " bytes"), "use at least 0");
  }
  if (options.scratch_bytes < 0) {
    return out_of_range(cat(options.scratch_bytes, " bytes of scratch"), "use at least 0");
  }
  if (options.buffers < 1 || options.buffers > kMostStreamBuffers) {
    return out_of_range(cat(options.buffers, " buffers"),
                        cat("use 1 to ", kMostStreamBuffers, "; 2 are double buffering"));
  }
  if (options.alignment < 1) {
    return Error{ErrorCode::kBadAlignment, cat("alignment ", options.alignment, " is below 1"),
                 std::nullopt, "use at least 1"};
  }
  return ok_status();
}

Result<StreamMemory> place_stream(std::span<const std::int64_t> buffer_bytes,
                                  const StreamOptions& options) {
  TESSERA_CHECK_OK(check(options));
  StreamMemory memory;
  if (!memory.buffers.reserve(buffer_bytes.size())) return out_of_memory();
  std::int64_t end = 0;  // of the last region that has bytes
  std::int64_t largest = 0;
  for (const std::int64_t bytes : buffer_bytes) {
    if (bytes < 0) return out_of_range(cat("a buffer of ", bytes, " bytes"), "use at least 0");
    TESSERA_TRY(const std::int64_t offset, aligned_end(end, options.alignment));
    if (!memory.buffers.push({offset, bytes})) return out_of_memory();
    if (bytes == 0) continue;
    TESSERA_TRY(end, (Checked(offset) + bytes).value("the end of the buffers"));
    largest = std::max(largest, bytes);
  }
  TESSERA_TRY(const std::int64_t after, aligned_end(end, options.alignment));
  memory.scratch = {after, options.scratch_bytes};
  if (options.scratch_bytes > 0) {
    TESSERA_TRY(end, (Checked(after) + options.scratch_bytes).value("the end of the scratch"));
  }
  memory.used_bytes = end;
  if (end > options.budget_bytes) {
    return stream_does_not_fit(static_cast<std::int64_t>(buffer_bytes.size()), largest, end,
                               options);
  }
  return memory;
}

Result<StreamSchedule> schedule_stream(std::span<const Chunk> chunks,
                                       const StreamOptions& options) {
  TESSERA_CHECK_OK(check(options));
  TESSERA_CHECK_OK(check(chunks));
  const std::size_t buffers = std::min(chunks.size(), static_cast<std::size_t>(options.buffers));
  Array<std::int64_t> sizes;
  if (!sizes.resize(buffers, 0)) return out_of_memory();
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    sizes[k % buffers] = std::max(sizes[k % buffers], chunks[k].bytes);
  }
  StreamSchedule schedule;
  TESSERA_TRY(schedule.memory, place_stream(sizes, options));
  if (!schedule.steps.resize(chunks.size())) return out_of_memory();
  StreamTimes& times = schedule.times;
  double loaded = 0;     // when the last load ended
  double computed = 0;   // when the last compute ended
  double unlimited = 0;  // when it would have ended with a buffer for every chunk
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    StreamStep& step = schedule.steps[k];
    step.buffer = k % buffers;
    const double free = k < buffers ? 0 : schedule.steps[k - buffers].compute_end;
    step.load_start = std::max(loaded, free);
    step.load_end = loaded = step.load_start + chunks[k].load;
    step.compute_start = std::max(loaded, computed);
    step.compute_end = computed = step.compute_start + chunks[k].compute;
    times.loads += chunks[k].load;
    times.computes += chunks[k].compute;
    unlimited = std::max(unlimited, times.loads) + chunks[k].compute;
  }
  times.total = computed;
  times.bound = std::min(unlimited, computed);  // equal values may differ in their last digit
  if (!std::isfinite(times.without_overlap())) {
    return Error{ErrorCode::kOverflow, "the times of the chunks have no finite sum", std::nullopt,
                 "use a larger unit of time"};
  }
  return schedule;
}

Result<std::vector<Buffer>> stream_buffers(const StreamMemory& memory, std::int64_t alignment,
                                           std::int64_t lower, std::int64_t upper) {
  if (upper <= lower) {
    return out_of_range(cat("a stream with the lifetime ", lower, " to ", upper),
                        "let it end after it begins");
  }
  std::vector<Buffer> buffers;
  const auto add = [&](const StreamRegion& region) {
    Buffer buffer;
    buffer.lower = lower;
    buffer.upper = upper;
    buffer.size = region.bytes;
    buffer.alignment = alignment;
    buffers.push_back(buffer);
  };
  for (const StreamRegion& region : memory.buffers) add(region);
  if (memory.scratch.bytes > 0) add(memory.scratch);
  return buffers;
}

}  // namespace tessera::memory
