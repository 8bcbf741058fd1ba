// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

// =================================================================================================
// A reshard as independent tables
//
// Every element goes from a source (row, col) to destinations rows x cols. These four are
// *coordinates*; each is a function of a few dims. Blocks are sets of dims such that each
// coordinate depends on only one block. So everything that moves is the product of the blocks'
// tables: choosing one flow per block gives one multicast from one source place to a set of
// destination places. It has `still` times the product of the flows' elements.
//
//   Grid -> Grid            {row, rows} {col, cols}      dims stay on their axes
//   transpose               {row, cols} {col, rows}
//   rows -> columns         {row, cols}                  of one dim; the others stay put
//   rows of dim 0 -> columns of dim 1    {row} {cols}
//   a fold over both axes   {row, col, rows, cols}
//
// [8192, 8192] on 994x750 has about 1,600 flows per block, and 2.6 million messages.
// =================================================================================================

/// Coordinates first, first + stride, .., `count` of them.
struct Span1D {
  std::int32_t first = 0;
  std::int32_t count = 1;
  std::int32_t stride = 1;

  std::int32_t at(std::int32_t i) const { return first + i * stride; }
  std::int32_t last() const { return at(count - 1); }
  bool contains(std::int32_t coordinate) const {
    return coordinate >= first && coordinate <= last() && (coordinate - first) % stride == 0;
  }
  bool is_only(std::int32_t coordinate) const { return count == 1 && first == coordinate; }
  friend bool operator==(const Span1D&, const Span1D&) = default;
  friend auto operator<=>(const Span1D&, const Span1D&) = default;
};

enum class Coordinate : std::uint8_t { kRow, kCol, kRows, kCols };
inline constexpr std::size_t kCoordinates = 4;

/// Elements with the same coordinates, for the coordinates that the block decides; the others are
/// unused.
struct Flow {
  std::int32_t row = 0;
  std::int32_t col = 0;
  Span1D rows;
  Span1D cols;
  std::int64_t elements = 0;
};

/// One table.
struct FlowBlock {
  std::vector<Flow> flows;  ///< no two with the same coordinates
};

/// See the essay above.
struct FlowTables {
  std::int64_t still = 1;  ///< elements that move together: dims that do not change the place
  std::vector<FlowBlock> blocks;
  std::array<std::size_t, kCoordinates> owner{};  ///< the block of each coordinate

  std::size_t owner_of(Coordinate coordinate) const {
    return owner[static_cast<std::size_t>(coordinate)];
  }
};

/// The tables of a part on a physical mesh with a fabric. Empty where there are none: for replicas
/// that do not repeat evenly along one physical axis, or whose places are shared by different
/// elements.
/// Law: no two choices of flows have both the same source and a destination in common.
/// Error kTooLarge when a table would have more than 2^22 flows, or a table that decides both rows
/// and columns more than 2^23 destinations.
Result<std::optional<FlowTables>> flow_tables(const ReshardPart& part,
                                              const fabric::FabricMesh& fabric);

/// The places of the physical mesh as rows and columns. Where the routes are not known, this only
/// distinguishes places.
fabric::FabricMesh rows_and_columns(const PhysicalMesh& physical);

/// The tables of a reshard that is one product; otherwise empty. Also empty for several parts, and
/// on meshes of more than two axes where A keeps copies: rows that represent several axes do not
/// determine which copy is nearest. Error kTooLarge also for more than 2^22 rows or columns of
/// places.
Result<std::optional<FlowTables>> flow_tables(const Reshard& reshard);

/// Elements with the same first places on the virtual meshes.
struct VirtualFlow {
  std::int64_t a = 0;  ///< offset from the place of element 0, 0, ..
  std::int64_t b = 0;
  std::int64_t elements = 0;
  friend bool operator==(const VirtualFlow&, const VirtualFlow&) = default;
};

/// The factors of a part, and one more for each fill that keeps shares, as tables of the offsets
/// that they add to the (first) virtual places. Factors that do not change the place are only
/// counted, in `still`.
/// Law: choosing one flow per factor reaches each moving element of each share of A once.
struct VirtualFlows {
  std::int64_t still = 1;
  std::int64_t base_a = 0;  ///< the first place of element 0, 0, ..
  std::int64_t base_b = 0;
  std::vector<std::vector<VirtualFlow>> factors;
};
Result<VirtualFlows> virtual_flows(const ReshardPart& part);
/// The same for two forms whose refinement and shares are known.
Result<VirtualFlows> virtual_flows(const Form& a, const Form& b, const Refinement& refinement,
                                   const Shares& shares);

}  // namespace tessera::reshard
