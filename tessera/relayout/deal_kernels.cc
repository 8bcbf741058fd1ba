// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tessera/relayout/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/relayout/deal_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "tessera/relayout/copies.inc"

HWY_BEFORE_NAMESPACE();
namespace tessera::relayout::HWY_NAMESPACE {
namespace {

/// Asks for the lines of a stretch, to the second-level cache: what waits for memory there does not
/// hold up the loads and stores of the first, of which few can wait.
HWY_INLINE void fetch(const Wanted& wanted, std::int64_t i) {
  const Stretch& stretch = wanted.stretches[i];
  const std::byte* begin = wanted.base + stretch.*wanted.side;
  for (std::int64_t k = 0; k < stretch.bytes; k += kLine) __builtin_prefetch(begin + k, 0, 2);
  if (stretch.bytes > kLine) __builtin_prefetch(begin + stretch.bytes - 1, 0, 2);
}

/// Calls `copy(to, from, bytes)` for every stretch.
template <typename Copy>
HWY_INLINE void for_each_stretch(std::byte* to, const std::byte* from, const Stretch* stretches,
                                 std::int64_t count, const Wanted& wanted, const Copy& copy) {
  if (wanted.base == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) {
      copy(to + stretches[i].to, from + stretches[i].from, stretches[i].bytes);
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    fetch(wanted, i);
    copy(to + stretches[i].to, from + stretches[i].from, stretches[i].bytes);
  }
}

/// At least one vector, in the order of addresses, which memory follows.
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

/// What fits two blocks of this size that may overlap.
template <std::int64_t kBytes>
struct Block {
  std::byte b[kBytes];
};

void CopyStretches(std::byte* to, const std::byte* from, const Stretch* stretches,
                   std::int64_t count, const StretchSizes& sizes, bool streaming,
                   const Wanted& wanted) {
  const auto all = [&](const auto& copy) {
    for_each_stretch(to, from, stretches, count, wanted, copy);
  };
  const auto within = [&](std::int64_t least, std::int64_t most) {
    return sizes.shortest >= least && sizes.longest <= most;
  };
  const auto ends = [&]<std::int64_t kBytes>(Block<kBytes>) {
    all([](std::byte* out, const std::byte* in, std::int64_t bytes) {
      copy_ends<Block<kBytes>>(out, in, bytes);
    });
  };
  if (streaming) {
    return all([](std::byte* out, const std::byte* in, std::int64_t bytes) {
      copy_streaming(out, in, bytes);
    });
  }
  // Sizes that are alike leave nothing to decide for each stretch.
  if (within(4, 8)) return ends(Block<4>());
  if (within(8, 16)) return ends(Block<8>());
  if (within(16, 32)) return ends(Block<16>());
  if (within(32, 64)) return ends(Block<32>());
  if (within(64, 128)) return ends(Block<64>());
  all([](std::byte* out, const std::byte* in, std::int64_t bytes) {
    if (bytes >= kVector) {
      copy_forward(out, in, bytes);
    } else {
      copy_short(out, in, bytes);
    }
  });
}

}  // namespace
}  // namespace tessera::relayout::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::relayout {

HWY_EXPORT(CopyStretches);

void copy_stretches(std::byte* to, const std::byte* from, const Stretch* stretches,
                    std::int64_t count, const StretchSizes& sizes, bool streaming,
                    const Wanted& wanted) {
  HWY_DYNAMIC_DISPATCH(CopyStretches)
  (to, from, stretches, count, sizes, streaming, wanted);
}

}  // namespace tessera::relayout
#endif
