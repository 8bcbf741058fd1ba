// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/memory/solve.h"
#include "tessera/testing/process.h"

namespace tessera::test {

/// How many random problems to try: a tenth under a sanitizer, where each takes longer.
constexpr std::uint64_t few(std::uint64_t cases) { return kSanitized ? cases / 10 : cases; }

/// Expects what holds for every solution, whatever method found it: the plan is valid, its peak is
/// that of the offsets, bounds are in order, the outcome agrees with the capacity.
void expect_laws(const memory::Problem& problem, const memory::SolveOptions& options,
                 const memory::Solution& solution);

/// Whether one buffer alone exceeds the capacity, so that no plan fits.
bool hopeless(const memory::Problem& problem, std::int64_t capacity);

}  // namespace tessera::test
