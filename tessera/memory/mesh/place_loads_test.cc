// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/mesh/place_loads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/lock_step/lock_pairs.h"
#include "tessera/testing/generate.h"

namespace tessera::memory {
namespace {

std::vector<PlaceLoad> random_loads(test::Dice& dice, std::size_t rank, std::int64_t extent) {
  std::vector<PlaceLoad> loads;
  for (std::int64_t n = dice.below(12); n >= 0; --n) {
    PlaceLoad load;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      load.places.from.push_back(dice.below(extent));
      load.places.to.push_back(load.places.from.back() + dice.below(extent));
    }
    load.bytes = dice.below(100);
    loads.push_back(std::move(load));
  }
  return loads;
}

std::int64_t bytes_on(const Place& place, const std::vector<PlaceLoad>& loads) {
  std::int64_t sum = 0;
  for (const PlaceLoad& load : loads) {
    bool is_inside = true;
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      is_inside =
          is_inside && load.places.from[axis] <= place[axis] && place[axis] < load.places.to[axis];
    }
    if (is_inside) sum += load.bytes;
  }
  return sum;
}

/// Against a look at every place.
TEST(FullestPlace, IsTheFullestOfAll) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::Dice dice(seed);
    const auto rank = static_cast<std::size_t>(dice.below(3) + 1);
    const std::vector<PlaceLoad> loads = random_loads(dice, rank, 6);
    std::int64_t most = 0;
    const Shape mesh = *Shape::make(std::vector<std::int64_t>(rank, 12));
    for (std::int64_t number = 0; number < mesh.elements(); ++number) {
      most = std::max(most, bytes_on(mesh.delinear(number), loads));
    }
    const FullestPlace found = fullest_place(loads);
    EXPECT_EQ(found.bytes, most) << seed;
    if (found.bytes == 0) continue;
    EXPECT_EQ(bytes_on(found.place, loads), most) << seed;
  }
}

TEST(FullestPlace, LooksOnlyWithinABox) {
  const std::vector<PlaceLoad> loads = {{{{0, 0}, {4, 2}}, 5}, {{{2, 1}, {6, 9}}, 3}};
  EXPECT_EQ(fullest_place(loads).bytes, 8);
  EXPECT_EQ(fullest_place(loads).place, (Place{2, 1}));
  EXPECT_EQ(fullest_place_in({{4, 0}, {6, 9}}, loads).bytes, 3);
  EXPECT_EQ(fullest_place_in({{7, 0}, {9, 9}}, loads).bytes, 0);
}

/// Buffers on boxes of places: no two that meet share a byte, and those that do not may.
TEST(LockPairs, KeepsApartWhatMeets) {
  std::int64_t shared = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::Dice dice(seed + 1000);
    const std::vector<PlaceLoad> places = random_loads(dice, 2, 6);
    std::vector<Buffer> buffers;
    for (const PlaceLoad& load : places) {
      Buffer buffer;
      buffer.lower = dice.below(8);
      buffer.upper = buffer.lower + 1 + dice.below(8);
      buffer.size = load.bytes;
      buffer.alignment = std::int64_t{1} << dice.below(5);
      buffers.push_back(buffer);
    }
    const Meets meets = [&](std::size_t a, std::size_t b) {
      return meet(places[a].places, places[b].places).has_value();
    };
    const Result<LockPairs> plan = lock_pairs(buffers, meets, std::nullopt);
    ASSERT_TRUE(plan) << plan.error().message;
    std::int64_t peak = 0;
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      const std::int64_t end = plan->offsets[a] + buffers[a].size;
      if (buffers[a].size > 0) peak = std::max(peak, end);
      EXPECT_EQ(plan->offsets[a] % buffers[a].alignment, 0) << seed;
      for (std::size_t b = 0; b < a; ++b) {
        const bool together =
            buffers[a].lower < buffers[b].upper && buffers[b].lower < buffers[a].upper;
        const bool apart =
            end <= plan->offsets[b] || plan->offsets[b] + buffers[b].size <= plan->offsets[a];
        if (!together || apart || buffers[a].size == 0 || buffers[b].size == 0) continue;
        EXPECT_FALSE(meets(a, b)) << seed;
        ++shared;
      }
    }
    EXPECT_EQ(plan->peak, peak) << seed;
  }
  EXPECT_GT(shared, 0);
}

TEST(LockPairs, RefusesWhatItCannotPlan) {
  const Meets always = [](std::size_t, std::size_t) { return true; };
  std::vector<Buffer> buffers(2);
  for (Buffer& buffer : buffers) buffer.upper = 1;
  buffers[1].fixed = 8;
  const Result<LockPairs> plan = lock_pairs(buffers, always, std::nullopt);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(plan.error().span, (Span{1, 2}));
  buffers[1].fixed.reset();
  buffers[1].size = -1;
  EXPECT_EQ(lock_pairs(buffers, always, std::nullopt).error().code, ErrorCode::kBadBuffer);
}

}  // namespace
}  // namespace tessera::memory
