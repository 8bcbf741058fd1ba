// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/jobs/misfit.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/text.h"
#include "tessera/relayout/casts/cast.h"
#include "tessera/relayout/jobs/flat_nest.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kAtOnce = 512;
constexpr std::int64_t kGroup = 16;
constexpr std::int64_t kWidest = 8;

/// Searches nests for the smallest source position whose number does not fit.
class Search {
 public:
  Search(const std::byte* from, const Cast& widen, const Cast& narrow)
      : from_(from), widen_(widen), narrow_(narrow) {}

  void look_through(FlatNest nest) {
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
    look_through(nest.axes, 0, nest.src);
  }

  std::int64_t first() const { return first_; }

 private:
  /// Searches the loops from number `depth` on. Positions increase along a loop, so it ends at the
  /// first misfit.
  void look_through(const std::vector<Axis>& axes, std::size_t depth, std::int64_t src) {
    const Axis& axis = axes[depth];
    if (depth + 1 == axes.size()) {
      for (std::int64_t i = 0; i < axis.extent && src + i * axis.src < first_; i += kAtOnce) {
        look_along(src + i * axis.src, axis.src, std::min(kAtOnce, axis.extent - i));
      }
      return;
    }
    for (std::int64_t i = 0; i < axis.extent && src + i * axis.src < first_; ++i) {
      look_through(axes, depth + 1, src + i * axis.src);
    }
  }

  void look_along(std::int64_t src, std::int64_t step, std::int64_t n) {
    // Zeros complete the last group: they fit every type.
    alignas(64) std::byte wide[kAtOnce * kWidest] = {};
    alignas(64) std::byte narrow[kAtOnce * kWidest];
    if (step == 1) {
      widen_.run(from_, src, wide, 0, n);
    } else {
      for (std::int64_t i = 0; i < n; ++i) widen_.run(from_, src + i * step, wide, i, 1);
    }
    const std::int64_t whole_groups = (n + kGroup - 1) / kGroup * kGroup;
    if (const auto misfit = narrow_.run(wide, 0, narrow, 0, whole_groups)) {
      first_ = std::min(first_, src + *misfit * step);
    }
  }

  const std::byte* from_;
  const Cast& widen_;   ///< exact, to a type whose elements fill bytes
  const Cast& narrow_;  ///< to the destination's type, checked
  std::int64_t first_ = INT64_MAX;
};

DType wide_enough(DType dtype) {
  if (is_block_float(dtype)) return DType::kF32;
  return *dtype_bits(dtype) < 8 ? DType::kI8 : dtype;
}

}  // namespace

std::optional<std::int64_t> first_misfit(const Program& program, std::span<const std::byte> from) {
  const DType wide = wide_enough(program.from.storage());
  const Result<Cast> widen = Cast::make(program.from.storage(), wide, Rounding::kSaturate);
  const Result<Cast> narrow = Cast::make(wide, program.to.storage(), Rounding::kChecked);
  if (!widen.ok() || !narrow.ok()) return std::nullopt;
  Search search(from.data(), *widen, *narrow);
  const std::int64_t nests = program.nests();
  for (std::int64_t i = 0; i < nests; ++i) {
    search.look_through(flatten(program.nest(i), program.from, program.to));
  }
  if (search.first() == INT64_MAX) return std::nullopt;
  return search.first();
}

Error does_not_fit(const Memory& from, std::int64_t position, DType to) {
  return Error{
      ErrorCode::kOutOfRange,
      cat("the element in slot ", position % from.slots, " of place ",
          bracketed(from.mesh.delinear(position / from.slots)), " does not fit ", dtype_name(to)),
      std::nullopt, "saturate, or choose a wider type"};
}

}  // namespace tessera::relayout
