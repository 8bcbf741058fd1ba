// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/memory/solve.h"
#include "tessera/testing/sanitized.h"

namespace tessera::test {

/// How many random problems to try: under a sanitizer, where each takes longer, a tenth.
constexpr std::uint64_t few(std::uint64_t cases) { return kSanitized ? cases / 10 : cases; }

/// Expects what holds for every solution, however it was found: the plan is valid, its peak is that
/// of the offsets, bounds are in order, the outcome is that of the capacity.
void expect_laws(const memory::Problem& problem, const memory::SolveOptions& options,
                 const memory::Solution& solution);

/// Whether one buffer by itself is more than the capacity, so that solve() has to refuse.
bool hopeless(const memory::Problem& problem, std::int64_t capacity);

/// Expects the error of a buffer, or of those that share memory with it, beyond the capacity.
void expect_hopeless(const memory::Problem& problem, std::int64_t capacity, const Error& error);

}  // namespace tessera::test
