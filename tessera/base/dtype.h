// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera {

/// Element types. In block floats, 16 elements share one exponent byte; they exist only in 32x32
/// tiles. Their two kinds (8-bit "bf" and 5-bit "f" exponents) have equal sizes but are different
/// types. The signless i32 and the signed si32 are also different types, as in MLIR.
enum class DType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kI64,
  kI32,
  kI16,
  kI8,
  kSI64,
  kSI32,
  kSI16,
  kSI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kI4,
  kI2,
  kBfpBf8,
  kBfpBf4,
  kBfpBf2,
  kBfpF8,
  kBfpF4,
  kBfpF2,
};

/// Every element type, in declaration order.
const std::vector<DType>& all_dtypes();

/// The MLIR spelling: f32, bf16, f8E4M3FN, i8, si8, ui8, i1, i4; block floats are bfp_bf8 ..
/// bfp_f2.
std::string_view dtype_name(DType dtype);

/// The type with this spelling. Accepts `dtype_name` and short spellings (u8, bool, fp8-e4m3).
std::optional<DType> parse_dtype(std::string_view name);

/// Bits of one element in memory (bool takes 8). Empty for block floats, whose elements have no
/// address of their own.
std::optional<std::int64_t> dtype_bits(DType dtype);

bool is_block_float(DType dtype);

/// Bytes of one 32x32 tile: 4096 for f32, 1088 for bfp_bf8 (1024 mantissa bytes + 64 exponents).
std::int64_t tile_bytes_32x32(DType dtype);

/// Bytes that `elements` elements take, rounded up to whole bytes; block floats round up to whole
/// tiles of 1024 elements. Empty on overflow.
std::optional<std::int64_t> dtype_bytes(DType dtype, std::int64_t elements);

}  // namespace tessera
