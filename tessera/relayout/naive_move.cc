// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/text.h"
#include "tessera/relayout/program/position_list.h"
#include "tessera/relayout/verify.h"

namespace tessera::relayout {
namespace {

/// The bit format of a float type. `finite_top`: the largest exponent is used for numbers, too, and
/// only the mantissa of all ones is NaN (f8E4M3FN).
struct FloatKind {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  bool finite_top = false;
};

std::optional<FloatKind> float_kind(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return FloatKind{11, 52};
    case DType::kF32:
      return FloatKind{8, 23};
    case DType::kF16:
      return FloatKind{5, 10};
    case DType::kBF16:
      return FloatKind{8, 7};
    case DType::kF8E4M3:
      return FloatKind{4, 3, true};
    case DType::kF8E5M2:
      return FloatKind{5, 2};
    default:
      return std::nullopt;
  }
}

/// Sign, exponent and mantissa by the definition: number = mantissa · 2^(exponent - bias - bits).
std::uint64_t float_bits(double number, const FloatKind& kind) {
  const int m = kind.mantissa_bits;
  const int bias = (1 << (kind.exponent_bits - 1)) - 1;
  const std::uint64_t sign = std::uint64_t{std::signbit(number)} << (kind.exponent_bits + m);
  const std::uint64_t top = ((std::uint64_t{1} << kind.exponent_bits) - 1) << m;
  if (std::isnan(number)) {
    return sign | top |
           (kind.finite_top ? (std::uint64_t{1} << m) - 1 : std::uint64_t{1} << (m - 1));
  }
  const std::uint64_t largest = kind.finite_top ? top + (std::uint64_t{1} << m) - 2 : top - 1;
  if (std::isinf(number)) return sign | (kind.finite_top ? largest : top);
  const double size = std::fabs(number);
  if (size == 0) return sign;
  // Numbers below 2^(1 - bias) share the exponent of that one: they are subnormal.
  const int exponent = std::max(std::ilogb(size), 1 - bias);
  // A whole number of units in the last place; ties go to even in the default rounding mode. One
  // more than a full mantissa carries into the exponent, which gives the next number.
  const auto units = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(size, m - exponent)));
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent + bias - 1) << m) + units;
  return sign | std::min(bits, largest);
}

bool is_unsigned(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32 ||
         dtype == DType::kU64;
}

std::uint64_t integer_bits(double number, std::int64_t bits, bool no_sign) {
  if (std::isnan(number)) return 0;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  const double whole = std::nearbyint(number);
  const double end = std::ldexp(1.0, static_cast<int>(no_sign ? bits : bits - 1));
  if (no_sign) {
    if (whole <= 0) return 0;
    return whole >= end ? mask : static_cast<std::uint64_t>(whole);
  }
  if (whole >= end) return mask >> 1;
  if (whole <= -end) return (mask >> 1) + 1;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)) & mask;
}

/// Elements of `bits` bits one after another, the first in the lowest bits of the first byte.
std::uint64_t read_bits(std::span<const std::byte> memory, std::int64_t n, std::int64_t bits) {
  std::uint64_t value = 0;
  if (bits < 8) {
    const std::int64_t at = n * bits;
    const auto byte = std::to_integer<std::uint64_t>(memory[static_cast<std::size_t>(at / 8)]);
    return (byte >> (at % 8)) & ((1U << bits) - 1);
  }
  for (std::int64_t b = 0; b < bits / 8; ++b) {
    value |= std::to_integer<std::uint64_t>(memory[static_cast<std::size_t>(n * (bits / 8) + b)])
             << (8 * b);
  }
  return value;
}

void write_bits(std::span<std::byte> memory, std::int64_t n, std::int64_t bits,
                std::uint64_t value) {
  if (bits < 8) {
    const std::int64_t at = n * bits;
    std::byte& byte = memory[static_cast<std::size_t>(at / 8)];
    const unsigned mask = ((1U << bits) - 1) << (at % 8);
    byte = (byte & static_cast<std::byte>(~mask)) | static_cast<std::byte>(value << (at % 8));
    return;
  }
  for (std::int64_t b = 0; b < bits / 8; ++b) {
    memory[static_cast<std::size_t>(n * (bits / 8) + b)] = static_cast<std::byte>(value >> (8 * b));
  }
}

Status check_buffer(std::size_t size, const Placement& placement, std::string_view which) {
  if (static_cast<std::int64_t>(size) == placement.allocated_bytes()) return ok_status();
  return Error{
      ErrorCode::kOutOfRange,
      cat("the ", which, " has ", placement.allocated_bytes(), " bytes, but the buffer ", size),
      std::nullopt, "give a buffer of exactly that size"};
}

Status check_types(DType from, DType to) {
  if (from != to) {
    return Error{ErrorCode::kNotSupported,
                 cat("the source stores ", dtype_name(from), " and the destination ",
                     dtype_name(to), ", and the naive move does not convert"),
                 std::nullopt, "use a plan, or cast first"};
  }
  if (is_block_float(from)) {
    return Error{ErrorCode::kNotSupported,
                 cat("elements of ", dtype_name(from), " have no separate address"), std::nullopt,
                 "use a plan, or decode first"};
  }
  return ok_status();
}

}  // namespace

std::optional<std::uint64_t> bits_of_number(double number, DType dtype) {
  const std::optional<std::int64_t> bits = dtype_bits(dtype);
  if (!bits) return std::nullopt;
  if (const std::optional<FloatKind> kind = float_kind(dtype)) return float_bits(number, *kind);
  if (dtype == DType::kBool) return std::nearbyint(number) >= 1 ? 1 : 0;
  return integer_bits(number, *bits, is_unsigned(dtype));
}

std::optional<double> padding_to_write(const Placement& to, PaddingRule rule) {
  if (rule == PaddingRule::kLeave) return std::nullopt;
  PaddingValue promised;
  if (const Layout* layout = to.layout()) promised = layout->spec().padding;
  if (const Piecewise* pieces = to.pieces()) {
    promised = pieces->pieces().front().layout.spec().padding;
    const auto differs = [&](const LayoutPiece& piece) {
      return piece.layout.spec().padding != promised;
    };
    const auto& all = pieces->pieces();
    if (std::any_of(all.begin(), all.end(), differs)) promised = PaddingValue::undef();
  }
  if (promised.kind == PaddingValue::Kind::kNumber) return promised.number;
  if (rule == PaddingRule::kZero) return 0.0;
  return std::nullopt;
}

Status move_naively(const Placement& from, std::span<const std::byte> source, const Placement& to,
                    std::span<std::byte> destination, PaddingRule padding) {
  if (from.shape() != to.shape()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("a tensor of shape ", bracketed(from.shape().extents()),
                     " cannot be moved to one of shape ", bracketed(to.shape().extents())),
                 std::nullopt, "source and destination are placements of one tensor"};
  }
  TESSERA_CHECK_OK(check_types(from.atom().storage, to.atom().storage));
  TESSERA_CHECK_OK(check_buffer(source.size(), from, "source"));
  TESSERA_CHECK_OK(check_buffer(destination.size(), to, "destination"));
  TESSERA_TRY(const PositionList sources, PositionList::make(from, "source"));
  TESSERA_TRY(const PositionList destinations, PositionList::make(to, "destination"));
  const std::int64_t bits = *dtype_bits(to.atom().storage);
  const std::int64_t positions = to.places() * to.slots();
  std::vector<std::uint8_t> written(static_cast<std::size_t>(positions), 0);
  for (std::int64_t element = 0; element < sources.elements(); ++element) {
    const std::uint64_t value = read_bits(source, sources.first(element), bits);
    for (const std::int64_t distance : destinations.copies(element)) {
      const std::int64_t position = destinations.first(element) + distance;
      if (written[static_cast<std::size_t>(position)]++ != 0) {
        return Error{ErrorCode::kNotInjective,
                     cat("element ", bracketed(to.shape().delinear(element)),
                         " shares a slot of the destination with another"),
                     std::nullopt, "write to a layout in which every element has a separate slot"};
      }
      write_bits(destination, position, bits, value);
    }
  }
  const std::optional<double> number = padding_to_write(to, padding);
  if (!number) return ok_status();
  const std::uint64_t value = *bits_of_number(*number, to.atom().storage);
  for (std::int64_t position = 0; position < positions; ++position) {
    if (written[static_cast<std::size_t>(position)] == 0)
      write_bits(destination, position, bits, value);
  }
  return ok_status();
}

}  // namespace tessera::relayout
