// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tessera/notation/spyre/spyre.h"

namespace tessera::notation {
namespace {

constexpr std::int64_t kStickBits = std::int64_t{128} * 8;

}  // namespace

Result<DType> stick_storage(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kI32:
    case DType::kSI32:
    case DType::kI16:
    case DType::kSI16:
    case DType::kI8:
    case DType::kSI8:
    case DType::kI4:
    case DType::kI2:
      return dtype;
    case DType::kI64:
      return DType::kI32;
    case DType::kSI64:
      return DType::kSI32;
    case DType::kU8:
      return DType::kU32;
    case DType::kBool:
      return DType::kU16;
    default:
      return Error{ErrorCode::kBadDType, cat("Spyre has no sticks of ", dtype_name(dtype)),
                   std::nullopt,
                   "f32, f16, bf16, f8E4M3FN, f8E5M2, i64, i32, i16, i8, ui8, i1, i4 or i2"};
  }
}

Result<std::int64_t> elements_per_stick(DType dtype) {
  TESSERA_TRY(const DType storage, stick_storage(dtype));
  return kStickBits / *dtype_bits(storage);
}

}  // namespace tessera::notation
