// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/casts/cast_steps.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/casts/cast_floats.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "tessera/relayout/casts/cast_walk.inc"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tessera::relayout::cast_steps {
namespace HWY_NAMESPACE {

// Whether the processor converts f16 to f32 and back, with the NaN rule of rounding.h.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
constexpr bool kF16Instructions = true;
#else
constexpr bool kF16Instructions = false;
#endif

constexpr std::int32_t kMagnitude = 0x7FFFFFFF;  // all but the sign of an f32
constexpr std::int32_t kInfinity = 0x7F800000;
constexpr std::int32_t kQuiet = 0x00400000;

// A float of kExponent and kMantissa bits below its sign, in a Code. Those with infinity have a
// binade of infinity and NaN on top like f32; f8E4M3FN has numbers there, and NaN is its last code.
template <typename Code, int kExponent, int kMantissa, bool kHasInfinity>
struct Small {
  static constexpr int kBits = 1 + kExponent + kMantissa;
  static constexpr int kShift = 23 - kMantissa;  // from our mantissa to that of f32
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr std::int32_t kRebias = (127 - kBias) << 23;  // from our exponent to f32's
  static constexpr bool kF32Exponent = kRebias == 0;
  static constexpr std::int32_t kTopBinade = ((1 << kExponent) - 1) << kMantissa;
  static constexpr std::int32_t kLargest = kHasInfinity ? kTopBinade - 1 : (1 << (kBits - 1)) - 2;
  static constexpr std::int32_t kNaN =
      kHasInfinity ? kTopBinade | (1 << (kMantissa - 1)) : kLargest + 1;
  // The first f32 that rounds to a number above the largest. It is half way to the next number; if
  // the largest is odd, a tie rounds up (ties to even), so that half-way point is included.
  static constexpr std::int32_t kTooLarge =
      (kLargest << kShift) + kRebias + (1 << (kShift - 1)) + (kLargest % 2 == 0 ? 1 : 0);
  // The f32 below which numbers are subnormal.
  static constexpr std::int32_t kNormal = kRebias + (1 << 23);
  // The f32 whose last bit is the unit of our subnormals: adding it rounds to them.
  static constexpr std::int32_t kCounter = (127 + 23 + 1 - kBias - kMantissa) << 23;

  static VI32 select(hn::Mask<I32> mask, VI32 yes, VI32 no) {
    return hn::IfThenElse(mask, yes, no);
  }

  static constexpr bool kByProcessor = kF16Instructions && kExponent == 5 && kMantissa == 10;
  using Codes = hn::Rebind<Code, I32>;

  struct Write {
    using D = I32;
    using From = float;
    using To = Code;

    // Codes of numbers that are not too large, without their signs.
    static VI32 codes(VI32 magnitude) {
      const I32 d;
      const F32 df;
      const VI32 odd = hn::And(hn::ShiftRight<kShift>(magnitude), hn::Set(d, 1));
      const VI32 half = hn::Set(d, (1 << (kShift - 1)) - 1 - kRebias);
      const VI32 normal = hn::ShiftRight<kShift>(hn::Add(magnitude, hn::Add(half, odd)));
      if constexpr (kF32Exponent) return normal;
      const VI32 counter = hn::Set(d, kCounter);
      const auto counted = hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, counter));
      return select(hn::Lt(magnitude, hn::Set(d, kNormal)),
                    hn::Sub(hn::BitCast(d, counted), counter), normal);
    }

    static VI32 sign_of(VI32 bits) {
      const I32 d;
      const U32 du;
      const auto sign = hn::And(hn::BitCast(du, bits), hn::Set(du, 0x80000000U));
      return hn::BitCast(d, hn::ShiftRight<32 - kBits>(sign));
    }

    static VI32 vector(const std::byte* from, std::byte* to) {
      const I32 d;
      const VI32 bits = load_any(d, from);
      const VI32 magnitude = hn::And(bits, hn::Set(d, kMagnitude));
      const auto large = hn::Gt(magnitude, hn::Set(d, kTooLarge - 1));
      if (HWY_UNLIKELY(!hn::AllFalse(d, large))) return some_large(bits, magnitude, large, to);
      const Codes dc;
      if constexpr (kByProcessor) {
        const hn::Rebind<hwy::float16_t, I32> df16;
        store_any(hn::BitCast(dc, hn::DemoteTo(df16, hn::BitCast(F32(), bits))), dc, to);
      } else if constexpr (kF32Exponent) {
        // Nothing carries into the sign bit, so it can stay in place.
        const U32 du;
        const auto code = hn::BitCast(du, bits);
        const auto odd = hn::And(hn::ShiftRight<kShift>(code), hn::Set(du, 1));
        const auto half = hn::Set(du, (1U << (kShift - 1)) - 1);
        const auto rounded = hn::ShiftRight<kShift>(hn::Add(code, hn::Add(half, odd)));
        store_any(hn::DemoteTo(dc, hn::BitCast(d, rounded)), dc, to);
      } else {
        store_any(hn::DemoteTo(dc, hn::Or(codes(magnitude), sign_of(bits))), dc, to);
      }
      return hn::Zero(d);
    }

    static HWY_INLINE VI32 some_large(VI32 bits, VI32 magnitude, hn::Mask<I32> large,
                                      std::byte* to) {
      const I32 d;
      const VI32 infinity = hn::Set(d, kInfinity);
      const auto nan = hn::Gt(magnitude, infinity);
      VI32 not_number = hn::Set(d, kNaN);
      VI32 beyond = hn::Set(d, kLargest);
      hn::Mask<I32> misfit = hn::AndNot(nan, large);
      if constexpr (kHasInfinity) {
        const VI32 payload =
            hn::And(hn::ShiftRight<kShift>(magnitude), hn::Set(d, (1 << kMantissa) - 1));
        not_number = hn::Or(not_number, payload);
        const auto infinite = hn::Eq(magnitude, infinity);
        beyond = select(infinite, hn::Set(d, kTopBinade), beyond);
        misfit = hn::AndNot(infinite, misfit);
      }
      const VI32 code = select(large, select(nan, not_number, beyond), codes(magnitude));
      const Codes dc;
      store_any(hn::DemoteTo(dc, hn::Or(code, sign_of(bits))), dc, to);
      return hn::VecFromMask(d, misfit);
    }
  };

  struct Read {
    using D = I32;
    using From = Code;
    using To = float;
    static VI32 vector(const std::byte* from, std::byte* to) {
      const I32 d;
      const F32 df;
      const Codes dc;
      if constexpr (kByProcessor) {
        const hn::Rebind<hwy::float16_t, I32> df16;
        store_any(hn::PromoteTo(df, hn::BitCast(df16, load_any(dc, from))), df, to);
        return hn::Zero(d);
      }
      const VI32 code = hn::PromoteTo(d, load_any(dc, from));
      const VI32 magnitude = hn::And(code, hn::Set(d, (1 << (kBits - 1)) - 1));
      const VI32 shifted = hn::ShiftLeft<kShift>(magnitude);
      VI32 bits = hn::Add(shifted, hn::Set(d, kRebias));
      if constexpr (!kF32Exponent) {
        // Adds a leading one of the smallest normal number, which is then subtracted.
        const VI32 one = hn::Set(d, kNormal);
        const auto number = hn::Sub(hn::BitCast(df, hn::Add(shifted, one)), hn::BitCast(df, one));
        bits = select(hn::Lt(magnitude, hn::Set(d, 1 << kMantissa)), hn::BitCast(d, number), bits);
      }
      if constexpr (kHasInfinity) {
        const VI32 top = hn::Set(d, kTopBinade);
        bits = hn::Or(bits, hn::IfThenElseZero(hn::Gt(magnitude, top), hn::Set(d, kQuiet)));
        if constexpr (!kF32Exponent) {
          bits = hn::Or(bits, hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(d, kTopBinade - 1)),
                                                 hn::Set(d, kInfinity)));
        }
      } else {
        bits = select(hn::Eq(magnitude, hn::Set(d, kNaN)), hn::Set(d, kInfinity | kQuiet), bits);
      }
      const VI32 sign = hn::AndNot(hn::Set(d, kMagnitude), hn::ShiftLeft<32 - kBits>(code));
      store_any(hn::BitCast(df, hn::Or(bits, sign)), df, to);
      return hn::Zero(d);
    }
  };
};

using F16 = Small<std::uint16_t, 5, 10, true>;
using BF16 = Small<std::uint16_t, 8, 7, true>;
using F8E5M2 = Small<std::uint8_t, 5, 2, true>;
using F8E4M3 = Small<std::uint8_t, 4, 3, false>;

// The nearest integers, ties to even: below 2^23, adding and subtracting 2^23 rounds to integers;
// above, all numbers are integers. NaN stays NaN.
HWY_INLINE hn::Vec<F32> whole_numbers(hn::Vec<F32> number) {
  const F32 df;
  const auto units = hn::Set(df, 8388608.0F);
  const auto magnitude = hn::Abs(number);
  const auto rounded = hn::Sub(hn::Add(magnitude, units), units);
  return hn::CopySign(hn::IfThenElse(hn::Lt(magnitude, units), rounded, magnitude), number);
}

// For numbers whose magnitude is at most 2^31.
HWY_INLINE VI32 nearest_integers(hn::Vec<F32> number) {
  const I32 d;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  return hn::NearestInt(number);
#else
  // On other targets NearestInt may add a half, which is not exact for 0.49999997.
  return hn::ConvertTo(d, whole_numbers(number));
#endif
}

struct F32ToWholeF32 {
  using D = I32;
  using From = float;
  using To = float;
  static VI32 vector(const std::byte* from, std::byte* to) {
    const F32 df;
    store_any(whole_numbers(load_any(df, from)), df, to);
    return hn::Zero(I32());
  }
};

struct F32ToI32 {
  using D = I32;
  using From = float;
  using To = std::int32_t;
  static VI32 vector(const std::byte* from, std::byte* to) {
    const I32 d;
    const F32 df;
    const auto number = load_any(df, from);
    // The f32 below 2^31 is 128 less. NaN is not within either.
    const auto low = hn::Set(df, -2147483648.0F);
    const auto high = hn::Set(df, 2147483520.0F);
    const auto within = hn::And(hn::Ge(number, low), hn::Le(number, high));
    auto near = number;
    VI32 integer;
    if (HWY_LIKELY(hn::AllTrue(df, within))) {
      integer = nearest_integers(number);
    } else {
      near = hn::IfThenElseZero(hn::Eq(number, number), number);
      integer = nearest_integers(hn::Min(hn::Max(near, low), high));
      integer =
          hn::IfThenElse(hn::RebindMask(d, hn::Gt(near, high)), hn::Set(d, 0x7FFFFFFF), integer);
    }
    store_any(integer, d, to);
    const auto fits = hn::And(hn::Eq(hn::ConvertTo(df, integer), number), within);
    return hn::Not(hn::BitCast(d, hn::VecFromMask(df, fits)));
  }
};

struct I32ToF32 {
  using D = I32;
  using From = std::int32_t;
  using To = float;
  static VI32 vector(const std::byte* from, std::byte* to) {
    const I32 d;
    const F32 df;
    store_any(hn::ConvertTo(df, load_any(d, from)), df, to);
    return hn::Zero(d);
  }
};

// From 2^24 on, the last 8 of 32 bits are ORed into the ninth, which leaves 24 bits.
struct I32ToOddF32 {
  using D = I32;
  using From = std::int32_t;
  using To = float;
  static VI32 vector(const std::byte* from, std::byte* to) {
    const I32 d;
    const F32 df;
    const VI32 integer = load_any(d, from);
    const VI32 low = hn::Set(d, 0xFF);
    // In two's complement, cutting at the ninth bit rounds towards minus infinity, not zero. Both
    // are correct, because a number strictly between two numbers of 22 bits stays strictly between
    // them.
    const VI32 cut = hn::And(integer, low);
    const VI32 sticky = hn::IfThenElseZero(hn::Ne(cut, hn::Zero(d)), hn::Set(d, 0x100));
    const VI32 odd = hn::Or(hn::AndNot(low, integer), sticky);
    const VI32 sign = hn::ShiftRight<31>(integer);
    const VI32 magnitude = hn::Xor(integer, sign);  // one less for negative ones
    const auto small = hn::Lt(magnitude, hn::Set(d, 1 << 24));
    store_any(hn::ConvertTo(df, hn::IfThenElse(small, integer, odd)), df, to);
    return hn::Zero(d);
  }
};

Step small_float_to_f32_now(DType from) {
  switch (from) {
    case DType::kF16:
      return walk<F16::Read>;
    case DType::kBF16:
      return walk<BF16::Read>;
    case DType::kF8E5M2:
      return walk<F8E5M2::Read>;
    default:
      return walk<F8E4M3::Read>;
  }
}

Step f32_to_small_float_now(DType to) {
  switch (to) {
    case DType::kF16:
      return walk<F16::Write>;
    case DType::kBF16:
      return walk<BF16::Write>;
    case DType::kF8E5M2:
      return walk<F8E5M2::Write>;
    default:
      return walk<F8E4M3::Write>;
  }
}

Step f32_to_whole_f32_now() { return walk<F32ToWholeF32>; }
Step f32_to_i32_now() { return walk<F32ToI32>; }
Step i32_to_f32_now() { return walk<I32ToF32>; }
Step i32_to_odd_f32_now() { return walk<I32ToOddF32>; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::relayout::cast_steps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::relayout::cast_steps {

HWY_EXPORT(small_float_to_f32_now);
HWY_EXPORT(f32_to_small_float_now);
HWY_EXPORT(f32_to_whole_f32_now);
HWY_EXPORT(f32_to_i32_now);
HWY_EXPORT(i32_to_f32_now);
HWY_EXPORT(i32_to_odd_f32_now);

Step small_float_to_f32(DType from) { return HWY_DYNAMIC_DISPATCH(small_float_to_f32_now)(from); }
Step f32_to_small_float(DType to) { return HWY_DYNAMIC_DISPATCH(f32_to_small_float_now)(to); }
Step f32_to_whole_f32() { return HWY_DYNAMIC_DISPATCH(f32_to_whole_f32_now)(); }
Step f32_to_i32() { return HWY_DYNAMIC_DISPATCH(f32_to_i32_now)(); }
Step i32_to_f32() { return HWY_DYNAMIC_DISPATCH(i32_to_f32_now)(); }
Step i32_to_odd_f32() { return HWY_DYNAMIC_DISPATCH(i32_to_odd_f32_now)(); }

}  // namespace tessera::relayout::cast_steps
#endif
