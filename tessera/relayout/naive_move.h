// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {

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
