// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/testing/notation/rule_check.h"

/// PyFlame's own rule, evaluated by plain loops: the reference that the notation is tested against.
/// Nothing here uses folds, cuts or the notation's code.
namespace tessera::test {

/// A PyFlame layout as it is written.
struct PyflameRule {
  std::string factory = "SinglePE";  ///< SinglePE, RowPartition, ColPartition, Grid, ..
  Numbers grid = {1, 1};             ///< PE rows, PE columns
  std::optional<Numbers> block;      ///< BlockCyclic: elements of a block on each PE axis
  std::vector<Numbers> pes;          ///< Custom: the PE of each tile, row-major
  std::optional<Numbers> dim_to_pe;
  std::optional<Numbers> origin;
  Numbers replicate;                                          ///< PE axes
  std::vector<std::pair<std::int64_t, std::string>> partial;  ///< PE axis, reduction

  /// "pyflame.Grid(2, 3, origin=(1, 4))".
  std::string text() const;
};

/// The PE axis of each dim, -1 when the dim stays local: what dim_to_pe states, otherwise dim 0 on
/// rows and dim 1 on columns, except on axes that are replicated or partial.
Numbers pyflame_axes(const PyflameRule& rule, std::size_t rank);

/// Elements of each dim that a PE allocates: ceil(n / p), or ceil(blocks / p) whole blocks (of
/// which none is longer than the dim).
Numbers pyflame_tile(const PyflameRule& rule, const Numbers& shape);

/// Elements of each dim that the PE at `place` holds: tile i of a dim is [min(i·t, n), min((i+1)·t,
/// n)), t = ceil(n / p). Nothing for places outside the PEs of a fixed axis.
std::optional<Numbers> pyflame_tile_at(const PyflameRule& rule, const Numbers& shape,
                                       const Numbers& place);

/// The virtual places and the slot of one element.
RulePosition pyflame_position(const PyflameRule& rule, const Numbers& shape, const Numbers& index);

/// The wafer position of the virtual place.
Numbers pyflame_physical(const PyflameRule& rule, const Numbers& place);

Ruled ruled(const PyflameRule& rule, const Numbers& shape, const std::string& dtype);

/// A layout that the rule accepts for this shape, with any of its options.
PyflameRule random_pyflame(Dice& dice, const Numbers& shape);

}  // namespace tessera::test
