// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/plan.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/casts/cast_job.h"
#include "tessera/relayout/casts/wide_image.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/jobs/misfit.h"
#include "tessera/relayout/jobs/moves.h"

namespace tessera::relayout {

struct Plan::Body {
  Program program;
  Moves moves;
  std::optional<WideImage> image;  ///< used instead of `moves`, see WideImage
  Rounding rounding = Rounding::kChecked;
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

/// Bytes that a program writes, which may be few of those of the destination.
std::int64_t written_bytes(const Program& program) {
  const std::optional<std::int64_t> bits = dtype_bits(program.to.storage());
  if (!bits || program.fills_cover_data) return program.to.bytes;
  const std::int64_t copied = (Checked(program.elements()) * *bits).saturated() / 8;
  return std::min(program.to.bytes, copied);
}

Result<std::vector<std::byte>> padding_bytes(const Program& program) {
  TESSERA_TRY(const Cast cast, Cast::make(DType::kF64, program.to.storage(), Rounding::kSaturate));
  std::vector<std::byte> value(8);
  cast.run(reinterpret_cast<const std::byte*>(&program.padding), 0, value.data(), 0, 1);
  return value;
}

void add_nests(const Refinement& copy, const Program& program, std::vector<FlatNest>& nests) {
  for (std::int64_t i = 0; i < copy.nests(); ++i) {
    nests.push_back(flatten(copy.nest(i), program.from, program.to));
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
std::optional<Jobs> move_jobs(const Program& program, std::int64_t bits, bool part,
                              bool streaming) {
  Jobs jobs;
  for (const Refinement& copy : program.copies) {
    if (bits >= 8 && part) {
      auto job = make_gather_scatter_job(copy, program.from, program.to, bits, streaming);
      if (!job && copy.nests() > 1) {
        job = make_transpose_table_job(copy, program.from, program.to, bits);
      }
      if (job) {
        jobs.push_back(std::move(job));
        continue;
      }
    }
    if (bits >= 8 && falls_apart(copy, program, bits)) {
      if (auto job = make_table_job(copy, program.from, program.to, bits)) {
        jobs.push_back(std::move(job));
        continue;
      }
    }
    std::vector<FlatNest> nests;
    add_nests(copy, program, nests);
    for (const FlatNest& nest : nests) add_jobs(nest, bits, streaming, jobs);
  }
  return jobs;
}

/// Block floats of one type: tiles that move as a whole are copied without changing any bit. Empty
/// when some tile does not.
std::optional<Jobs> tile_jobs(const Program& program, bool streaming) {
  constexpr std::int64_t kTile = 1024;
  if (!program.fills.empty()) return std::nullopt;
  Jobs jobs;
  for (const FlatNest& nest : flat_nests(program)) {
    const auto tiles = in_tiles(nest, kTile, tile_bytes_32x32(program.to.storage()));
    if (!tiles) return std::nullopt;
    add_runs_jobs(*tiles, streaming, jobs);
  }
  return jobs;
}

/// Casts to block floats, in whole groups. Empty when some group is written in parts.
std::optional<Jobs> group_cast_jobs(const Program& program, const Cast& cast) {
  constexpr std::int64_t kGroup = 16;
  if (!program.fills.empty() || dtype_bits(program.from.storage()).value_or(0) < 8) {
    return std::nullopt;
  }
  Jobs jobs;
  for (const FlatNest& nest : flat_nests(program)) {
    if (!fills_groups(nest, kGroup)) return std::nullopt;
    add_group_cast_jobs(nest, cast, jobs);
  }
  return jobs;
}

/// Casts to elements that have addresses of their own. Empty when they share bytes.
std::optional<Jobs> cast_jobs(const Program& program, const Cast& cast, bool streaming) {
  if (*dtype_bits(program.to.storage()) < 8) return std::nullopt;
  Jobs jobs;
  for (const FlatNest& nest : flat_nests(program)) add_cast_jobs(nest, cast, streaming, jobs);
  return jobs;
}

/// The jobs of all copies; empty when the destination must be made as a WideImage.
Result<std::optional<Jobs>> copy_jobs(const Program& program, const PlanOptions& options,
                                      bool streaming) {
  const DType from = program.from.storage();
  const DType to = program.to.storage();
  if (from == to) {
    const std::optional<std::int64_t> bits = dtype_bits(to);
    return bits ? move_jobs(program, *bits, options.part, streaming)
                : tile_jobs(program, streaming);
  }
  TESSERA_TRY(const Cast cast, Cast::make(from, to, options.rounding));
  return is_block_float(to) ? group_cast_jobs(program, cast) : cast_jobs(program, cast, streaming);
}

}  // namespace

Result<Plan> Plan::make(Program program, const PlanOptions& options) {
  auto body = std::make_shared<Body>();
  Moves& moves = body->moves;
  moves.streaming =
      options.stores == Stores::kStreaming ||
      (options.stores == Stores::kAuto && written_bytes(program) >= streaming_bytes());
  TESSERA_TRY(std::optional<Jobs> copies, copy_jobs(program, options, moves.streaming));
  if (!copies) {
    TESSERA_TRY(body->image, WideImage::make(program, options));
  } else {
    moves.copies = *std::move(copies);
    if (!program.fills.empty()) {
      TESSERA_TRY(const std::vector<std::byte> value, padding_bytes(program));
      add_fills(program, *dtype_bits(program.to.storage()), value, moves);
    }
  }
  body->rounding = options.rounding;
  body->program = std::move(program);
  return Plan(std::move(body));
}

const Program& Plan::program() const { return body_->program; }

std::vector<std::string> Plan::describe() const {
  return body_->image ? body_->image->describe() : body_->moves.describe();
}

Status Plan::run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool,
                 const PlanPart& part) const {
  const Program& moved = body_->program;
  TESSERA_CHECK_OK(check_sizes(moved, from.size(), to.size()));
  // An image is of all of the destination.
  if (body_->image && part.number + 1 < part.parts) return ok_status();
  TESSERA_TRY(const bool fits, body_->image ? body_->image->run(from, to, pool)
                                            : body_->moves.run(from, to, pool, part));
  if (fits) return ok_status();
  const std::optional<std::int64_t> misfit = first_misfit(moved, from, body_->rounding);
  assert(misfit && "what a cast did not fit is found again");
  return does_not_fit(moved, from, misfit.value_or(0), body_->rounding);
}

std::int64_t Plan::clipped(std::span<const std::byte> from) const {
  const Program& moved = body_->program;
  const bool converts =
      moved.from.storage() != moved.to.storage() && check_sizes(moved, from.size(), moved.to.bytes);
  return converts ? count_clipped(moved, from) : 0;
}

}  // namespace tessera::relayout
