// SPDX-License-Identifier: Apache-2.0
// isl as an independent reference: a form becomes a Presburger relation from indices to (place,
// slot), with floor and mod for the cuts and existential variables for the replicas. isl decides
// injectivity and equality by integer programming, which shares nothing with our method.
#include <gtest/gtest.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/naive.h"

namespace tessera::test {
namespace {

struct FreeContext {
  void operator()(isl_ctx* context) const { isl_ctx_free(context); }
};
struct FreeMap {
  void operator()(isl_map* map) const { isl_map_free(map); }
};
using Context = std::unique_ptr<isl_ctx, FreeContext>;
using Map = std::unique_ptr<isl_map, FreeMap>;

/// Small enough for isl to decide within its budget nearly always.
constexpr Limits kSmall = {.max_rank = 3,
                           .max_extent = 9,
                           .max_elements = 100,
                           .max_mesh_rank = 2,
                           .max_places = 12,
                           .max_slots = 1000};
constexpr unsigned long kOperations = 2'000'000;  // after which isl gives up

/// "{ [x0, x1] -> [c0, s] : 0 <= x0 < 4 and .. and c0 = .. and s = .. }"
std::string as_relation(const Form& form) {
  std::string slot = cat(form.offset);
  std::vector<std::string> coordinates(form.mesh.rank(), "0");
  for (const Fold& fold : form.folds) {
    std::string left = cat(fold.start);
    for (const Term& term : fold.terms) {
      left += cat(term.coef < 0 ? " - " : " + ", std::abs(term.coef), " * x", term.dim);
    }
    for (const Cut& cut : fold.cuts) {
      const std::string moved = cat(" + ", cut.stride, " * floor((", left, ") / ", cut.width, ")");
      if (cut.target.is_memory()) slot += moved;
      if (cut.target.is_mesh()) {
        coordinates[static_cast<std::size_t>(cut.target.axis())] += moved;
      }
      left = cat("((", left, ") mod ", cut.width, ")");
    }
  }
  std::string replicas;
  std::string ranges;
  for (std::size_t i = 0; i < form.fills.size(); ++i) {
    const Fill& fill = form.fills[i];
    std::string& coordinate = coordinates[static_cast<std::size_t>(fill.axis)];
    if (fill.kind == Fill::Kind::kFixed) {
      coordinate += cat(" + ", fill.value);
      continue;
    }
    replicas += cat(replicas.empty() ? "" : ", ", "r", i);
    ranges += cat(" and 0 <= r", i, " < ", fill.count);
    coordinate += cat(" + ", fill.stride, " * r", i);
  }
  std::string inputs;
  std::string outputs;
  std::string conditions = "s = " + slot;
  for (std::size_t d = 0; d < form.shape.rank(); ++d) {
    inputs += cat(d == 0 ? "" : ", ", "x", d);
    conditions += cat(" and 0 <= x", d, " < ", form.shape[d]);
  }
  for (std::size_t a = 0; a < coordinates.size(); ++a) {
    outputs += cat("c", a, ", ");
    conditions += cat(" and c", a, " = ", coordinates[a]);
  }
  conditions += ranges;
  if (!replicas.empty()) conditions = cat("exists ", replicas, " : ", conditions);
  return cat("{ [", inputs, "] -> [", outputs, "s] : ", conditions, " }");
}

class Oracle {
 public:
  Oracle() : context_(isl_ctx_alloc()) {
    isl_options_set_on_error(context_.get(), ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(context_.get(), kOperations);
  }

  /// Empty if the budget is exhausted.
  std::optional<bool> injective(const Form& form) {
    const Map map = read(form);
    return answer(isl_map_is_injective(map.get()));
  }
  std::optional<bool> equal(const Form& a, const Form& b) {
    const Map map_a = read(a);
    const Map map_b = read(b);
    return answer(isl_map_is_equal(map_a.get(), map_b.get()));
  }

 private:
  Map read(const Form& form) {
    return Map(isl_map_read_from_str(context_.get(), as_relation(form).c_str()));
  }
  std::optional<bool> answer(isl_bool decided) {
    isl_ctx_reset_error(context_.get());
    isl_ctx_reset_operations(context_.get());
    if (decided == isl_bool_error) return std::nullopt;
    return decided == isl_bool_true;
  }

  Context context_;
};

bool has_partial(const Form& form) { return !naive_partials(form).empty(); }

TEST(Oracle, UnderstandsTheNotation) {
  Oracle oracle;
  const Form rows = form({53}, {3}, {fold(x(0), {on(0, 18, 3), mem(32, 1, 1024), mem(1, 32, 32)})});
  const Form same = form({53}, {3}, {fold(x(0), {on(0, 18, 3), mem(1, 32, 32)})});
  const Form other = form({53}, {3}, {fold(x(0), {on(0, 18, 3), mem(1, 32, 31)})});
  EXPECT_EQ(oracle.injective(rows), true);
  EXPECT_EQ(oracle.equal(rows, same), true);
  EXPECT_EQ(oracle.equal(rows, other), false);
  EXPECT_EQ(oracle.injective(form({4, 2}, {}, {fold(x(0), {mem(1, 4, 1)})})), false);
  const Form replicated = form({2}, {3}, {fold(x(0), {on(0, 1, 2)})}, {Fill::replicate(0, 2)});
  EXPECT_EQ(oracle.injective(replicated), false);
}

TEST(Oracle, AgreesOnInjectivity) {
  Oracle oracle;
  std::int64_t decided = 0;
  std::int64_t injective = 0;
  for (std::uint64_t seed = 0; seed < 2600; ++seed) {
    Dice dice(seed);
    const Form f = random_form(dice, kSmall);
    const std::optional<bool> expected = oracle.injective(f);
    if (!expected) continue;
    ++decided;
    const Result<Injectivity> answer = is_injective(f);
    ASSERT_TRUE(answer.ok()) << describe(f);
    ASSERT_EQ(answer->injective, *expected) << describe(f) << "\n" << as_relation(f);
    injective += *expected ? 1 : 0;
  }
  RecordProperty("decided", static_cast<int>(decided));
  EXPECT_GE(decided, 2000);
  EXPECT_GE(injective, 200);
  EXPECT_GE(decided - injective, 200);
}

TEST(Oracle, AgreesOnEquality) {
  Oracle oracle;
  std::int64_t decided = 0;
  std::int64_t equal = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Dice dice(seed + 1'000'000);
    const Form a = random_form(dice, kSmall);
    const Form b = rewrite(dice, dice.chance(50) ? perturb(dice, a) : a);
    if (has_partial(a) || has_partial(b) || !b.check().ok()) continue;
    const std::optional<bool> expected = oracle.equal(a, b);
    if (!expected) continue;
    ++decided;
    const Result<Comparison> answer = same_function(a, b);
    ASSERT_TRUE(answer.ok()) << describe(a) << "\n" << describe(b);
    ASSERT_EQ(answer->equal, *expected) << describe(a) << "\n" << describe(b);
    equal += *expected ? 1 : 0;
  }
  RecordProperty("decided", static_cast<int>(decided));
  EXPECT_GE(decided, 2000);
  EXPECT_GE(equal, 500);
  EXPECT_GE(decided - equal, 500);
}

}  // namespace
}  // namespace tessera::test
