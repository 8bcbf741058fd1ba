// SPDX-License-Identifier: Apache-2.0

// Read once for each instruction set by the kernel files of casts, hence the guard that toggles.
#if defined(TESSERA_RELAYOUT_CAST_WALK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_RELAYOUT_CAST_WALK_INL_H_
#undef TESSERA_RELAYOUT_CAST_WALK_INL_H_
#else
#define TESSERA_RELAYOUT_CAST_WALK_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cast_steps {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using I32 = hn::ScalableTag<std::int32_t>;
using U32 = hn::Rebind<std::uint32_t, I32>;
using F32 = hn::Rebind<float, I32>;
using VI32 = hn::Vec<I32>;

// LoadU and StoreU of one lane read through a typed pointer, which wants its type's alignment.
template <class D>
HWY_INLINE hn::Vec<D> load_any(D d, const std::byte* bytes) {
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_SCALAR
  T lane;
  std::memcpy(&lane, bytes, sizeof(T));
  return hn::Set(d, lane);
#else
  return hn::LoadU(d, reinterpret_cast<const T*>(bytes));
#endif
}

template <class D>
HWY_INLINE void store_any(hn::Vec<D> v, D d, std::byte* bytes) {
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_SCALAR
  const T lane = hn::GetLane(v);
  (void)d;
  std::memcpy(bytes, &lane, sizeof(T));
#else
  hn::StoreU(v, d, reinterpret_cast<T*>(bytes));
#endif
}

// A step made of Kernel::vector, which converts as many elements as Kernel::D has lanes and answers
// a vector that is not 0 in lanes that do not fit. Kernel::From and To are the elements.
template <class Kernel>
bool walk(const std::byte* from, std::int64_t from_first, std::byte* to, std::int64_t to_first,
          std::int64_t n) {
  constexpr std::int64_t kFrom = sizeof(typename Kernel::From);
  constexpr std::int64_t kTo = sizeof(typename Kernel::To);
  const typename Kernel::D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  from += from_first * kFrom;
  to += to_first * kTo;
  auto misfits = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    misfits = hn::Or(misfits, Kernel::vector(from + i * kFrom, to + i * kTo));
  }
  if (i < n && n >= lanes) {
    // Once more over some of the last elements.
    i = n - lanes;
    misfits = hn::Or(misfits, Kernel::vector(from + i * kFrom, to + i * kTo));
  } else if (i < n) {
    // Zeros fit every type.
    std::byte in[HWY_MAX_BYTES * 2] = {};
    std::byte out[HWY_MAX_BYTES * 2];
    std::memcpy(in, from, static_cast<std::size_t>(n * kFrom));
    misfits = Kernel::vector(in, out);
    std::memcpy(to, out, static_cast<std::size_t>(n * kTo));
  }
  return hn::AllFalse(d, hn::Ne(misfits, hn::Zero(d)));
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cast_steps
HWY_AFTER_NAMESPACE();

#endif  // TESSERA_RELAYOUT_CAST_WALK_INL_H_
