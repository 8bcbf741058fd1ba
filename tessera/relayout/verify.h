// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/dtype.h"
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

/// The value that the padding of `to` must hold, or nullopt if the padding stays unchanged. A
/// piecewise placement promises a value if all of its pieces promise the same one.
std::optional<double> padding_to_write(const Placement& to, PaddingRule rule);

/// The reference implementation: moves element by element and asks both placements where each
/// element is. Slow, and obviously correct. Elements smaller than a byte are packed from the lowest
/// bits up, place after place without a gap: position n of an i4 memory is the bits 4n .. 4n+3.
/// Errors: those of make_program; kNotSupported when the two memories have different element types,
/// or block floats, whose elements have no address; kOutOfRange for buffers of another size.
Status move_naively(const Placement& from, std::span<const std::byte> source, const Placement& to,
                    std::span<std::byte> destination, PaddingRule padding);

/// The bits of `number` in memory, in the lowest bits of the result: rounded to nearest, ties to
/// even; a number outside the range of the type becomes the nearest number of the type. Returns
/// nullopt for block floats.
/// Example: 1.5 as bf16 is 0x3FC0; -1 as i4 is 0xF; 300 as ui8 is 0xFF.
std::optional<std::uint64_t> bits_of_number(double number, DType dtype);

}  // namespace tessera::relayout
