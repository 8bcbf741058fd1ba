// SPDX-License-Identifier: Apache-2.0
// Random pairs of layouts that keep their elements as different types, against the definition of
// casts. Each case is a random seed, which the message names.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tessera/base/dtype.h"
#include "tessera/testing/process.h"
#include "tessera/testing/relayout/cast_laws.h"
#include "tessera/testing/relayout/relayout_pairs.h"

namespace tessera::test {
namespace {

DType random_type(Dice& dice, bool blocks) {
  while (true) {
    const auto& types = all_dtypes();
    const DType type =
        types[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(types.size())))];
    if (blocks || !is_block_float(type)) return type;
  }
}

std::string cast_case(std::uint64_t seed, std::int64_t most, bool blocks) {
  Dice dice(seed);
  const Shape shape = relayout_shape(dice, most);
  const DType from_type = random_type(dice, blocks);
  const DType to_type = random_type(dice, blocks);
  const Layout from = kept_as(blocked_layout(dice, shape, DType::kF32), from_type);
  const Layout to = kept_as(blocked_layout(dice, shape, DType::kF32), to_type);
  const auto rounding =
      dice.chance(50) ? relayout::Rounding::kChecked : relayout::Rounding::kSaturate;
  // The reference writes block floats from f64, which rounds integers of 64 bits a first time.
  const bool exact = !is_block_float(to_type) || dtype_bits(from_type) != 64;
  const auto values = exact && dice.chance(50) ? Values::kAnyBits : Values::kZeroAndOne;
  const auto rule = static_cast<relayout::PaddingRule>(dice.below(3));
  return cast_mistake(from, to, rule, rounding, values, random_trial(dice), seed);
}

void hold(int cases, std::int64_t most, bool blocks) {
  if (kSanitized) cases /= 10;
  int failures = 0;
  for (int seed = 0; seed < cases && failures < 4; ++seed) {
    const std::string mistake = cast_case(static_cast<std::uint64_t>(seed), most, blocks);
    if (mistake.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << mistake;
  }
}

TEST(PairsCast, PlansCastAsTheDefinitionSays) {
  hold(8000, 200, false);
  hold(100, 8000, false);
}

TEST(PairsCast, PlansCastBlockFloatsAsTheDefinitionSays) { hold(3000, 150, true); }

}  // namespace
}  // namespace tessera::test
