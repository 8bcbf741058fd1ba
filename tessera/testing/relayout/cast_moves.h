// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/relayout/plan.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/relayout/plan_laws.h"

namespace tessera::test {

/// How the numbers of a source are drawn.
enum class SourceNumbers : std::uint8_t {
  kAnyBits,    ///< random bytes: most do not fit the destination
  kFitting,    ///< small numbers that fit the destination
  kSomeMisfit  ///< the same with a few that do not fit
};

/// The memory of a source, padding included.
std::vector<std::byte> random_numbers(Dice& dice, const Placement& from, DType to,
                                      SourceNumbers numbers);

/// The result of a move with casts, by the definitions alone: each element is read and written at
/// its positions in the two placements and cast by naive_cast; padding follows the rule, saturated.
/// With checked rounding, the refusal names the first position of the source, in the order of its
/// memory, whose number does not fit.
///
/// Block floats are written group by group from the exact numbers that belong there, 0 where there
/// is none. Groups to which nothing is written keep their bytes.
Outcome naive_cast_move(const Placement& from, const std::vector<std::byte>& source,
                        const Placement& to, const std::vector<std::byte>& before,
                        relayout::PaddingRule padding, relayout::Rounding rounding);

/// The law of plans that cast: in every trial run() leaves the same result as naive_cast_move.
/// Empty when it holds, also where the program is refused.
std::string cast_move_mistake(Dice& dice, const Placement& from, const Placement& to,
                              relayout::PaddingRule padding, relayout::Rounding rounding,
                              SourceNumbers numbers, std::span<const Trial> trials);

}  // namespace tessera::test
