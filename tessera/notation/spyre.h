// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// A Spyre device layout: the tensor is a row-major device tensor of higher rank, whose last extent
/// is one 128-byte stick.
///
///     spyre<device_size=[256, 8, 128, 64], dim_map=[1, 2, 0, 2]>
///     spyre<device_size=[4, 512, 64], stride_map=[64, 256, 1], cores=[2, 4, 1]>
///     spyre.default(dim_order=[1, 0], sparse=true, era=now)
///
/// dim_map names the logical dim of each device dim (-1: synthetic); repeated dims are cut, the
/// rightmost visit being the fastest. stride_map gives each device dim's step in the host tensor's
/// memory instead, which can say fused dims too: host offset = Σ device coordinate · stride.
/// `host_stride` and `storage_offset` describe the host tensor (row-major at 0 unless said): they
/// drive the transfer nests, and stride_map counts in those strides.
struct SpyreLayout {
  enum class Form : std::uint8_t { kDimMap, kStrideMap, kDefault };
  enum class Era : std::uint8_t { kSeed, kNow };  ///< size-1 dims dropped, or kept with stride -1

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
  /// cut.
  std::vector<std::int64_t> cores;
  friend bool operator==(const SpyreLayout&, const SpyreLayout&) = default;
};

/// Elements in a 128-byte stick: f16 64, f32 32, i8 128, u8 32 (widened), i64 32 (narrowed), ..
/// kBadDType for types that Spyre does not keep.
Result<std::int64_t> elements_per_stick(DType dtype);

Result<Layout> lower(const SpyreLayout& words, const Shape& shape, DType dtype);
Result<SpyreLayout> raise_spyre(const Layout& layout);
std::string write(const SpyreLayout& words);

/// The explicit form of any words: default layouts become device_size and map.
Result<SpyreLayout> spelled_out(const SpyreLayout& words, const Shape& shape, DType dtype);
/// The stride_map of a dim_map layout, -1 for synthetic and size-1 device dims.
Result<std::vector<std::int64_t>> stride_map_of(const SpyreLayout& words, const Shape& shape,
                                                DType dtype);
/// The dim_map of a stride_map layout, or why dims are fused in a way that it cannot say.
Result<std::vector<std::int64_t>> dim_map_of(const SpyreLayout& words, const Shape& shape,
                                             DType dtype);

}  // namespace tessera
