// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/spyre/spyre.h"

namespace tessera::notation {

/// Loops that copy elements between the host tensor and the device tensor, outermost first.
///
///     for i0 < extent[0], i1 < extent[1], ..:
///       device[device_offset + Σ i·device_stride] = host[host_offset + Σ i·host_stride]
///
/// Offsets and strides count elements; host_offset includes the storage offset.
struct SpyreNest {
  std::vector<std::int64_t> extent;
  std::vector<std::int64_t> host_stride;
  std::vector<std::int64_t> device_stride;
  std::int64_t host_offset = 0;
  std::int64_t device_offset = 0;
  friend bool operator==(const SpyreNest&, const SpyreNest&) = default;
};

/// Elements start, start + step, .. below stop of one dim.
struct SpyreRange {
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;
};

/// The nests of a whole tensor, or of a part of it: one range per dim.
///
/// Law: run as plain loops, the nests copy each (covered) element x once, from host offset
/// storage_offset + Σ x·host_stride to its slot in the undivided device tensor, and nothing else.
///
/// No loop needs a modulus: padding is never touched, and a dim whose data end inside a stick has
/// one nest for the whole sticks and one for the rest. Nests are the product of the pieces of each
/// dim; digits that continue each other on both sides are one piece. Loops are in the order of
/// decreasing device stride, one for each device dim, with extent 1 if nothing moves along it.
/// (Fused dims that a cut crosses may step twice inside one device dim: then there are more loops,
/// and one nest for each way in which the cut crosses the dims.)
/// Example: [512, 240] f16 by default is
///     extent (3, 512, 64)  host (64, 240, 1)  device (32768, 64, 1)
///     extent (1, 512, 48)  the same strides, host_offset 192, device_offset 98304.
/// (1024, 256) is the single nest (4, 1024, 64), host (64, 256, 1), device (65536, 64, 1).
///
/// Cores have no effect: transfers run to and from the undivided device tensor.
/// Errors: those of `lower`; kOutOfRange for a range that leaves its dim or a step below 1;
/// kTooLarge for more than 2^16 nests, which only fused dims with unusual strides can require.
Result<std::vector<SpyreNest>> transfer_nests(const SpyreLayout& words, const Shape& shape,
                                              DType dtype);
Result<std::vector<SpyreNest>> transfer_nests(const SpyreLayout& words, const Shape& shape,
                                              DType dtype, const std::vector<SpyreRange>& part);

/// The number of sticks of the device tensor that hold at least one (covered) element: the sticks
/// that a transfer of that part touches.
/// Law: equals counting distinct (slot div elements_per_stick). Closed form, except for parts of
/// fused dims and of sticks that are not the innermost digit of their dims: those are counted
/// element by element, kTooLarge beyond 2^22 elements.
Result<std::int64_t> covered_sticks(const SpyreLayout& words, const Shape& shape, DType dtype);
Result<std::int64_t> covered_sticks(const SpyreLayout& words, const Shape& shape, DType dtype,
                                    const std::vector<SpyreRange>& part);

}  // namespace tessera::notation
