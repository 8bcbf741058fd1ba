// SPDX-License-Identifier: Apache-2.0
// Numbers near the limits of int64: every function returns an exact result or an error, and
// quickly. Results are checked on sampled indices; the sanitizers detect overflow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/layout/enumerate.h"
#include "tessera/layout/form.h"
#include "tessera/layout/locator.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/runs.h"
#include "tessera/layout/view.h"
#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/laws.h"
#include "tessera/testing/process.h"

namespace tessera::test {
namespace {

constexpr std::int64_t kMax = INT64_MAX;
constexpr std::uint64_t kSeeds = kSanitized ? 1000 : 2500;

std::int64_t any_number(Dice& dice) {
  switch (dice.below(6)) {
    case 0:
      return dice.below(8);
    case 1:
      return dice.between(1, 3000);
    case 2:
      return (std::int64_t{1} << dice.between(1, 62)) + dice.between(-1, 1);
    case 3:
      return kMax - dice.below(4);
    case 4:
      return kMax / dice.between(1, 2000);
    default:
      return std::int64_t{1} << dice.between(0, 40);
  }
}

/// A form of large numbers; counts are the needed ones, strides follow one another if they fit.
Form hostile_form(Dice& dice) {
  Form form;
  std::vector<std::int64_t> extents;
  const std::int64_t rank = dice.below(4);
  std::int64_t room = kMax;
  for (std::int64_t d = 0; d < rank; ++d) {
    extents.push_back(dice.chance(5) ? 0 : 1 + any_number(dice) % std::max<std::int64_t>(room, 1));
    room /= std::max<std::int64_t>(extents.back(), 1);
  }
  const Result<Shape> made = Shape::make(extents);
  if (!made.ok()) return form;
  form.shape = *made;
  const std::int64_t mesh_rank = dice.below(3);
  std::vector<std::int64_t> mesh;
  for (std::int64_t a = 0; a < mesh_rank; ++a) {
    mesh.push_back(dice.chance(70) ? dice.between(1, 2000) : 1 + any_number(dice) % (1 << 30));
  }
  form.mesh = *Shape::make(mesh);
  Checked stride = 1;
  for (std::int64_t d = rank; d-- > 0;) {
    Fold fold;
    const bool flip = dice.chance(15);
    const std::int64_t coef = dice.chance(70) ? 1 : 1 + any_number(dice) % 1000;
    fold.terms.push_back({static_cast<int>(d), flip ? -coef : coef});
    if (flip) fold.start = (Checked(coef) * (extents[static_cast<std::size_t>(d)] - 1)).saturated();
    if (dice.chance(10)) fold.start = (Checked(fold.start) + any_number(dice)).saturated();
    if (d > 0 && dice.chance(20)) {
      const std::int64_t outer = (Checked(coef) * extents[static_cast<std::size_t>(d)]).saturated();
      fold.terms.push_back({static_cast<int>(--d), std::max<std::int64_t>(outer, 1)});
    }
    for (std::int64_t k = dice.below(3); k > 0; --k) {
      fold.cuts.push_back(Cut{std::max<std::int64_t>(any_number(dice), 1), 0, Target::memory()});
    }
    fold.cuts.push_back(Cut{1, 0, Target::memory()});
    Checked last = fold.start;
    bool empty = false;
    for (const Term& term : fold.terms) {
      const std::int64_t extent = extents[static_cast<std::size_t>(term.dim)];
      if (term.coef > 0) last += Checked(term.coef) * (extent - 1);
      empty = empty || extent == 0;
    }
    std::int64_t left = empty ? 0 : (last + 1).saturated();
    for (Cut& cut : fold.cuts) {
      cut.count = std::max<std::int64_t>(left, 0) / cut.width + (left % cut.width > 0 ? 1 : 0);
      left = std::min(left, cut.width);
    }
    for (std::size_t k = fold.cuts.size(); k-- > 0;) {
      Cut& cut = fold.cuts[k];
      const std::int64_t axis = mesh_rank > 0 ? dice.below(mesh_rank) : 0;
      if (mesh_rank > 0 && dice.chance(40) && cut.count <= mesh[static_cast<std::size_t>(axis)]) {
        cut.target = Target::mesh(static_cast<int>(axis));
        cut.stride = 1;
        continue;
      }
      cut.stride = dice.chance(90) ? std::max<std::int64_t>(stride.saturated(), 1)
                                   : std::max<std::int64_t>(any_number(dice), 1);
      stride *= std::max<std::int64_t>(cut.count, 1);
    }
    form.folds.push_back(fold);
  }
  for (int axis = 0; axis < mesh_rank; ++axis) form.fills.push_back(Fill::fixed(axis, 0));
  if (dice.chance(10)) form.offset = any_number(dice);
  return form;
}

/// The same shape with one number changed, if that is still a valid form.
Form neighbour(Dice& dice, const Form& form) {
  Form other = form;
  if (other.folds.empty()) return form;
  Fold& fold = other.folds[static_cast<std::size_t>(
      dice.below(static_cast<std::int64_t>(other.folds.size())))];
  Cut& cut =
      fold.cuts[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(fold.cuts.size())))];
  if (dice.chance(40)) cut.stride = (Checked(cut.stride) + 1).saturated();
  if (dice.chance(40) && cut.width > 1) cut.width = (Checked(cut.width) + 1).saturated();
  if (dice.chance(20)) fold.start = (Checked(fold.start) + 1).saturated();
  return other.check().ok() ? other : form;
}

Index sample(Dice& dice, const Shape& shape) {
  Index index;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const std::int64_t n = shape[d];
    switch (dice.below(3)) {
      case 0:
        index.push_back(n - 1);
        break;
      case 1:
        index.push_back(any_number(dice) % n);
        break;
      default:
        index.push_back(dice.below(std::min<std::int64_t>(n, 100)));
        break;
    }
  }
  return index;
}

/// The results of canonical, Locator and locate on sampled indices are right.
Failure samples_agree(Dice& dice, const Form& form) {
  const Result<Lines> lines = canonical(form);
  if (!lines.ok() || form.shape.empty()) return "";
  const Locator locator(*lines);
  for (int i = 0; i < 20; ++i) {
    const Index index = sample(dice, form.shape);
    const NaivePosition expected = naive_evaluate(form, index);
    const Position position{form.mesh.linear(expected.first), expected.slot};
    if (lines->position(index) != position) return "canonical is wrong at " + bracketed(index);
    if (locator.at(index.data()) != position) return "Locator is wrong at " + bracketed(index);
  }
  return "";
}

Failure layout_samples_agree(Dice& dice, const Layout& layout) {
  for (int i = 0; i < 10 && !layout.shape().empty(); ++i) {
    const Index index = sample(dice, layout.shape());
    const Result<Location> location = layout.locate(index);
    if (!location.ok()) return "locate: " + why(location);
    const Result<Slot> back = layout.element_at(location->places[0], location->slot);
    if (!back.ok()) continue;
    if (*back != Slot(index)) return "element_at does not lead back to " + bracketed(index);
  }
  const Result<PaddingCount> count = padding(layout);
  if (count.ok()) {
    const std::int64_t held = layout.shape().elements() * layout.form().replicas();
    if (count->total != layout.slots() * layout.places() - held) return "padding is miscounted";
  }
  const Result<std::vector<PlaceClass>> classes = place_classes(layout);
  if (classes.ok()) {
    std::int64_t places = 0;
    Checked elements = 0;
    for (const PlaceClass& one : *classes) {
      places += one.places;
      elements += Checked(one.places) * one.elements;
    }
    if (places != layout.places()) return "classes do not add up to the mesh";
    if (elements.raw() != layout.shape().elements() * layout.form().replicas()) {
      return "classes do not add up to the tensor";
    }
  }
  std::int64_t regions = 0;
  (void)padding_regions(layout, [&](const PaddingRegion&) { return ++regions < 100; });
  const Place corner = layout.mesh().delinear(layout.places() - 1);
  (void)tile_of(layout, corner);
  (void)padding_at(layout, corner);
  for (const std::int64_t slot : {std::int64_t{0}, layout.slots() / 2, layout.slots() - 1}) {
    if (slot < layout.slots() && slot >= 0) (void)layout.element_at(corner, slot);
  }
  return "";
}

/// Functions whose exact results the small laws check; here they must only return.
void ask_everything(Dice& dice, const Form& a, const Form& b) {
  (void)same_function(a, b);
  (void)moved_elements(a, b);
  (void)compatible_without_movement(a, b);
  (void)function_hash(a);
  (void)is_injective(a);
  if (const Result<Refinement> refinement = refine(a, b); refinement.ok()) {
    if (refinement->nests() > 0) {
      (void)refinement->nest(0);
      (void)refinement->nest(refinement->nests() - 1);
    }
  }
  (void)contiguous_run(a);
  (void)vector_width(a, Atom::scalar(DType::kF32), 64);
  (void)strides_of(a);
  const Result<Layout> layout = Layout::make(spec(a, DType::kI8));
  if (!layout.ok()) return;
  const View view = View::of(*layout);
  const auto rank = static_cast<std::int64_t>(a.shape.rank());
  if (rank == 0) return;
  const int dim = static_cast<int>(dice.below(rank));
  (void)view.slice(dim, any_number(dice), any_number(dice), any_number(dice));
  (void)view.slice(dim, a.shape[static_cast<std::size_t>(dim)] - 1, 2, -any_number(dice));
  (void)view.broadcast(dim, any_number(dice));
  (void)view.split(dim, {any_number(dice), any_number(dice)});
  (void)view.merge(0, static_cast<int>(rank));
  (void)view.reshape({any_number(dice), any_number(dice)});
  (void)view.elements_at(Place(a.mesh.rank(), 0), layout->slots() - 1);
}

// The line of an empty tensor has no length, so nothing bounds 808·x1; slicing must not compute it.
TEST(Hostile, ASliceOfAnEmptyTensor) {
  const std::int64_t n = std::int64_t{1} << 61;
  const Result<Layout> empty =
      Layout::make(spec(form({0, n}, {}, {fold({x(0), x(1, 808)}, {mem(1, 0, 1)})})));
  if (!empty.ok()) return;  // rejecting the line is also correct
  (void)View::of(*empty).slice(1, n / 2, 1);
  (void)View::of(*empty).slice(1, n - 1, n, -1);
}

TEST(Hostile, EveryQuestionComesBack) {
  std::int64_t accepted = 0;
  std::int64_t layouts = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Dice dice(seed);
    const Form form = hostile_form(dice);
    if (!form.check().ok()) continue;
    ++accepted;
    const double begin = cpu_seconds();
    ASSERT_EQ(about(form, samples_agree(dice, form)), "") << seed;
    const Result<Layout> layout = Layout::make(spec(form, DType::kI8));
    if (layout.ok()) {
      ++layouts;
      ASSERT_EQ(about(form, layout_samples_agree(dice, *layout)), "") << seed;
    }
    const Form other = neighbour(dice, form);
    ask_everything(dice, form, other);
    EXPECT_LT(cpu_seconds() - begin, 30.0) << seed << ": " << describe(form);
  }
  EXPECT_GT(accepted, static_cast<std::int64_t>(kSeeds / 3));
  EXPECT_GT(layouts, static_cast<std::int64_t>(kSeeds / 5));
}

}  // namespace
}  // namespace tessera::test
