// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/pyflame/mesh_layout.h"
#include "tessera/reshard/transfers.h"

namespace tessera::pyflame {

// NOLINTBEGIN(readability-identifier-naming): PyFlame's own spelling.
/// What a change of layout is; reshard/kind.h has the rule.
enum class TransformType : std::uint8_t {
  IDENTITY,      ///< nothing to do
  REDISTRIBUTE,  ///< the same tiles on other PEs
  REPLICATE,     ///< more copies of the same tiles
  GATHER,        ///< from many PEs to one
  SCATTER,       ///< from one PE to many
  TRANSPOSE,     ///< the same tiles, PE rows and columns exchanged
  RESHARD,       ///< anything else
  REDUCE,        ///< shares are combined
};
// NOLINTEND(readability-identifier-naming)

/// A change of layout, as PyFlame describes it: a thin facade over reshard/.
///
/// Fields are plain and checked when a question is asked; a layout that cannot hold the shape is an
/// Error of every question. PEs are those of the wafer (origins and CUSTOM lists are applied), on
/// the smallest mesh that holds both layouts.
struct LayoutTransform {
  TransformType type = TransformType::IDENTITY;
  MeshLayout from_layout;
  MeshLayout to_layout;
  std::vector<std::int64_t> tensor_shape;
  DType dtype = DType::kF32;

  /// Wavelets times hops, summed over all messages: PyFlame says "in wavelet messages", and its
  /// formulas multiply by distances. A wavelet has 32 bits, so two 16-bit elements share one.
  /// For bytes, link loads and cycles ask cost_of (reshard/cost.h) about `reshard()`.
  Result<std::int64_t> estimated_cost() const;

  struct CommunicationPattern {
    /// Elements that go from one PE to another along plain strides: loop counters i move
    /// start_offset + Σ i·source_stride to dest_offset + Σ i·dest_stride. One contiguous copy of
    /// `size` bytes would send wrong data from a tile that is strided, so the strides are said.
    struct Transfer {
      PECoord source;
      PECoord dest;
      std::int64_t start_offset = 0;        ///< bytes, in the source's tile
      std::int64_t size = 0;                ///< bytes in all
      std::int64_t dest_offset = 0;         ///< bytes, in the destination's tile
      std::vector<reshard::BoxLoop> loops;  ///< strides in bytes; none when it is one element
      /// Reduced into what the destination has, which begins as the neutral element; not written.
      bool combines = false;
      bool is_local() const { return source == dest; }
    };
    std::vector<Transfer> transfers;  ///< messages and copies inside PEs; IDENTITY has none
  };

  /// Law: carrying out the transfers writes each element of each destination tile exactly once (or
  /// combines it once with each share), unless the type is IDENTITY.
  /// kNotSupported for elements below a byte, which have no offset; kTooLarge for more than 2^22
  /// transfers: for_each_transfer (reshard/transfers.h) streams them.
  Result<CommunicationPattern> generate_pattern() const;

  /// The same in the terms of reshard/.
  Result<reshard::Reshard> reshard() const;
};

/// Makes transforms. (PyFlame's insert_transforms takes a graph, and is there with graph/.)
class LayoutTransformer {
 public:
  /// Whether any tensor would have to move: false exactly for layouts that are compatible.
  /// Example: needs_transform(Grid(r, 1), RowPartition(r)) is false.
  static bool needs_transform(const MeshLayout& from, const MeshLayout& to);

  /// The transform with its type, or why there is none: kTooLarge and other errors of reshard/.
  static Result<LayoutTransform> create_transform(const MeshLayout& from, const MeshLayout& to,
                                                  const std::vector<std::int64_t>& shape,
                                                  DType dtype = DType::kF32);
};

}  // namespace tessera::pyflame
