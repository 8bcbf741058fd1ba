// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/advice.h"
#include "tessera/memory/solve.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/generate.h"

namespace tessera::memory {
namespace {

using Kind = Value::Kind;

Buffer alive(std::int64_t lower, std::int64_t upper, std::int64_t size) {
  Buffer buffer;
  buffer.lower = lower;
  buffer.upper = upper;
  buffer.size = size;
  return buffer;
}

TEST(Shortfall, NamesTheMomentAndWhatLivesThen) {
  Problem problem;
  problem.buffers = {alive(0, 2, 100), alive(1, 3, 200), alive(1, 2, 50), alive(2, 4, 90)};
  const std::vector<std::int64_t> offsets = {0, 100, 300, 0};
  const auto found = *shortfall(problem, 300, offsets);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->certain);
  EXPECT_EQ(found->moment, 1);
  EXPECT_EQ(found->needed, 350);
  EXPECT_EQ(found->missing(), 50);
  ASSERT_EQ(found->live.size(), 3u);
  EXPECT_EQ(found->live[0].buffer, 1u);
  EXPECT_EQ(found->live[1].buffer, 0u);
  EXPECT_EQ(found->live[2].buffer, 2u);
  const Error error = does_not_fit(*found, {"a", "b", "c", "d"}, "'f'", "place [0, 3]");
  EXPECT_EQ(error.code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(test::figures(error.message), "[0 3] 'f' 350 50 300 'b' 200 'a' 100 'c' 50");
  EXPECT_FALSE(*shortfall(problem, 350, offsets));
}

TEST(Shortfall, CountsWhatIsKeptInGaps) {
  Problem problem;
  problem.buffers = {alive(0, 9, 100), alive(3, 6, 80), alive(4, 5, 30)};
  problem.buffers[0].gaps = {{2, 4}, {4, 6, 10, 50}};
  const auto found = *shortfall(problem, 149, std::vector<std::int64_t>{0, 50, 130});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->certain);
  EXPECT_EQ(found->moment, 4);
  EXPECT_EQ(found->needed, 40 + 80 + 30);
  ASSERT_EQ(found->live.size(), 3u);
  EXPECT_EQ(found->live[1].buffer, 0u);
  EXPECT_EQ(found->live[1].bytes, 40);
  // In the gap before it, the first buffer is not live at all.
  problem.buffers[1] = alive(3, 4, 120);
  const auto before = *shortfall(problem, 110, std::vector<std::int64_t>{0, 0, 100});
  EXPECT_EQ(before->moment, 3);
  ASSERT_EQ(before->live.size(), 1u);
  EXPECT_EQ(before->live[0].buffer, 1u);
  // Never live as a whole, but larger than the memory.
  problem.buffers = {alive(0, 9, 100)};
  problem.buffers[0].gaps = {{0, 9, 0, 10}};
  const auto large = *shortfall(problem, 99, std::vector<std::int64_t>{0});
  ASSERT_TRUE(large);
  EXPECT_TRUE(large->certain);
  EXPECT_EQ(large->needed, 100);
}

TEST(Shortfall, CountsSharedMemoryOnceAndSumsUpTheRest) {
  Problem problem;
  for (int i = 0; i < 8; ++i) problem.buffers.push_back(alive(0, 2, 10 + i));
  problem.buffers.push_back(alive(1, 3, 5));
  problem.buffers.back().alias = Alias{7, 4};
  const std::vector<std::int64_t> offsets(9, 0);
  const auto found = *shortfall(problem, 100, offsets);
  EXPECT_EQ(found->needed, 10 * 8 + 28);
  EXPECT_EQ(found->live.size(), 8u);
  EXPECT_EQ(test::figures(describe(*found, {}, "moment 0")),
            "0 108 8 100 7 17 6 16 5 15 4 14 3 13 3 33");
}

TEST(Shortfall, TellsAPlanWithHolesFromTooMuchAtOnce) {
  Problem problem;
  problem.buffers = {alive(0, 1, 10), alive(0, 2, 10), alive(1, 2, 15)};
  const std::vector<std::int64_t> holes = {0, 10, 20};
  const auto found = *shortfall(problem, 30, holes);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->certain);
  EXPECT_EQ(found->needed, 35);
  EXPECT_EQ(found->moment, 1);
  EXPECT_EQ(test::figures(describe(*found, {"a", "b", "c"}, "'g'")), "35 'g' 5 30 'c' 15 'b' 10");
  problem.buffers[2].fixed = 20;
  EXPECT_TRUE((*shortfall(problem, 30, holes))->certain);
}

// Live bytes at a moment, buffer by buffer, for programs whose only aliases are in place.
std::int64_t naive_live(const Lifetimes& lives, const std::vector<std::int64_t>& sizes,
                        std::int64_t moment) {
  std::vector<std::int64_t> bytes(sizes.size(), 0);
  std::vector<bool> live(sizes.size(), false);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::size_t root = i;
    while (lives.buffers[root].alias) root = lives.buffers[root].alias->of;
    bytes[root] = std::max(bytes[root], sizes[i]);
    // A shared memory is live from its first birth to its last death; in-place chains leave no
    // gaps.
    live[root] =
        live[root] || (lives.buffers[i].lower <= moment && moment < lives.buffers[i].upper);
  }
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) sum += live[i] ? bytes[i] : 0;
  return sum;
}

std::vector<std::int64_t> with_scratch(const Program& program, std::vector<std::int64_t> sizes) {
  sizes.resize(program.values.size());
  for (const Op& op : program.ops) {
    for (const Scratch& scratch : op.scratch) sizes.push_back((scratch.bytes + 3) / 4 * 4);
  }
  return sizes;
}

Result<std::optional<Shortfall>> shortfall_of(const Program& program,
                                              const std::vector<std::int64_t>& sizes,
                                              std::int64_t capacity) {
  TESSERA_TRY(const Lifetimes lives, lifetimes(program, sizes));
  Problem problem{lives.buffers};
  for (std::size_t i = 0; i < sizes.size(); ++i) problem.buffers[i].size = sizes[i];
  return shortfall(problem, capacity, {});
}

FitsInside inside(const std::vector<std::int64_t>& sizes) {
  return [sizes](std::size_t part, std::size_t whole, std::int64_t delta) {
    return sizes[part] == 0 || sizes[part] + delta <= sizes[whole];
  };
}

/// Checks that each advice, when followed, needs that much less at the moment.
void check_advice(const Program& program, const std::vector<std::int64_t>& values,
                  std::int64_t capacity, std::vector<Advice>* out = nullptr) {
  const std::vector<std::int64_t> sizes = with_scratch(program, values);
  const auto found = *shortfall_of(program, sizes, capacity);
  ASSERT_TRUE(found);
  const std::vector<Advice> list = advise(program, inside(sizes), sizes, *found, 4);
  for (const Advice& advice : list) {
    const Program changed = followed(program, advice, 4);
    const std::vector<std::int64_t> changed_sizes = with_scratch(changed, values);
    const Lifetimes before = *lifetimes(program, sizes);
    const Lifetimes after = *lifetimes(changed, changed_sizes);
    EXPECT_EQ(
        naive_live(before, sizes, found->moment) - naive_live(after, changed_sizes, found->moment),
        advice.saves_bytes)
        << advice.text;
    EXPECT_EQ(advice.enough, naive_live(after, changed_sizes, found->moment) <= capacity)
        << advice.text;
  }
  if (out != nullptr) *out = list;
}

Program matmul() {  // h = x·w by panels, streamed in two buffers; y = relu(h)
  Program program;
  program.values = {{"x", Kind::kInput}, {"w", Kind::kParameter}, {"h"}, {"y"}};
  program.values[3].output = true;
  program.ops = {
      {"matmul",
       {0, 1},
       {2},
       {{"a panel", 4096, {}, 64}, {"b panel", 2048, {}, 64}, {"queue", 1024, {}, 0, 2}}},
      {"relu", {2}, {3}}};
  return program;
}

TEST(Advice, BlocksKSoThatItFits) {
  std::vector<Advice> list;
  check_advice(matmul(), {1024, 1024, 1024, 1024}, 8192, &list);
  ASSERT_GE(list.size(), 2u);
  // 3072 + 4096 + 2048 + 1024 = 10240, 2048 too many; 96 bytes per step: 42 steps save 2112.
  const auto panel = std::find_if(list.begin(), list.end(), [](const Advice& advice) {
    return advice.remedy == Remedy::kSmallerPanel;
  });
  ASSERT_NE(panel, list.end());
  EXPECT_EQ(panel->panel, 42);
  EXPECT_EQ(panel->saves_bytes, 2112);
  EXPECT_TRUE(panel->enough);
  EXPECT_EQ(panel->sentence(),
            "block K: panels of 42 steps instead of 64 in 'matmul' (2112 bytes less)");
  const auto queue = std::find_if(list.begin(), list.end(), [](const Advice& advice) {
    return advice.remedy == Remedy::kSmallerBuffers;
  });
  ASSERT_NE(queue, list.end());
  EXPECT_EQ(queue->saves_bytes, 512);  // one buffer only: smaller ones cannot save 2048 of 1024
  EXPECT_FALSE(queue->enough);
}

TEST(Advice, ShrinksDoubleBuffers) {
  std::vector<Advice> list;
  check_advice(matmul(), {1024, 1024, 1024, 1024}, 10240 - 100, &list);
  const auto queue = std::find_if(list.begin(), list.end(), [](const Advice& advice) {
    return advice.remedy == Remedy::kSmallerBuffers;
  });
  ASSERT_NE(queue, list.end());
  EXPECT_EQ(queue->buffers, 2);
  EXPECT_EQ(queue->bytes, 460);
  EXPECT_TRUE(queue->enough);
}

TEST(Advice, ComputesInPlaceWhatMayBe) {
  Program program = matmul();
  program.ops[0].scratch.clear();
  std::vector<Advice> list;
  check_advice(program, {100, 100, 5000, 5000}, 6000, &list);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].remedy, Remedy::kInPlace);
  EXPECT_EQ(list[0].sentence(),
            "in place: 'y' in the memory of 'h', which 'relu' reads last (5000 bytes less)");
  EXPECT_TRUE(list[0].enough);
  program.values[2].output = true;  // then h does not die
  check_advice(program, {100, 100, 5000, 5000}, 6000, &list);
  EXPECT_TRUE(list.empty());
}

TEST(Advice, IsTrueForRandomPrograms) {
  std::size_t given = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::Dice dice(seed);
    Program program;
    std::vector<std::int64_t> sizes;
    program.values = {{"x", Kind::kInput}, {"w", Kind::kParameter}};
    for (int k = 0; k < 6; ++k) {
      Op op;
      op.name = "f";
      for (int i = 0; i < 2; ++i) {
        op.inputs.push_back(
            static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(program.values.size()))));
      }
      op.outputs = {program.values.size()};
      program.values.push_back({"v", Kind::kComputed, dice.chance(20)});
      if (dice.chance(40)) {
        op.scratch.push_back({"p", dice.between(0, 500), {}, dice.between(0, 20)});
      }
      if (dice.chance(40)) {
        op.scratch.push_back({"q", dice.between(0, 500), {}, 0, dice.between(1, 3)});
      }
      program.ops.push_back(op);
    }
    for (std::size_t v = 0; v < program.values.size(); ++v) sizes.push_back(4 * dice.below(100));
    const std::vector<std::int64_t> all = with_scratch(program, sizes);
    const auto most = *shortfall_of(program, all, 0);
    if (!most) continue;
    std::vector<Advice> list;
    check_advice(program, sizes, most->needed - 1 - dice.below(most->needed), &list);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    given += list.size();
  }
  EXPECT_GT(given, 200u);
}

}  // namespace
}  // namespace tessera::memory
