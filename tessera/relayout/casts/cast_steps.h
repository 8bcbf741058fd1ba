// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/dtype.h"

/// The passes that a cast consists of. There are 27 types but only five intermediate types: f64,
/// f32, i32, i64 and u64. A type is read into one of them, may be converted to another one, and is
/// written:
///
///     f8E4M3FN → f32 → i32 → i4        ui32 → i64 → odd f32 → bfp_bf8
///
/// Reading is exact, and so is a conversion to an intermediate type that holds all numbers of the
/// first, so a number is rounded once, at the end. One conversion needs care: f32 is too narrow for
/// numbers of f64 and of long integers, and rounding twice can differ from rounding once. If the
/// final type is narrower than f32, the conversion to f32 therefore rounds to odd (it truncates,
/// and sets the last bit if any bit was lost). Rounding that to 22 bits or fewer gives the same
/// result as rounding the exact number.
namespace tessera::relayout::cast_steps {

/// Elements [from_first, from_first + n) of one array become [to_first, ..) of another. Returns
/// false when one did not fit; all elements are written in that case too, saturated.
using Step = bool (*)(const std::byte* from, std::int64_t from_first, std::byte* to,
                      std::int64_t to_first, std::int64_t n);

/// The intermediate types. An odd f32 is an f32, rounded to odd, that will be converted to
/// something narrower.
enum class Wide : std::uint8_t { kF64, kF32, kOddF32, kI32, kI64, kU64 };

/// The conversion from one to another, or null if that takes two steps: u64 → i32 and i32 → u64 go
/// through i64, and f32 → i64 and f32 → u64 go through f64. Numbers that do not fit are saturated
/// at every step.
Step cross(Wide from, Wide to);

// Scalar code: pairs with a 64-bit type, and types smaller than a byte.

Step copy_of(std::int64_t element_bytes);
Step f64_to_whole_f64();  ///< the nearest integers, ties to even; NaN and infinity stay
Step u32_to_i64();
Step i64_to_u32();
Step sub_byte_to_i32(DType from);  ///< i4, i2
Step i32_to_sub_byte(DType to);

// Vector code, for the instruction set of this machine.

Step small_float_to_f32(DType from);  ///< f16, bf16, f8E4M3FN, f8E5M2
Step f32_to_small_float(DType to);
Step f32_to_whole_f32();  ///< like f64_to_whole_f64
Step f32_to_i32();
Step i32_to_f32();
Step i32_to_odd_f32();

Step small_int_to_i32(DType from);  ///< 8 and 16 bits, bool
Step i32_to_small_int(DType to);
Step i64_to_i32();
/// Copies with streaming stores. Other threads may read the bytes after end_stream().
void stream(const std::byte* from, std::byte* to, std::int64_t bytes);
void end_stream();

Step block_to_f32(DType from);
Step f32_to_block(DType to);  ///< whole groups of 16
bool block_holds(DType to, float number);

}  // namespace tessera::relayout::cast_steps
