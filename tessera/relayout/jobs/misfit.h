// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tessera/base/result.h"
#include "tessera/relayout/program.h"
#include "tessera/relayout/rounding.h"

namespace tessera::relayout {

/// The first position of the source (counted over all places) from which `program` reads a number
/// that its destination's type cannot represent; nullopt when all fit. Padding of the source is not
/// checked. `rounding` is not kSaturate, by which every number fits.
///
/// Casts run in whatever order is fast and only report that some number did not fit. This function
/// searches again, in the order of the source, so that the result depends only on the numbers: not
/// on threads, kernels or the order of nests.
std::optional<std::int64_t> first_misfit(const Program& program, std::span<const std::byte> from,
                                         Rounding rounding);

/// How many numbers of the source do not fit, fractions aside: those that Rounding::kSaturate
/// clips. A number that is copied to several places counts once.
std::int64_t count_clipped(const Program& program, std::span<const std::byte> from);

/// The error of a cast at that position of the source. Its reason is number_does_not_fit, with
/// place, slot, value and dtype.
/// Example: "slot 17 of place [0, 1] holds 300, which does not fit ui8".
Error does_not_fit(const Program& program, std::span<const std::byte> from, std::int64_t position,
                   Rounding rounding);

}  // namespace tessera::relayout
