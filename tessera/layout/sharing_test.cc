// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "tessera/base/work.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/slots/slot_list.h"
#include "tessera/layout/view.h"
#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/naive.h"

namespace tessera::test {
namespace {

Form strided(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides) {
  return *strided_form(*Shape::make(extents), strides, 0);
}

using Slots = std::map<std::pair<Place, std::int64_t>, std::set<Index>>;

/// The elements of every slot that holds some, by brute force.
Slots naive_slots(const Form& form) {
  Slots slots;
  if (form.shape.empty()) return slots;
  Index index(form.shape.rank(), 0);
  do {
    const NaivePosition position = naive_evaluate(form, index);
    for (const Place& place : position.places) slots[{place, position.slot}].insert(index);
  } while (form.shape.next(index));
  return slots;
}

bool has_unplaced_digit(const Form& form) {
  return std::any_of(form.folds.begin(), form.folds.end(), [](const Fold& fold) {
    return std::any_of(fold.cuts.begin(), fold.cuts.end(),
                       [](const Cut& cut) { return cut.target.is_nothing(); });
  });
}

/// Whether two elements meet if every dim that never moves an element is left at index 0.
bool meet_without_repeats(const Form& form) {
  std::vector<bool> moves(form.shape.rank(), false);
  Index index(form.shape.rank(), 0);
  do {
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
      if (index[dim] == 0) continue;
      Index origin = index;
      origin[dim] = 0;
      if (!(naive_evaluate(form, index) == naive_evaluate(form, origin))) moves[dim] = true;
    }
  } while (form.shape.next(index));
  for (const auto& [spot, indices] : naive_slots(form)) {
    std::set<Index> kept;
    for (Index one : indices) {
      for (std::size_t dim = 0; dim < one.size(); ++dim) {
        if (!moves[dim]) one[dim] = 0;
      }
      kept.insert(one);
    }
    if (kept.size() > 1) return true;
  }
  return false;
}

/// used_slots counts the slots, is_injective and overlapping_elements tell whether two elements
/// meet and name two that do, and SlotList lists every slot.
void expect_laws(const Form& form, int& overlapping) {
  const Slots slots = naive_slots(form);
  const Result<std::int64_t> used = used_slots(form);
  ASSERT_TRUE(used.ok()) << describe(form);
  EXPECT_EQ(*used, static_cast<std::int64_t>(slots.size())) << describe(form);

  const bool apart = std::all_of(slots.begin(), slots.end(),
                                 [](const auto& spot) { return spot.second.size() == 1; });
  const Result<Injectivity> injective = is_injective(form);
  ASSERT_TRUE(injective.ok()) << describe(form);
  EXPECT_EQ(injective->injective, apart) << describe(form);
  const Result<std::optional<SharedSlot>> shared = overlapping_elements(form);
  ASSERT_TRUE(shared.ok()) << describe(form);
  if (*shared) {
    const SharedSlot& pair = **shared;
    ++overlapping;
    EXPECT_LT(pair.first, pair.second) << describe(form);
    const auto found = slots.find({pair.place, pair.slot});
    ASSERT_NE(found, slots.end()) << describe(form);
    EXPECT_EQ(found->second.count(pair.first), 1U) << describe(form);
    EXPECT_EQ(found->second.count(pair.second), 1U) << describe(form);
  } else if (!has_unplaced_digit(form)) {
    EXPECT_FALSE(meet_without_repeats(form)) << describe(form);
  }

  const Result<View> view = View::make(form, DType::kI8, Atom::scalar(DType::kI8));
  if (!view.ok()) return;
  Result<SlotList> list = SlotList::make(*view, 1 << 16);
  ASSERT_TRUE(list.ok()) << describe(form);
  std::int64_t empty = 0;
  for (std::int64_t at = 0; at < view->slots() * view->mesh().elements(); ++at) {
    const auto found = slots.find({view->mesh().delinear(at / view->slots()), at % view->slots()});
    std::set<Index> listed;
    for (const auto& [slot, element] : list->elements(at)) {
      listed.insert(view->shape().delinear(element));
    }
    EXPECT_EQ(listed, found == slots.end() ? std::set<Index>{} : found->second) << describe(form);
    empty += found == slots.end() ? 1 : 0;
  }
  EXPECT_EQ(list->padding().total, empty);
}

TEST(Sharing, CountsWhatTheNaiveListCounts) {
  int overlapping = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    Dice dice(seed);
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;
    for (std::int64_t d = dice.between(1, 5); d > 0; --d) {
      extents.push_back(dice.between(1, d > 3 ? 4 : 7));
      strides.push_back(dice.chance(15) ? 0 : dice.between(1, dice.chance(50) ? 6 : 40));
    }
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      if (!dice.chance(20)) continue;
      offset += strides[d] * (extents[d] - 1);
      strides[d] = -strides[d];
    }
    expect_laws(*strided_form(*Shape::make(extents), strides, offset), overlapping);
    if (HasFailure()) FAIL() << seed;
  }
  EXPECT_GT(overlapping, 1000);
}

TEST(Sharing, HoldsForRandomForms) {
  int overlapping = 0;
  int checked = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    Dice dice(seed);
    Form form = random_form(dice, Limits{});
    // Other strides make elements meet.
    for (Fold& fold : form.folds) {
      for (Cut& cut : fold.cuts) {
        if (cut.target.is_memory() && dice.chance(40)) cut.stride = dice.between(1, 9);
      }
    }
    if (!form.check().ok()) continue;
    ++checked;
    expect_laws(form, overlapping);
    if (HasFailure()) FAIL() << seed;
  }
  EXPECT_GT(checked, 2000);
  EXPECT_GT(overlapping, 300);
}

/// A view whose number of slots follows from arithmetic takes a few steps at any size.
TEST(Sharing, LargeViewsTakeFewSteps) {
  struct Case {
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;
    std::int64_t used;
  };
  const std::int64_t big = std::int64_t{1} << 30;
  const Case cases[] = {
      {{8192, 8192}, {1, 1}, 16383},
      {{4096, 50000}, {0, 1}, 50000},                     // a torch expand
      {{256, 512, 1024}, {3, 1, 6}, 7415},                // 511 + 3*255 + 6*1023 + 1
      {{1000000, 400}, {160, 1}, 159999840 + 400},        // windows that overlap
      {{2000, 1000, 3, 3}, {1002, 1, 1002, 1}, 2006004},  // a 3x3 convolution over 2002x1002
      {{big, big}, {7, 11}, 7 * (big - 1) + 11 * (big - 1) + 1 - 60},  // all but (7-1)*(11-1) sums
      {{big, 5}, {999983, 1000003}, 5 * big},  // coprime, too far apart to meet
  };
  for (const Case& one : cases) {
    const Work work(4096);
    const Result<std::int64_t> used = used_slots(strided(one.extents, one.strides));
    ASSERT_TRUE(used.ok()) << one.used;
    EXPECT_EQ(*used, one.used);
    EXPECT_LT(work.used(), 4096);
  }
}

TEST(Sharing, FindsThePairOfLargeViews) {
  const auto pair_of = [](const Form& form) {
    const Work work(1 << 16);
    return **overlapping_elements(form);
  };
  EXPECT_EQ(pair_of(strided({8192, 8192}, {1, 1})), (SharedSlot{{0, 1}, {1, 0}, {}, 1}));
  EXPECT_EQ(pair_of(strided({53, 63}, {36, 1})), (SharedSlot{{0, 36}, {1, 0}, {}, 36}));
  // 999983·x = 1000003·y first at x = 1000003, y = 999983.
  const SharedSlot far = pair_of(strided({1 << 21, 1 << 21}, {999983, 1000003}));
  EXPECT_EQ(far.first, (Index{0, 999983}));
  EXPECT_EQ(far.second, (Index{1000003, 0}));
  // A dim of stride 0 repeats elements on purpose.
  EXPECT_FALSE(*overlapping_elements(strided({4096, 50000}, {0, 1})));
  EXPECT_FALSE(*overlapping_elements(strided({4, 0}, {1, 1})));
}

TEST(Sharing, ABudgetEndsTheCount) {
  const Form form = strided({1 << 20, 1 << 20, 1 << 20}, {1000003, 999983, 1000033});
  const Work work(1 << 16);
  const Result<std::int64_t> used = used_slots(form);
  ASSERT_FALSE(used.ok());
  EXPECT_EQ(used.error().code, ErrorCode::kTooLarge);
  EXPECT_LE(work.used(), (1 << 16) + 1);
}

}  // namespace
}  // namespace tessera::test
