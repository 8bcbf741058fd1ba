// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera::tools {

/// A matrix over a grid of places.
struct SpreadMatrix {
  std::int64_t rows = 0, cols = 0;            ///< elements
  std::int64_t grid_rows = 0, grid_cols = 0;  ///< places
  std::int64_t element_bytes = 4;
};

/// The peer: a program that keeps a plan for every place in a map and puts the tiles of all tensors
/// one after the other, at multiples of 4 bytes, without reusing memory. Its work and memory grow
/// with places times tensors.
struct PlaceByPlace {
  struct Position {
    std::int64_t row = 0, col = 0;
    friend auto operator<=>(const Position&, const Position&) = default;
  };
  struct Region {
    std::size_t offset = 0, size = 0;
    std::string name;
  };
  struct Plan {
    std::size_t used = 0;
    std::vector<Region> regions;
    std::map<std::size_t, std::size_t> region_of;  ///< by tensor
  };
  std::map<Position, Plan> plans;

  std::size_t most_used() const;
};

PlaceByPlace plan_place_by_place(const std::vector<SpreadMatrix>& tensors);

}  // namespace tessera::tools
