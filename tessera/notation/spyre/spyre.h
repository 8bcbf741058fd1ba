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
/// is one 128-byte stick. Text comes in; a layout goes out, on one place or on the cores.
///
///     spyre<device_size=[256, 8, 128, 64], dim_map=[1, 2, 0, 2]>
///     spyre<device_size=[4, 512, 64], stride_map=[64, 256, 1], cores=[2, 4, 1]>
///     spyre.default(dim_order=[1, 0], sparse=true, era=now)
///
/// **dim_map** names the logical dim of each device dim (-1: synthetic, only coordinate 0 holds
/// data). A dim that is listed several times is cut into digits; the rightmost is the fastest, so
/// the leftmost has the widest step and must reach the end of the dim:
///
///     device coordinates (a, b, c, d) above hold element (c, a, b·64 + d).
///
/// Dims of extent 1 may be omitted; every other dim must be listed.
///
/// **stride_map** gives each device dim's step in the host tensor's memory instead:
/// host offset = Σ device coordinate · stride. Conversely, the host offset of an element is divided
/// by the strides from the largest to the smallest, and the quotients are its coordinates. This can
/// express dims in any order, and also fused dims. Strides of device dims of extent 1 have no
/// meaning; a stride of -1 is synthetic.
///
/// **default** is the device's own choice for the shape: see `spelled_out` for the rule.
///
/// `host_stride` and `storage_offset` describe the host tensor (default row-major, offset 0;
/// strides of dims longer than 1 must be positive and give every element a different host offset).
/// stride_map is expressed in those strides, and transfers run between the host tensor and the
/// device tensor; storage_offset never changes a device slot.
///
/// **Padding.** A device coordinate past the end of its dim is padding: `stick` in the rest of the
/// stick in which the data end, `alignment` after that stick, `synthetic` along a -1, `grid` if
/// cores do not divide a device dim evenly.
///
/// **Storage.** A stick is 128 bytes for every type, so the type in memory (the layout's atom) is
/// the one that fills it: ui8 is widened to 4 bytes (ui32), i64 narrowed to 4 (i32), bool kept in 2
/// (ui16); all others are themselves. Law: shard_bytes = sticks · 128.
struct SpyreLayout {
  enum class Form : std::uint8_t { kDimMap, kStrideMap, kDefault };
  /// How default layouts treat dims of extent 1: the rule of the Spyre document (kDocument) drops
  /// them, the current rule (kNow) keeps them with stride -1. Explicit maps list what they keep:
  /// for them the era has no effect.
  enum class Era : std::uint8_t { kDocument, kNow };

  Form form = Form::kDimMap;
  std::vector<std::int64_t> device_size;
  std::vector<std::int64_t> map;  ///< dim_map or stride_map
  std::optional<std::vector<std::int64_t>> dim_order;
  bool sparse = false;
  std::optional<Era>
      era;  ///< as given; default document for dim_map, now for stride_map and default
  std::optional<std::vector<std::int64_t>> host_stride;
  std::optional<std::int64_t> storage_offset;
  /// The number of pieces of each device dim, one core per combination of pieces (row-major core
  /// numbers); empty when the tensor is not divided. Uneven division gives ceil-sized pieces. The
  /// stick is never cut. A core's slots are row-major over its own piece.
  std::vector<std::int64_t> cores;
  friend bool operator==(const SpyreLayout&, const SpyreLayout&) = default;
};

/// Elements in a 128-byte stick: f16 64, f32 32, i8 128, u8 32 (widened), i64 32 (narrowed), ..
/// kBadDType for types that Spyre does not store.
Result<std::int64_t> elements_per_stick(DType dtype);
/// The type that fills a stick: `elements_per_stick` of them are 128 bytes.
Result<DType> stick_storage(DType dtype);

Result<Layout> lower(const SpyreLayout& words, const Shape& shape, DType dtype);

/// The Spyre layout of a layout: a dim_map if one can express it, otherwise a stride_map over a
/// row-major host, otherwise one over a host whose strides follow the device's order; otherwise the
/// reason (kNotSupported). Fused dims over a host with gaps are found by a few guesses, so rare
/// cases are rejected although a Spyre layout exists.
/// Law: lower(*raise_spyre(l), l.shape(), l.dtype()) is the same function as l, with the same
/// slots, atom and mesh.
Result<SpyreLayout> raise_spyre(const Layout& layout);
std::string write(const SpyreLayout& words);

/// The explicit form of any Spyre layout: default layouts become device_size and map.
///
/// The default of rank n >= 2 with dim order o (default 0 .. n-1) has the device dims
///     o[1], .., o[n-2], sticks of o[n-1], o[0], inside the stick of o[n-1]
/// so that 2-D [R, C] is [C/e, R, e] and 3-D [A, B, C] is [B, C/e, A, e]; rank 1 is [sticks, e].
///
/// Sparse tensors keep one element per stick: the rule is applied to the order o ++ [-1], where -1
/// is a synthetic dim of extent 1, so [512, 256] is [256, 1, 512, e] with stride_map
/// [1, -1, 256, -1].
///
/// Era `document` first omits dims of extent 1, keeps the numbers of the others, omits the stick
/// count of a sparse tensor (which is 1), and gives a dim_map: [512, 1, 256] is [4, 512, 64] by [2,
/// 0, 2], sparse [512, 256] is [256, 512, 64] by [1, 0, -1], a scalar [64] by [-1]. Era `now` keeps
/// them all with stride -1 and gives a stride_map: [512, 1, 256] is [1, 4, 512, 64] by [-1, 64,
/// 256, 1], a scalar [1, 64] by [-1, -1]. If the dims of the host interleave, so that strides alone
/// do not distinguish them, it gives a dim_map instead.
Result<SpyreLayout> spelled_out(const SpyreLayout& words, const Shape& shape, DType dtype);

/// The stride_map of any Spyre layout, -1 for synthetic and size-1 dims. From a dim_map, right to
/// left: the first occurrence of dim d has the dim's host stride, each later one the previous
/// stride times the previous device extent.
/// Law: Σ device coordinate · stride is the host offset of every element.
Result<std::vector<std::int64_t>> stride_map_of(const SpyreLayout& words, const Shape& shape,
                                                DType dtype);

/// The dim_map of any Spyre layout, or why a dim_map cannot express it: a device dim that crosses
/// several dims, a dim whose digits do not widen from right to left, or a dim whose widths are not
/// the product of the extents to their right.
/// Example: over device [5, 2, 3, 64] by [128, 64, 640, 1], [3, 5, 128] has the dim_map
/// [1, 2, 0, 2]; its view [15, 1, 128] has none: dim 0 steps 5 in device dim 2 and 1 in device
/// dim 0, which is to the left.
Result<std::vector<std::int64_t>> dim_map_of(const SpyreLayout& words, const Shape& shape,
                                             DType dtype);

/// Whether two layouts of one tensor have the same device_size and stride_map, ignoring strides of
/// device dims of extent 1.
Result<bool> same_device_layout(const SpyreLayout& a, const SpyreLayout& b, const Shape& shape,
                                DType dtype);

}  // namespace tessera::notation
