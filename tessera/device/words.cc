// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/words.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/device/words.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::device::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;
using Halves = hn::Rebind<std::uint16_t, Words>;

// Both go from the first element to the last, and read a vector before they write one: what is
// written never reaches past what was read, where the arrays overlap as words.h allows.

void Widen(std::byte* words, const std::byte* elements, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Words()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto halves =
        hn::LoadU(Halves(), reinterpret_cast<const std::uint16_t*>(elements + 2 * i));
    hn::StoreU(hn::PromoteTo(Words(), halves), Words(),
               reinterpret_cast<std::uint32_t*>(words + 4 * i));
  }
  for (; i < count; ++i) {
    std::uint16_t element = 0;
    std::memcpy(&element, elements + 2 * i, sizeof element);
    const std::uint32_t word = element;
    std::memcpy(words + 4 * i, &word, sizeof word);
  }
}

void Narrow(std::byte* elements, const std::byte* words, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Words()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto whole = hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(words + 4 * i));
    hn::StoreU(hn::TruncateTo(Halves(), whole), Halves(),
               reinterpret_cast<std::uint16_t*>(elements + 2 * i));
  }
  for (; i < count; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, words + 4 * i, sizeof word);
    const auto element = static_cast<std::uint16_t>(word);
    std::memcpy(elements + 2 * i, &element, sizeof element);
  }
}

}  // namespace
}  // namespace tessera::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::device {

HWY_EXPORT(Widen);
HWY_EXPORT(Narrow);

void widen_words(std::byte* words, const std::byte* elements, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(Widen)(words, elements, count);
}
void narrow_words(std::byte* elements, const std::byte* words, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(Narrow)(elements, words, count);
}

}  // namespace tessera::device
#endif
