// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"

namespace tessera::notation {

/// A sharding as XLA prints it: the devices of each tile. Text comes in; a placement on a mesh of
/// devices goes out.
///
///     gspmd{devices=[4,2]<=[8]}                                      devices 0..7, row-major
///     gspmd{devices=[2,2,2]<=[2,4]T(1,0) last_tile_dim_replicate}    transposed; copies
///     gspmd{devices=[2,2]0,2,1,3}                                    one by one
///     gspmd{replicated num_partitions=8}     gspmd{maximal device=3 num_partitions=8}
///
/// The rule. Dim d of n elements on t tiles is cut into shards of ceil(n/t); the last shards may be
/// short or empty. `devices` is an array of device numbers, one per tile. Its last dims that are
/// not dims of the tensor have one device per copy (or, when unreduced, one per summand). Slots are
/// row-major over the shard of ceil(n/t), which is the same on every device. The place is [device],
/// on a mesh of all devices. 5 elements on 2x2 devices are [0,2) [2,4) [4,5) [].
/// https://github.com/openxla/xla/blob/main/xla/hlo/ir/hlo_sharding.h
struct GspmdLayout {
  enum class Kind : std::uint8_t { kTiled, kReplicated, kMaximal, kUnreduced };
  enum class Copies : std::uint8_t { kReplicated, kUnreduced };

  Kind kind = Kind::kTiled;
  std::vector<std::int64_t> tiles;      ///< tiles per dim, then the dims of copies
  std::vector<std::int64_t> reshape;    ///< 0, 1, .. in this shape; empty when devices are listed
  std::vector<std::int64_t> transpose;  ///< order of the dims of `reshape`; empty if not given
  std::vector<std::int64_t> devices;    ///< row-major over `tiles`; empty when reshape is given
  std::vector<Copies> copies;           ///< the kind of each of the last dims of `tiles`
  std::int64_t device = 0;              ///< of a maximal sharding
  std::int64_t partitions = 0;          ///< the number of devices, unless tiled
  friend bool operator==(const GspmdLayout&, const GspmdLayout&) = default;
};

/// One Layout on the devices if their numbers are a sum of strides. Otherwise one box per tile, on
/// its devices, if the devices of every tile are a sum of strides and there are at most kMaxPieces
/// tiles. Otherwise one Layout on as many places as there are devices, in the order of the list,
/// with a device map that is the list: the place of an element is then a position in the list, and
/// its physical place is the device (same_places.h). kTooLarge for more than 2^20 devices in no
/// even order.
Result<Placement> lower(const GspmdLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_gspmd(p), p.shape(), p.dtype()) is the same function as p with the same slots.
/// Every result of `lower` can be raised.
Result<GspmdLayout> raise_gspmd(const Placement& placement);
/// "gspmd{devices=[4,2]<=[8]}".
std::string write(const GspmdLayout& words);

}  // namespace tessera::notation
