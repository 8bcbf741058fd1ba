// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/data.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace tessera::graph {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
T read_as(const char* from) {
  T value{};
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void append_as(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// The value of a float with the given widths, bit by bit: IEEE 754 with infinities.
double small_float(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const std::uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
  const std::uint32_t exponent = (bits >> mantissa_bits) & ((1U << exponent_bits) - 1);
  const double sign = (bits >> (mantissa_bits + exponent_bits)) != 0 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == (1U << exponent_bits) - 1) return mantissa == 0 ? sign * INFINITY : NAN;
  const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - mantissa_bits;
  const std::uint32_t whole = exponent == 0 ? mantissa : mantissa | (1U << mantissa_bits);
  return sign * std::ldexp(whole, power);
}

std::optional<std::int64_t> integer_at(const char* from, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return *from != 0 ? 1 : 0;
    case DType::kI8:
    case DType::kSI8:
      return read_as<std::int8_t>(from);
    case DType::kI16:
    case DType::kSI16:
      return read_as<std::int16_t>(from);
    case DType::kI32:
    case DType::kSI32:
      return read_as<std::int32_t>(from);
    case DType::kI64:
    case DType::kSI64:
      return read_as<std::int64_t>(from);
    case DType::kU8:
      return read_as<std::uint8_t>(from);
    case DType::kU16:
      return read_as<std::uint16_t>(from);
    case DType::kU32:
      return read_as<std::uint32_t>(from);
    case DType::kU64: {
      const auto value = read_as<std::uint64_t>(from);
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> real_at(const char* from, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return read_as<double>(from);
    case DType::kF32:
      return read_as<float>(from);
    case DType::kF16:
      return small_float(read_as<std::uint16_t>(from), 5, 10);
    case DType::kBF16:
      return small_float(read_as<std::uint16_t>(from), 8, 7);
    case DType::kU64:
      return static_cast<double>(read_as<std::uint64_t>(from));
    default:
      break;
  }
  const std::optional<std::int64_t> integer = integer_at(from, dtype);
  if (!integer) return std::nullopt;
  return static_cast<double>(*integer);
}

template <typename Number, typename At>
std::optional<std::vector<Number>> numbers_of(const Data& data, const Shape& shape, DType dtype,
                                              std::int64_t most, const At& at) {
  const std::optional<std::int64_t> size = element_bytes(dtype);
  const bool fill = data.form == Data::Form::kFill;
  if (!size || !data.bytes || (!fill && data.form != Data::Form::kBytes)) return std::nullopt;
  if (shape.elements() > most) return std::nullopt;
  const std::int64_t given = fill ? 1 : shape.elements();
  if (std::ssize(*data.bytes) != given * *size) return std::nullopt;
  std::vector<Number> out;
  out.reserve(static_cast<std::size_t>(shape.elements()));
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::optional<Number> number = at(data.bytes->data() + (fill ? 0 : i * *size), dtype);
    if (!number) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

}  // namespace

Data Data::of_bytes(std::string bytes) {
  return {Form::kBytes, std::make_shared<const std::string>(std::move(bytes))};
}
Data Data::of_fill(std::string element) {
  return {Form::kFill, std::make_shared<const std::string>(std::move(element))};
}
Data Data::of_file(std::string file, std::int64_t offset) {
  return {Form::kFile, {}, std::move(file), offset};
}

bool operator==(const Data& a, const Data& b) {
  if (a.form != b.form || a.file != b.file || a.offset != b.offset) return false;
  if (a.bytes == b.bytes) return true;
  return a.bytes && b.bytes && *a.bytes == *b.bytes;
}

std::optional<std::int64_t> element_bytes(DType dtype) {
  const std::optional<std::int64_t> bits = dtype_bits(dtype);
  if (!bits || *bits < 8) return std::nullopt;
  return *bits / 8;
}

bool is_float(DType dtype) {
  return is_block_float(dtype) || dtype == DType::kF64 || dtype == DType::kF32 ||
         dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF8E4M3 ||
         dtype == DType::kF8E5M2;
}

bool is_integer(DType dtype) { return !is_float(dtype) && dtype != DType::kBool; }

bool is_signed(DType dtype) {
  return dtype != DType::kBool && dtype != DType::kU8 && dtype != DType::kU16 &&
         dtype != DType::kU32 && dtype != DType::kU64;
}

std::optional<std::vector<std::int64_t>> integers_of(const Data& data, const Shape& shape,
                                                     DType dtype, std::int64_t most) {
  return numbers_of<std::int64_t>(data, shape, dtype, most, integer_at);
}

std::optional<std::vector<double>> reals_of(const Data& data, const Shape& shape, DType dtype,
                                            std::int64_t most) {
  return numbers_of<double>(data, shape, dtype, most, real_at);
}

std::optional<std::string> bytes_of(const std::vector<std::int64_t>& numbers, DType dtype) {
  const std::optional<std::int64_t> size = element_bytes(dtype);
  if (!size || is_float(dtype)) return std::nullopt;
  std::string out;
  out.reserve(numbers.size() * static_cast<std::size_t>(*size));
  for (const std::int64_t number : numbers) {
    const std::int64_t stored = dtype == DType::kBool ? (number != 0 ? 1 : 0) : number;
    out.append(reinterpret_cast<const char*>(&stored), static_cast<std::size_t>(*size));
  }
  return out;
}

std::optional<std::string> bytes_of(const std::vector<double>& numbers, DType dtype) {
  if (dtype != DType::kF32 && dtype != DType::kF64) return std::nullopt;
  std::string out;
  for (const double number : numbers) {
    if (dtype == DType::kF32) {
      append_as(out, static_cast<float>(number));
    } else {
      append_as(out, number);
    }
  }
  return out;
}

}  // namespace tessera::graph
