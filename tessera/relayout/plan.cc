// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/plan.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/cast_job.h"
#include "tessera/relayout/fill_job.h"
#include "tessera/relayout/job.h"
#include "tessera/relayout/kernels.h"
#include "tessera/relayout/table_job.h"
#include "tessera/relayout/wide_image.h"

namespace tessera {

using relayout::Arrays;
using relayout::FlatNest;
using relayout::Jobs;
using relayout::WideImage;

struct Plan::Body {
  Program program;
  bool streaming = false;
  Jobs fills;
  Jobs copies;
  std::shared_ptr<const WideImage> image;  ///< instead of the jobs, see there
};

namespace {

/// Outputs from here on do not stay in the caches, so they are written around them.
std::int64_t streaming_bytes() {
  static const std::int64_t bytes = [] {
    const long shared = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::clamp<std::int64_t>(shared / 2, std::int64_t{1} << 23, std::int64_t{1} << 26);
  }();
  return bytes;
}

/// Does every job's share of `worker`.
void run_jobs(const Jobs& jobs, int worker, int workers, const Arrays& arrays) {
  for (const auto& job : jobs) {
    const auto [from, to] = ThreadPool::share(job->items(workers), worker, workers);
    if (from < to) job->run(from, to, workers, arrays);
  }
}

Result<std::vector<std::byte>> padding_bytes(const Program& program) {
  TESSERA_TRY(const Cast cast, Cast::make(DType::kF64, program.to.storage(), Rounding::kSaturate));
  std::vector<std::byte> value(8);
  cast.run(reinterpret_cast<const std::byte*>(&program.padding), 0, value.data(), 0, 1);
  return value;
}

void add_nests(const Refinement& copy, const Program& program, std::vector<FlatNest>& nests) {
  for (std::int64_t i = 0; i < copy.nests(); ++i) {
    nests.push_back(relayout::flatten(copy.nest(i), program.from, program.to));
  }
}

std::vector<FlatNest> flat_nests(const Program& program) {
  std::vector<FlatNest> nests;
  for (const Refinement& copy : program.copies) add_nests(copy, program, nests);
  return nests;
}

/// Whether nests are better put together by tables than moved one by one: none of them has most of
/// the elements, and what they keep together is short, so that each would use only parts of the
/// lines it touches.
bool falls_apart(const Refinement& copy, const Program& program, std::int64_t bits) {
  constexpr std::int64_t kFewNests = 4;
  constexpr std::int64_t kLongBytes = 512;
  if (copy.nests() <= kFewNests) return false;
  double largest = 1;
  std::int64_t longest = 1;
  for (const Factor& factor : copy.factors()) {
    std::int64_t most = 0;
    std::int64_t all = 0;
    for (const Piece& piece : factor.pieces) {
      std::int64_t steps = 1;
      for (const Loop& loop : piece.loops) {
        steps *= loop.extent;
        if (program.from.flat(loop.move.a) == 1 && program.to.flat(loop.move.b) == 1) {
          longest = std::max(longest, loop.extent);
        }
      }
      most = std::max(most, steps);
      all += steps;
    }
    largest *= static_cast<double>(most) / static_cast<double>(all);
  }
  return largest < 0.6 && longest * bits / 8 < kLongBytes;
}

/// Elements of one type that have addresses, or share bytes.
void add_moves(const Program& program, std::int64_t bits, bool streaming, Jobs& jobs) {
  for (const Refinement& copy : program.copies) {
    if (bits >= 8 && falls_apart(copy, program, bits)) {
      if (auto job = relayout::make_table_job(copy, program.from, program.to, bits)) {
        jobs.push_back(std::move(job));
        continue;
      }
    }
    std::vector<FlatNest> nests;
    add_nests(copy, program, nests);
    for (const FlatNest& nest : nests) relayout::add_jobs(nest, bits, streaming, jobs);
  }
}

/// Adds the jobs that need no image of the destination; false when one is needed.
Result<bool> add_copies(const Program& program, const PlanOptions& options, bool streaming,
                        Jobs& jobs) {
  const DType from = program.from.storage();
  const DType to = program.to.storage();
  if (from == to && dtype_bits(to)) {
    add_moves(program, *dtype_bits(to), streaming, jobs);
    return true;
  }
  const std::vector<FlatNest> nests = flat_nests(program);
  constexpr std::int64_t kTile = 1024;
  if (from == to) {
    // Tiles that move as a whole keep their bits.
    for (const FlatNest& nest : nests) {
      const auto tiles = relayout::in_tiles(nest, kTile, tile_bytes_32x32(to));
      if (!tiles) return false;
      relayout::add_runs_jobs(*tiles, streaming, jobs);
    }
    return program.fills.empty();
  }
  TESSERA_TRY(const Cast cast, Cast::make(from, to, options.rounding));
  if (is_block_float(to)) {
    if (!program.fills.empty() || dtype_bits(from).value_or(0) < 8) return false;
    for (const FlatNest& nest : nests) {
      if (!relayout::fills_tiles(nest, kTile)) return false;
    }
    for (const FlatNest& nest : nests) relayout::add_tile_cast_jobs(nest, cast, jobs);
    return true;
  }
  if (*dtype_bits(to) < 8) return false;
  for (const FlatNest& nest : nests) relayout::add_cast_jobs(nest, cast, streaming, jobs);
  return true;
}

}  // namespace

Result<Plan> Plan::make(Program program, const PlanOptions& options) {
  auto body = std::make_shared<Body>();
  body->streaming = options.stores == Stores::kStreaming ||
                    (options.stores == Stores::kAuto && program.to.bytes >= streaming_bytes());
  TESSERA_TRY(const bool direct, add_copies(program, options, body->streaming, body->copies));
  if (!direct) {
    body->copies.clear();
    TESSERA_TRY(WideImage image, WideImage::make(program, options));
    body->image = std::make_shared<const WideImage>(std::move(image));
  } else if (!program.fills.empty()) {
    TESSERA_TRY(const std::vector<std::byte> value, padding_bytes(program));
    for (const FillNest& fill : program.fills) {
      body->fills.push_back(
          relayout::make_fill_job(fill, program.to, *dtype_bits(program.to.storage()), value));
    }
  }
  body->program = std::move(program);
  return Plan(std::move(body));
}

const Program& Plan::program() const { return body_->program; }

std::vector<std::string> Plan::describe() const {
  std::vector<std::string> lines;
  if (body_->image) lines = body_->image->describe();
  for (const auto& job : body_->fills) lines.push_back(job->describe());
  for (const auto& job : body_->copies) lines.push_back(job->describe());
  return lines;
}

Status Plan::run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool) const {
  const auto wrong_size = [](std::string_view which, std::size_t has, std::int64_t needed) {
    return Error{ErrorCode::kOutOfRange,
                 cat("the ", which, " has ", has, " bytes, but its layout ", needed), std::nullopt,
                 "give memory of exactly the layout's size"};
  };
  const Program& moved = body_->program;
  if (std::cmp_not_equal(from.size(), moved.from.bytes)) {
    return wrong_size("source", from.size(), moved.from.bytes);
  }
  if (std::cmp_not_equal(to.size(), moved.to.bytes)) {
    return wrong_size("destination", to.size(), moved.to.bytes);
  }
  if (body_->image) return body_->image->run(from, to, pool);
  const int workers = pool.threads();
  constexpr std::int64_t kFits = INT64_MAX;
  std::atomic<std::int64_t> misfit = kFits;
  std::atomic<bool> no_memory = false;
  const auto arrays_for = [&](bool streaming) {
    return Arrays{from.data(), moved.from.bytes,          to.data(),
                  streaming,   relayout::Scratch::mine(), &misfit};
  };
  // Fills that cover data must be done before any copy; others only touch what copies do not.
  if (moved.fills_all) {
    pool.run([&](int worker) { run_jobs(body_->fills, worker, workers, arrays_for(false)); });
  }
  pool.run([&](int worker) {
    const Arrays arrays = arrays_for(body_->streaming);
    if (arrays.scratch == nullptr) {
      no_memory = true;
      return;
    }
    run_jobs(body_->copies, worker, workers, arrays);
    if (arrays.streaming) relayout::finish_streaming();
    if (!moved.fills_all) run_jobs(body_->fills, worker, workers, arrays);
  });
  if (no_memory) {
    return Error{ErrorCode::kTooLarge,
                 cat("no memory for ", relayout::Scratch::kBytes, " bytes of scratch a thread"),
                 std::nullopt, "use fewer threads"};
  }
  if (misfit != kFits) return relayout::does_not_fit(moved.from, misfit, moved.to.storage());
  return ok_status();
}

}  // namespace tessera
