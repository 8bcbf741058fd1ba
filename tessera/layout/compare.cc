// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/layout/algebra/compare_pair.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"

namespace tessera {
namespace {

/// The smallest index of a factor, zero in the other dims, at which the difference is not that of
/// the origin.
std::optional<Index> first_deviation(const Factor& factor, const Shape& shape) {
  std::optional<Index> best;
  const Position at_origin = difference(factor.pieces.front().at);
  for (const Piece& piece : factor.pieces) {
    Index origin(shape.rank(), 0);
    for (std::size_t d = 0; d < factor.dims.size(); ++d) {
      origin[static_cast<std::size_t>(factor.dims[d])] = piece.origin[d];
    }
    if (difference(piece.at) != at_origin) {
      if (!best || origin < *best) best = std::move(origin);
      continue;
    }
    for (const Loop& loop : piece.loops) {
      if (difference(loop.move).is_zero()) continue;
      Index candidate = origin;
      candidate[static_cast<std::size_t>(loop.dim)] += loop.step;
      if (!best || candidate < *best) best = std::move(candidate);
    }
  }
  return best;
}

std::uint64_t mix(std::uint64_t hash, std::int64_t value) {
  hash ^= static_cast<std::uint64_t>(value) + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
  hash *= 0xBF58476D1CE4E5B9u;
  return hash ^ (hash >> 31);
}

/// Coordinates that distinguish common cuts: the ends, powers of two and their neighbours, and some
/// irregular ones.
std::vector<std::int64_t> probes(std::int64_t extent) {
  std::vector<std::int64_t> list = {0, extent - 1, extent / 2, extent / 3};
  for (std::int64_t power = 1; power < extent && power < (std::int64_t{1} << 40); power *= 2) {
    list.push_back(power);
    list.push_back(std::min(extent - 1, power + power / 2));
  }
  return list;
}

}  // namespace

Result<Pair> number_alike(const Form& a, const Form& b) {
  if (a.shape != b.shape) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("shapes ", bracketed(a.shape.extents()), " and ", bracketed(b.shape.extents()),
                     " differ"),
                 std::nullopt, "both must have the same shape"};
  }
  if (a.mesh.rank() != b.mesh.rank()) {
    if (a.mesh.elements() != 1 || b.mesh.elements() != 1) {
      return Error{ErrorCode::kMeshMismatch,
                   cat("meshes ", bracketed(a.mesh.extents()), " and ", bracketed(b.mesh.extents()),
                       " differ in rank"),
                   std::nullopt, "meshes of different rank compare only when both are one place"};
    }
    TESSERA_TRY(Lines lines_a, canonical(a));
    TESSERA_TRY(Lines lines_b, canonical(b));
    return Pair{std::move(lines_a), std::move(lines_b)};
  }
  std::vector<std::int64_t> larger;
  for (std::size_t axis = 0; axis < a.mesh.rank(); ++axis) {
    larger.push_back(std::max(a.mesh[axis], b.mesh[axis]));
  }
  TESSERA_TRY(const Shape mesh, Shape::make(std::move(larger)));
  TESSERA_TRY(Lines lines_a, canonical(a, mesh));
  TESSERA_TRY(Lines lines_b, canonical(b, mesh));
  return Pair{std::move(lines_a), std::move(lines_b)};
}

void cancel_common(Pair& pair) {
  std::vector<Line>& b = pair.b.lines;
  std::erase_if(pair.a.lines, [&](const Line& line) {
    const auto twin = std::find(b.begin(), b.end(), line);
    if (twin == b.end()) return false;
    b.erase(twin);
    return true;
  });
}

Result<std::optional<Index>> first_difference(Lines a, Lines b) {
  if (a.shape.empty()) return std::optional<Index>();
  Pair pair{std::move(a), std::move(b)};
  cancel_common(pair);
  TESSERA_TRY(const Refinement refinement, refine(pair.a, pair.b));
  const Shape& shape = refinement.shape();
  Position at_origin = difference(refinement.base());
  for (const Factor& factor : refinement.factors()) {
    at_origin += difference(factor.pieces.front().at);
  }
  if (!at_origin.is_zero()) return std::optional(Index(shape.rank(), 0));
  // If any index differs, then one differs that deviates from the origin in a single factor.
  std::optional<Index> first;
  for (const Factor& factor : refinement.factors()) {
    std::optional<Index> deviation = first_deviation(factor, shape);
    if (deviation && (!first || *deviation < *first)) first = std::move(deviation);
  }
  return first;
}

Result<Comparison> same_function(const Form& a, const Form& b) {
  TESSERA_TRY(Pair pair, number_alike(a, b));
  if (a.shape.empty()) return Comparison{};
  if (!same_replicas(a, b)) return Comparison{false, Index(a.shape.rank(), 0)};
  TESSERA_TRY(std::optional<Index> first, first_difference(std::move(pair.a), std::move(pair.b)));
  return Comparison{!first.has_value(), std::move(first)};
}

Result<std::uint64_t> function_hash(const Form& form) {
  std::uint64_t hash = 0x7465737365726121u;
  for (const std::int64_t extent : form.shape.extents()) hash = mix(hash, extent);
  if (form.shape.empty()) return hash;
  for (int axis = 0; axis < static_cast<int>(form.mesh.rank()); ++axis) {
    const OffsetSet copies = all_offsets(form.fills, axis);
    if (copies.size() > 1) hash = mix(mix(mix(hash, axis), copies.size()), copies.at(1));
  }
  Place place;
  std::int64_t slot = 0;
  const auto probe = [&](const Index& index) {
    form.evaluate(index, place, slot);
    hash = mix(hash, slot);
    // Zero coordinates are left out, so that one place has the same hash on meshes of any rank.
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      if (place[axis] != 0) hash = mix(mix(hash, static_cast<std::int64_t>(axis)), place[axis]);
    }
  };
  std::uint64_t scramble = hash;
  for (std::size_t dim = 0; dim < form.shape.rank(); ++dim) {
    Index index(form.shape.rank(), 0);
    for (const std::int64_t x : probes(form.shape[dim])) {
      index[dim] = x;
      probe(index);
    }
  }
  for (int round = 0; round < 16; ++round) {
    Index index(form.shape.rank(), 0);
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
      scramble = mix(scramble, round);
      index[dim] =
          static_cast<std::int64_t>((scramble >> 1) % static_cast<std::uint64_t>(form.shape[dim]));
    }
    probe(index);
  }
  return hash;
}

}  // namespace tessera
