// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/relabel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "tessera/notation/notation.h"
#include "tessera/reshard/flows/place_map.h"
#include "tessera/reshard/relabelling/seat_map.h"
#include "tessera/reshard/reshard.h"
#include "tessera/testing/relayout/held.h"

namespace tessera::reshard {
namespace {

using Numbers = std::vector<std::int64_t>;
using test::Dice;

Placement tensor(const std::string& text) {
  const Result<Tensor> read = parse_tensor(text);
  EXPECT_TRUE(read.ok()) << text << ": " << read.error().message;
  return read->placement;
}

Reshard reshard_of(const Placement& from, const Placement& to) {
  const Result<PhysicalMesh> physical = PhysicalMesh::around(from, to);
  EXPECT_TRUE(physical.ok()) << physical.error().message;
  Result<Reshard> reshard = Reshard::make(from, to, *physical);
  EXPECT_TRUE(reshard.ok()) << reshard.error().message;
  return *std::move(reshard);
}

/// The physical number of each virtual place.
Numbers places_of(const Placement& placement, const PhysicalMesh& physical) {
  const FormPiece piece = form_pieces(placement).front();
  const PlaceMap map = *PlaceMap::make(
      placement.mesh(), piece.device_map != nullptr ? *piece.device_map : DeviceMap::identity(),
      physical);
  Numbers places;
  for (std::int64_t v = 0; v < placement.places(); ++v) places.push_back(map.physical(v));
  return places;
}

/// overlap[role][place number], by listing elements.
std::vector<std::map<std::int64_t, std::int64_t>> naive_overlap(
    const std::vector<test::Want>& wants, std::int64_t roles) {
  std::vector<std::map<std::int64_t, std::int64_t>> overlap(static_cast<std::size_t>(roles));
  for (const test::Want& want : wants) {
    for (const std::int64_t place : want.holders) {
      ++overlap[static_cast<std::size_t>(want.role)][place];
    }
  }
  return overlap;
}

std::int64_t at(const std::map<std::int64_t, std::int64_t>& map, std::int64_t key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}

/// The most that any order of the seats keeps.
std::int64_t best_of_all_orders(const std::vector<test::Want>& wants, Numbers seats) {
  const auto overlap = naive_overlap(wants, static_cast<std::int64_t>(seats.size()));
  std::sort(seats.begin(), seats.end());
  std::int64_t best = 0;
  do {
    std::int64_t kept = 0;
    for (std::size_t v = 0; v < seats.size(); ++v) kept += at(overlap[v], seats[v]);
    best = std::max(best, kept);
  } while (std::next_permutation(seats.begin(), seats.end()));
  return best;
}

/// The most that any choice of different seats keeps, role by role over sets of seats.
std::int64_t best_of_all_choices(const std::vector<test::Want>& wants, std::int64_t roles,
                                 const Numbers& seats) {
  const auto overlap = naive_overlap(wants, roles);
  std::vector<std::int64_t> best(std::size_t{1} << seats.size(), -1);
  best[0] = 0;
  std::int64_t most = 0;
  for (std::size_t set = 0; set < best.size(); ++set) {
    if (best[set] < 0) continue;
    const auto role = static_cast<std::size_t>(__builtin_popcountll(set));
    most = std::max(most, best[set]);
    if (role == overlap.size()) continue;
    for (std::size_t s = 0; s < seats.size(); ++s) {
      if ((set >> s & 1) != 0) continue;
      std::int64_t& next = best[set | std::size_t{1} << s];
      next = std::max(next, best[set] + at(overlap[role], seats[s]));
    }
  }
  return most;
}

TEST(Relabel, IsTheBestOfAllPermutationsOnSmallMeshes) {
  std::int64_t tried = 0;
  std::int64_t better = 0;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    Dice dice(seed);
    const Shape shape = *Shape::make({dice.between(1, 7), dice.between(1, 7)});
    const notation::PyflameLayout terms[2] = {test::random_pyflame(dice, 7),
                                              test::random_pyflame(dice, 7)};
    const DType dtype = dice.chance(20) ? DType::kI4 : DType::kF32;
    const Result<Layout> a = notation::lower(terms[0], shape, dtype);
    const Result<Layout> b = notation::lower(terms[1], shape, dtype);
    if (!a || !b) continue;
    SCOPED_TRACE(notation::write(terms[0]) + " to " + notation::write(terms[1]) + " of " +
                 shape.to_string());
    const Reshard reshard = reshard_of(*a, *b);
    const PhysicalMesh& physical = reshard.physical();
    const std::vector<test::Want> wants = test::wants_of(*a, *b, physical);
    const auto total = static_cast<std::int64_t>(wants.size());
    const Numbers seats = places_of(*b, physical);
    for (const Seats choice : {Seats::kOfB, Seats::kOfBoth}) {
      const Result<Relabelled> relabelled = relabel(reshard, choice);
      ASSERT_TRUE(relabelled.ok()) << relabelled.error().message;
      ++tried;
      EXPECT_EQ(relabelled->elements_before, test::crossing(wants));
      EXPECT_EQ(relabelled->bytes_before, cost_of(reshard)->bytes);
      const Result<Reshard> after = Reshard::make(*a, relabelled->to, physical);
      ASSERT_TRUE(after.ok()) << after.error().message;
      EXPECT_EQ(relabelled->bytes_after, cost_of(*after)->bytes);
      EXPECT_LE(relabelled->bytes_after, relabelled->bytes_before);
      if (!relabelled->optimal) {  // rounding cancelled the savings
        EXPECT_EQ(dtype, DType::kI4);
        EXPECT_FALSE(relabelled->changed);
        continue;
      }
      EXPECT_LE(relabelled->elements_after, relabelled->elements_before);
      EXPECT_EQ(relabelled->changed, relabelled->elements_after < relabelled->elements_before);
      // The new B is a normal placement, on seats, and moves as much as reported.
      EXPECT_EQ(test::crossing(test::wants_of(*a, relabelled->to, physical)),
                relabelled->elements_after);
      Numbers now = places_of(relabelled->to, physical);
      std::sort(now.begin(), now.end());
      EXPECT_EQ(std::adjacent_find(now.begin(), now.end()), now.end());
      if (choice == Seats::kOfB) {
        Numbers own = seats;
        std::sort(own.begin(), own.end());
        EXPECT_EQ(now, own);
        EXPECT_EQ(relabelled->elements_after, total - best_of_all_orders(wants, seats));
      } else {
        std::set<std::int64_t> both(seats.begin(), seats.end());
        for (const std::int64_t place : places_of(*a, physical)) both.insert(place);
        EXPECT_EQ(relabelled->elements_after,
                  total - best_of_all_choices(wants, b->places(), {both.begin(), both.end()}));
      }
      better += relabelled->changed ? 1 : 0;
    }
  }
  EXPECT_GT(tried, 800);
  EXPECT_GT(better, 300);
}

TEST(Relabel, WorksOnAnyLayoutOfTheCore) {
  std::int64_t tried = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Dice dice(seed);
    const test::Limits limits{
        .max_extent = 6, .max_elements = 60, .max_mesh_rank = 3, .max_places = 7};
    const std::optional<Reshard> reshard = test::random_core_reshard(dice, limits);
    if (!reshard) continue;
    const Layout& a = *reshard->from().layout();
    const Layout& b = *reshard->to().layout();
    SCOPED_TRACE(print_native(a) + " to " + print_native(b));
    const Result<Relabelled> relabelled = relabel(*reshard);
    ASSERT_TRUE(relabelled.ok()) << relabelled.error().message;
    const std::vector<test::Want> wants = test::wants_of(a, b, reshard->physical());
    EXPECT_EQ(relabelled->elements_before, test::crossing(wants));
    EXPECT_EQ(test::crossing(test::wants_of(a, relabelled->to, reshard->physical())),
              relabelled->elements_after);
    EXPECT_EQ(relabelled->elements_after,
              static_cast<std::int64_t>(wants.size()) -
                  best_of_all_orders(wants, places_of(b, reshard->physical())));
    ++tried;
  }
  EXPECT_GT(tried, 150);
}

TEST(Relabel, APermutedCopyMovesNothing) {
  Dice dice(7);
  for (int i = 0; i < 30; ++i) {
    notation::PyflameLayout terms;
    terms.rows = dice.between(1, 6);
    terms.cols = dice.between(1, 6);
    terms.kind = notation::PyflameLayout::Kind::kGrid;
    const Shape shape = *Shape::make({dice.between(6, 20), dice.between(6, 20)});
    const Layout a = *notation::lower(terms, shape, DType::kBF16);
    terms.kind = notation::PyflameLayout::Kind::kCustom;
    for (const std::size_t pe : dice.order(static_cast<std::size_t>(terms.rows * terms.cols))) {
      const auto number = static_cast<std::int64_t>(pe);
      terms.pes.push_back({number / terms.cols, number % terms.cols});
    }
    const Layout b = *notation::lower(terms, shape, DType::kBF16);
    const Result<Relabelled> relabelled = relabel(reshard_of(a, b));
    ASSERT_TRUE(relabelled.ok());
    EXPECT_EQ(relabelled->bytes_after, 0) << notation::write(terms);
    EXPECT_TRUE(relabelled->optimal);
  }
}

TEST(Relabel, SaysRotationsAndTransposesAsFolds) {
  // A square grid whose axes are exchanged, by hand: every tile but those on the diagonal moves.
  const Relabelled turned =
      *relabel(reshard_of(tensor("tensor<8x8xf32, pyflame.Grid(2, 2)>"),
                          tensor("tensor<8x8xf32, pyflame.Grid(2, 2, dim_to_pe=[1, 0])>")));
  EXPECT_EQ(turned.bytes_before, 2 * 16 * 4);
  EXPECT_EQ(turned.bytes_after, 0);
  EXPECT_EQ(turned.saved_bytes(), 128);
  EXPECT_EQ(turned.to.layout()->spec().device_map.kind(), DeviceMap::Kind::kFolded);
  // 2x4 to 4x2 exchanged: on B's own places at most half the tiles can stay; on A's places all of
  // them.
  const Reshard oblong =
      reshard_of(tensor("tensor<8x8xf32, pyflame.Grid(2, 4)>"),
                 tensor("tensor<8x8xf32, pyflame.Grid(4, 2, dim_to_pe=[1, 0])>"));
  EXPECT_EQ(relabel(oblong)->bytes_after, 4 * 8 * 4);
  EXPECT_EQ(relabel(oblong, Seats::kOfBoth)->bytes_after, 0);
}

TEST(Relabel, BestPlaceForAGather) {
  // [5] over 4: tiles of 2, 2, 1, 0. All of it on one place: only another seat would help.
  const Reshard gather = reshard_of(tensor("tensor<5xf32, pyflame.RowPartition(4)>"),
                                    tensor("tensor<5xf32, pyflame.Grid(1, 1, origin=(3, 0))>"));
  EXPECT_EQ(relabel(gather)->bytes_after, 20);
  EXPECT_FALSE(relabel(gather)->changed);
  const Relabelled moved = *relabel(gather, Seats::kOfBoth);
  EXPECT_EQ(moved.bytes_after, 12);
  EXPECT_EQ(places_of(moved.to, gather.physical()), Numbers{0});
}

TEST(Relabel, DeadPlacesAreNoSeats) {
  // Columns 0 and 1 exchanged on two rows; the union of A's and B's rows and columns has a dead PE.
  const Placement a = tensor("tensor<4xf32, pyflame.Custom(2, 1, [(0, 0), (1, 1)])>");
  const Placement b = tensor("tensor<4xf32, pyflame.Custom(2, 1, [(1, 1), (2, 2)])>");
  PhysicalMesh physical = *PhysicalMesh::around(a, b);
  physical.dead = {physical.mesh.linear({0, 1}), physical.mesh.linear({1, 0})};
  const Reshard reshard = *Reshard::make(a, b, physical);
  const Relabelled best = *relabel(reshard, Seats::kOfBoth);
  EXPECT_EQ(best.elements_after, 0);
  EXPECT_EQ(places_of(best.to, physical), places_of(a, physical));
}

TEST(Relabel, PiecewiseAndViews) {
  const Placement two = tensor("tensor<4xf32, pyflame.RowPartition(2)>");
  const Layout& half = *two.layout();
  LayoutSpec later = half.spec();
  later.form.offset = 2;
  later.slots = 4;
  const Layout upper = *Layout::make(later);
  const Piecewise b =
      *Piecewise::make(*Shape::make({8}), {{Box{{0}, {4}}, half}, {Box{{4}, {8}}, upper}});
  const Placement a = tensor("tensor<8xf32, pyflame.Custom(2, 1, [(1, 0), (0, 0)])>");
  const Reshard reshard = reshard_of(a, b);
  // Role 0 needs 0 1 4 5 and place (1, 0) has 0..3: either way half of it stays.
  const Relabelled relabelled = *relabel(reshard);
  EXPECT_EQ(relabelled.elements_after, 4);
  const View view = *View::of(half).slice(0, 1, 3);
  const Placement swapped = tensor("tensor<3xf32, pyflame.Custom(2, 1, [(1, 0), (0, 0)])>");
  const Relabelled of_view = *relabel(reshard_of(swapped, view));
  // The view has 0 on place 0 and 1 2 on place 1; A has 0 1 on place 1 and 2 on place 0.
  EXPECT_EQ(of_view.elements_before, 2);
  EXPECT_EQ(of_view.elements_after, 1);
  EXPECT_NE(of_view.to.layout(), nullptr);
}

TEST(Relabel, Refuses) {
  const Placement a = tensor("tensor<24xf32, pyflame.RowPartition(4)>");
  LayoutSpec spec = tensor("tensor<24xf32, pyflame.RowPartition(8)>").layout()->spec();
  // Eight virtual places, two on each of four: {v0} by (4 in memory, 1 on axis 0).
  spec.device_map = DeviceMap::folded(
      *Shape::make({4, 1}),
      {{{{0, 1}}, 0, {{4, 2, Target::memory(), 1, Cause::kGrid}, {1, 4, Target::mesh(0), 1}}}});
  const Result<Relabelled> stacked = relabel(reshard_of(a, *Layout::make(spec)));
  ASSERT_FALSE(stacked.ok());
  EXPECT_EQ(stacked.error().code, ErrorCode::kNotSupported);
}

TEST(Relabel, AWaferWithItsRowsShifted) {
  const Placement a = tensor("tensor<8192x8192xf32, pyflame.Grid(994, 750)>");
  LayoutSpec spec = a.layout()->spec();
  std::vector<Numbers> coords(2);
  for (std::int64_t r = 0; r < 994; ++r) coords[0].push_back((r + 17) % 994);
  for (std::int64_t c = 0; c < 750; ++c) coords[1].push_back(c);
  spec.device_map = *map_of_axes(a.mesh(), *Shape::make({994, 750}), {0, 1}, coords);
  ASSERT_EQ(spec.device_map.kind(), DeviceMap::Kind::kFolded);
  const Layout b = *Layout::make(spec);
  const Reshard reshard = reshard_of(a, b);
  const auto start = std::chrono::steady_clock::now();
  const Result<Relabelled> relabelled = relabel(reshard);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(relabelled.ok()) << relabelled.error().message;
  EXPECT_EQ(relabelled->bytes_before, std::int64_t{8192} * 8192 * 4);
  EXPECT_EQ(relabelled->bytes_after, 0);
  EXPECT_TRUE(relabelled->optimal);
  EXPECT_EQ(relabelled->to.layout()->spec().device_map.kind(), DeviceMap::Kind::kFolded);
  const Result<ReshardCost> after = cost_of(*Reshard::make(a, relabelled->to, reshard.physical()));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(after->bytes, 0);
  EXPECT_EQ(cost_of(reshard)->bytes, relabelled->bytes_before);
  RecordProperty("microseconds", static_cast<int>(took.count() * 1e6));
}

TEST(Relabel, AWaferWithItsRowsInAnyOrder) {
  // No fold expresses it, so B is a table; it is still one of rows and columns, and nothing moves.
  const Placement a = tensor("tensor<994x750xf32, pyflame.Grid(994, 750)>");
  LayoutSpec spec = a.layout()->spec();
  std::vector<Numbers> coords(2);
  Dice dice(3);
  for (const std::size_t row : dice.order(994)) {
    coords[0].push_back(static_cast<std::int64_t>(row));
  }
  for (std::int64_t c = 0; c < 750; ++c) coords[1].push_back((c * 7 + 5) % 750);
  spec.device_map = *map_of_axes(a.mesh(), *Shape::make({994, 750}), {0, 1}, coords);
  ASSERT_EQ(spec.device_map.kind(), DeviceMap::Kind::kTable);
  const Reshard back = reshard_of(*Layout::make(spec), a);
  const Relabelled relabelled = *relabel(back);
  EXPECT_EQ(relabelled.bytes_after, 0);
  EXPECT_TRUE(relabelled.optimal);
  EXPECT_EQ(relabelled.to.layout()->spec().device_map, spec.device_map);
}

TEST(Relabel, ATransposeOfAWaferIsCounted) {
  // Rows and columns would have to be exchanged, and 994 rows are not 750 columns: B stays.
  const Reshard turn =
      reshard_of(tensor("tensor<8192x8192xf32, pyflame.Grid(994, 750)>"),
                 tensor("tensor<8192x8192xf32, pyflame.Grid(994, 750, dim_to_pe=[1, 0])>"));
  const Relabelled relabelled = *relabel(turn);
  EXPECT_FALSE(relabelled.changed);
  EXPECT_FALSE(relabelled.optimal);
  EXPECT_EQ(relabelled.bytes_before, cost_of(turn)->bytes);
  EXPECT_EQ(relabelled.bytes_after, relabelled.bytes_before);
}

}  // namespace
}  // namespace tessera::reshard
