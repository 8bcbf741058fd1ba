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
  int dim = 0;                            ///< of kShard and kStridedShard
  std::int64_t split_factor = 1;          ///< of kStridedShard
  Reduction reduction = Reduction::kSum;  ///< of kPartial

  bool shards() const { return kind == Kind::kShard || kind == Kind::kStridedShard; }
  friend bool operator==(const DtensorPlacement&, const DtensorPlacement&) = default;
};

/// A PyTorch DTensor: a device mesh and one placement per mesh dim. Text comes in; a placement on
/// that mesh goes out.
///
///     dtensor<mesh=[2,4], [Shard(0), Replicate()]>
///
/// The rule. The mesh dims cut one after another; each one cuts the shards of the mesh dims before
/// it. Shard(d) cuts dim d as torch.chunk does, into chunks of ceil(n/m) elements; the last chunks
/// may be short or empty. _StridedShard(d, split_factor=s) first cuts dim d into s chunks, then
/// each of those into m chunks; coordinate i gets the i-th of each, joined. Every place keeps its
/// shard row-major in the shard's own extents, without gaps. Every place allocates as many slots as
/// the largest shard has. The place is the mesh coordinate.
/// 5 elements on 2x2 by [Shard(0), Shard(0)] are [0,2) [2,3) [3,4) [4,5).
/// https://docs.pytorch.org/docs/stable/distributed.tensor.html#placements
struct DtensorLayout {
  std::vector<std::int64_t> mesh;
  std::vector<DtensorPlacement> placements;  ///< one per mesh dim
  friend bool operator==(const DtensorLayout&, const DtensorLayout&) = default;
};

/// One Layout if a single rule describes all shards, otherwise boxes with one layout each;
/// kTooLarge when there would be more than kMaxPieces boxes.
Result<Placement> lower(const DtensorLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_dtensor(p), p.shape(), p.dtype()) is the same function as p with the same
/// slots. Every result of `lower` can be raised.
Result<DtensorLayout> raise_dtensor(const Placement& placement);
/// "dtensor<mesh=[2,4], [Shard(0), Replicate()]>".
std::string write(const DtensorLayout& words);

}  // namespace tessera::notation
