// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

namespace tessera {

/// One way in which a program can be wrong.
enum class Flaw : std::uint8_t {
  kOutside,       ///< a nest or fill leaves the buffers
  kNotWritten,    ///< a destination spot of an element is written by no copy
  kWrittenTwice,  ///< by more than one
  kWrongSource,   ///< by a copy from a spot where the source does not keep that element
  kWrongSpot,     ///< a copy writes a slot that holds no element
  kNotFilled,     ///< a padding slot that should be filled is not
  kFilled,        ///< a fill writes an element's spot, or padding that should be left alone
};
std::string_view flaw_name(Flaw flaw);

/// What is wrong, where, and in words that name the numbers.
struct Finding {
  Flaw flaw = Flaw::kNotWritten;
  std::int64_t spot = 0;  ///< the destination spot, counted over all places
  std::string message;
};

/// Checks a program against the definition of the two placements, spot by spot: no algebra, and no
/// code in common with what makes programs. Answers the first flaw of each kind, in the order of
/// the enum; none when the program is right.
/// Takes time and memory for every element and spot: kTooLarge beyond 2^28 of either.
Result<std::vector<Finding>> verify(const Program& program, const Placement& from,
                                    const Placement& to, PaddingRule padding);

/// The reference: moves element by element, by asking both placements where each is. Values are
/// converted by `cast_one` of the reference casts. Slow, and obviously right.
/// Errors: as make_program's, and kOutOfRange for buffers of another size.
Status move_naively(const Placement& from, std::span<const std::byte> source, const Placement& to,
                    std::span<std::byte> destination, PaddingRule padding);

}  // namespace tessera
