// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/wide_image.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/cast_job.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kTile = 1024;
constexpr std::int64_t kGroup = 16;
constexpr std::int64_t kAtOnce = 16 * kTile;  // elements that a worker casts at a time

/// The type of the image: an address for each element, and every number of `to`.
DType wide_type(DType to) { return is_block_float(to) ? DType::kF32 : DType::kI8; }

/// From the source to the image so that the cast that follows rounds as if it were the only one.
/// Integers do that by themselves: a number is rounded first and only saturated after.
Result<Cast> into_image(DType from, DType to, Rounding rounding) {
  if (is_block_float(to)) return Cast::make_odd(from, rounding);
  return Cast::make(from, wide_type(to), rounding);
}

bool writes_everything(const Program& program) {
  if (program.fills_all) return true;
  std::int64_t written = program.elements();
  for (const FillNest& fill : program.fills) written += fill.spots();
  return written == program.to.elements();
}

/// The padding value in the image. What does not fit the destination becomes what does: padding is
/// no reason for an error.
Result<std::vector<std::byte>> padding_bytes(const Program& program, const Cast& saturate) {
  TESSERA_TRY(const Cast widen, into_image(DType::kF64, program.to.storage(), Rounding::kSaturate));
  TESSERA_TRY(const Cast load, Cast::make(saturate.to(), saturate.from(), Rounding::kSaturate));
  TESSERA_TRY(const Cast check, Cast::make(saturate.from(), saturate.to(), Rounding::kChecked));
  std::vector<std::byte> group(kGroup * sizeof(float));
  widen.run(reinterpret_cast<const std::byte*>(&program.padding), 0, group.data(), 0, 1);
  std::vector<std::byte> tile(static_cast<std::size_t>(tile_bytes_32x32(saturate.to())));
  if (check.run(group.data(), 0, tile.data(), 0, kGroup)) {
    saturate.run(group.data(), 0, tile.data(), 0, kGroup);
    load.run(tile.data(), 0, group.data(), 0, kGroup);
  }
  return group;
}

/// Calls `work` with parts [first, first + n) of the elements that share no byte.
void for_each_part(std::int64_t elements, ThreadPool& pool,
                   const std::function<void(std::int64_t first, std::int64_t n)>& work) {
  const std::int64_t parts = ceil_div(elements, kAtOnce);
  pool.run([&](int worker) {
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
  TESSERA_TRY(const Cast saturate, Cast::make(wide, to, Rounding::kSaturate));
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
    TESSERA_TRY(const std::vector<std::byte> value, padding_bytes(program, saturate));
    add_fills(program, *dtype_bits(wide), value, moves);
  }
  WideImage image(program.to.elements(), std::move(moves), cast, saturate);
  if (!writes_everything(program)) {
    TESSERA_TRY(image.load_, Cast::make(to, wide, Rounding::kSaturate));
  }
  return image;
}

Result<bool> WideImage::run(std::span<const std::byte> from, std::span<std::byte> to,
                            ThreadPool& pool) const {
  const auto bytes = static_cast<std::size_t>(*dtype_bytes(cast_.from(), elements_));
  const std::unique_ptr<std::byte, Free> image(
      static_cast<std::byte*>(std::malloc(std::max<std::size_t>(bytes, 1))));
  if (image == nullptr) {
    return Error{ErrorCode::kTooLarge,
                 cat("no memory for an image of ", bytes, " bytes of the destination"),
                 std::nullopt, "move to a type whose elements fill bytes first"};
  }
  if (load_) {
    for_each_part(elements_, pool, [&](std::int64_t first, std::int64_t n) {
      load_->run(to.data(), first, image.get(), first, n);
    });
  }
  TESSERA_TRY(const bool fits, moves_.run(from, {image.get(), bytes}, pool));
  if (!fits) return false;
  return finish(image.get(), to.data(), pool);
}

bool WideImage::finish(const std::byte* image, std::byte* to, ThreadPool& pool) const {
  std::atomic<bool> misfit = false;
  const auto write = [&](std::int64_t first, std::int64_t n) {
    if (!cast_.run(image, first, to, first, n)) return;
    misfit = true;
    saturate_.run(image, first, to, first, n);
  };
  if (!load_ || !is_block_float(cast_.to())) {
    for_each_part(elements_, pool, write);
    return !misfit;
  }
  for_each_part(elements_, pool, [&](std::int64_t first, std::int64_t n) {
    constexpr auto kGroupBytes = static_cast<std::size_t>(kGroup) * sizeof(float);
    for (std::int64_t group = first; group < first + n; group += kGroup) {
      std::byte before[kGroupBytes];
      load_->run(to, group, before, 0, kGroup);
      const std::byte* now = image + group * static_cast<std::int64_t>(sizeof(float));
      if (std::memcmp(before, now, kGroupBytes) != 0) write(group, kGroup);
    }
  });
  return !misfit;
}

std::vector<std::string> WideImage::describe() const {
  std::vector<std::string> lines = moves_.describe();
  lines.push_back(
      cat("cast of the image from ", dtype_name(cast_.from()), " to ", dtype_name(cast_.to())));
  return lines;
}

}  // namespace tessera::relayout
