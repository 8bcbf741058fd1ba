// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/wide_image.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/job.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kTile = 1024;
constexpr std::int64_t kAtOnce = 16 * kTile;  // elements that a worker casts at a time

/// The type with an address for each element that holds every number of `dtype`.
DType wide_type(DType dtype) {
  if (is_block_float(dtype)) return DType::kF32;
  return *dtype_bits(dtype) < 8 ? DType::kI8 : dtype;
}

bool writes_everything(const Program& program) {
  if (program.fills_all) return true;
  std::int64_t written = program.elements();
  for (const FillNest& fill : program.fills) written += fill.spots();
  return written == program.to.elements();
}

/// Casts all elements, in parts that share no byte; the first that does not fit, if any.
std::optional<std::int64_t> cast_all(const Cast& cast, const std::byte* from, std::byte* to,
                                     std::int64_t elements, ThreadPool& pool) {
  const std::int64_t parts = ceil_div(elements, kAtOnce);
  std::atomic<std::int64_t> misfit = INT64_MAX;
  pool.run([&](int worker) {
    const auto share = ThreadPool::share(parts, worker, pool.threads());
    for (std::int64_t part = share.from; part < share.to; ++part) {
      const std::int64_t first = part * kAtOnce;
      const std::int64_t n = std::min(kAtOnce, elements - first);
      if (const auto here = cast.run(from, first, to, first, n)) {
        Arrays{.misfit = &misfit}.report_misfit(first + *here);
        return;  // parts of this worker that follow are larger
      }
    }
  });
  if (misfit == INT64_MAX) return std::nullopt;
  return misfit;
}

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

}  // namespace

Error does_not_fit(const Memory& memory, std::int64_t element, DType to) {
  return Error{ErrorCode::kOutOfRange,
               cat("the element in slot ", element % memory.slots, " of place ",
                   bracketed(memory.mesh.delinear(element / memory.slots)), " does not fit ",
                   dtype_name(to)),
               std::nullopt, "saturate, or choose a wider type"};
}

Result<WideImage> WideImage::make(const Program& program, const PlanOptions& options) {
  const DType wide = wide_type(program.from.storage());
  Program moves = program;
  moves.to.atom = Atom::scalar(wide);
  const std::optional<std::int64_t> bytes = dtype_bytes(wide, program.to.elements());
  if (!bytes) {
    return Error{ErrorCode::kOverflow, cat("an image of ", program.to.elements(), " elements of ",
                                           dtype_name(wide), " does not fit 64 bits")};
  }
  moves.to.bytes = *bytes;
  TESSERA_TRY(const Cast cast, Cast::make(wide, program.to.storage(), options.rounding));
  std::optional<Cast> load;
  if (!writes_everything(program)) {
    TESSERA_TRY(load, Cast::make(program.to.storage(), wide, Rounding::kSaturate));
  }
  TESSERA_TRY(Plan plan, Plan::make(std::move(moves), options));
  return WideImage(std::move(plan), cast, load);
}

Status WideImage::run(std::span<const std::byte> from, std::span<std::byte> to,
                      ThreadPool& pool) const {
  const Memory& memory = moves_.program().to;
  const auto bytes = static_cast<std::size_t>(memory.bytes);
  const std::unique_ptr<std::byte, Free> image(
      static_cast<std::byte*>(std::malloc(std::max<std::size_t>(bytes, 1))));
  if (image == nullptr) {
    return Error{ErrorCode::kTooLarge,
                 cat("no memory for an image of ", memory.bytes, " bytes of the destination"),
                 std::nullopt, "move to a type whose elements fill bytes first"};
  }
  if (load_) cast_all(*load_, to.data(), image.get(), memory.elements(), pool);
  TESSERA_CHECK_OK(moves_.run(from, {image.get(), bytes}, pool));
  const auto misfit = cast_all(cast_, image.get(), to.data(), memory.elements(), pool);
  if (misfit) return does_not_fit(memory, *misfit, cast_.to());
  return ok_status();
}

std::vector<std::string> WideImage::describe() const {
  std::vector<std::string> lines = moves_.describe();
  lines.push_back(
      cat("cast of the image from ", dtype_name(cast_.from()), " to ", dtype_name(cast_.to())));
  return lines;
}

}  // namespace tessera::relayout
