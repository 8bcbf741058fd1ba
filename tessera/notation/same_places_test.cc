// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/same_places.h"

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
#include "tessera/notation/convert.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/reshard.h"
#include "tessera/testing/notation/random_texts.h"
#include "tessera/testing/reshard/naive_reshard.h"

/// The rule for places across notations, evaluated element by element from its statement: physical
/// places by coordinates, numbered places by numbers, and physical places against numbered ones by
/// their row-major number on their own device.
namespace tessera::notation {
namespace {

using test::Dice;

bool is_numbered(const Tensor& tensor) {
  return tensor.notation == "gspmd" || tensor.notation == "dtensor";
}

/// The device map that places an element, or null.
const DeviceMap* map_at(const Placement& placement, const Index& index) {
  if (const Layout* layout = placement.layout()) return &layout->spec().device_map;
  if (placement.pieces() == nullptr) return nullptr;
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    if (piece.box.contains(index)) return &piece.layout.spec().device_map;
  }
  return nullptr;
}

std::vector<std::int64_t> device_extents(const Placement& placement, const Index& index) {
  const DeviceMap* map = map_at(placement, index);
  const bool mapped = map != nullptr && map->kind() != DeviceMap::Kind::kIdentity;
  return (mapped ? map->physical() : placement.mesh()).extents();
}

std::int64_t count_of(const std::vector<std::int64_t>& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

/// A place under the rule: its coordinates or its number, and its layer. The first place of every
/// device is the same.
using DevicePlace = std::pair<std::vector<std::int64_t>, std::int64_t>;

struct Held {
  std::int64_t slot = 0;
  std::set<DevicePlace> device_places;
  friend bool operator==(const Held&, const Held&) = default;
};

Held held_at(const Placement& placement, const Index& index, bool by_number) {
  const Location location = *placement.locate(index);
  const std::vector<std::int64_t> extents = device_extents(placement, index);
  Held held{location.slot, {}};
  for (const Place& place : location.places) {
    auto [there, layer] =
        test::naive_coordinates(placement.mesh(), map_at(placement, index), place);
    if (by_number) {
      std::int64_t number = 0;
      for (std::size_t axis = 0; axis < there.size(); ++axis) {
        number = number * extents[axis] + there[axis];
      }
      there = {number};
    }
    const bool is_first =
        std::all_of(there.begin(), there.end(), [](std::int64_t x) { return x == 0; });
    held.device_places.insert({is_first ? std::vector<std::int64_t>{} : there, layer});
  }
  return held;
}

bool compares_by_number(const Tensor& a, const Tensor& b) {
  const Index first(a.shape().rank(), 0);
  const auto of_a = device_extents(a.placement, first);
  const auto of_b = device_extents(b.placement, first);
  const bool is_alone = count_of(of_a) == 1 || count_of(of_b) == 1;
  return is_numbered(a) || is_numbered(b) || (!is_alone && of_a.size() != of_b.size());
}

bool has_shares(const Placement& placement) {
  for (const FormPiece& piece : form_pieces(placement)) {
    for (const Fill& fill : piece.form->fills) {
      if (fill.kind == Fill::Kind::kPartial && fill.count > 1) return true;
    }
  }
  return false;
}

struct Expected {
  std::optional<Index> first;
  std::int64_t moved = 0;
  std::int64_t crossing = 0;  ///< copies of B on places where A does not have the element
  bool is_local = true;
};

Expected expected_of(const Tensor& a, const Tensor& b) {
  Expected expected;
  const bool by_number = compares_by_number(a, b);
  Index index(a.shape().rank(), 0);
  do {
    const Held in_a = held_at(a.placement, index, by_number);
    const Held in_b = held_at(b.placement, index, by_number);
    if (in_a != in_b) {
      if (!expected.first) expected.first = index;
      ++expected.moved;
    }
    std::set<std::vector<std::int64_t>> sources;
    for (const DevicePlace& device_place : in_a.device_places) sources.insert(device_place.first);
    for (const DevicePlace& device_place : in_b.device_places) {
      expected.crossing += sources.contains(device_place.first) ? 0 : 1;
      expected.is_local = expected.is_local && in_a.device_places.contains(device_place);
    }
  } while (a.shape().next(index));
  return expected;
}

/// What the library answers about one pair; empty when it is what the rule gives.
std::string pair_mistake(const Tensor& a, const Tensor& b) {
  const Result<SamePlaces> places = same_places(a, b);
  if (!places) return places.error().message;
  const Expected expected = expected_of(a, b);
  const Result<Comparison> same = same_on_device(places->a, places->b);
  if (!same) return same.error().message;
  const bool shares = has_shares(a.placement) || has_shares(b.placement);
  // A share never equals a copy, which the places alone do not show.
  if (shares) return same->equal && expected.first ? "equal" : "";
  if (same->first_difference != expected.first) {
    return cat("first difference ",
               same->first_difference ? bracketed(*same->first_difference) : "none", ", expected ",
               expected.first ? bracketed(*expected.first) : "none");
  }
  const Result<std::int64_t> moved = moved_on_device(places->a, places->b);
  if (!moved) return moved.error().message;
  if (*moved != expected.moved) return cat(*moved, " moved, expected ", expected.moved);
  const Result<bool> local = compatible_on_device(places->a, places->b);
  if (!local) return local.error().message;
  if (*local != expected.is_local) return cat("compatible is ", *local);
  if (a.dtype() != b.dtype() || a.placement.atom().storage != b.placement.atom().storage) return "";
  const auto physical = reshard::PhysicalMesh::around(places->a, places->b);
  if (!physical) return physical.error().message;
  const auto move = reshard::Reshard::make(places->a, places->b, *physical);
  if (!move) return move.error().code == ErrorCode::kNotInjective ? "" : move.error().message;
  const auto cost = reshard::cost_of(*move);
  if (!cost) return cost.error().message;
  const std::int64_t bytes = move->bytes(expected.crossing);
  // Bytes are rounded up per message; whole bytes need no rounding.
  const bool exact = move->byte_rate().denominator == 1;
  return !exact || cost->bytes == bytes ? "" : cat(cost->bytes, " bytes, expected ", bytes);
}

std::vector<Tensor> drawn(std::string_view notation, int count) {
  std::vector<Tensor> tensors;
  for (int seed = 0; seed < count; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) * 13 + 5);
    Result<Tensor> tensor = parse_tensor(test::random_text(notation, dice));
    if (tensor && !tensor->shape().empty()) tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

/// Every ordered pair of notations: random tensors of one shape.
TEST(SamePlaces, EveryPairOfNotations) {
  constexpr std::size_t kPairs = 60;
  std::map<std::string_view, std::map<std::vector<std::int64_t>, std::vector<Tensor>>> by_shape;
  for (const Notation& notation : notations()) {
    for (Tensor& tensor : drawn(notation.name, 600)) {
      by_shape[notation.name][tensor.shape().extents()].push_back(std::move(tensor));
    }
  }
  int failures = 0;
  for (const Notation& of_a : notations()) {
    for (const Notation& of_b : notations()) {
      std::size_t pairs = 0;
      std::size_t round = 0;
      for (bool any = true; any && pairs < kPairs; ++round) {
        any = false;
        for (const auto& [shape, list] : by_shape[of_a.name]) {
          const auto others = by_shape[of_b.name].find(shape);
          if (others == by_shape[of_b.name].end() || pairs == kPairs || round >= list.size()) {
            continue;
          }
          any = true;
          const Tensor& a = list[round];
          const Tensor& b = others->second[(round * 7 + pairs) % others->second.size()];
          const std::string mistake = pair_mistake(a, b);
          EXPECT_EQ(mistake, "") << print_tensor(a) << "\n" << print_tensor(b);
          if (!mistake.empty() && ++failures == 10) return;
          ++pairs;
        }
      }
      EXPECT_GE(pairs, 10U) << of_a.name << " against " << of_b.name;
    }
  }
}

/// What a notation says of a tensor of another is the same tensor by the rule.
TEST(SamePlaces, EveryConversion) {
  int failures = 0;
  for (const Notation& from : notations()) {
    int said = 0;
    for (const Tensor& tensor : drawn(from.name, 40)) {
      for (const Notation& to : notations()) {
        const Result<Conversion> conversion = convert(tensor, to);
        if (!conversion) continue;
        ++said;
        const Tensor other = *parse_tensor(conversion->text);
        const std::optional<Index> first = expected_of(tensor, other).first;
        EXPECT_FALSE(first) << print_tensor(tensor) << "\n" << conversion->text;
        if (first && ++failures == 10) return;
      }
    }
    EXPECT_GT(said, 40) << from.name;
  }
}

struct Answer {
  bool equal = false;
  std::int64_t moved = 0;
};

Answer answer(std::string_view a, std::string_view b) {
  const SamePlaces places = *same_places(*parse_tensor(a), *parse_tensor(b));
  return {same_on_device(places.a, places.b)->equal, *moved_on_device(places.a, places.b)};
}

TEST(SamePlaces, DevicesAreNumberedRowByRow) {
  const char* numbers = "tensor<8x8xf32, gspmd{devices=[2,2]<=[4]}>";
  const char* columns = "tensor<8x8xf32, gspmd{devices=[2,2]<=[2,2]T(1,0)}>";
  for (const char* other : {"tensor<8x8xf32, dtensor<mesh=[2,2], [Shard(0), Shard(1)]>>",
                            "tensor<8x8xf32, pyflame.Grid(2, 2)>",
                            "tensor<8x8xf32, native<mesh=[2, 2], {d0} / (4 -> m0, 1 -> mem*4), "
                            "{d1} / (4 -> m1, 1 -> mem)>>"}) {
    EXPECT_TRUE(answer(numbers, other).equal) << other;
    EXPECT_TRUE(answer(other, numbers).equal) << other;
    // Device 1 has rows 4 to 7 of the first columns: two of four tiles are elsewhere.
    EXPECT_EQ(answer(columns, other).moved, 32) << other;
  }
}

TEST(SamePlaces, OnePlaceAgainstManyIsDifferent) {
  // 8 slots a row on the single place, 4 on each of 4 places: only row 0 of the first tile stays.
  for (const char* other : {"tensor<8x8xf32, gspmd{devices=[2,2]<=[4]}>",
                            "tensor<8x8xf32, dtensor<mesh=[2,2], [Shard(0), Shard(1)]>>",
                            "tensor<8x8xf32, pyflame.Grid(2, 2)>"}) {
    EXPECT_EQ(answer("tensor<8x8xf32, strided<[8, 1]>>", other).moved, 60) << other;
    EXPECT_EQ(answer(other, "tensor<8x8xf32, morello.row_major()>").moved, 60) << other;
  }
}

TEST(SamePlaces, AnOriginMovesPlaces) {
  const char* moved = "tensor<8x8xf32, pyflame.Grid(2, 2, origin=(0, 2))>";
  EXPECT_EQ(answer("tensor<8x8xf32, pyflame.Grid(2, 2)>", moved).moved, 64);
  // On a wafer of 2x4 the places are the numbers 2, 3, 6 and 7.
  EXPECT_TRUE(answer(moved,
                     "tensor<8x8xf32, native<mesh=[8], {d0} / (4 -> m0*4, 1 -> mem*4), "
                     "{d1} / (4 -> m0, 1 -> mem), fixed(m0=2)>>")
                  .equal);
}

TEST(SamePlaces, ATargetNumbersItsOwnCoordinates) {
  const Tensor devices = *parse_tensor("tensor<8xf32, dtensor<mesh=[2,2], [Shard(0), Shard(0)]>>");
  const Tensor grid = *parse_tensor("tensor<8xf32, pyflame.RowPartition(4)>");
  const SamePlaces places = *same_places(devices, grid, /*on_target=*/true);
  EXPECT_EQ(places.b, grid.placement);
  EXPECT_EQ(device_of(places.a).extents(), std::vector<std::int64_t>{4});
}

}  // namespace
}  // namespace tessera::notation
