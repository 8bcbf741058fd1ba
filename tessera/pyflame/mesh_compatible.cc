// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "tessera/notation/pyflame/deal.h"
#include "tessera/pyflame/mesh_layout.h"

namespace tessera::pyflame {
namespace {

/// How a dim is distributed, for any extent: rules that distribute every extent in the same way
/// compare equal.
struct DimRule {
  std::int64_t pes = 1;
  std::int64_t block = 0;  ///< 0: ceil(extent / pes)
  friend bool operator==(const DimRule&, const DimRule&) = default;
};

/// A layout on tensors of one rank.
struct Rule {
  std::vector<DimRule> dims;
  std::array<int, 2> dim_on{-1, -1};              ///< the dim that moves along each PE axis
  std::array<std::int64_t, 2> coordinates{1, 1};  ///< PEs along each axis that hold data
  std::array<bool, 2> copies{};       ///< whether it is replicated over more than one PE
  std::array<int, 2> shares{-1, -1};  ///< the reduction, if partial over more than one PE
};

Result<Rule> rule_of(const MeshLayout& layout, std::size_t rank) {
  const notation::PyflameLayout terms = layout.terms();
  TESSERA_TRY(const Shape shape, Shape::make(std::vector<std::int64_t>(rank, 1)));
  TESSERA_TRY(const std::vector<notation::PyflameDeal> dealt, notation::deals(terms, shape));
  const std::array<std::int64_t, 2> pes = {terms.rows, terms.cols};
  const std::array<std::int64_t, 2> blocks = {terms.block_rows, terms.block_cols};
  Rule rule;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    rule.dims.emplace_back();
    if (dealt[dim].axis < 0) continue;
    if (dealt[dim].axis == MeshLayout::kBothAxes) {
      rule.dims.back() = {dealt[dim].pes, 0};
      for (const std::size_t axis : {0u, 1u}) {
        if (pes[axis] > 1) rule.dim_on[axis] = static_cast<int>(dim);
        rule.coordinates[axis] = pes[axis];
      }
      continue;
    }
    const auto axis = static_cast<std::size_t>(dealt[dim].axis);
    // Blocks of one element on one PE take the same memory as no blocks.
    const bool blocked = pes[axis] > 1 || blocks[axis] > 1;
    rule.dims.back() = {pes[axis], blocked ? blocks[axis] : 0};
    if (pes[axis] == 1) continue;
    rule.dim_on[axis] = static_cast<int>(dim);
    rule.coordinates[axis] = pes[axis];
  }
  for (const int axis : terms.replicate) {
    const auto a = static_cast<std::size_t>(axis);
    rule.coordinates[a] = pes[a];
    rule.copies[a] = pes[a] > 1;
  }
  for (const auto& [axis, reduction] : terms.partial) {
    const auto a = static_cast<std::size_t>(axis);
    rule.coordinates[a] = pes[a];
    if (pes[a] > 1) rule.shares[a] = static_cast<int>(reduction);
  }
  return rule;
}

/// One PE that holds data: its tile (a coordinate for each dim that is distributed), its share of
/// the tile (identified by the first PE that has this share) and the PE.
using Holder = std::tuple<std::array<std::int64_t, 4>, std::array<std::int64_t, 2>,
                          std::array<std::int64_t, 2>>;

std::array<std::int64_t, 2> pe_at(const MeshLayout& layout, std::int64_t row, std::int64_t col) {
  PECoord pe{static_cast<std::int32_t>(row), static_cast<std::int32_t>(col)};
  if (layout.type == LayoutType::CUSTOM) {
    pe = layout.pes[static_cast<std::size_t>(row * layout.pe_cols + col)];
  }
  return {std::int64_t{pe.row} + layout.origin.row, std::int64_t{pe.col} + layout.origin.col};
}

/// Identifies the share that a PE has: by the first PE that has it, or by the coordinates of the PE
/// if two different reductions follow one another and cannot be swapped. Copies of a share have the
/// same identifier.
class ShareNames {
 public:
  ShareNames(const MeshLayout& layout, const Rule& rule) : layout_(layout), rule_(rule) {
    for (const std::size_t axis : {0u, 1u}) {
      if (!rule.copies[axis] || rule.shares[1 - axis] < 0) continue;
      copied_ = axis;
      for (std::int64_t other = 0; other < rule.coordinates[1 - axis]; ++other) {
        std::array<std::int64_t, 2> first = at(axis, 0, other);
        for (std::int64_t i = 1; i < rule.coordinates[axis]; ++i) {
          first = std::min(first, at(axis, i, other));
        }
        first_.push_back(first);
      }
    }
  }

  std::array<std::int64_t, 2> of(std::int64_t row, std::int64_t col) const {
    const std::array<int, 2>& shares = rule_.shares;
    if (shares[0] < 0 && shares[1] < 0) return {0, 0};
    if (copied_) return first_[static_cast<std::size_t>(*copied_ == 0 ? col : row)];
    if (shares[0] < 0 || shares[1] < 0 || shares[0] == shares[1]) return pe_at(layout_, row, col);
    return shares[0] < shares[1] ? std::array{row, col} : std::array{col, row};
  }

 private:
  std::array<std::int64_t, 2> at(std::size_t axis, std::int64_t i, std::int64_t other) const {
    return axis == 0 ? pe_at(layout_, i, other) : pe_at(layout_, other, i);
  }

  const MeshLayout& layout_;
  const Rule& rule_;
  std::optional<std::size_t> copied_;  ///< the axis of copies, if the other axis has shares
  std::vector<std::array<std::int64_t, 2>> first_;
};

std::vector<Holder> holders(const MeshLayout& layout, const Rule& rule) {
  const ShareNames names(layout, rule);
  std::vector<Holder> all;
  for (std::int64_t row = 0; row < rule.coordinates[0]; ++row) {
    for (std::int64_t col = 0; col < rule.coordinates[1]; ++col) {
      std::array<std::int64_t, 4> tile = {rule.dim_on[0], row, rule.dim_on[1], col};
      if (tile[0] >= 0 && tile[0] == tile[2]) {  // one dim over both axes: its tiles are numbered
        tile = {tile[0], row * rule.coordinates[1] + col, -1, 0};
      }
      for (const std::size_t axis : {0u, 1u}) {
        if (tile[2 * axis] < 0) tile[2 * axis + 1] = 0;  // every PE of this axis has the same tile
      }
      if (tile[2] >= 0 && (tile[0] < 0 || tile[2] < tile[0])) {
        tile = {tile[2], tile[3], tile[0], tile[1]};  // by dim, not by axis
      }
      all.emplace_back(tile, names.of(row, col), pe_at(layout, row, col));
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Equal tiles and shares of them, on equal PEs.
bool same_holders(const MeshLayout& a, const Rule& rule_a, const MeshLayout& b,
                  const Rule& rule_b) {
  const bool same_axes = rule_a.dim_on == rule_b.dim_on &&
                         rule_a.coordinates == rule_b.coordinates &&
                         rule_a.copies == rule_b.copies && rule_a.shares == rule_b.shares;
  if (a.type != LayoutType::CUSTOM && b.type != LayoutType::CUSTOM) {
    return same_axes && a.origin == b.origin;
  }
  // One reduction may be on either axis.
  std::array<int, 2> shares_a = rule_a.shares;
  std::array<int, 2> shares_b = rule_b.shares;
  std::sort(shares_a.begin(), shares_a.end());
  std::sort(shares_b.begin(), shares_b.end());
  // The length of a list is bounded by its text, so equal counts bound the work.
  return shares_a == shares_b &&
         rule_a.coordinates[0] * rule_a.coordinates[1] ==
             rule_b.coordinates[0] * rule_b.coordinates[1] &&
         holders(a, rule_a) == holders(b, rule_b);
}

}  // namespace

bool MeshLayout::compatible_with(const MeshLayout& other) const {
  // Without dim_to_pe a layout accepts tensors of any rank; ranks above 2 add nothing to compare.
  std::size_t rank = 2;
  if (!dim_to_pe.empty()) rank = dim_to_pe.size();
  if (dim_to_pe.empty() && !other.dim_to_pe.empty()) rank = other.dim_to_pe.size();
  const Result<Rule> mine = rule_of(*this, rank);
  const Result<Rule> theirs = rule_of(other, rank);
  return mine && theirs && mine->dims == theirs->dims && same_holders(*this, *mine, other, *theirs);
}

}  // namespace tessera::pyflame
