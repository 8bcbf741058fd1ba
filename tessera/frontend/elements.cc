// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/elements.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numbers>
#include <optional>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/run/elements.h"
#include "tessera/run/kernels/kernel.h"

namespace tessera::frontend {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;
/// Numbers are converted in parts, so that a large tensor needs little more than its own bytes.
/// Even, so that elements of less than a byte fill whole bytes.
constexpr std::int64_t kPart = 4096;

template <typename T>
void put(std::byte* to, T number) {
  std::memcpy(to, &number, sizeof number);
}

/// One number as kernels have it.
Status put_compute(std::byte* to, double number, DType compute) {
  if (compute == DType::kF32) {
    put(to, static_cast<float>(number));
    return ok_status();
  }
  if (compute == DType::kF64) {
    put(to, number);
    return ok_status();
  }
  const bool is_unsigned = compute == DType::kU64;
  if (is_unsigned && number >= 0 && number < 2 * kTwoTo63) {
    put(to, static_cast<std::uint64_t>(number));
    return ok_status();
  }
  if (number >= -kTwoTo63 && number < kTwoTo63) {
    put(to, static_cast<std::int64_t>(number));
    return ok_status();
  }
  return Error{ErrorCode::kOutOfRange,
               cat("the number ", std::to_string(number), " is no integer of 64 bits"),
               std::nullopt, "give a finite number, or a type of floats"};
}

/// Elements 0 .. count - 1, where number(i) is the number of element i.
template <typename Number>
Result<std::string> convert_numbers(std::int64_t count, DType dtype, const Number& number) {
  const std::optional<std::int64_t> total = dtype_bytes(dtype, count);
  const std::optional<std::int64_t> bits = dtype_bits(dtype);
  if (!total || !bits) {
    return Error{ErrorCode::kBadDType,
                 cat("elements of ", dtype_name(dtype), " cannot be made one by one"), std::nullopt,
                 "they exist in tiles only"};
  }
  TESSERA_CHECK_OK(check_room(*total));
  const DType compute = run::compute_type(dtype);
  const std::int64_t step = run::compute_bytes(compute);
  std::string elements(static_cast<std::size_t>(*total), '\0');
  std::vector<std::byte> part(static_cast<std::size_t>(8 * std::min(count, kPart)));
  for (std::int64_t from = 0; from < count; from += kPart) {
    const std::int64_t some = std::min(kPart, count - from);
    for (std::int64_t i = 0; i < some; ++i) {
      TESSERA_CHECK_OK(put_compute(part.data() + i * step, number(from + i), compute));
    }
    const std::span<std::byte> to = std::as_writable_bytes(std::span(elements));
    const auto first = static_cast<std::size_t>(from * *bits / 8);
    const auto length = static_cast<std::size_t>(dtype_bytes(dtype, some).value_or(0));
    TESSERA_CHECK_OK(run::from_compute(part.data(), dtype, to.subspan(first, length), some));
  }
  return elements;
}

/// A mixer of 64 bits: every bit of the result depends on every bit of the argument.
std::uint64_t mixed(std::uint64_t bits) {
  bits ^= bits >> 30U;
  bits *= 0xBF58476D1CE4E5B9U;
  bits ^= bits >> 27U;
  bits *= 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

/// In (0, 1].
double uniform(std::uint64_t bits) { return static_cast<double>((bits >> 11U) + 1) * 0x1p-53; }

}  // namespace

Result<std::string> elements_of(std::span<const double> numbers, DType dtype) {
  return convert_numbers(std::ssize(numbers), dtype,
                         [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; });
}

Result<std::string> normal_elements(std::uint64_t seed, const graph::TensorType& type) {
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;
  const std::uint64_t begin = mixed(seed + kStep);
  const auto number = [begin](std::int64_t i) {
    const std::uint64_t pair = static_cast<std::uint64_t>(i) & ~std::uint64_t{1};
    const double radius = std::sqrt(-2 * std::log(uniform(mixed(begin + kStep * (pair + 1)))));
    const double angle = 2 * std::numbers::pi * uniform(mixed(begin + kStep * (pair + 2)));
    return i % 2 == 0 ? radius * std::cos(angle) : radius * std::sin(angle);
  };
  return convert_numbers(type.shape.elements(), type.dtype, number);
}

Status check_room(std::int64_t bytes) {
  const Checked memory = Checked(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (bytes <= memory.saturated()) return ok_status();
  return Error{ErrorCode::kOutOfMemory,
               cat(bytes, " bytes are more than the ", memory.saturated(), " of this host"),
               std::nullopt, "use smaller tensors"};
}

std::string repeated(const std::string& element, std::int64_t count) {
  std::string elements;
  elements.reserve(element.size() * static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) elements += element;
  return elements;
}

}  // namespace tessera::frontend
