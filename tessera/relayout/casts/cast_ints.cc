// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/relayout/casts/cast_steps.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/casts/cast_ints.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tessera/relayout/casts/cast_walk.inc"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tessera::relayout::cast_steps {
namespace HWY_NAMESPACE {

template <typename Narrow>
struct Widen {
  using D = I32;
  using From = Narrow;
  using To = std::int32_t;
  static VI32 vector(const std::byte* from, std::byte* to) {
    const I32 d;
    const hn::Rebind<Narrow, I32> dn;
    store_any(hn::PromoteTo(d, load_any(dn, from)), d, to);
    return hn::Zero(d);
  }
};

// DemoteTo would saturate too, but not all of its 1.0.3 versions do so from 32768 on.
template <typename Narrow, int kLow, int kHigh>
struct NarrowTo {
  using D = I32;
  using From = std::int32_t;
  using To = Narrow;
  static VI32 vector(const std::byte* from, std::byte* to) {
    const I32 d;
    const hn::Rebind<Narrow, I32> dn;
    const VI32 number = load_any(d, from);
    const VI32 near = hn::Max(hn::Min(number, hn::Set(d, kHigh)), hn::Set(d, kLow));
    store_any(hn::DemoteTo(dn, near), dn, to);
    return hn::Xor(near, number);
  }
};

struct BoolToI32 {
  using D = I32;
  using From = std::uint8_t;
  using To = std::int32_t;
  static VI32 vector(const std::byte* from, std::byte* to) {
    const I32 d;
    const hn::Rebind<std::uint8_t, I32> dn;
    store_any(hn::Min(hn::PromoteTo(d, load_any(dn, from)), hn::Set(d, 1)), d, to);
    return hn::Zero(d);
  }
};

struct I64ToI32 {
  using D = hn::ScalableTag<std::int64_t>;
  using From = std::int64_t;
  using To = std::int32_t;
  static hn::Vec<D> vector(const std::byte* from, std::byte* to) {
    const D d;
    const hn::Rebind<std::uint64_t, D> du;
    const hn::Rebind<std::uint32_t, D> dn;
    const auto number = load_any(d, from);
    const auto low = hn::Set(d, std::int64_t{-1} << 31);
    const auto near = hn::Max(hn::Min(number, hn::Set(d, 0x7FFFFFFF)), low);
    store_any(hn::TruncateTo(dn, hn::BitCast(du, near)), dn, to);
    return hn::Xor(near, number);
  }
};

Step i64_to_i32_now() { return walk<I64ToI32>; }

Step small_int_to_i32_now(DType from) {
  switch (from) {
    case DType::kI8:
    case DType::kSI8:
      return walk<Widen<std::int8_t>>;
    case DType::kI16:
    case DType::kSI16:
      return walk<Widen<std::int16_t>>;
    case DType::kU8:
      return walk<Widen<std::uint8_t>>;
    case DType::kU16:
      return walk<Widen<std::uint16_t>>;
    default:
      return walk<BoolToI32>;
  }
}

Step i32_to_small_int_now(DType to) {
  switch (to) {
    case DType::kI8:
    case DType::kSI8:
      return walk<NarrowTo<std::int8_t, -128, 127>>;
    case DType::kI16:
    case DType::kSI16:
      return walk<NarrowTo<std::int16_t, -32768, 32767>>;
    case DType::kU8:
      return walk<NarrowTo<std::uint8_t, 0, 255>>;
    case DType::kU16:
      return walk<NarrowTo<std::uint16_t, 0, 65535>>;
    default:
      return walk<NarrowTo<std::uint8_t, 0, 1>>;
  }
}

void stream_now(const std::byte* from, std::byte* to, std::int64_t bytes) {
#if HWY_TARGET == HWY_SCALAR
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#else
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to)) % lanes;
  std::int64_t i = past == 0 ? 0 : std::min(bytes, lanes - past);
  std::memcpy(to, from, static_cast<std::size_t>(i));
  for (; i + lanes <= bytes; i += lanes) {
    hn::Stream(load_any(d, from + i), d, reinterpret_cast<std::uint8_t*>(to + i));
  }
  std::memcpy(to + i, from + i, static_cast<std::size_t>(bytes - i));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::relayout::cast_steps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::relayout::cast_steps {

HWY_EXPORT(small_int_to_i32_now);
HWY_EXPORT(i32_to_small_int_now);
HWY_EXPORT(i64_to_i32_now);
HWY_EXPORT(stream_now);

Step small_int_to_i32(DType from) { return HWY_DYNAMIC_DISPATCH(small_int_to_i32_now)(from); }
Step i32_to_small_int(DType to) { return HWY_DYNAMIC_DISPATCH(i32_to_small_int_now)(to); }
Step i64_to_i32() { return HWY_DYNAMIC_DISPATCH(i64_to_i32_now)(); }
void stream(const std::byte* from, std::byte* to, std::int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(stream_now)(from, to, bytes);
}
void end_stream() { hwy::FlushStream(); }

}  // namespace tessera::relayout::cast_steps
#endif
