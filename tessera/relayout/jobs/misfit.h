// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tessera/base/error.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {

/// The first position of the source (counted over all places) from which `program` reads a number
/// that its destination's type cannot represent; nullopt when all fit. Padding of the source is not
/// checked.
///
/// Casts run in whatever order is fast and only report that some number did not fit. This function
/// searches again, in the order of the source, so that the result depends only on the numbers: not
/// on threads, kernels or the order of nests.
std::optional<std::int64_t> first_misfit(const Program& program, std::span<const std::byte> from);

/// The error of a checked cast at that position of `from`.
/// Example: "the element in slot 17 of place [0, 1] does not fit ui8".
Error does_not_fit(const Memory& from, std::int64_t position, DType to);

}  // namespace tessera::relayout
