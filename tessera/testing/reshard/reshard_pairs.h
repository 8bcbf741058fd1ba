// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tessera/layout/placement.h"
#include "tessera/reshard/reshard.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/reshard/naive_reshard.h"

/// Random pairs of placements of one tensor on the places of one small machine, of all the kinds
/// that data move between. When a seed fails, a lower budget of the dice gives a simpler pair.
namespace tessera::test {

/// One reshard to test.
struct ReshardPair {
  Placement from;
  Placement to;
  reshard::PhysicalMesh physical;
};

/// How large pairs grow.
struct ReshardLimits {
  std::int64_t max_rows = 6;
  std::int64_t max_cols = 7;
  std::int64_t max_elements = 120;
  std::int64_t max_copies = 1500;  ///< elements times the places that hold each, on either side
};

/// Grids with even and uneven splits, block-cyclic distributions, a dim over both axes, two dims on
/// one axis, replicas, shares, fixed coordinates; on sub-meshes, strided, mirrored and exchanged
/// axes, virtual grids, device numbers, tables, stacked places; whole layouts, views and pieces.
/// Law: naive_refusals is empty.
ReshardPair random_reshard(Dice& dice, const ReshardLimits& limits);

/// Two texts of one shape, of notations that have places (pyflame, gspmd, dtensor, metal), on a
/// machine that holds both.
/// Law: as above.
ReshardPair random_reshard_texts(Dice& dice);

/// As random_reshard, but usually made invalid: a place fewer on an axis of the machine, dead
/// places, another type, another shape, a destination whose elements share slots, shares of several
/// reductions.
ReshardPair random_unfit_reshard(Dice& dice, const ReshardLimits& limits);

/// The smallest mesh that holds the places of both; nothing where their ranks are incompatible.
std::optional<Shape> naive_around(const Placement& a, const Placement& b);

/// A mesh as a machine whose links are known; of rank 1 or 2.
reshard::PhysicalMesh physical_of(const Shape& mesh);

/// The pair in native notation, and the machine's mesh, figures and dead places.
std::string describe(const ReshardPair& pair);

/// Counts the features of pairs, so that a feature that never occurs is noticed.
class ReshardFeatures {
 public:
  void add(const ReshardPair& pair, const NaiveReshard& moves);
  std::int64_t pairs() const { return pairs_; }
  /// Every feature by name, also those that never occurred.
  const std::map<std::string, std::int64_t>& counts() const { return counts_; }
  /// One line per feature.
  std::string table() const;

 private:
  void count(const char* name, bool has) { counts_[name] += has ? 1 : 0; }
  std::int64_t pairs_ = 0;
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace tessera::test
