// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/casts/wide_image.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/casts/cast_job.h"
#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kTile = 1024;
constexpr std::int64_t kGroup = 16;
constexpr std::int64_t kAtOnce = 16 * kTile;  // elements that a worker casts at a time

/// The type of the image: each element has an address, and it holds every number of `to`.
DType wide_type(DType to) { return is_block_float(to) ? DType::kF32 : DType::kI8; }

/// The cast from the source to the image. The second cast then gives the same result as a direct
/// cast. For integers this needs no special care: a number is rounded first and saturated
/// afterwards.
Result<Cast> into_image(DType from, DType to, Rounding rounding) {
  if (is_block_float(to)) return Cast::make_odd(from, rounding);
  return Cast::make(from, wide_type(to), rounding);
}

bool writes_everything(const Program& program) {
  if (program.fills_cover_data) return true;
  std::int64_t written = program.elements();
  for (const FillNest& fill : program.fills) written += fill.positions();
  return written == program.to.elements();
}

/// The padding value in the image. A value that does not fit the destination is saturated: padding
/// never causes an error.
Result<std::vector<std::byte>> padding_bytes(double padding, DType to) {
  const DType wide = wide_type(to);
  TESSERA_TRY(const Cast widen, into_image(DType::kF64, to, Rounding::kSaturate));
  TESSERA_TRY(const Cast check, Cast::make(wide, to, Rounding::kChecked));
  TESSERA_TRY(const Cast saturate, Cast::make(wide, to, Rounding::kSaturate));
  TESSERA_TRY(const Cast load, Cast::make(to, wide, Rounding::kSaturate));
  std::vector<std::byte> group(kGroup * sizeof(float));
  widen.run(reinterpret_cast<const std::byte*>(&padding), 0, group.data(), 0, 1);
  std::vector<std::byte> tile(static_cast<std::size_t>(tile_bytes_32x32(to)));
  if (check.run(group.data(), 0, tile.data(), 0, kGroup)) {
    saturate.run(group.data(), 0, tile.data(), 0, kGroup);
    load.run(tile.data(), 0, group.data(), 0, kGroup);
  }
  return group;
}

/// Sets a byte for each destination position that the copies and fills of `program` write.
Moves marks_of(const Program& program) {
  const std::vector<std::byte> mark = {std::byte{1}};
  Moves marks;
  add_fills(program, 8, mark, marks);
  for (std::int64_t i = 0; i < program.nests(); ++i) {
    const Nest nest = program.nest(i);
    FillNest written{nest.at.b, {}};
    for (const Loop& loop : nest.loops) written.loops.push_back({loop.extent, loop.move.b});
    marks.fills.push_back(make_fill_job(written, program.to, 8, mark));
  }
  return marks;
}

/// Calls `work` with parts [first, first + n) of the elements. No two parts share a byte.
Status for_each_part(std::int64_t elements, ThreadPool& pool,
                     const std::function<void(std::int64_t first, std::int64_t n)>& work) {
  const std::int64_t parts = ceil_div(elements, kAtOnce);
  return pool.run([&](int worker) {
    const auto share = ThreadPool::share(parts, worker, pool.threads());
    for (std::int64_t part = share.from; part < share.to; ++part) {
      const std::int64_t first = part * kAtOnce;
      work(first, std::min(kAtOnce, elements - first));
    }
  });
}

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

}  // namespace

Result<WideImage> WideImage::make(const Program& program, const PlanOptions& options) {
  const DType from = program.from.storage();
  const DType to = program.to.storage();
  const DType wide = wide_type(to);
  if (!dtype_bytes(wide, program.to.elements())) {
    return Error{ErrorCode::kOverflow, cat("an image of ", program.to.elements(), " elements of ",
                                           dtype_name(wide), " does not fit 64 bits")};
  }
  TESSERA_TRY(const Cast cast, Cast::make(wide, to, options.rounding));
  TESSERA_TRY(const Cast widen, into_image(from, to, options.rounding));
  Moves moves;
  for (std::int64_t i = 0; i < program.nests(); ++i) {
    FlatNest nest = flatten(program.nest(i), program.from, program.to);
    if (from == wide) {
      add_jobs(nest, *dtype_bits(wide), false, moves.copies);
    } else {
      add_cast_jobs(std::move(nest), widen, false, moves.copies);
    }
  }
  if (!program.fills.empty()) {
    TESSERA_TRY(const std::vector<std::byte> value, padding_bytes(program.padding, to));
    add_fills(program, *dtype_bits(wide), value, moves);
  }
  WideImage image(program.to.elements(), std::move(moves), cast);
  if (writes_everything(program)) return image;
  if (is_block_float(to)) {
    image.marks_ = marks_of(program);
  } else {
    TESSERA_TRY(image.load_, Cast::make(to, wide, Rounding::kSaturate));
  }
  return image;
}

Result<bool> WideImage::run(std::span<const std::byte> from, std::span<std::byte> to,
                            ThreadPool& pool) const {
  const auto bytes = static_cast<std::size_t>(*dtype_bytes(cast_.from(), elements_));
  const auto marked = static_cast<std::size_t>(marks_ ? elements_ : 0);
  // Zeros: an element that is not written counts as 0 in its group, and has no mark.
  const std::unique_ptr<std::byte, Free> image(
      static_cast<std::byte*>(std::calloc(bytes + marked + 1, 1)));
  if (image == nullptr) {
    return Error{ErrorCode::kOutOfMemory,
                 cat("no memory for an image of ", bytes, " bytes of the destination"),
                 std::nullopt, "move to a type whose elements fill bytes first"};
  }
  std::byte* const marks = marks_ ? image.get() + bytes : nullptr;
  if (marks_) TESSERA_CHECK_OK(marks_->run({}, {marks, marked}, pool));
  if (load_) {
    TESSERA_CHECK_OK(for_each_part(elements_, pool, [&](std::int64_t first, std::int64_t n) {
      load_->run(to.data(), first, image.get(), first, n);
    }));
  }
  TESSERA_TRY(const bool fits, moves_.run(from, {image.get(), bytes}, pool));
  if (!fits) return false;
  return finish(image.get(), marks, to.data(), pool);
}

Result<bool> WideImage::finish(const std::byte* image, const std::byte* marks, std::byte* to,
                               ThreadPool& pool) const {
  std::atomic<bool> misfit = false;
  const auto write = [&](std::int64_t first, std::int64_t n) {
    if (cast_.run(image, first, to, first, n)) misfit = true;
  };
  const auto marked = [&](std::int64_t group) {
    return std::any_of(marks + group, marks + group + kGroup,
                       [](std::byte mark) { return mark != std::byte{}; });
  };
  const Status written = for_each_part(elements_, pool, [&](std::int64_t first, std::int64_t n) {
    if (marks == nullptr) return write(first, n);
    for (std::int64_t group = first; group < first + n; group += kGroup) {
      if (marked(group)) write(group, kGroup);
    }
  });
  if (!written.ok()) return written.error();
  return !misfit;
}

std::vector<std::string> WideImage::describe() const {
  std::vector<std::string> lines = moves_.describe();
  lines.push_back(cat("cast_image: ", dtype_name(cast_.from()), " to ", dtype_name(cast_.to())));
  return lines;
}

}  // namespace tessera::relayout
