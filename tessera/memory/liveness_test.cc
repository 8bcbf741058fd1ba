// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tessera/memory/in_place.h"
#include "tessera/testing/figures.h"

namespace tessera::memory {
namespace {

using Kind = Value::Kind;
using Life = std::pair<std::int64_t, std::int64_t>;

Value given(std::string name, Kind kind = Kind::kInput) { return {std::move(name), kind}; }
Value computed(std::string name, bool output = false) {
  return {std::move(name), Kind::kComputed, output};
}
Life life(const Lifetimes& found, std::size_t buffer) {
  return {found.buffers[buffer].lower, found.buffers[buffer].upper};
}
Lifetimes live(const Program& program, std::vector<std::int64_t> sizes = {}) {
  if (sizes.empty()) sizes.assign(program.values.size(), 4);
  Result<Lifetimes> found = lifetimes(program, sizes);
  EXPECT_TRUE(found) << found.error().message;
  return *std::move(found);
}
Error refused(const Program& program, std::vector<std::int64_t> sizes = {}) {
  if (sizes.empty()) sizes.assign(program.values.size(), 4);
  const Result<Lifetimes> found = lifetimes(program, sizes);
  EXPECT_FALSE(found);
  return found ? Error{} : found.error();
}

// h = x·w; r = relu(h); y = r·w: lifetimes by hand.
TEST(Liveness, KeepsValuesFromDefinitionToLastUse) {
  Program program;
  program.values = {given("x"), given("w", Kind::kParameter), computed("h"), computed("r"),
                    computed("y", true)};
  program.ops = {
      {"matmul", {0, 1}, {2}, {{"panel", 64}}}, {"relu", {2}, {3}}, {"out", {3, 1}, {4}}};
  const Lifetimes found = live(program);
  EXPECT_EQ(found.moments, 3);
  EXPECT_EQ(life(found, 0), Life(0, 1));  // dies at the op that reads it, which still needs it
  EXPECT_EQ(life(found, 1), Life(0, 3));
  EXPECT_EQ(life(found, 2), Life(0, 2));
  EXPECT_EQ(life(found, 3), Life(1, 3));
  EXPECT_EQ(life(found, 4), Life(2, 3));
  EXPECT_EQ(life(found, 5), Life(0, 1));
  EXPECT_EQ(found.names[5], "matmul.panel");
  EXPECT_EQ(found.scratch_of, std::vector<std::size_t>{0});
}

TEST(Liveness, GivesDeadValuesAndUnreadInputsOneMoment) {
  Program program;
  program.values = {given("x"),
                    given("unread"),
                    computed("dead"),
                    computed("y", true),
                    given("kept", Kind::kInput),
                    given("early output", Kind::kInput)};
  program.values[4].stays = true;
  program.values[5].output = true;
  program.ops = {{"a", {0}, {3}}, {"b", {0}, {2}}, {"c", {0}, {}}};
  const Lifetimes found = live(program);
  EXPECT_EQ(life(found, 1), Life(0, 1));
  EXPECT_EQ(life(found, 2), Life(1, 2));
  EXPECT_EQ(life(found, 3), Life(0, 3));
  EXPECT_EQ(life(found, 4), Life(0, 3));
  EXPECT_EQ(life(found, 5), Life(0, 3));
}

TEST(Liveness, GivesAProgramWithoutOpsOneMoment) {
  Program program;
  program.values = {given("w", Kind::kConstant)};
  EXPECT_EQ(life(live(program), 0), Life(0, 1));
}

Program chain() {  // y = f(x) in place of x; z = g(y)
  Program program;
  program.values = {given("x"), computed("y"), computed("z", true)};
  program.ops = {{"f", {0}, {1}, {}, {{1, 0}}}, {"g", {1}, {2}}};
  return program;
}

TEST(Liveness, ComputesInPlaceWhatDies) {
  const Lifetimes found = live(chain());
  ASSERT_TRUE(found.buffers[1].alias);
  EXPECT_EQ(found.buffers[1].alias->of, 0u);
  EXPECT_EQ(found.in_place.size(), 1u);
  EXPECT_TRUE(found.declined.empty());
}

TEST(Liveness, DeclinesInPlaceWithAReason) {
  const auto reason = [](const Program& program, std::vector<std::int64_t> sizes = {}) {
    const Lifetimes found = live(program, std::move(sizes));
    EXPECT_FALSE(found.buffers[1].alias);
    EXPECT_EQ(found.declined.size(), 1u);
    return found.declined.empty() ? std::string() : test::figures(found.declined[0].reason);
  };
  Program again = chain();
  again.ops[1].inputs.push_back(0);
  EXPECT_EQ(reason(again), "'x' 'g'");
  Program constant = chain();
  constant.values[0].kind = Kind::kConstant;
  EXPECT_EQ(reason(constant), "'x'");
  Program output = chain();
  output.values[0].output = true;
  EXPECT_EQ(reason(output), "'x'");
  EXPECT_EQ(reason(chain(), {4, 5, 4}), "'y' 'x'");
}

TEST(Liveness, RefusesARequiredInPlaceOfSomethingAlive) {
  Program program = chain();
  program.ops[0].in_place[0].required = true;
  EXPECT_TRUE(live(program).buffers[1].alias);
  program.ops[1].inputs.push_back(0);
  const Error error = refused(program);
  EXPECT_EQ(error.code, ErrorCode::kBadBuffer);
  EXPECT_EQ(test::figures(error.message), "'f' 'y' 'x' 'x' 'g'");
  EXPECT_EQ(error.span, (Span{1, 2}));
}

TEST(Liveness, ViewsKeepWhatTheyShow) {
  Program program;  // v = x[..]; y = f(x) in place of x, while v is read later
  program.values = {given("x"), computed("v"), computed("y"), computed("z", true)};
  program.ops = {
      {"slice", {0}, {1}, {}, {}, {{1, 0, 2}}}, {"f", {0}, {2}, {}, {{2, 0}}}, {"g", {1, 2}, {3}}};
  const Lifetimes found = live(program, {4, 2, 4, 4});
  EXPECT_EQ(found.buffers[1].alias->delta, 2);
  ASSERT_EQ(found.declined.size(), 1u);
  EXPECT_EQ(test::figures(found.declined[0].reason), "'v' 'g'");
  EXPECT_EQ(test::figures(refused(program, {4, 3, 4, 4}).message), "'v' 2 'x'");
}

TEST(Liveness, DeclinesInPlaceWhenTheSameOpReadsAnotherView) {
  Program program;  // y = f(x, v): writing y over x could overwrite what is still to be read as v
  program.values = {given("x"), computed("v"), computed("y", true)};
  program.ops = {{"slice", {0}, {1}, {}, {}, {{1, 0, 0}}}, {"f", {0, 1}, {2}, {}, {{2, 0}}}};
  const Lifetimes found = live(program);
  ASSERT_EQ(found.declined.size(), 1u);
  EXPECT_EQ(test::figures(found.declined[0].reason), "'v'");
}

TEST(Liveness, GivesTheMemoryOfOneInputToOneOutput) {
  Program program;
  program.values = {given("x"), computed("p", true), computed("q", true)};
  program.ops = {{"split", {0}, {1, 2}, {}, {{1, 0}, {2, 0}}}};
  const Lifetimes found = live(program);
  EXPECT_TRUE(found.buffers[1].alias);
  EXPECT_FALSE(found.buffers[2].alias);
  EXPECT_EQ(test::figures(found.declined[0].reason), "'p'");
}

TEST(Liveness, TakesTheFirstRequestThatIsProven) {
  Program program;
  program.values = {given("a", Kind::kConstant), given("b"), given("c"), computed("y", true)};
  program.ops = {{"add", {0, 1, 2}, {3}, {}, {{3, 0}, {3, 1}, {3, 2}}}};
  const Lifetimes found = live(program);
  EXPECT_EQ(found.buffers[3].alias->of, 1u);
  EXPECT_EQ(found.declined.size(), 1u);
}

TEST(InPlace, TakesBackWhatKeepsALargerInput) {
  Program program;
  for (const char* name : {"x", "same", "smaller", "must"}) program.values.push_back({name});
  program.values[0].kind = Value::Kind::kInput;
  program.ops = {{"a", {0}, {1}, {}, {{1, 0}}},
                 {"b", {1}, {2}, {}, {{2, 1}}},
                 {"c", {2}, {3}, {}, {{3, 2, true}}}};
  const std::vector<std::int64_t> sizes = {8, 8, 4, 2};
  const FitsInside inside = [&](std::size_t part, std::size_t whole, std::int64_t delta) {
    return sizes[part] + delta <= sizes[whole];
  };
  const Lifetimes lives = *lifetimes(program, inside);
  ASSERT_EQ(lives.in_place.size(), 3U);
  const std::vector<Declined> taken_back = take_back_smaller(program, lives, inside);
  ASSERT_EQ(taken_back.size(), 1U);
  EXPECT_EQ(taken_back[0].op, 1U);
  EXPECT_EQ(taken_back[0].request.output, 2U);
  EXPECT_EQ(test::figures(taken_back[0].reason), "'smaller' 'same'");
  EXPECT_EQ(lifetimes(program, inside)->in_place.size(), 2U);
}

TEST(Liveness, RefusesProgramsThatCannotBe) {
  Program program;
  program.values = {computed("y")};
  EXPECT_EQ(test::figures(refused(program).message), "'y'");

  program.values = {given("x"), computed("y"), computed("z")};
  program.ops = {{"f", {2}, {1}}, {"g", {0}, {2}}};
  Error error = refused(program);
  EXPECT_EQ(test::figures(error.message), "'f' 'z' 'g'");
  EXPECT_EQ(error.span, (Span{2, 3}));
  program.ops = {{"f", {1}, {1}}, {"g", {0}, {2}}};
  EXPECT_EQ(test::figures(refused(program).message), "'f' 'y' 'f'");
  program.ops = {{"f", {0}, {1}}, {"g", {0}, {2, 1}}};
  EXPECT_EQ(test::figures(refused(program).message), "'g' 'y' 'f'");
  program.ops = {{"f", {0}, {0, 1, 2}}};
  EXPECT_EQ(test::figures(refused(program).message), "'f' 'x'");
  program.ops = {{"f", {7}, {1}}};
  EXPECT_EQ(refused(program).code, ErrorCode::kOutOfRange);
  program.ops = {{"f", {0}, {1, 2}, {{"s", -1}}}};
  EXPECT_EQ(test::figures(refused(program).message), "'f' -1");
  program.ops = {{"f", {0}, {1, 2}, {}, {{1, 2}}}};
  EXPECT_EQ(test::figures(refused(program).message), "'z' 'f'");
  program.ops = {{"f", {0}, {1, 2}, {}, {}, {{1, 0, 0}, {1, 0, 0}}}};
  EXPECT_EQ(test::figures(refused(program).message), "'f' 'y'");
  program.ops = {{"f", {0}, {1, 2}}};
  EXPECT_EQ(test::figures(refused(program, {1, 2}).message), "3 2");
}

// The promise of in-place, checked by running programs: every op's inputs still hold what was
// computed.
TEST(Liveness, NeverOverwritesWhatIsStillRead) {
  std::mt19937_64 random(8);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::size_t shared = 0;
  for (int round = 0; round < 2000; ++round) {
    Program program;
    const std::size_t inputs = 1 + below(3);
    for (std::size_t i = 0; i < inputs; ++i) {
      program.values.push_back(given("i", below(3) == 0 ? Kind::kConstant : Kind::kInput));
    }
    const std::size_t ops = 1 + below(8);
    for (std::size_t k = 0; k < ops; ++k) {
      Op op;
      for (std::size_t i = 0; i <= below(3); ++i) op.inputs.push_back(below(program.values.size()));
      for (std::size_t i = 0; i <= below(2); ++i) {
        const std::size_t output = program.values.size();
        program.values.push_back(computed("v", below(5) == 0));
        op.outputs.push_back(output);
        if (below(4) == 0) {
          op.views.push_back({output, op.inputs[0], 0});
        } else {
          for (const std::size_t input : op.inputs) op.in_place.push_back({output, input});
        }
      }
      program.ops.push_back(op);
    }
    std::vector<std::int64_t> sizes(program.values.size());
    for (std::int64_t& size : sizes) size = 4;
    const Lifetimes found = live(program, sizes);
    // Values that share memory share a cell; a cell stores what was written last. A view holds what
    // it shows.
    std::vector<std::size_t> cell(sizes.size());
    std::vector<std::size_t> holds(sizes.size(), SIZE_MAX);
    std::vector<std::size_t> content(sizes.size());
    for (std::size_t v = 0; v < sizes.size(); ++v) {
      const auto& alias = found.buffers[v].alias;
      cell[v] = alias ? cell[alias->of] : v;
      content[v] = v;
      if (program.values[v].kind != Kind::kComputed) holds[v] = v;
    }
    for (const Op& op : program.ops) {
      for (const std::size_t v : op.inputs) ASSERT_EQ(holds[cell[v]], content[v]) << round;
      for (const std::size_t v : op.outputs) {
        const bool view = std::any_of(op.views.begin(), op.views.end(),
                                      [v](const ViewOf& item) { return item.output == v; });
        if (view) {
          content[v] = content[found.buffers[v].alias->of];
        } else {
          holds[cell[v]] = v;
        }
      }
      for (const std::size_t v : op.outputs) ASSERT_EQ(holds[cell[v]], content[v]) << round;
    }
    for (std::size_t v = 0; v < sizes.size(); ++v) {
      const Value& value = program.values[v];
      if (value.output || value.kind == Kind::kConstant) {
        ASSERT_EQ(holds[cell[v]], content[v]);
      }
    }
    shared += found.in_place.size();
  }
  EXPECT_GT(shared, 500u);
}

TEST(Liveness, TakesLongChainsInPlace) {
  Program program;
  program.values = {given("x")};
  for (std::size_t k = 0; k < 100000; ++k) {
    program.values.push_back(computed("", k + 1 == 100000));
    program.ops.push_back({"f", {k}, {k + 1}, {}, {{k + 1, k}}});
  }
  EXPECT_EQ(live(program).in_place.size(), 100000u);
}

}  // namespace
}  // namespace tessera::memory
