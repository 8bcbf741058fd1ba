// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/reshard/collectives/numbering.h"
#include "tessera/reshard/flows/part_facts.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// Cells: elements that have the same first place in A and the same first place in B. Coordinates
/// are relative to the base of their side; those of cell i begin at i·(rank of the mesh).
struct CellTable {
  std::vector<std::int64_t> elements;  ///< one number per cell
  std::vector<std::int64_t> a;
  std::vector<std::int64_t> b;
  std::size_t cells() const { return elements.size(); }
};

/// The places of an element relative to its first place: the offset of a share plus one offset of
/// each list of copies.
struct Repeats {
  std::vector<std::vector<Place>> copies;
  std::vector<Place> shares;
};

/// All places of the elements of one cell, share by share.
using ListedPlaces = std::vector<std::vector<Place>>;

struct PlacedSide {
  Place base;
  Repeats repeats;                   ///< the same for all cells, unless places are listed
  std::vector<ListedPlaces> listed;  ///< empty, or one for each cell of the only factor
};

/// Where elements are, in coordinates of one mesh and in product form: a choice of one cell of each
/// factor is a set of elements, its first place is the base plus the cells' offsets, and their
/// numbers of elements multiply.
struct PlaceFacts {
  Shape mesh;
  std::shared_ptr<const std::vector<std::int64_t>> devices;  ///< as in PlaceGrid
  std::vector<CellTable> factors;
  PlacedSide a;
  PlacedSide b;
  Shares shares;
  /// The reduction of each side's shares; empty without shares, and with shares of several kinds.
  std::optional<Reduction> reduction_a;
  std::optional<Reduction> reduction_b;
  /// For each mesh axis: the offsets, ascending from 0, by which a factor, copies or shares move
  /// along it. They suggest how to divide the axis; no answer depends on them alone.
  std::vector<std::vector<Values>> moves;
};

/// The facts of a reshard in one numbering; `parts` must not be empty. Empty if a place has no
/// number in the mesh of a side, or if parts combine shares in different ways. kTooLarge as for
/// check_listing, if coordinates do not add up, so that cells are listed.
Result<std::optional<PlaceFacts>> place_facts(const std::vector<PartFacts>& parts,
                                              const PhysicalMesh& physical, Numbering numbering);

}  // namespace tessera::reshard
