// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/layout.h"

namespace tessera::memory {

/// Data that take memory on some places of a mesh.
struct SizedTensor {
  /// The places of this layout hold it, through its device map; null: every place of the mesh. A
  /// layout without a mesh is on the first place.
  const Layout* layout = nullptr;
  /// The bytes on every place that holds a part of it; default: what the layout needs there.
  std::optional<std::int64_t> bytes = {};
};

struct SizeRule {
  std::int64_t align_bytes = 1;  ///< every size is rounded up to a multiple of this
  /// Gives every place of a layout's mesh all slots that the layout allocates, for code that
  /// addresses tiles by strides and treats all places alike. Otherwise: what the place's own data
  /// need.
  bool allocated = false;
};

/// The parts of a mesh axis: coordinates [starts[i], starts[i + 1]) belong to part[i].
struct AxisParts {
  std::vector<std::int64_t> starts;  ///< ascending, the first is 0
  std::vector<std::uint8_t> part;
  std::size_t parts = 0;
};

/// The bytes that one tensor needs on each place of a mesh.
///
/// A product wherever the layout is one: bytes[part of row, part of column, ..], row-major. Grids,
/// block-cyclic layouts, origins, replicas and partial sums are products of a few parts per axis,
/// for any size of mesh. Everything else (lists of PEs, stacked places) is listed.
struct TensorPlaces {
  bool is_listed = false;
  std::vector<AxisParts> axes;
  std::vector<std::int64_t> bytes;
  std::vector<std::pair<std::int64_t, std::int64_t>> listed;  ///< (place, bytes > 0), by place
};

/// The maximum number of listed places, per tensor and per mesh.
inline constexpr std::int64_t kMaxListedPlaces = std::int64_t{1} << 20;

/// Errors: kMeshMismatch for a mesh of another rank, kMeshTooSmall for a layout that reaches beyond
/// the mesh, kTooLarge for more than kMaxListedPlaces places that have to be listed, kOverflow,
/// kBadBuffer for negative bytes, kBadAlignment.
Result<TensorPlaces> tensor_places(const Shape& mesh, const SizedTensor& tensor,
                                   const SizeRule& rule);

}  // namespace tessera::memory
