// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_pairs.h"

/// Comparisons through device maps of every kind, against the physical coordinates of each copy of
/// each element.
namespace tessera {
namespace {

using DevicePlace = std::pair<std::vector<std::int64_t>, std::int64_t>;

/// The rule of one element: the form, the device map and the index inside the form.
struct Rule {
  const Form* form = nullptr;
  const DeviceMap* map = nullptr;
  Index index;
};

Rule rule_at(const Placement& placement, const Index& index) {
  if (const Layout* layout = placement.layout()) {
    return {&layout->form(), &layout->spec().device_map, index};
  }
  if (const View* view = placement.view()) return {&view->form(), nullptr, index};
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    if (!piece.box.contains(index)) continue;
    Index inside = index;
    for (std::size_t dim = 0; dim < index.size(); ++dim) inside[dim] -= piece.box.from[dim];
    return {&piece.layout.form(), &piece.layout.spec().device_map, inside};
  }
  return {};
}

const Shape& device_at(const Rule& rule) {
  const bool mapped = rule.map != nullptr && rule.map->kind() != DeviceMap::Kind::kIdentity;
  return mapped ? rule.map->physical() : rule.form->mesh;
}

struct Held {
  std::int64_t slot = 0;
  std::set<std::set<DevicePlace>> shares;      ///< the places of each share
  std::map<Reduction, std::int64_t> partials;  ///< how many shares
  friend bool operator==(const Held&, const Held&) = default;
};

Held held_at(const Placement& placement, const Index& index, bool by_number) {
  const Rule rule = rule_at(placement, index);
  Held held;
  Place first;
  rule.form->evaluate(rule.index, first, held.slot);
  std::vector<std::pair<Place, std::vector<std::int64_t>>> copies = {{first, {}}};
  for (const Fill& fill : rule.form->fills) {
    if (fill.kind == Fill::Kind::kFixed || fill.count == 1) continue;
    const bool partial = fill.kind == Fill::Kind::kPartial;
    if (partial) {
      held.partials[fill.reduction] =
          std::max<std::int64_t>(held.partials[fill.reduction], 1) * fill.count;
    }
    std::vector<std::pair<Place, std::vector<std::int64_t>>> more;
    for (const auto& [place, share] : copies) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        more.emplace_back(place, share);
        more.back().first[static_cast<std::size_t>(fill.axis)] += i * fill.stride;
        if (partial) more.back().second.push_back(i);
      }
    }
    copies = std::move(more);
  }
  std::map<std::vector<std::int64_t>, std::set<DevicePlace>> by_share;
  for (const auto& [place, share] : copies) {
    auto [there, layer] = test::naive_coordinates(rule.form->mesh, rule.map, place);
    if (by_number) {
      std::int64_t number = 0;
      for (std::size_t axis = 0; axis < there.size(); ++axis) {
        number = number * device_at(rule)[axis] + there[axis];
      }
      there = {number};
    }
    if (std::all_of(there.begin(), there.end(), [](std::int64_t x) { return x == 0; })) there = {};
    by_share[share].insert({there, layer});
  }
  for (auto& [share, device_places] : by_share) held.shares.insert(std::move(device_places));
  return held;
}

/// A different device rank in one of the pieces; the comparison is then by number.
bool differs_in_rank(const Placement& a, const Placement& b) {
  std::set<std::size_t> ranks;
  for (const Placement* side : {&a, &b}) {
    for (const FormPiece& piece : form_pieces(*side)) {
      const bool mapped =
          piece.device_map != nullptr && piece.device_map->kind() != DeviceMap::Kind::kIdentity;
      const Shape& device = mapped ? piece.device_map->physical() : piece.form->mesh;
      if (device.elements() > 1) ranks.insert(device.rank());
    }
  }
  return ranks.size() > 1;
}

bool has_several_reductions(const Placement& placement) {
  std::set<Reduction> reductions;
  for (const FormPiece& piece : form_pieces(placement)) {
    for (const Fill& fill : piece.form->fills) {
      if (fill.kind == Fill::Kind::kPartial && fill.count > 1) reductions.insert(fill.reduction);
    }
  }
  return reductions.size() > 1;
}

std::string mistake(const Placement& a, const Placement& b, bool by_number) {
  std::optional<Index> first;
  std::int64_t moved = 0;
  bool is_local = true;
  bool has_shares = false;
  Index index(a.shape().rank(), 0);
  do {
    const Held in_a = held_at(a, index, by_number);
    const Held in_b = held_at(b, index, by_number);
    has_shares = has_shares || !in_a.partials.empty() || !in_b.partials.empty();
    if (in_a != in_b) {
      if (!first) first = index;
      ++moved;
    }
    const std::set<DevicePlace>& held = *in_a.shares.begin();
    for (const DevicePlace& device_place : *in_b.shares.begin())
      is_local = is_local && held.contains(device_place);
  } while (a.shape().next(index));
  Placement left = a;
  Placement right = b;
  if (by_number) {
    left = *with_numbered_places(a);
    right = *with_numbered_places(b);
  }
  const Result<Comparison> same = same_on_device(left, right);
  if (!same) return same.error().message;
  if (same->first_difference != first) {
    return cat("first difference ",
               same->first_difference ? bracketed(*same->first_difference) : "none", ", expected ",
               first ? bracketed(*first) : "none");
  }
  const Result<std::int64_t> counted = moved_on_device(left, right);
  if (!counted) return counted.error().message;
  if (*counted != moved) return cat(*counted, " moved, expected ", moved);
  const Result<bool> local = compatible_on_device(left, right);
  if (!local) return local.error().message;
  return has_shares || *local == is_local ? "" : cat("compatible is ", *local);
}

TEST(OnDevice, EveryKindOfDeviceMap) {
  int compared = 0;
  int failures = 0;
  for (std::uint64_t seed = 0; seed < 4000 && failures < 5; ++seed) {
    test::Dice dice(seed);
    const test::ReshardPair pair = test::random_reshard(dice, {});
    if (pair.from.shape() != pair.to.shape() || pair.from.shape().empty()) continue;
    if (has_several_reductions(pair.from) || has_several_reductions(pair.to)) continue;
    const bool ranks = differs_in_rank(pair.from, pair.to);
    for (const bool by_number : {false, true}) {
      if (ranks && !by_number) continue;
      for (const Placement* other : {&pair.to, &pair.from}) {
        const std::string wrong = mistake(pair.from, *other, by_number);
        EXPECT_EQ(wrong, "") << describe(pair) << "\nseed " << seed << " by number " << by_number;
        failures += wrong.empty() ? 0 : 1;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 6000);
}

/// A mesh of rank 1 has the same places: the numbers of the physical ones.
TEST(OnDevice, OneAxisHasTheSameNumbers) {
  int compared = 0;
  int failures = 0;
  for (std::uint64_t seed = 0; seed < 1500 && failures < 5; ++seed) {
    test::Dice dice(seed);
    const Placement placement = test::random_reshard(dice, {}).from;
    if (placement.shape().empty() || placement.view() != nullptr) continue;
    if (differs_in_rank(placement, placement)) continue;
    const Result<Placement> flat = on_numbered_mesh(placement);
    if (!flat) {
      EXPECT_EQ(flat.error().code, ErrorCode::kNotSupported);  // places on one device
      continue;
    }
    EXPECT_EQ(flat->mesh().rank(), 1U);
    const Result<Comparison> same = same_on_device(*with_numbered_places(placement), *flat);
    ASSERT_TRUE(same.ok()) << same.error().message;
    EXPECT_TRUE(same->equal) << seed;
    Index index(placement.shape().rank(), 0);
    do {
      const bool alike = held_at(placement, index, true) == held_at(*flat, index, true);
      EXPECT_TRUE(alike) << "seed " << seed << " element " << bracketed(index);
      failures += alike ? 0 : 1;
    } while (failures < 5 && placement.shape().next(index));
    ++compared;
  }
  EXPECT_GT(compared, 800);
}

}  // namespace
}  // namespace tessera
