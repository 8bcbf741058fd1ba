// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tessera/graph/data.h"
#include "tessera/relayout/casts/cast.h"
#include "tessera/run/kernels/kernel.h"

namespace tessera::run {
namespace {

using relayout::Cast;
using relayout::Rounding;

/// From this number on, a number rounds to infinity: half a step above the largest one.
float overflow_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65520.0F;
    case DType::kF8E5M2:
      return 61440.0F;
    default:  // bf16: 2^128 - 2^119
      return 0x1.ffp127F;
  }
}

bool has_infinity(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF8E5M2;
}

void overflow_to_infinity(std::byte* compute, DType dtype, std::int64_t count) {
  const float limit = overflow_of(dtype);
  for (std::int64_t i = 0; i < count; ++i) {
    float number = 0;
    std::memcpy(&number, compute + i * 4, 4);
    if (!(std::fabs(number) >= limit)) continue;
    number = number > 0 ? std::numeric_limits<float>::infinity()
                        : -std::numeric_limits<float>::infinity();
    std::memcpy(compute + i * 4, &number, 4);
  }
}

/// The low bits of integers, which wraps them around.
void narrow(const std::byte* compute, std::int64_t bytes, std::byte* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * bytes, compute + i * 8, static_cast<std::size_t>(bytes));
  }
}

void to_booleans(const std::byte* compute, std::byte* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t number = 0;
    std::memcpy(&number, compute + i * 8, 8);
    to[i] = static_cast<std::byte>(number != 0 ? 1 : 0);
  }
}

/// Into the range of a type of `bits` bits, with a sign.
void wrap(std::byte* compute, std::int64_t bits, std::int64_t count) {
  const std::int64_t range = std::int64_t{1} << bits;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t number = 0;
    std::memcpy(&number, compute + i * 8, 8);
    number &= range - 1;
    if (number >= range / 2) number -= range;
    std::memcpy(compute + i * 8, &number, 8);
  }
}

template <typename W>
void fill_with(std::byte* compute, std::int64_t count, Neutral neutral) {
  using Limits = std::numeric_limits<W>;
  W number{};
  if (neutral == Neutral::kOne) number = W{1};
  if (neutral == Neutral::kLeast) {
    number = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  if (neutral == Neutral::kLargest) {
    number = Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  std::fill_n(reinterpret_cast<W*>(compute), count, number);
}

}  // namespace

Status to_compute(std::span<const std::byte> elements, DType dtype, std::byte* compute,
                  std::int64_t count) {
  if (elements.empty()) return ok_status();  // perhaps without an address
  const DType to = compute_type(dtype);
  if (to == dtype) {
    std::memcpy(compute, elements.data(), elements.size());
    return ok_status();
  }
  TESSERA_TRY(const Cast cast, Cast::make(dtype, to, Rounding::kSaturate));
  cast.run(elements.data(), 0, compute, 0, count);
  return ok_status();
}

Status from_compute(std::byte* compute, DType dtype, std::span<std::byte> elements,
                    std::int64_t count) {
  if (elements.empty()) return ok_status();
  const DType from = compute_type(dtype);
  if (from == dtype) {
    std::memcpy(elements.data(), compute, elements.size());
    return ok_status();
  }
  if (dtype == DType::kBool) {
    to_booleans(compute, elements.data(), count);
    return ok_status();
  }
  if (from == DType::kI64) {
    if (const std::optional<std::int64_t> bytes = graph::element_bytes(dtype)) {
      narrow(compute, *bytes, elements.data(), count);
      return ok_status();
    }
    wrap(compute, *dtype_bits(dtype), count);
  }
  if (has_infinity(dtype)) overflow_to_infinity(compute, dtype, count);
  TESSERA_TRY(const Cast cast, Cast::make(from, dtype, Rounding::kSaturate));
  cast.run(compute, 0, elements.data(), 0, count);
  return ok_status();
}

DType share_type(DType dtype) {
  if (graph::is_float(dtype)) return dtype == DType::kF64 ? dtype : DType::kF32;
  const bool is_narrow = dtype == DType::kBool || dtype == DType::kI4 || dtype == DType::kI2;
  return is_narrow ? DType::kI32 : dtype;
}

void fill_compute(std::byte* compute, DType dtype, std::int64_t count, Neutral neutral) {
  switch (compute_type(dtype)) {
    case DType::kF64:
      return fill_with<double>(compute, count, neutral);
    case DType::kU64:
      return fill_with<std::uint64_t>(compute, count, neutral);
    case DType::kI64:
      return fill_with<std::int64_t>(compute, count, neutral);
    default:
      return fill_with<float>(compute, count, neutral);
  }
}

}  // namespace tessera::run
