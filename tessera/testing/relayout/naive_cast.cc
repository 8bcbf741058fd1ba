// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/relayout/naive_cast.h"

#include <array>
#include <bit>
#include <iterator>

namespace tessera::test {
namespace {

// The value of an element: ± mantissa · 2^exponent, or not a number. The payload of a NaN is what
// follows its quiet bit, at the top of 64 bits.
struct Exact {
  enum Kind : std::uint8_t { kNumber, kInfinity, kNaN } kind = kNumber;
  bool negative = false;
  std::uint64_t mantissa = 0;
  int exponent = 0;
  std::uint64_t payload = 0;
};

// The encoding of a type. Floats: 1 + exponent_bits + mantissa_bits. Block floats: a sign and
// mantissa_bits, with exponent_bits of a shared byte.
struct Format {
  enum Kind : std::uint8_t { kFloat, kSigned, kUnsigned, kBool, kBlock } kind;
  int bits;
  int exponent_bits = 0;
  int mantissa_bits = 0;
  bool infinity = true;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

// In the order of DType.
constexpr Format kFormats[] = {
    {Format::kFloat, 64, 11, 52},      // f64
    {Format::kFloat, 32, 8, 23},       // f32
    {Format::kFloat, 16, 5, 10},       // f16
    {Format::kFloat, 16, 8, 7},        // bf16
    {Format::kFloat, 8, 4, 3, false},  // f8E4M3FN
    {Format::kFloat, 8, 5, 2},         // f8E5M2
    {Format::kSigned, 64},             // i64
    {Format::kSigned, 32},             // i32
    {Format::kSigned, 16},             // i16
    {Format::kSigned, 8},              // i8
    {Format::kSigned, 64},             // si64
    {Format::kSigned, 32},             // si32
    {Format::kSigned, 16},             // si16
    {Format::kSigned, 8},              // si8
    {Format::kUnsigned, 64},           // ui64
    {Format::kUnsigned, 32},           // ui32
    {Format::kUnsigned, 16},           // ui16
    {Format::kUnsigned, 8},            // ui8
    {Format::kBool, 8},                // i1
    {Format::kSigned, 4},              // i4
    {Format::kSigned, 2},              // i2
    {Format::kBlock, 8, 8, 7},         // bfp_bf8
    {Format::kBlock, 4, 8, 3},         // bfp_bf4
    {Format::kBlock, 2, 8, 1},         // bfp_bf2
    {Format::kBlock, 8, 5, 7},         // bfp_f8
    {Format::kBlock, 4, 5, 3},         // bfp_f4
    {Format::kBlock, 2, 5, 1},         // bfp_f2
};
static_assert(std::size(kFormats) == static_cast<std::size_t>(DType::kBfpF2) + 1);

Format format_of(DType type) { return kFormats[static_cast<std::size_t>(type)]; }

std::uint64_t ones(int count) { return count == 0 ? 0 : ~std::uint64_t{0} >> (64 - count); }

// Elements have 2, 4 or 8 bits of a byte, or several bytes.
std::uint64_t get_bits(const std::byte* array, std::int64_t first, int count) {
  const int step = count < 8 ? count : 8;
  std::uint64_t bits = 0;
  for (int i = 0; i < count; i += step) {
    const std::int64_t at = first + i;
    const auto byte = std::to_integer<std::uint64_t>(array[at / 8]);
    bits |= (byte >> (at % 8) & ones(step)) << i;
  }
  return bits;
}

void set_bits(std::byte* array, std::int64_t first, int count, std::uint64_t bits) {
  const int step = count < 8 ? count : 8;
  for (int i = 0; i < count; i += step) {
    const std::int64_t at = first + i;
    const std::uint64_t mask = ones(step) << (at % 8);
    const std::uint64_t kept = std::to_integer<std::uint64_t>(array[at / 8]) & ~mask;
    array[at / 8] = static_cast<std::byte>(kept | (bits >> i & ones(step)) << (at % 8));
  }
}

// Bit numbers of an element of a block float, and of the exponent of its group.
std::int64_t tile_bits(const Format& format) { return 64 * 8 + 1024 * format.bits; }
std::int64_t element_at(const Format& format, std::int64_t element) {
  return element / 1024 * tile_bits(format) + std::int64_t{64} * 8 + element % 1024 * format.bits;
}
std::int64_t exponent_at(const Format& format, std::int64_t element) {
  return element / 1024 * tile_bits(format) + element % 1024 / 16 * 8;
}

// The magnitude of a float whose sign is not set.
Exact float_magnitude(const Format& format, std::uint64_t code) {
  const std::uint64_t mantissa = code & ones(format.mantissa_bits);
  const int exponent = static_cast<int>(code >> format.mantissa_bits);
  const bool top = exponent == (1 << format.exponent_bits) - 1;
  Exact exact;
  if (!format.infinity && top && mantissa == ones(format.mantissa_bits)) {
    exact.kind = Exact::kNaN;
  } else if (format.infinity && top) {
    exact.kind = mantissa == 0 ? Exact::kInfinity : Exact::kNaN;
    exact.payload = mantissa << (64 - format.mantissa_bits) << 1;
  } else if (exponent == 0) {
    exact.mantissa = mantissa;
    exact.exponent = 1 - format.bias() - format.mantissa_bits;
  } else {
    exact.mantissa = mantissa | std::uint64_t{1} << format.mantissa_bits;
    exact.exponent = exponent - format.bias() - format.mantissa_bits;
  }
  return exact;
}

Exact read(const Format& format, const std::byte* array, std::int64_t element) {
  Exact exact;
  if (format.kind == Format::kBlock) {
    const std::uint64_t bits = get_bits(array, element_at(format, element), format.bits);
    const std::uint64_t byte = get_bits(array, exponent_at(format, element), 8);
    const int exponent = static_cast<int>(byte & ones(format.exponent_bits));
    exact.mantissa = bits & ones(format.mantissa_bits);
    exact.exponent = exponent - format.bias() - (format.mantissa_bits - 1);
    exact.negative = bits >> format.mantissa_bits != 0;
    const bool beyond = static_cast<int>(std::bit_width(exact.mantissa)) + exact.exponent > 128;
    if (exact.mantissa != 0 && beyond) exact.kind = Exact::kInfinity;
    return exact;
  }
  const std::uint64_t bits = get_bits(array, element * format.bits, format.bits);
  const bool sign = bits >> (format.bits - 1) != 0;
  switch (format.kind) {
    case Format::kFloat:
      exact = float_magnitude(format, bits & ones(format.bits - 1));
      exact.negative = sign;
      break;
    case Format::kSigned:
      exact.negative = sign;
      exact.mantissa = sign ? (~bits + 1) & ones(format.bits) : bits;
      break;
    case Format::kBool:
      exact.mantissa = bits != 0 ? 1 : 0;
      break;
    default:
      exact.mantissa = bits;
  }
  return exact;
}

// -1, 0 or 1 as |a| is below, equal to or above |b|.
int compare(const Exact& a, const Exact& b) {
  if (a.mantissa == 0 || b.mantissa == 0) {
    return (a.mantissa != 0 ? 1 : 0) - (b.mantissa != 0 ? 1 : 0);
  }
  const int left_top = a.exponent + static_cast<int>(std::bit_width(a.mantissa));
  const int right_top = b.exponent + static_cast<int>(std::bit_width(b.mantissa));
  if (left_top != right_top) return left_top < right_top ? -1 : 1;
  const std::uint64_t left = a.mantissa << std::countl_zero(a.mantissa);
  const std::uint64_t right = b.mantissa << std::countl_zero(b.mantissa);
  return left == right ? 0 : (left < right ? -1 : 1);
}

// Whether |x| is nearer to `low` than to the number one last bit above it; ties go to even.
bool nearer_below(const Exact& x, const Exact& low, bool low_is_even) {
  Exact middle = low;
  middle.mantissa = 2 * low.mantissa + 1;
  middle.exponent = low.exponent - 1;
  const int order = compare(x, middle);
  return order < 0 || (order == 0 && low_is_even);
}

struct Written {
  std::uint64_t bits;
  bool fits;
};

Written write_float(const Format& format, const Exact& x) {
  const std::uint64_t sign = x.negative ? std::uint64_t{1} << (format.bits - 1) : 0;
  const std::uint64_t top = ones(format.exponent_bits) << format.mantissa_bits;
  const std::uint64_t largest = format.infinity ? top - 1 : (top | ones(format.mantissa_bits)) - 1;
  if (x.kind == Exact::kNaN) {
    if (!format.infinity) return {sign | (largest + 1), true};
    const std::uint64_t quiet = std::uint64_t{1} << (format.mantissa_bits - 1);
    return {sign | top | quiet | x.payload >> (64 - format.mantissa_bits) >> 1, true};
  }
  if (x.kind == Exact::kInfinity) {
    return format.infinity ? Written{sign | top, true} : Written{sign | largest, false};
  }
  // The last code that is not above |x|.
  std::uint64_t low = 0;
  std::uint64_t high = largest;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (compare(float_magnitude(format, middle), x) <= 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  if (nearer_below(x, float_magnitude(format, low), low % 2 == 0)) return {sign | low, true};
  return low == largest ? Written{sign | largest, false} : Written{sign | (low + 1), true};
}

Written write_integer(const Format& format, const Exact& x) {
  const int bits = format.kind == Format::kBool ? 1 : format.bits;
  const bool is_signed = format.kind == Format::kSigned;
  const std::uint64_t most = is_signed ? ones(bits - 1) : ones(bits);
  const std::uint64_t least = is_signed ? most + 1 : 0;  // below zero
  const std::uint64_t limit = x.negative ? least : most;
  if (x.kind == Exact::kNaN) return {0, false};

  // The integer next to |x|.
  bool fits = x.kind == Exact::kNumber;
  std::uint64_t near = limit;
  if (fits && x.mantissa == 0) {
    near = 0;
  } else if (fits && x.exponent >= 0) {
    const bool within = static_cast<int>(std::bit_width(x.mantissa)) + x.exponent <= 64;
    fits = within;
    if (within) near = x.mantissa << x.exponent;
  } else if (fits) {
    const int cut = -x.exponent;
    Exact whole;
    whole.mantissa = cut < 64 ? x.mantissa >> cut : 0;
    fits = compare(x, whole) == 0;
    near = nearer_below(x, whole, whole.mantissa % 2 == 0) ? whole.mantissa : whole.mantissa + 1;
  }
  if (near > limit) {
    fits = false;
    near = limit;
  }
  return {(x.negative ? ~near + 1 : near) & ones(format.bits), fits};
}

// A group of 16, by the rule in cast.h.
void write_group(const Format& format, std::array<Exact, 16>& group, std::byte* array,
                 std::int64_t first, std::vector<bool>& fits) {
  const int last_exponent = format.exponent_bits == 8 ? 254 : 31;
  const int last_bit = format.mantissa_bits - 1;
  Exact beyond;
  beyond.mantissa = 1;
  beyond.exponent = last_exponent - format.bias() + 1;
  int exponent = 0;
  for (Exact& x : group) {
    const bool number = x.kind == Exact::kNumber && compare(x, beyond) < 0;
    fits.push_back(number);
    if (x.kind == Exact::kNaN) {
      x.mantissa = 0;
    } else if (!number) {
      x.mantissa = ones(format.mantissa_bits);
      x.exponent = last_exponent - format.bias() - last_bit;
    }
    const int log = static_cast<int>(std::bit_width(x.mantissa)) - 1 + x.exponent;
    if (x.mantissa != 0 && log + format.bias() > exponent) exponent = log + format.bias();
  }
  set_bits(array, exponent_at(format, first), 8, static_cast<std::uint64_t>(exponent));
  for (int i = 0; i < 16; ++i) {
    const Exact& x = group[static_cast<std::size_t>(i)];
    Exact m;
    m.exponent = exponent - format.bias() - last_bit;
    while (m.mantissa < ones(format.mantissa_bits) && !nearer_below(x, m, m.mantissa % 2 == 0)) {
      ++m.mantissa;
    }
    const bool sign = x.negative && m.mantissa != 0;
    set_bits(array, element_at(format, first + i), format.bits,
             m.mantissa | (sign ? std::uint64_t{1} << format.mantissa_bits : 0));
  }
}

bool same_type(const Format& a, const Format& b) {
  return a.kind == b.kind && a.bits == b.bits && a.exponent_bits == b.exponent_bits;
}

}  // namespace

bool naive_cast_one(DType from_type, const std::byte* from, std::int64_t from_element,
                    DType to_type, std::byte* to, std::int64_t to_element) {
  const Format source = format_of(from_type);
  const Format format = format_of(to_type);
  if (same_type(source, format)) {
    set_bits(to, to_element * format.bits, format.bits,
             get_bits(from, from_element * format.bits, format.bits));
    return true;
  }
  const Exact x = read(source, from, from_element);
  const Written written =
      format.kind == Format::kFloat ? write_float(format, x) : write_integer(format, x);
  set_bits(to, to_element * format.bits, format.bits, written.bits);
  return written.fits;
}

std::vector<bool> naive_cast(DType from_type, const std::byte* from, std::int64_t from_first,
                             DType to_type, std::byte* to, std::int64_t to_first, std::int64_t n) {
  std::vector<bool> fits;
  if (!is_block_float(to_type)) {
    for (std::int64_t i = 0; i < n; ++i) {
      fits.push_back(naive_cast_one(from_type, from, from_first + i, to_type, to, to_first + i));
    }
    return fits;
  }
  for (std::int64_t i = 0; i < n; i += 16) {
    std::array<Exact, 16> group;
    for (int k = 0; k < 16; ++k) {
      group[static_cast<std::size_t>(k)] = read(format_of(from_type), from, from_first + i + k);
    }
    write_group(format_of(to_type), group, to, to_first + i, fits);
  }
  return fits;
}

}  // namespace tessera::test
