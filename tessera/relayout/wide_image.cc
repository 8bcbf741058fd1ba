// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/wide_image.h"

#include <algorithm>
#include <array>
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
constexpr std::int64_t kGroup = 16;           // block floats that share an exponent
constexpr std::int64_t kAtOnce = 16 * kTile;  // elements that a worker casts at a time

/// The type with an address for each element that holds every number of both.
DType wide_type(DType from, DType to) {
  const auto fits_f32 = [](DType dtype) {
    const std::int64_t bits = dtype_bits(dtype).value_or(8);
    return bits < 32 || dtype == DType::kF32;
  };
  return fits_f32(from) && fits_f32(to) ? DType::kF32 : DType::kF64;
}

bool writes_everything(const Program& program) {
  if (program.fills_all) return true;
  std::int64_t written = program.elements();
  for (const FillNest& fill : program.fills) written += fill.spots();
  return written == program.to.elements();
}

/// The number that `padding` becomes as `dtype`.
Result<double> rounded(double padding, DType dtype) {
  TESSERA_TRY(const Cast there, Cast::make(DType::kF64, dtype, Rounding::kSaturate));
  TESSERA_TRY(const Cast back, Cast::make(dtype, DType::kF64, Rounding::kSaturate));
  std::array<double, kGroup> numbers;
  numbers.fill(padding);
  std::vector<std::byte> bytes(static_cast<std::size_t>(*dtype_bytes(dtype, kGroup)));
  there.run(reinterpret_cast<const std::byte*>(numbers.data()), 0, bytes.data(), 0, kGroup);
  back.run(bytes.data(), 0, reinterpret_cast<std::byte*>(numbers.data()), 0, kGroup);
  return numbers[0];
}

/// A program that sets a byte for each destination spot that the copies and fills of `program`
/// write.
Program marks_of(const Program& program) {
  Program marks;
  marks.from.atom = marks.to.atom = Atom::scalar(DType::kU8);
  marks.to.mesh = program.to.mesh;
  marks.to.slots = program.to.slots;
  marks.to.bytes = program.to.elements();
  marks.padding = 1;
  marks.fills = program.fills;
  for (std::int64_t i = 0; i < program.nests(); ++i) {
    const Nest nest = program.nest(i);
    FillNest fill{nest.at.b, {}};
    for (const Loop& loop : nest.loops) fill.loops.push_back({loop.extent, loop.move.b});
    marks.fills.push_back(std::move(fill));
  }
  return marks;
}

/// Casts elements [first, first + n), but of block floats only groups with a mark, where there are
/// marks.
std::optional<std::int64_t> cast_part(const Cast& cast, const std::byte* from, std::byte* to,
                                      std::int64_t first, std::int64_t n, const std::byte* marks) {
  if (marks == nullptr) return cast.run(from, first, to, first, n);
  const auto marked = [&](std::int64_t group) {
    const std::byte* const begin = marks + first + group * kGroup;
    return std::any_of(begin, begin + kGroup, [](std::byte mark) { return mark != std::byte{}; });
  };
  for (std::int64_t group = 0; group < n / kGroup; ++group) {
    if (!marked(group)) continue;
    const std::int64_t at = group * kGroup;
    const auto misfit = cast.run(from, first + at, to, first + at, kGroup);
    if (misfit) return at + *misfit;
  }
  return std::nullopt;
}

/// Casts all elements, in parts that share no byte; the first that does not fit, if any.
std::optional<std::int64_t> cast_all(const Cast& cast, const std::byte* from, std::byte* to,
                                     std::int64_t elements, ThreadPool& pool,
                                     const std::byte* marks = nullptr) {
  const std::int64_t parts = ceil_div(elements, kAtOnce);
  std::atomic<std::int64_t> misfit = INT64_MAX;
  pool.run([&](int worker) {
    const auto share = ThreadPool::share(parts, worker, pool.threads());
    for (std::int64_t part = share.from; part < share.to; ++part) {
      const std::int64_t first = part * kAtOnce;
      const std::int64_t n = std::min(kAtOnce, elements - first);
      if (const auto here = cast_part(cast, from, to, first, n, marks)) {
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
  const DType to = program.to.storage();
  const DType wide = wide_type(program.from.storage(), to);
  Program moves = program;
  moves.to.atom = Atom::scalar(wide);
  const std::optional<std::int64_t> bytes = dtype_bytes(wide, program.to.elements());
  if (!bytes) {
    return Error{ErrorCode::kOverflow, cat("an image of ", program.to.elements(), " elements of ",
                                           dtype_name(wide), " does not fit 64 bits")};
  }
  moves.to.bytes = *bytes;
  TESSERA_TRY(moves.padding, rounded(program.padding, to));
  TESSERA_TRY(const Cast cast, Cast::make(wide, to, options.rounding));
  std::optional<Cast> load;
  std::optional<Plan> marks;
  if (!writes_everything(program)) {
    if (is_block_float(to)) {
      TESSERA_TRY(marks, Plan::make(marks_of(program)));
    } else {
      TESSERA_TRY(load, Cast::make(to, wide, Rounding::kSaturate));
    }
  }
  TESSERA_TRY(Plan plan, Plan::make(std::move(moves), options));
  return WideImage(std::move(plan), cast, load, std::move(marks));
}

Status WideImage::run(std::span<const std::byte> from, std::span<std::byte> to,
                      ThreadPool& pool) const {
  const Memory& memory = moves_.program().to;
  const auto bytes = static_cast<std::size_t>(memory.bytes);
  const auto marked = static_cast<std::size_t>(marks_ ? memory.elements() : 0);
  // Zeros: what is not written counts as 0 in its group, and has no mark.
  const std::unique_ptr<std::byte, Free> image(
      static_cast<std::byte*>(std::calloc(bytes + marked + 1, 1)));
  if (image == nullptr) {
    return Error{ErrorCode::kTooLarge,
                 cat("no memory for an image of ", memory.bytes, " bytes of the destination"),
                 std::nullopt, "move to a type whose elements fill bytes first"};
  }
  std::byte* const marks = marks_ ? image.get() + bytes : nullptr;
  if (marks_) TESSERA_CHECK_OK(marks_->run({}, {marks, marked}, pool));
  if (load_) cast_all(*load_, to.data(), image.get(), memory.elements(), pool);
  TESSERA_CHECK_OK(moves_.run(from, {image.get(), bytes}, pool));
  const auto misfit = cast_all(cast_, image.get(), to.data(), memory.elements(), pool, marks);
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
