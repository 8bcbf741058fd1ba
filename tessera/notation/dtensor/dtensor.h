// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"

namespace tessera::notation {

/// What PyTorch does with a tensor along one dim of the device mesh.
struct DtensorPlacement {
  enum class Kind : std::uint8_t { kReplicate, kShard, kStridedShard, kPartial };
  Kind kind = Kind::kReplicate;
  int dim = 0;                            ///< of both shards
  std::int64_t split_factor = 1;          ///< of a strided shard
  Reduction reduction = Reduction::kSum;  ///< of a partial

  bool shards() const { return kind == Kind::kShard || kind == Kind::kStridedShard; }
  friend bool operator==(const DtensorPlacement&, const DtensorPlacement&) = default;
};

/// A PyTorch DTensor: a device mesh and one placement a mesh dim.
///
///     dtensor<mesh=[2,4], [Shard(0), Replicate()]>
///
/// The rule. The mesh dims cut one after the other, each the shards that the ones before it left:
/// Shard(d) cuts dim d as torch.chunk does, in chunks of ceil(n/m) elements, of which the last may
/// be short or empty. _StridedShard(d, split_factor=s) cuts it into s chunks first, each of those
/// into m, and joins the i-th of each for coordinate i. Every place keeps its shard row-major in
/// the shard's own extents, without gaps; as many slots as the largest shard has are allocated on
/// all of them. The place is the mesh coordinate.
/// 5 elements on 2x2 by [Shard(0), Shard(0)] are [0,2) [2,3) [3,4) [4,5).
/// https://docs.pytorch.org/docs/stable/distributed.tensor.html#placements
struct DtensorLayout {
  std::vector<std::int64_t> mesh;
  std::vector<DtensorPlacement> placements;  ///< one a mesh dim
  friend bool operator==(const DtensorLayout&, const DtensorLayout&) = default;
};

/// One Layout where a single rule says all shards, else boxes with a layout each; kTooLarge where
/// that would be more than kMaxPieces of them.
Result<Placement> lower(const DtensorLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_dtensor(p), p.shape(), p.dtype()) is the same function as p with the same
/// slots. Whatever `lower` makes can be raised.
Result<DtensorLayout> raise_dtensor(const Placement& placement);
/// "dtensor<mesh=[2,4], [Shard(0), Replicate()]>".
std::string write(const DtensorLayout& words);

}  // namespace tessera::notation
