// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/reshard/collectives/collective.h"
#include "tessera/reshard/collectives/place_facts.h"

namespace tessera::reshard {

using Digits = std::vector<std::int32_t>;  ///< one coordinate per grid axis

/// One side of a reshard in coordinates along the axes of a grid.
struct SideDigits {
  std::vector<bool> copies;          ///< whether copies are at every coordinate of an axis
  std::vector<bool> shares;          ///< whether shares are
  std::vector<Digits> share_digits;  ///< of each share; only those of axes of shares count
  Digits fixed;                      ///< along axes that no factor, copy or share moves along
  /// For each factor the coordinates of its cells, cell by cell. Along an axis at most one factor
  /// varies; that factor's coordinates are absolute.
  std::vector<Digits> columns;
};

/// Factors whose coordinates along some grid axis are not independent, on either side, are replaced
/// by one factor. Empty if that factor would have more than 2^20 cells.
std::optional<PlaceFacts> with_independent_factors(PlaceFacts facts, const PlaceGrid& grid);

/// Empty if copies or shares do not cover axes completely. The factors must be independent.
std::optional<SideDigits> side_digits(const PlaceFacts& facts, const PlaceGrid& grid, bool in_b);

}  // namespace tessera::reshard
