// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/plan.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/casts/cast_job.h"
#include "tessera/relayout/casts/wide_image.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/jobs/misfit.h"
#include "tessera/relayout/jobs/moves.h"

namespace tessera::relayout {

using relayout::FlatNest;
using relayout::Jobs;
using relayout::Moves;
using relayout::WideImage;

struct Plan::Body {
  Program program;
  Moves moves;
  std::optional<WideImage> image;  ///< used instead of `moves`, see WideImage
};

namespace {

/// Outputs of this size or more do not stay in the caches, so they are written with streaming
/// stores.
std::int64_t streaming_bytes() {
  static const std::int64_t bytes = [] {
    const long shared = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::clamp<std::int64_t>(shared / 2, std::int64_t{1} << 23, std::int64_t{1} << 26);
  }();
  return bytes;
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

/// Whether nests are better moved together by tables than one by one: none of them has most of the
/// elements, and their contiguous runs are short, so that each would use only parts of the cache
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
  return largest < 0.6 && longest < kLongBytes * 8 / bits;
}

/// Elements of one type that have addresses, or share bytes.
void add_moves(const Program& program, std::int64_t bits, bool part, bool streaming, Jobs& jobs) {
  for (const Refinement& copy : program.copies) {
    if (bits >= 8 && part) {
      auto job = relayout::make_gather_scatter_job(copy, program.from, program.to, bits, streaming);
      if (!job && copy.nests() > 1) {
        job = relayout::make_transpose_table_job(copy, program.from, program.to, bits);
      }
      if (job) {
        jobs.push_back(std::move(job));
        continue;
      }
    }
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
    add_moves(program, *dtype_bits(to), options.part, streaming, jobs);
    return true;
  }
  const std::vector<FlatNest> nests = flat_nests(program);
  constexpr std::int64_t kTile = 1024;
  constexpr std::int64_t kGroup = 16;
  if (from == to) {
    // Tiles that move as a whole are copied without changing any bit.
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
      if (!relayout::fills_groups(nest, kGroup)) return false;
    }
    for (const FlatNest& nest : nests) relayout::add_group_cast_jobs(nest, cast, jobs);
    return true;
  }
  if (*dtype_bits(to) < 8) return false;
  for (const FlatNest& nest : nests) relayout::add_cast_jobs(nest, cast, streaming, jobs);
  return true;
}

}  // namespace

Result<Plan> Plan::make(Program program, const PlanOptions& options) {
  auto body = std::make_shared<Body>();
  Moves& moves = body->moves;
  moves.streaming = options.stores == Stores::kStreaming ||
                    (options.stores == Stores::kAuto && program.to.bytes >= streaming_bytes());
  TESSERA_TRY(const bool direct, add_copies(program, options, moves.streaming, moves.copies));
  if (!direct) {
    moves.copies.clear();
    TESSERA_TRY(body->image, WideImage::make(program, options));
  } else if (!program.fills.empty()) {
    TESSERA_TRY(const std::vector<std::byte> value, padding_bytes(program));
    relayout::add_fills(program, *dtype_bits(program.to.storage()), value, moves);
  }
  body->program = std::move(program);
  return Plan(std::move(body));
}

const Program& Plan::program() const { return body_->program; }

std::vector<std::string> Plan::describe() const {
  return body_->image ? body_->image->describe() : body_->moves.describe();
}

Status Plan::run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool) const {
  const Program& moved = body_->program;
  TESSERA_CHECK_OK(relayout::check_sizes(moved, from.size(), to.size()));
  TESSERA_TRY(const bool fits,
              body_->image ? body_->image->run(from, to, pool) : body_->moves.run(from, to, pool));
  if (fits) return ok_status();
  const std::optional<std::int64_t> misfit = relayout::first_misfit(moved, from);
  assert(misfit && "what a cast did not fit is found again");
  return relayout::does_not_fit(moved.from, misfit.value_or(0), moved.to.storage());
}

}  // namespace tessera::relayout
