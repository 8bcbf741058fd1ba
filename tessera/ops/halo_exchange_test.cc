// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/halo_exchange.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tessera/reshard/reshard.h"
#include "tessera/testing/generate.h"

namespace tessera::ops {
namespace {

using test::Dice;

/// Blocks of each dim over its own mesh axis, row-major on each place, and replicas along a last
/// axis if the mesh has one more.
Layout blocks(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& mesh) {
  Form form;
  form.shape = *Shape::make(extents);
  form.mesh = *Shape::make(mesh);
  if (mesh.size() > extents.size()) {
    form.fills.push_back(Fill::replicate(static_cast<int>(extents.size()), mesh.back()));
  }
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const std::int64_t width = (extents[d] + mesh[d] - 1) / mesh[d];
    const std::int64_t count = (extents[d] + width - 1) / width;
    form.folds.push_back(
        {{Term{static_cast<int>(d), 1}},
         0,
         {{width, count, Target::mesh(static_cast<int>(d)), 1, Cause::kGrid},
          {1, std::min(width, extents[d]), Target::memory(), stride, Cause::kAlignment}}});
    stride *= width;
  }
  return *Layout::make({std::move(form), DType::kF32, Atom::scalar(DType::kF32), {}, {}, "", {}});
}

TEST(HaloExchange, BringsEachPlaceItsExtendedBlock) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Dice dice(seed);
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> mesh;
    std::vector<Halo> halos;
    std::vector<std::int64_t> readers;  // on places behind the last block too
    for (std::int64_t d = dice.between(1, 2); d > 0; --d) {
      extents.push_back(dice.between(2, 12));
      mesh.push_back(
          dice.between(2, std::min<std::int64_t>(dice.chance(70) ? 4 : 7, extents.back())));
      readers.push_back(dice.between(0, mesh.back()));
      halos.push_back({dice.below(4), dice.below(4)});
    }
    if (dice.chance(40)) mesh.push_back(dice.between(1, 3));
    if (dice.chance(40)) readers.clear();
    const Layout operand = blocks(extents, mesh);
    const Result<std::vector<HaloPart>> parts = halo_exchange(operand, halos, readers);
    ASSERT_TRUE(parts) << parts.error().message;

    // What arrives: (place, slot) -> element, and how many bytes cross.
    std::map<std::pair<Place, std::int64_t>, Index> arrived;
    std::int64_t crossing = 0;
    for (const HaloPart& part : *parts) {
      ASSERT_EQ(part.from.shape().extents(), part.to.shape().extents());
      Index y(part.to.shape().rank());
      do {
        const Location from = *part.from.locate(y);
        const Location to = *part.to.locate(y);
        const Slot slot = *operand.element_at(from.places[0], from.slot);
        ASSERT_TRUE(std::holds_alternative<Index>(slot));
        for (std::size_t replica = 0; replica < to.places.size(); ++replica) {
          const bool fresh =
              arrived.emplace(std::pair(to.places[replica], to.slot), std::get<Index>(slot)).second;
          ASSERT_TRUE(fresh) << "two elements in one slot, seed " << seed;
          // The nearest copy is that of the same replica.
          crossing += from.places[replica] != to.places[replica] ? 4 : 0;
        }
      } while (part.to.shape().next(y));
    }

    // What should: every element at most halo away from a block of the place.
    std::map<std::pair<Place, std::int64_t>, Index> expected;
    std::vector<std::int64_t> widths;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      widths.push_back((extents[d] + mesh[d] - 1) / mesh[d]);
    }
    Place place(mesh.size());
    do {
      Index x(extents.size());
      do {
        bool wanted = true;
        std::int64_t slot = 0;
        for (std::size_t d = 0; d < extents.size(); ++d) {
          const bool has_block = place[d] * widths[d] < extents[d];
          const bool reads = !readers.empty() && place[d] < readers[d] && !(halos[d] == Halo{});
          const bool has_data = has_block || reads;
          const std::int64_t block = std::min(place[d] * widths[d], extents[d]);
          const std::int64_t end = has_block ? block + widths[d] : block;
          if (x[d] >= end + halos[d].after) wanted = false;
          const std::int64_t at = x[d] - (block - halos[d].before);
          const std::int64_t extended = widths[d] + halos[d].before + halos[d].after;
          wanted = wanted && has_data && at >= 0 && at < extended;
          slot = slot * extended + at;
        }
        if (wanted) expected.emplace(std::pair(place, slot), x);
      } while (operand.shape().next(x));
    } while (operand.mesh().next(place));
    // A dim without halos keeps its own extent, which is the width.
    EXPECT_EQ(arrived, expected) << "seed " << seed;

    // Priced like any other reshard.
    std::int64_t bytes = 0;
    for (const HaloPart& part : *parts) {
      const auto physical = reshard::PhysicalMesh::around(part.from, part.to);
      ASSERT_TRUE(physical);
      const auto reshard = reshard::Reshard::make(part.from, part.to, *physical);
      ASSERT_TRUE(reshard) << reshard.error().message;
      bytes += reshard::cost_of(*reshard)->bytes;
    }
    EXPECT_EQ(bytes, crossing) << "seed " << seed;
  }
}

TEST(HaloExchange, RefusesWhatHasNoNeighbours) {
  const Layout whole = *Layout::row_major(*Shape::make({4, 4}), DType::kF32);
  EXPECT_EQ(halo_exchange(whole, {{1, 1}, {}}).error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(halo_exchange(whole, {{1, 1}}).error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(window(View::of(whole), 0, 2, 3, 2).error().code, ErrorCode::kBadView);
  EXPECT_EQ(window(View::of(whole), 2, 1, 1, 1).error().code, ErrorCode::kBadView);
}

}  // namespace
}  // namespace tessera::ops
