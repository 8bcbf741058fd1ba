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

namespace tessera::relayout {

/// Memory that a worker keeps while it moves: large enough for a block on its way, small enough to
/// stay in its second-level cache. Aligned to a huge page, and asks to be one.
class Scratch {
 public:
  static constexpr std::int64_t kBytes = std::int64_t{1} << 21;
  /// What a job may use of it; the rest is for casts, which run jobs inside.
  static constexpr std::int64_t kJobBytes = std::int64_t{3} << 19;
  /// The calling thread's own; null when there is no memory for it.
  static std::byte* mine();
};

/// The two arrays of one run, and how they may be touched.
struct Arrays {
  const std::byte* from = nullptr;
  std::int64_t from_bytes = 0;
  std::byte* to = nullptr;
  bool streaming = false;
  std::byte* scratch = nullptr;  ///< of Scratch::kBytes, the worker's own
  /// Set when an element does not fit its new type; the rest need not be moved then.
  std::atomic<bool>* misfit = nullptr;
};

/// One nest with the kernel that moves it. Its items may be done in any order, by any worker.
class Job {
 public:
  virtual ~Job() = default;
  /// How many parts the work has when `threads` workers are to share it.
  virtual std::int64_t items(int threads) const = 0;
  /// Does items [first, last) of items(threads).
  virtual void run(std::int64_t first, std::int64_t last, int threads,
                   const Arrays& arrays) const = 0;
  virtual std::string describe() const = 0;
};
using Jobs = std::vector<std::unique_ptr<const Job>>;

/// The jobs that move a nest of elements of `bits` bits, steps in elements.
void add_jobs(const FlatNest& nest, std::int64_t bits, bool streaming, Jobs& jobs);

/// The same for a nest whose steps are in bytes already.
void add_byte_jobs(const FlatNest& nest, bool streaming, Jobs& jobs);

/// Runs of bytes that both sides keep together: `nest` has an axis of step `width` on both sides.
void add_runs_jobs(FlatNest nest, bool streaming, Jobs& jobs);

/// Nests whose fastest axis differs: one axis has step `width` in the source, another in the
/// destination.
std::unique_ptr<const Job> make_transpose_job(const FlatNest& nest, bool streaming);

/// The same where the destination takes turns between a few rows, which fill 16 to 48 bytes; null
/// for other nests. Example: 16 channels of 2 bytes side by side.
std::unique_ptr<const Job> make_narrow_job(const FlatNest& nest);

/// The same where what continues in the destination is short, such as 15 elements of the last of
/// six dims; false for other nests.
bool add_short_rows_jobs(const FlatNest& nest, bool streaming, Jobs& jobs);

/// Anything: steps of any size, also zero and negative ones of the source.
std::unique_ptr<const Job> make_strided_job(const FlatNest& nest);

/// Elements of `bits` bits (below 8) that do not move in whole bytes; steps in elements. Work that
/// is not shared, because neighbours share bytes.
std::unique_ptr<const Job> make_bits_job(const FlatNest& nest, std::int64_t bits);

}  // namespace tessera::relayout
