// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::relayout {

// =================================================================================================
// What a number becomes in another type
//
// A cast takes the exact number that an element stands for and rounds it once, to the nearest
// number of the new type, ties to the one whose last bit is 0. Subnormal numbers are treated like
// all other numbers on both sides. The special cases are:
//
//                      floats                        integers        block floats
//   too large          the largest (1)               the largest (1) the largest (1)
//   a fraction         rounds                        rounds (1)      rounds
//   infinity           infinity; f8E4M3FN has none:  the largest (1) the largest (1)
//                      the largest (1)
//   NaN                NaN                           0 (1)           0 (1)
//
//   (1) does not fit: an error with Rounding::kChecked; with Rounding::kRound also, except for a
//       fraction
//
// "Too large" is a finite number that would round to infinity: 65520 as f16, 464.1 as f8E4M3FN.
// Signs are kept, also those of zeros and NaN. A NaN becomes quiet and keeps as many leading bits
// of its payload as the new type has. A cast of a type to itself copies bits, except for block
// floats. Integers without a sign in their name (i8 .. i64, and i4, i2) are two's complement. A
// bool is a byte: 0 is false, everything else true. As a destination, bool is the integer type with
// the numbers 0 and 1: 5 becomes 1 and 0.3 becomes 0 (1).
//
// Block floats: 16 elements share an exponent byte E. An element is a sign bit above a magnitude m
// of M bits (bfp8: 7, bfp4: 3, bfp2: 1) and has the value
//
//       ± m · 2^(E − bias − (M − 1))        bias 127 for bfp_bf*, 15 for bfp_f*
//
// so the leading one of a large element is stored explicitly. Reading follows this formula for
// every byte, with these exceptions: bfp_f* use the low 5 bits of E; a value of 2^128 or more (only
// bfp_bf*, only E = 255) is infinity; a sign with m = 0 is −0. Writing a group takes E from its
// largest element (numbers that do not fit count as the largest number): floor(log2) + bias, at
// least 0. Then each m is |x| divided by 2^(E − bias − (M − 1)), rounded once and at most 2^M − 1:
// 1.999 as bfp_bf8 is 127/64. So a number fits if it is below 2^128 (bfp_bf*, E is at most 254) or
// 2^17 (bfp_f*, E is at most 31). m = 0 is written without a sign, and a group of zeros with E = 0.
// A cast of a block float to itself is read and written like any other pair: the numbers do not
// change, but E becomes as small as the rule allows.
//
// A tile of 1024 elements is 64 exponents, then the mantissas; the first element of a byte is in
// its low bits. The format and the reading rule are those of Tenstorrent's machines, see
// https://docs.tenstorrent.com/pybuda/latest/dataformats.html and "FloatBitPatterns" in
// https://github.com/tenstorrent/tt-isa-documentation. Differences there: packers in hardware round
// ties away from zero, and truncate bfp8 to get bfp4 and bfp2; unpackers read a sign with m = 0 as
// −infinity; host software truncates bits of the smaller elements before it rounds, reads f32
// subnormals as if they had a leading one, keeps infinity and NaN as E = 255, and treats numbers
// below 2^-15 as 2^-15 in bfp_f*.
// =================================================================================================

/// What happens to a number that the new type cannot represent.
///   kChecked    it is an error: 300 as u8, 2.5 as i8, 1e6 as f16, NaN as i32
///   kRound      a fraction rounds to the nearest integer, ties to even: 2.5 as i8 is 2. Everything
///               else is an error as before; what rounds into the range fits: 127.4 as i8, 0.3 as
///               bool
///   kSaturate   it becomes the nearest number of the type, NaN 0: 255, 2, 65504, 0
enum class Rounding : std::uint8_t { kChecked, kRound, kSaturate };

}  // namespace tessera::relayout
