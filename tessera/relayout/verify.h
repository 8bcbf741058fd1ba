// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {

/// One way in which a program can be wrong.
enum class Flaw : std::uint8_t {
  kOutside,       ///< a nest or fill leaves the buffers, or the buffers have another size
  kNotWritten,    ///< a destination spot of an element is written by no copy
  kWrittenTwice,  ///< by more than one
  kWrongSource,   ///< by a copy from a spot where the source does not keep that element
  kWrongSpot,     ///< a copy writes a slot that holds no element
  kNotFilled,     ///< a padding slot that should be filled is not, or with another value
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
/// the enum; none when the program is right. Filling the same slot twice is no flaw, and neither is
/// filling elements where the program says that its fills cover data.
///
/// A program that goes on for longer than the memory has slots is followed only until that is
/// shown, and what it leaves undone is then not told.
///
/// Errors: kShapeMismatch, kNotInjective and kNotSupported as for make_program. Takes time and
/// memory for every element and spot: kTooLarge beyond 2^28 of either, and for fills that write
/// the same slots over and over.
Result<std::vector<Finding>> verify(const Program& program, const Placement& from,
                                    const Placement& to, PaddingRule padding);

/// The value that padding of `to` is to hold, or nothing where it is left alone. Pieces promise a
/// value where all of them promise the same.
std::optional<double> padding_to_write(const Placement& to, PaddingRule rule);

/// The reference: moves element by element, by asking both placements where each is. Slow, and
/// obviously right. Elements smaller than a byte are packed from the lowest bits up, place after
/// place without a gap: spot n of an i4 memory is the bits 4n .. 4n+3.
/// Errors: as make_program's; kNotSupported when the two memories keep different types, or block
/// floats, whose elements have no address; kOutOfRange for buffers of another size.
Status move_naively(const Placement& from, std::span<const std::byte> source, const Placement& to,
                    std::span<std::byte> destination, PaddingRule padding);

/// The bits of `number` in memory, in the lowest bits of the answer: rounded to nearest, ties to
/// even, and the nearest that there is where the type has no such number. Nothing for block floats.
/// Example: 1.5 as bf16 is 0x3FC0; -1 as i4 is 0xF; 300 as ui8 is 0xFF.
std::optional<std::uint64_t> bits_of_number(double number, DType dtype);

}  // namespace tessera::relayout
