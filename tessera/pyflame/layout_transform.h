// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/pyflame/mesh_layout.h"
#include "tessera/reshard/transfers.h"

namespace tessera::pyflame {

// NOLINTBEGIN(readability-identifier-naming): PyFlame's own spelling.
/// The kind of a change of layout; reshard/reshard.h has the rule.
enum class TransformType : std::uint8_t {
  IDENTITY,      ///< nothing to do
  REDISTRIBUTE,  ///< the same tiles on other PEs
  REPLICATE,     ///< more copies of the same tiles
  GATHER,        ///< from many PEs to one
  SCATTER,       ///< from one PE to many
  TRANSPOSE,     ///< the same tiles with PE rows and columns swapped
  RESHARD,       ///< anything else
  REDUCE,        ///< shares are combined
};
// NOLINTEND(readability-identifier-naming)

/// A change of layout, as PyFlame describes it: a thin facade over reshard/.
///
/// Every function checks the fields; a layout that cannot hold the shape is an Error. PEs are those
/// of the wafer (origins and CUSTOM lists are applied), on the smallest mesh that contains both
/// layouts.
struct LayoutTransform {
  TransformType type = TransformType::IDENTITY;
  MeshLayout from_layout;
  MeshLayout to_layout;
  std::vector<std::int64_t> tensor_shape;
  DType dtype = DType::kF32;

  /// Wavelets times hops, summed over all messages. The PyFlame document states "in wavelet
  /// messages", and its formulas multiply by distances. A wavelet has 32 bits, so two 16-bit
  /// elements share one. For bytes, link loads and cycles call cost_of (reshard/reshard.h)
  /// with `reshard()`.
  Result<std::int64_t> estimated_cost() const;

  struct CommunicationPattern {
    /// Elements that move from one PE to another along plain strides: loop counters i copy from
    /// start_offset + Σ i·source_stride to dest_offset + Σ i·dest_stride. The strides are explicit,
    /// because one contiguous copy of `size` bytes would send wrong data from a strided tile.
    struct Transfer {
      PECoord source;
      PECoord dest;
      std::int64_t start_offset = 0;        ///< bytes, in the source's tile
      std::int64_t size = 0;                ///< total bytes
      std::int64_t dest_offset = 0;         ///< bytes, in the destination's tile
      std::vector<reshard::BoxLoop> loops;  ///< strides in bytes; none for a single element
      /// If true, the data is not written but reduced into the destination, which is initialized
      /// with the neutral element.
      bool combines = false;
      bool is_local() const { return source == dest; }
    };
    std::vector<Transfer> transfers;  ///< messages and copies inside PEs; IDENTITY has none
  };

  /// Law: carrying out the transfers writes each element of each destination tile exactly once (or
  /// combines it once with each share), unless the type is IDENTITY. kNotSupported for elements
  /// smaller than a byte, which have no byte offset; kTooLarge for more than 2^22 transfers: use
  /// for_each_transfer (reshard/transfers.h), which streams them.
  Result<CommunicationPattern> generate_pattern() const;

  /// The same as a type of reshard/.
  Result<reshard::Reshard> reshard() const;
};

/// Makes transforms. insert_transforms (layout_planner.h) puts them into a graph.
class LayoutTransformer {
 public:
  /// Whether any tensor would have to move: false exactly if the layouts are compatible.
  /// Example: needs_transform(Grid(r, 1), RowPartition(r)) is false.
  static bool needs_transform(const MeshLayout& from, const MeshLayout& to);

  /// The transform with its type, or an error of reshard/, such as kTooLarge.
  static Result<LayoutTransform> create_transform(const MeshLayout& from, const MeshLayout& to,
                                                  const std::vector<std::int64_t>& shape,
                                                  DType dtype = DType::kF32);
};

}  // namespace tessera::pyflame
