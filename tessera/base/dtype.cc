// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/dtype.h"

#include <array>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

constexpr std::int64_t kTileElements = std::int64_t{32} * 32;
constexpr std::int64_t kSharedExponent = 16;  // elements that share one exponent byte

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  int bits;  // of one element; of one mantissa with its sign for block floats
  bool block;
};

constexpr std::array kFacts = {
    DTypeFacts{DType::kF64, "f64", 64, false},
    DTypeFacts{DType::kF32, "f32", 32, false},
    DTypeFacts{DType::kF16, "f16", 16, false},
    DTypeFacts{DType::kBF16, "bf16", 16, false},
    DTypeFacts{DType::kF8E4M3, "f8E4M3FN", 8, false},
    DTypeFacts{DType::kF8E5M2, "f8E5M2", 8, false},
    DTypeFacts{DType::kI64, "i64", 64, false},
    DTypeFacts{DType::kI32, "i32", 32, false},
    DTypeFacts{DType::kI16, "i16", 16, false},
    DTypeFacts{DType::kI8, "i8", 8, false},
    DTypeFacts{DType::kSI64, "si64", 64, false},
    DTypeFacts{DType::kSI32, "si32", 32, false},
    DTypeFacts{DType::kSI16, "si16", 16, false},
    DTypeFacts{DType::kSI8, "si8", 8, false},
    DTypeFacts{DType::kU64, "ui64", 64, false},
    DTypeFacts{DType::kU32, "ui32", 32, false},
    DTypeFacts{DType::kU16, "ui16", 16, false},
    DTypeFacts{DType::kU8, "ui8", 8, false},
    DTypeFacts{DType::kBool, "i1", 8, false},
    DTypeFacts{DType::kI4, "i4", 4, false},
    DTypeFacts{DType::kI2, "i2", 2, false},
    DTypeFacts{DType::kBfpBf8, "bfp_bf8", 8, true},
    DTypeFacts{DType::kBfpBf4, "bfp_bf4", 4, true},
    DTypeFacts{DType::kBfpBf2, "bfp_bf2", 2, true},
    DTypeFacts{DType::kBfpF8, "bfp_f8", 8, true},
    DTypeFacts{DType::kBfpF4, "bfp_f4", 4, true},
    DTypeFacts{DType::kBfpF2, "bfp_f2", 2, true},
};

struct Alias {
  std::string_view name;
  DType dtype;
};

constexpr std::array kAliases = {
    Alias{"si4", DType::kI4},          Alias{"si2", DType::kI2},
    Alias{"u64", DType::kU64},         Alias{"u32", DType::kU32},
    Alias{"u16", DType::kU16},         Alias{"u8", DType::kU8},
    Alias{"bool", DType::kBool},       Alias{"f8E4M3", DType::kF8E4M3},
    Alias{"fp8-e4m3", DType::kF8E4M3}, Alias{"fp8-e5m2", DType::kF8E5M2},
};

const DTypeFacts& facts(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)]; }

}  // namespace

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> list = [] {
    std::vector<DType> types;
    for (const DTypeFacts& fact : kFacts) types.push_back(fact.dtype);
    return types;
  }();
  return list;
}

std::string_view dtype_name(DType dtype) { return facts(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeFacts& fact : kFacts) {
    if (fact.name == name) return fact.dtype;
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return alias.dtype;
  }
  return std::nullopt;
}

std::optional<std::int64_t> dtype_bits(DType dtype) {
  if (is_block_float(dtype)) return std::nullopt;
  return facts(dtype).bits;
}

bool is_block_float(DType dtype) { return facts(dtype).block; }

std::int64_t tile_bytes_32x32(DType dtype) {
  const std::int64_t mantissas = kTileElements * facts(dtype).bits / 8;
  return is_block_float(dtype) ? mantissas + kTileElements / kSharedExponent : mantissas;
}

std::optional<std::int64_t> dtype_bytes(DType dtype, std::int64_t elements) {
  if (is_block_float(dtype)) {
    const Checked bytes = Checked(ceil_div(elements, kTileElements)) * tile_bytes_32x32(dtype);
    return bytes.overflowed() ? std::nullopt : std::optional(bytes.raw());
  }
  const std::int64_t bits = facts(dtype).bits;
  if (bits < 8) return ceil_div(elements, 8 / bits);
  const Checked bytes = Checked(elements) * (bits / 8);
  return bytes.overflowed() ? std::nullopt : std::optional(bytes.raw());
}

}  // namespace tessera
