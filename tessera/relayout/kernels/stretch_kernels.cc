// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tessera/relayout/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/kernels/stretch_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "tessera/relayout/kernels/copies.inc"

HWY_BEFORE_NAMESPACE();
namespace tessera::relayout::HWY_NAMESPACE {
namespace {

/// Calls `copy(to, from, bytes)` for every stretch.
template <typename Copy>
HWY_INLINE void for_each_stretch(std::byte* to, const std::byte* from, const Stretch* stretches,
                                 std::int64_t count, const PrefetchList& list, const Copy& copy) {
  if (list.base == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) {
      copy(to + stretches[i].to, from + stretches[i].from, stretches[i].bytes);
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    prefetch(list.base + list.stretches[i].*list.side, list.stretches[i].bytes);
    copy(to + stretches[i].to, from + stretches[i].from, stretches[i].bytes);
  }
}

/// At least one vector, in the order of addresses, which the prefetchers of the memory follow.
HWY_INLINE void copy_forward(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::int64_t i = 0;
  for (; i + 2 * kVector <= bytes; i += 2 * kVector) {
    const Bytes a = load(from + i);
    const Bytes b = load(from + i + kVector);
    store(a, to + i);
    store(b, to + i + kVector);
  }
  if (i + kVector <= bytes) {
    store(load(from + i), to + i);
    i += kVector;
  }
  if (i < bytes) store(load(from + bytes - kVector), to + bytes - kVector);
}

// Ways to copy `bytes` bytes, as types, so that each loop over stretches has its own.

/// From kBytes to twice as many: two blocks that may overlap.
template <std::int64_t kBytes>
struct TwoEnds {
  struct Block {
    std::byte b[kBytes];
  };
  HWY_INLINE void operator()(std::byte* to, const std::byte* from, std::int64_t bytes) const {
    copy_ends<Block>(to, from, bytes);
  }
};

struct Around {
  HWY_INLINE void operator()(std::byte* to, const std::byte* from, std::int64_t bytes) const {
    copy_streaming(to, from, bytes);
  }
};

struct AnySize {
  HWY_INLINE void operator()(std::byte* to, const std::byte* from, std::int64_t bytes) const {
    if (bytes >= kVector) return copy_forward(to, from, bytes);
    copy_short(to, from, bytes);
  }
};

void CopyStretches(std::byte* to, const std::byte* from, const Stretch* stretches,
                   std::int64_t count, const StretchSizes& sizes, bool streaming,
                   const PrefetchList& list) {
  const auto all = [&](const auto& copy) {
    for_each_stretch(to, from, stretches, count, list, copy);
  };
  const auto within = [&](std::int64_t least, std::int64_t most) {
    return sizes.shortest >= least && sizes.longest <= most;
  };
  if (streaming) return all(Around());
  // If all sizes are in one range, nothing has to be decided for each stretch.
  if (within(4, 8)) return all(TwoEnds<4>());
  if (within(8, 16)) return all(TwoEnds<8>());
  if (within(16, 32)) return all(TwoEnds<16>());
  if (within(32, 64)) return all(TwoEnds<32>());
  if (within(64, 128)) return all(TwoEnds<64>());
  all(AnySize());
}

}  // namespace
}  // namespace tessera::relayout::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::relayout {

HWY_EXPORT(CopyStretches);

void copy_stretches(std::byte* to, const std::byte* from, const Stretch* stretches,
                    std::int64_t count, const StretchSizes& sizes, bool streaming,
                    const PrefetchList& list) {
  HWY_DYNAMIC_DISPATCH(CopyStretches)
  (to, from, stretches, count, sizes, streaming, list);
}

void touch_lines(const std::byte* from, std::int64_t bytes) {
  std::byte all{};
  for (std::int64_t k = 0; k < bytes; k += kLine) all ^= from[k];
  __asm__ volatile("" : : "r"(std::to_integer<int>(all)));  // so that the reads are not left out
}

}  // namespace tessera::relayout
#endif
