// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tessera/base/text.h"
#include "tessera/testing/generate.h"

namespace tessera::test {
namespace {

using PlacesAndSlot = std::pair<std::set<Place>, std::int64_t>;

/// Places and slot directly from the definition of the form that contains the index.
PlacesAndSlot positions_of(const Placement& placement, const Index& index) {
  const auto [form, local] = placement.form_at(index);
  Place first;
  std::int64_t slot = 0;
  form->evaluate(local, first, slot);
  const std::vector<Place> places = replica_places(*form, first);
  return {{places.begin(), places.end()}, slot};
}

std::vector<Index> every_index(const Shape& shape) {
  std::vector<Index> all;
  for (std::int64_t i = 0; i < shape.elements(); ++i) all.push_back(shape.delinear(i));
  return all;
}

/// Checks the law of contents_at, slot by slot.
void expect_contents(const Placement& placement) {
  std::map<std::pair<Place, std::int64_t>, std::vector<Index>> held;
  for (const Index& index : every_index(placement.shape())) {
    const auto [places, slot] = positions_of(placement, index);
    const Result<Location> location = placement.locate(index);
    ASSERT_TRUE(location.ok());
    EXPECT_EQ(std::set<Place>(location->places.begin(), location->places.end()), places);
    EXPECT_EQ(location->slot, slot);
    for (const Place& place : places) held[{place, slot}].push_back(index);
  }
  for (std::int64_t q = 0; q < placement.places(); ++q) {
    const Place place = placement.mesh().delinear(q);
    for (std::int64_t slot = 0; slot < placement.slots(); ++slot) {
      const Result<SlotContent> content = placement.contents_at(place, slot);
      ASSERT_TRUE(content.ok()) << content.error().message;
      const auto found = held.find({place, slot});
      const auto* const indices = std::get_if<std::vector<Index>>(&*content);
      ASSERT_EQ(indices != nullptr, found != held.end()) << bracketed(place) << " slot " << slot;
      if (indices == nullptr) continue;
      EXPECT_EQ(*indices, found->second);
    }
  }
}

/// Splits the tensor into two boxes along its first long dim, each with the layout's rule there.
/// Empty if there is no such dim, or if a box alone is not a layout.
std::optional<Piecewise> cut_in_two(const Layout& layout, Dice& dice) {
  for (std::size_t dim = 0; dim < layout.shape().rank(); ++dim) {
    if (layout.shape()[dim] < 2 || layout.shape().empty()) continue;
    const std::int64_t at = dice.between(1, layout.shape()[dim] - 1);
    Box low = Box::whole(layout.shape());
    Box high = low;
    low.to[dim] = high.from[dim] = at;
    std::vector<LayoutPiece> pieces;
    for (const Box& box : {low, high}) {
      const Result<View> part =
          View::of(layout).slice(static_cast<int>(dim), box.from[dim], box.to[dim] - box.from[dim]);
      if (!part) return std::nullopt;
      LayoutSpec spec = layout.spec();
      spec.form = part->form();
      spec.slots = layout.slots();
      Result<Layout> own = Layout::make(spec);
      if (!own) return std::nullopt;
      pieces.push_back({box, *std::move(own)});
    }
    const Result<Piecewise> whole = Piecewise::make(layout.shape(), pieces);
    return whole ? std::optional(*whole) : std::nullopt;
  }
  return std::nullopt;
}

TEST(Placement, EverySlotHoldsWhatIsLocatedThere) {
  Limits limits;
  limits.max_elements = 60;
  limits.max_slots = 300;
  int views = 0;
  int cut = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    Form form = random_form(dice, limits);
    if (const Result<View> view = View::make(form, DType::kF32, Atom::scalar(DType::kF32))) {
      if (view->slots() * view->mesh().elements() < 2000) {
        expect_contents(*view);
        ++views;
      }
    }
    const std::optional<Layout> layout = random_layout(dice, limits);
    if (!layout) continue;
    expect_contents(*layout);
    if (const std::optional<Piecewise> pieces = cut_in_two(*layout, dice)) {
      expect_contents(*pieces);
      ++cut;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(views, 200);
  EXPECT_GT(cut, 200);
}

TEST(Placement, ComparisonsAgreeWithLookingAtEveryElement) {
  Limits limits;
  limits.max_elements = 60;
  limits.max_slots = 300;
  int equal = 0;
  int different = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const std::optional<Layout> layout = random_layout(dice, limits);
    if (!layout) continue;
    const std::optional<Piecewise> pieces = cut_in_two(*layout, dice);
    if (!pieces) continue;
    LayoutSpec other = layout->spec();
    if (dice.chance(60)) other.form = perturb(dice, other.form);
    other.slots = std::nullopt;
    const Result<View> view = View::make(other.form, layout->dtype(), layout->atom());
    if (!view || view->shape() != layout->shape() || view->mesh() != layout->mesh()) continue;
    const Placement a(*pieces);
    const Placement b(*view);
    std::optional<Index> first;
    std::int64_t moved = 0;
    for (const Index& index : every_index(a.shape())) {
      if (positions_of(a, index) == positions_of(b, index)) continue;
      if (!first) first = index;
      ++moved;
    }
    const Result<Comparison> same = same_placement(a, b);
    ASSERT_TRUE(same.ok()) << same.error().message;
    const bool partial = std::any_of(other.form.fills.begin(), other.form.fills.end(),
                                     [](const Fill& f) { return f.kind == Fill::Kind::kPartial; });
    if (partial) continue;  // a share is not a copy, but places do not show this
    EXPECT_EQ(same->equal, !first);
    EXPECT_EQ(same->first_difference, first);
    const Result<std::int64_t> counted = moved_elements_between(a, b);
    ASSERT_TRUE(counted.ok());
    EXPECT_EQ(*counted, moved);
    ++(first ? different : equal);
    if (HasFailure()) return;
  }
  EXPECT_GT(equal, 50);
  EXPECT_GT(different, 50);
}

TEST(Placement, AViewOfTooFewSlotsOrABrokenAtomIsRefused) {
  const Form form = *strided_form(*Shape::make({4, 6}), {0, 1}, 2);
  EXPECT_EQ(View::make(form, DType::kF32, Atom::scalar(DType::kF32))->slots(), 8);
  EXPECT_EQ(View::make(form, DType::kF32, Atom::scalar(DType::kF32), 7).error().code,
            ErrorCode::kSlotsTooFew);
  EXPECT_EQ(View::make(form, DType::kF32, Atom{DType::kF32, 2, 3}).error().code,
            ErrorCode::kBadAtom);
}

TEST(Placement, ShapesMustAgree) {
  const Placement a(*Layout::row_major(*Shape::make({2, 3}), DType::kF32));
  const Placement b(*Layout::row_major(*Shape::make({3, 2}), DType::kF32));
  EXPECT_EQ(same_placement(a, b).error().code, ErrorCode::kShapeMismatch);
}

}  // namespace
}  // namespace tessera::test
