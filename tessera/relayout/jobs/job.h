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
#include "tessera/relayout/program.h"

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

/// Writes `value`, an element of `bits` bits, to every position of a fill. Values of less than a
/// byte are in the lowest bits of value[0]; such a job runs on one worker.
std::unique_ptr<const Job> make_fill_job(const FillNest& fill, const Memory& to, std::int64_t bits,
                                         const std::vector<std::byte>& value);

/// For nests that keep blocks of at most 256 bytes together and only change the order inside, in
/// the same way in all blocks: odd-even, small transposes side by side. Null for other nests, and
/// if too few blocks are contiguous to fill cache lines. Steps in bytes.
/// Example: 16 elements of 4 bytes, even ones first: axes n (64 -> 64), 2 (4 -> 32), 8 (8 -> 4).
std::unique_ptr<const Job> make_permute_job(const FlatNest& nest);

/// For nests that interleave or deinterleave 2, 3 or 4 streams of elements: channels first and
/// last. Null for other nests, and if streams are short. Steps in bytes.
/// Example: planes of p floats to RGB: axes p (4 -> 12), 3 (4·p -> 4).
std::unique_ptr<const Job> make_interleave_job(const FlatNest& nest);

/// Moves a refinement of very many nests as one job. If widths do not divide each other
/// (blocks of 8 into blocks of 100), each factor becomes a table of offsets, and the destination is
/// assembled run by run from short pieces. Null when the tables would be too long. `bits`
/// (8 or more) is the size of an element.
std::unique_ptr<const Job> make_table_job(const Refinement& copy, const Memory& from,
                                          const Memory& to, std::int64_t bits);

/// For parts of a larger move (PlanOptions::part), mostly between a memory that fits in the caches
/// and one that does not: gathers runs of a large source into a small destination, or scatters runs
/// of a small source to a large destination, row by row in the order of the large one. It handles
/// all nests of the copy together, so that each cache line of the large side is touched once. Null
/// if the runs that are contiguous on both sides are short.
std::unique_ptr<const Job> make_gather_scatter_job(const Refinement& copy, const Memory& from,
                                                   const Memory& to, std::int64_t bits,
                                                   bool streaming);

/// The counterpart of the gather and scatter job for transposes: the factor that is contiguous in
/// the source (columns) differs from the factor that is contiguous in the destination (rows), and
/// both consist of segments. Blocks of rows are gathered from the segments of the source,
/// transposed in registers, and written to the segments of the destination, for all nests of the
/// copy together. Null if there are no such factors.
std::unique_ptr<const Job> make_transpose_table_job(const Refinement& copy, const Memory& from,
                                                    const Memory& to, std::int64_t bits);

}  // namespace tessera::relayout
