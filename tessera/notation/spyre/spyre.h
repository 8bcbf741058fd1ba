// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// A Spyre device layout: the tensor is a row-major device tensor of higher rank, whose last extent
/// is one 128-byte stick.
///
///     spyre<device_size=[256, 8, 128, 64], dim_map=[1, 2, 0, 2]>
///     spyre<device_size=[4, 512, 64], stride_map=[64, 256, 1], cores=[2, 4, 1]>
///     spyre.default(dim_order=[1, 0], sparse=true, era=now)
///
/// **dim_map** names the logical dim of each device dim (-1: synthetic, only coordinate 0 holds
/// data). A dim that is named again is cut; its digits count from the right, so the leftmost has
/// the widest step and must reach the end of the dim:
///
///     device coordinates (a, b, c, d) above hold element (c, a, b·64 + d).
///
/// Dims of extent 1 may be left out; every other dim must be named.
///
/// **stride_map** gives each device dim's step in the host tensor's memory instead:
/// host offset = Σ device coordinate · stride. Read the other way, the host offset of an element is
/// divided by the strides from the largest to the smallest, and the quotients are its coordinates.
/// That can say dims in any order and fused dims too. Strides of device dims of extent 1 say
/// nothing; a stride of -1 is synthetic.
///
/// **default** is the device's own choice for the shape: the rule is at `spelled_out`.
///
/// `host_stride` and `storage_offset` describe the host tensor (row-major at 0 unless said; strides
/// of dims longer than 1 are positive and give every element a host offset of its own). stride_map
/// counts in those strides, transfers run between the two; storage_offset never moves a device
/// slot.
///
/// **Padding.** A device coordinate past the end of its dim is padding: `stick` in the rest of the
/// stick where the data end, `alignment` beyond it, `synthetic` along a -1, `grid` where cores do
/// not divide a device dim.
///
/// **Storage.** A stick is 128 bytes whatever the type, so the type in memory (the layout's atom)
/// is the one that fills it: ui8 is widened to 4 bytes (ui32), i64 narrowed to 4 (i32), bool kept
/// in 2 (ui16); all others are themselves. Law: shard_bytes = sticks · 128.
struct SpyreLayout {
  enum class Form : std::uint8_t { kDimMap, kStrideMap, kDefault };
  /// How default layouts treat dims of extent 1: the seed drops them, today they stay, with
  /// stride -1. Maps that are written out say themselves what they keep: there an era is a remark.
  enum class Era : std::uint8_t { kSeed, kNow };

  Form form = Form::kDimMap;
  std::vector<std::int64_t> device_size;
  std::vector<std::int64_t> map;  ///< dim_map or stride_map
  std::optional<std::vector<std::int64_t>> dim_order;
  bool sparse = false;
  std::optional<Era> era;  ///< as said; seed for dim_map text, now for stride_map and default
  std::optional<std::vector<std::int64_t>> host_stride;
  std::optional<std::int64_t> storage_offset;
  /// Pieces that each device dim is divided into, one core a combination (row-major core numbers);
  /// empty when the tensor is whole. Uneven division gives ceil-sized pieces. The stick is never
  /// cut. A core's slots are row-major over its own piece.
  std::vector<std::int64_t> cores;
  friend bool operator==(const SpyreLayout&, const SpyreLayout&) = default;
};

/// Elements in a 128-byte stick: f16 64, f32 32, i8 128, u8 32 (widened), i64 32 (narrowed), ..
/// kBadDType for types that Spyre does not keep.
Result<std::int64_t> elements_per_stick(DType dtype);
/// The type that fills a stick: `elements_per_stick` of them are 128 bytes.
Result<DType> stick_storage(DType dtype);

Result<Layout> lower(const SpyreLayout& words, const Shape& shape, DType dtype);

/// Words for a layout: a dim_map when one can say it, else a stride_map over a row-major host, else
/// one over a host whose strides follow the device's order; else the reason (kNotSupported). Fused
/// dims over a host with gaps are found by a handful of guesses, so a rare one is refused.
/// Law: lower(*raise_spyre(l), l.shape(), l.dtype()) is the same function as l, with the same
/// slots, atom and mesh.
Result<SpyreLayout> raise_spyre(const Layout& layout);
std::string write(const SpyreLayout& words);

/// The explicit form of any words: default layouts become device_size and map.
///
/// The default of rank n >= 2 with dim order o (0 .. n-1 unless said) has the device dims
///     o[1], .., o[n-2], sticks of o[n-1], o[0], inside the stick of o[n-1]
/// so that 2-D [R, C] is [C/e, R, e] and 3-D [A, B, C] is [B, C/e, A, e]; rank 1 is [sticks, e].
///
/// Sparse tensors keep one element a stick: the rule is applied to the order o ++ [-1], where -1 is
/// a synthetic dim of extent 1, so [512, 256] is [256, 1, 512, e] with stride_map [1, -1, 256, -1].
///
/// Era `seed` leaves out dims of extent 1 first, keeps the numbers of the others, leaves out the
/// single stick count of a sparse tensor, and says dim_map: [512, 1, 256] is [4, 512, 64] by
/// [2, 0, 2], sparse [512, 256] is [256, 512, 64] by [1, 0, -1], a scalar [64] by [-1].
/// Era `now` keeps them all with stride -1 and says stride_map: [512, 1, 256] is [1, 4, 512, 64] by
/// [-1, 64, 256, 1], a scalar [1, 64] by [-1, -1]. Where the dims of the host interleave, so that
/// strides alone do not tell them apart, it says dim_map as well.
Result<SpyreLayout> spelled_out(const SpyreLayout& words, const Shape& shape, DType dtype);

/// The stride_map of any words, -1 for synthetic and size-1 dims. From a dim_map, right to left:
/// the first visit of dim d has the dim's host stride, each later one the previous stride times
/// the previous device extent. Law: Σ device coordinate · stride is the host offset of every
/// element.
Result<std::vector<std::int64_t>> stride_map_of(const SpyreLayout& words, const Shape& shape,
                                                DType dtype);

/// The dim_map of any words, or why a dim_map cannot say it: a device dim that runs across dims, a
/// dim whose digits do not widen from right to left, or whose widths are not the product of the
/// extents to their right.
/// Example: over device [5, 2, 3, 64] by [128, 64, 640, 1], [3, 5, 128] has the dim_map
/// [1, 2, 0, 2]; its view [15, 1, 128] has none: dim 0 steps 5 in device dim 2 and 1 in device
/// dim 0, which stands to the left.
Result<std::vector<std::int64_t>> dim_map_of(const SpyreLayout& words, const Shape& shape,
                                             DType dtype);

/// Whether two layouts of one tensor have the same device_size and stride_map, where strides of
/// device dims of extent 1 do not count.
Result<bool> same_device_layout(const SpyreLayout& a, const SpyreLayout& b, const Shape& shape,
                                DType dtype);

}  // namespace tessera::notation
