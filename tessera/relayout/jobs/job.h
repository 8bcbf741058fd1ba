// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/relayout/jobs/flat_nest.h"

/// jobs/: makes a nest of a program runnable. A FlatNest or Refinement comes in; jobs go out, which
/// divide the work into items that any worker can run. Jobs know offsets in flat arrays, not
/// layouts or places, and start no threads.
namespace tessera::relayout {

/// Memory that a worker uses during a move: large enough for one block, small enough to stay in its
/// second-level cache. Aligned to a huge page, and asks the system for one.
class Scratch {
 public:
  static constexpr std::int64_t kBytes = std::int64_t{1} << 21;
  /// The part that a job may use; the rest is for casts, which run other jobs inside.
  static constexpr std::int64_t kJobBytes = std::int64_t{3} << 19;
  /// The scratch memory of the calling thread; null when it cannot be allocated.
  static std::byte* mine();
};

/// The two arrays of one run, and how they are accessed.
struct Arrays {
  const std::byte* from = nullptr;
  std::int64_t from_bytes = 0;
  std::byte* to = nullptr;
  bool streaming = false;
  std::byte* scratch = nullptr;  ///< Scratch::kBytes bytes of this worker
  /// Set when an element does not fit its new type; the rest need not be moved in that case.
  std::atomic<bool>* misfit = nullptr;
};

/// One nest with the kernel that moves it. Its items may run in any order, on any worker.
class Job {
 public:
  virtual ~Job() = default;
  /// The number of items that the work is divided into for `threads` workers.
  virtual std::int64_t items(int threads) const = 0;
  /// Runs items [first, last) of items(threads).
  virtual void run(std::int64_t first, std::int64_t last, int threads,
                   const Arrays& arrays) const = 0;
  /// The name of the kernel, a colon, and its numbers: "transpose: 4-byte elements, ..".
  virtual std::string describe() const = 0;
};
using Jobs = std::vector<std::unique_ptr<const Job>>;

/// Adds the jobs that move a nest of elements of `bits` bits, steps in elements.
void add_jobs(const FlatNest& nest, std::int64_t bits, bool streaming, Jobs& jobs);

/// The same for a nest whose steps are in bytes.
void add_byte_jobs(const FlatNest& nest, bool streaming, Jobs& jobs);

/// Runs of bytes that are contiguous on both sides: `nest` has an axis of step `width` on both
/// sides.
void add_runs_jobs(FlatNest nest, bool streaming, Jobs& jobs);

/// Nests whose fastest axis differs: one axis has step `width` in the source, another in the
/// destination.
std::unique_ptr<const Job> make_transpose_job(const FlatNest& nest, bool streaming);

/// The same if the destination interleaves a few rows, which fill 16 to 48 bytes; null for other
/// nests. Example: 16 channels of 2 bytes side by side.
std::unique_ptr<const Job> make_narrow_job(const FlatNest& nest);

/// The same if the contiguous runs of the destination are short, such as 15 elements of the last of
/// six dims; false for other nests.
bool add_short_rows_jobs(const FlatNest& nest, bool streaming, Jobs& jobs);

/// Any nest: steps of any size, including zero and negative source steps.
std::unique_ptr<const Job> make_strided_job(const FlatNest& nest);

/// Elements of `bits` bits (below 8) that do not move in whole bytes; steps in elements. Runs on
/// one worker, because adjacent elements share bytes.
std::unique_ptr<const Job> make_bits_job(const FlatNest& nest, std::int64_t bits);

}  // namespace tessera::relayout
