// SPDX-License-Identifier: Apache-2.0
// Random layouts, larger than those of the sweep, against the naive reference: over 200,000 cases.
// Each case is a seed and a budget of choices; rapidcheck shrinks the budget, which simplifies the
// layout. RC_PARAMS="seed=.." tries others.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/laws.h"
#include "tessera/testing/process.h"
#include "tessera/testing/views.h"

namespace tessera::test {
namespace {

constexpr Limits kLarge = {.max_rank = 4,
                           .max_extent = 40,
                           .max_elements = 400,
                           .max_mesh_rank = 3,
                           .max_places = 24,
                           .max_slots = 4000};
constexpr Limits kMedium = {.max_rank = 3,
                            .max_extent = 16,
                            .max_elements = 150,
                            .max_mesh_rank = 2,
                            .max_places = 16,
                            .max_slots = 1500};

/// Calls `law` with dice of random seed and budget, `cases` times.
void holds(int cases, const std::function<Failure(Dice&)>& law) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = kSanitized ? cases / 10 : cases;
  if (std::getenv("RC_PARAMS") == nullptr) params.seed = 20240229;
  const auto result = rc::detail::checkTestable(
      [&](std::uint64_t seed) {
        const auto budget = *rc::gen::inRange<std::int64_t>(0, 600);
        Dice dice(seed, budget);
        const Failure failure = law(dice);
        if (!failure.empty()) RC_FAIL(failure);
      },
      rc::detail::TestMetadata{}, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << message.str();
}

TEST(Property, MakeAcceptsExactlyTheLayouts) {
  holds(40000, [](Dice& dice) {
    const LayoutSpec spec = random_spec(dice, kMedium);
    return about(spec.form, law_make(spec));
  });
}

TEST(Property, MakeRefusesWildForms) {
  holds(25000, [](Dice& dice) {
    const LayoutSpec wild = spec(random_form(dice, kMedium));
    return about(wild.form, law_make(wild));
  });
}

TEST(Property, Slots) {
  holds(30000, [](Dice& dice) {
    const auto layout = random_layout(dice, kLarge);
    return layout ? slot_laws(*layout) : Failure();
  });
}

TEST(Property, Forms) {
  holds(25000, [](Dice& dice) { return form_laws(random_form(dice, kMedium)); });
}

TEST(Property, FormsOfLargeRank) {
  holds(6000, [](Dice& dice) { return form_laws(random_form(dice, kLarge)); });
}

TEST(Property, RewritingKeepsTheFunction) {
  holds(30000, [](Dice& dice) -> Failure {
    const Form a = random_form(dice, kLarge);
    const Form b = rewrite(dice, a);
    if (!b.check().ok()) return "";  // it exceeds the limits of a form
    Laws laws;
    laws << law_same_function(a, b) << law_compatible(a, b);
    const Result<Comparison> comparison = same_function(a, b);
    if (comparison.ok() && !comparison->equal) laws << "the rewritten form is another function";
    return about(a, about(b, laws.failure()));
  });
}

TEST(Property, NeighboursDifferWhereTheyDo) {
  holds(30000, [](Dice& dice) -> Failure {
    const Form a = random_form(dice, kLarge);
    const Form b = rewrite(dice, perturb(dice, a));
    if (!b.check().ok()) return "";
    Laws laws;
    laws << law_same_function(a, b) << law_compatible(a, b) << law_compatible(b, a);
    return about(a, about(b, laws.failure()));
  });
}

TEST(Property, Refinements) {
  holds(20000, [](Dice& dice) -> Failure {
    const Form a = random_form(dice, kLarge);
    Form b = random_form(dice, kLarge);
    for (int i = 0; i < 20 && b.shape != a.shape; ++i) b = random_form(dice, kLarge);
    if (b.shape != a.shape || dice.chance(50)) b = rewrite(dice, perturb(dice, a));
    if (!b.check().ok()) return "";
    return about(a, about(b, law_refine(a, b)));
  });
}

TEST(Property, Views) {
  holds(18000, [](Dice& dice) -> Failure {
    const auto layout = random_layout(dice, kMedium);
    if (!layout) return "";
    const MappedView mapped = random_view(dice, *layout, 5);
    Laws laws;
    laws << law_view(*layout, mapped.view, mapped.map) << form_laws(mapped.view.form());
    return about(layout->form(), laws.failure());
  });
}

/// [n, m] cut into bands of rows, each row-major or column-major in its own region.
Failure random_pieces(Dice& dice) {
  const std::int64_t n = dice.between(1, 12);
  const std::int64_t m = dice.between(1, 8);
  std::vector<LayoutPiece> pieces;
  std::int64_t offset = 0;
  for (std::int64_t from = 0; from < n;) {
    const std::int64_t to = dice.between(from + 1, n);
    const std::int64_t h = to - from;
    const bool turned = dice.chance(50);
    const std::int64_t gap = dice.below(3);
    pieces.push_back(
        {Box{{from, 0}, {to, m}}, layout(form({h, m}, {},
                                              {fold(x(0), {mem(1, h, turned ? 1 : m + gap)}),
                                               fold(x(1), {mem(1, m, turned ? h : 1)})},
                                              {}, offset))});
    offset += h * (m + gap);
    from = to;
  }
  const Result<Piecewise> made = Piecewise::make(shape({n, m}), pieces);
  if (!made.ok()) return "Piecewise::make: " + why(made);
  const Piecewise whole = *Piecewise::make(
      shape({n, m}), {{Box{{0, 0}, {n, m}}, *Layout::row_major(shape({n, m}), DType::kF32)}});
  Laws laws;
  laws << law_piecewise(*made) << law_piecewise_same(*made, whole)
       << law_piecewise_same(whole, *made);
  return laws.failure();
}

TEST(Property, Pieces) { holds(5000, random_pieces); }

}  // namespace
}  // namespace tessera::test
