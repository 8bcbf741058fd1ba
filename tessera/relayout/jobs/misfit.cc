// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/jobs/misfit.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/relayout/casts/cast.h"
#include "tessera/relayout/jobs/flat_nest.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kAtOnce = 512;
constexpr std::int64_t kGroup = 16;
constexpr std::int64_t kWidest = 8;

/// Goes through the numbers that a program reads, those of one nest in the order of the source.
class Reader {
 public:
  Reader(const std::byte* from, const Cast& widen, const Cast& narrow)
      : from_(from), widen_(widen), narrow_(narrow) {}

  /// Calls `misfit` with the positions of numbers that do not fit, in increasing order within the
  /// nest, until it returns false.
  template <typename Misfit>
  void look_through(FlatNest nest, const Misfit& misfit) {
    // Only the source positions matter: each position once, with increasing steps.
    std::erase_if(nest.axes, [](const Axis& axis) { return axis.src == 0; });
    for (Axis& axis : nest.axes) {
      if (axis.src > 0) continue;
      nest.src += axis.src * (axis.extent - 1);
      axis.src = -axis.src;
    }
    std::sort(nest.axes.begin(), nest.axes.end(),
              [](const Axis& a, const Axis& b) { return a.src > b.src; });
    if (nest.axes.empty()) nest.axes.push_back({1, 1, 0});
    look_through(nest.axes, 0, nest.src, misfit);
  }

 private:
  /// The loops from number `depth` on; false when `misfit` asked to end.
  template <typename Misfit>
  bool look_through(const std::vector<Axis>& axes, std::size_t depth, std::int64_t src,
                    const Misfit& misfit) {
    const Axis& axis = axes[depth];
    const bool inner = depth + 1 == axes.size();
    for (std::int64_t i = 0; i < axis.extent; i += inner ? kAtOnce : 1) {
      const std::int64_t at = src + i * axis.src;
      if (!(inner ? look_along(at, axis.src, std::min(kAtOnce, axis.extent - i), misfit)
                  : look_through(axes, depth + 1, at, misfit))) {
        return false;
      }
    }
    return true;
  }

  template <typename Misfit>
  bool look_along(std::int64_t src, std::int64_t step, std::int64_t n, const Misfit& misfit) {
    // Zeros complete the last group: they fit every type.
    alignas(64) std::byte wide[kAtOnce * kWidest] = {};
    alignas(64) std::byte narrow[kAtOnce * kWidest];
    if (step == 1) {
      widen_.run(from_, src, wide, 0, n);
    } else {
      for (std::int64_t i = 0; i < n; ++i) widen_.run(from_, src + i * step, wide, i, 1);
    }
    const std::int64_t whole_groups = (n + kGroup - 1) / kGroup * kGroup;
    for (std::int64_t done = 0; done < n;) {
      const std::int64_t first = done / kGroup * kGroup;
      const auto found = narrow_.run(wide, first, narrow, 0, whole_groups - first);
      if (!found) return true;
      const std::int64_t at = first + *found;
      if (!misfit(src + at * step)) return false;
      // The next search must not find it again.
      std::memset(wide + at * wide_bytes_, 0, static_cast<std::size_t>(wide_bytes_));
      done = at + 1;
    }
    return true;
  }

  const std::byte* from_;
  const Cast& widen_;   ///< exact, to a type whose elements fill bytes
  const Cast& narrow_;  ///< to the destination's type, not saturating
  std::int64_t wide_bytes_ = *dtype_bits(widen_.to()) / 8;
};

DType wide_enough(DType dtype) {
  if (is_block_float(dtype)) return DType::kF32;
  return *dtype_bits(dtype) < 8 ? DType::kI8 : dtype;
}

/// Calls `look` with a Reader of the program's source and each of its nests.
template <typename Look>
void for_each_nest(const Program& program, std::span<const std::byte> from, Rounding rounding,
                   const Look& look) {
  const DType wide = wide_enough(program.from.storage());
  const Result<Cast> widen = Cast::make(program.from.storage(), wide, Rounding::kSaturate);
  const Result<Cast> narrow = Cast::make(wide, program.to.storage(), rounding);
  if (!widen.ok() || !narrow.ok()) return;
  Reader reader(from.data(), *widen, *narrow);
  const std::int64_t nests = program.nests();
  for (std::int64_t i = 0; i < nests; ++i) {
    look(reader, flatten(program.nest(i), program.from, program.to));
  }
}

bool is_float(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return true;
    default:
      return is_block_float(dtype);
  }
}

/// The number at a position of an array as text.
std::string number_at(DType dtype, std::span<const std::byte> array, std::int64_t position) {
  const auto read = [&](auto number, DType wide) {
    const Result<Cast> cast = Cast::make(dtype, wide, Rounding::kSaturate);
    if (cast) cast->run(array.data(), position, reinterpret_cast<std::byte*>(&number), 0, 1);
    return number;
  };
  if (dtype == DType::kU64) return cat(read(std::uint64_t{0}, DType::kU64));
  if (!is_float(dtype)) return cat(read(std::int64_t{0}, DType::kI64));
  char text[32];
  const double number = read(0.0, DType::kF64);
  // As many digits as tell it from its neighbours in f32; f64 may need more.
  const bool is_long =
      dtype == DType::kF64 && static_cast<double>(static_cast<float>(number)) != number;
  std::snprintf(text, sizeof(text), is_long ? "%.17g" : "%.9g", number);
  return text;
}

}  // namespace

std::optional<std::int64_t> first_misfit(const Program& program, std::span<const std::byte> from,
                                         Rounding rounding) {
  std::int64_t first = INT64_MAX;
  for_each_nest(program, from, rounding, [&](Reader& reader, FlatNest nest) {
    reader.look_through(std::move(nest), [&](std::int64_t position) {
      first = std::min(first, position);
      return false;  // positions increase within a nest
    });
  });
  if (first == INT64_MAX) return std::nullopt;
  return first;
}

std::int64_t count_clipped(const Program& program, std::span<const std::byte> from) {
  // A position that several nests read counts once.
  std::vector<bool> clipped;
  std::int64_t count = 0;
  for_each_nest(program, from, Rounding::kRound, [&](Reader& reader, FlatNest nest) {
    reader.look_through(std::move(nest), [&](std::int64_t position) {
      if (clipped.empty()) clipped.resize(static_cast<std::size_t>(program.from.elements()));
      auto bit = clipped[static_cast<std::size_t>(position)];
      if (!bit) ++count;
      bit = true;
      return true;
    });
  });
  return count;
}

Error does_not_fit(const Program& program, std::span<const std::byte> from, std::int64_t position,
                   Rounding rounding) {
  const Memory& memory = program.from;
  const Place place = memory.mesh.delinear(position / memory.slots);
  const std::int64_t slot = position % memory.slots;
  const std::string value = number_at(memory.storage(), from, position);
  const std::string dtype(dtype_name(program.to.storage()));
  Error error{ErrorCode::kOutOfRange,
              cat("slot ", slot, place.empty() ? "" : cat(" of place ", bracketed(place)),
                  " holds ", value, ", which does not fit ", dtype),
              std::nullopt,
              rounding == Rounding::kChecked ? "round, saturate, or choose another type"
                                             : "saturate, or choose a wider type"};
  error.reasons = {{"number_does_not_fit",
                    {{"place", place}, {"slot", slot}, {"value", value}, {"dtype", dtype}}}};
  return error;
}

}  // namespace tessera::relayout
