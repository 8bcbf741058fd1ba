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

/// Solves a problem and expects these laws. An empty solution, and a failure, when it is refused.
memory::Solution expect_solved(const memory::Problem& problem, const memory::SolveOptions& options);

/// The same, and expects that the peak is `lowest` and is proven to be the lowest.
memory::Solution expect_optimum(const memory::Problem& problem, const memory::SolveOptions& options,
                                std::int64_t lowest);

/// Expects that the live bytes of `max_live` lie between those of the naive count and the lowest
/// peak of any plan (naive_alloc.h); with `is_exact`, that they and their moment are the naive
/// ones.
void expect_live_bound(const memory::Problem& problem, bool is_exact);

/// Whether one buffer alone exceeds the capacity, so that no plan fits.
bool hopeless(const memory::Problem& problem, std::int64_t capacity);

}  // namespace tessera::test
