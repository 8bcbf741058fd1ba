// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/notation/spyre/spyre.h"

namespace tessera::notation {

/// What changing the device layout of a tensor does to its sticks.
enum class RestickifyKind : std::uint8_t {
  kNothing,    ///< the layouts are the same, or there are no elements
  kMove,       ///< whole sticks move: each new stick is an old one
  kTranspose,  ///< the stick dim changes: e old sticks give one lane each to a new stick
  kSpread,     ///< dense to sparse: each lane of an old stick becomes a stick of its own
};

/// A restickify and its cost. It always allocates a new backing storage, because the layouts do not
/// overlap in memory in a useful way: every byte is read from the old storage and written to the
/// new one.
struct Restickify {
  RestickifyKind kind = RestickifyKind::kNothing;
  std::int64_t sticks_read = 0;     ///< old sticks that hold data
  std::int64_t sticks_written = 0;  ///< new sticks that hold data
  std::int64_t bytes_read = 0;      ///< 128 per stick
  std::int64_t bytes_written = 0;
  std::int64_t storage_bytes = 0;  ///< the new storage, padding included
  friend bool operator==(const Restickify&, const Restickify&) = default;
};

/// Whether the device's stick transposer can take a tensor from one layout to another, and at what
/// cost. This describes layouts. The op `layout_transform` of the device is dense to dense only
/// (the predicate `restickify` of ops/machines/spyre.cc): kSpread is what a reduction over the
/// stick dim does to the sticks, and no op of its own.
///
/// The device reads and writes whole sticks and can transpose blocks of e sticks (e elements each):
/// the lane of an element becomes the number of its stick and the other way round. So the change
/// is legal if either
///   every element keeps its lane, and elements that share a new stick shared an old one (kMove),
///   or elements that share a new stick had one common lane in different old sticks, and elements
///   that shared an old stick have one common lane in different new ones (kTranspose, kSpread).
/// The second always holds when the sticks run along different dims.
///
/// Not legal:
///   a *gather*, sparse to dense: a new stick would collect one element from each of e old sticks
///   that hold nothing else (kNotSupported);
///   *unaligned* sticks: a new stick needs parts of old sticks at other lanes. The error names the
///   dim, the element and both lanes (kInvalidShape).
///
/// Example: [512, 256] f16 from the default to dim_order=[1, 0] is a transpose; it reads
/// 4·512 sticks and writes 8·256.
///
/// Cores have no effect. kTooLarge when fused dims of more than 2^18 elements would have to be
/// visited one by one.
Result<Restickify> restickify(const SpyreLayout& from, const SpyreLayout& to, const Shape& shape,
                              DType dtype);

}  // namespace tessera::notation
