// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {

/// The ways in which a program can be wrong.
enum class Flaw : std::uint8_t {
  kOutside,        ///< a nest or fill goes outside the buffers, or the buffers have another size
  kNotWritten,     ///< no copy writes a destination position of an element
  kWrittenTwice,   ///< more than one copy writes it
  kWrongSource,    ///< a copy writes it from a position where the source does not keep that element
  kWrongPosition,  ///< a copy writes a slot that holds no element
  kNotFilled,      ///< a padding slot that must be filled is not filled, or has another value
  kFilled,         ///< a fill writes an element's position, or padding that must stay unchanged
};
std::string_view flaw_name(Flaw flaw);

/// A flaw, its position, and a message with the numbers.
struct Finding {
  Flaw flaw = Flaw::kNotWritten;
  std::int64_t position = 0;  ///< the destination position, counted over all places
  std::string message;
};

/// Checks a program against the definition of the two placements, slot by slot: it uses no algebra
/// and shares no code with make_program. Returns the first flaw of each kind, in the order of the
/// enum; an empty list if the program is correct. It is not a flaw to fill the same slot twice, or
/// to fill elements if the program states that its fills cover data.
///
/// If a program writes more positions than the memory has slots, the check stops once this is
/// certain; positions that the program does not write are then not reported.
///
/// Errors: kShapeMismatch, kNotInjective and kNotSupported as for make_program. Time and memory are
/// linear in the number of elements and positions: kTooLarge beyond 2^28 of either, and for fills
/// that write the same slots again and again.
Result<std::vector<Finding>> verify(const Program& program, const Placement& from,
                                    const Placement& to, PaddingRule padding);

}  // namespace tessera::relayout
