// SPDX-License-Identifier: Apache-2.0
#include "bench/hard_instance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tessera/memory/solver/packing.h"
#include "tessera/memory/validate.h"

namespace tessera::memory {
namespace {

using bench::hard_instance;
using bench::HardInstance;
using bench::HardOptions;

/// The numbers by which the public instances were compared with these.
struct Facts {
  std::int64_t max_live = 0;
  std::size_t moments = 0;  // distinct births and deaths
  std::size_t most_alive = 0;
  std::size_t full = 0;  // moments at which every byte is used
  double used = 0;       // share of the rectangle
};

Facts facts_of(const HardInstance& instance) {
  std::set<std::int64_t> moments;
  for (const Buffer& buffer : instance.problem.buffers) {
    moments.insert({buffer.lower, buffer.upper});
  }
  Facts facts;
  facts.moments = moments.size();
  double area = 0;
  for (const Buffer& buffer : instance.problem.buffers) {
    area += static_cast<double>(buffer.size) * static_cast<double>(buffer.upper - buffer.lower);
  }
  for (const std::int64_t moment : moments) {
    std::int64_t live = 0;
    std::size_t alive = 0;
    for (const Buffer& buffer : instance.problem.buffers) {
      if (moment < buffer.lower || moment >= buffer.upper) continue;
      live += buffer.size;
      ++alive;
    }
    facts.max_live = std::max(facts.max_live, live);
    facts.most_alive = std::max(facts.most_alive, alive);
    facts.full += live == instance.capacity ? 1 : 0;
  }
  facts.used = area / static_cast<double>(instance.capacity) /
               static_cast<double>(*moments.rbegin() - *moments.begin());
  return facts;
}

void expect_laws(const HardOptions& options, const HardInstance& instance) {
  const std::vector<Finding> findings =
      validate(instance.problem, instance.offsets, instance.capacity);
  EXPECT_TRUE(findings.empty()) << findings.at(0).message;
  const Facts facts = facts_of(instance);
  if (options.full_percent > 0) {
    EXPECT_EQ(facts.max_live, instance.capacity);
  } else {
    EXPECT_LE(facts.max_live, instance.capacity * options.top_permille / 1000);
  }
  for (const Buffer& buffer : instance.problem.buffers) {
    EXPECT_EQ(buffer.size % options.grain, 0);
    EXPECT_GT(buffer.size, 0);
    EXPECT_LT(buffer.lower, buffer.upper);
  }
}

TEST(HardInstance, KeepsItsLaws) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    HardOptions options;
    options.seed = seed;
    options.buffers = static_cast<std::int64_t>(20 + seed * 7);
    options.layers = 1 + static_cast<std::int64_t>(seed % 9);
    options.pinwheel_percent = seed % 3 == 0 ? 30 : 0;
    options.even = seed % 5 == 0;
    options.full_percent = static_cast<std::int64_t>(seed % 4) * 30;
    options.top_permille = 940;
    options.waste_permille = static_cast<std::int64_t>(seed % 7) * 20;
    SCOPED_TRACE(seed);
    const HardInstance instance = hard_instance(options);
    EXPECT_EQ(instance.problem.buffers.size(), static_cast<std::size_t>(options.buffers));
    expect_laws(options, instance);
  }
}

TEST(HardInstance, WithoutWasteFillsTheWholeRectangle) {
  HardOptions options;
  options.full_percent = 100;
  options.waste_permille = 100;  // of which nothing can be removed
  const HardInstance instance = hard_instance(options);
  const Facts facts = facts_of(instance);
  EXPECT_DOUBLE_EQ(facts.used, 1);
  EXPECT_EQ(facts.full + 1, facts.moments);  // all but the end
}

TEST(HardInstance, IsLikeThePublicFamily) {
  // Distinct births and deaths, most live at one moment, share of the rectangle in use and maximum
  // live share of the capacity, of A, B, C, D, F and K of the public family. Each is one draw of
  // many, so the mean of twenty of ours has to be near.
  struct Like {
    double moments, most_alive, used, top;
  };
  const Like expected[] = {{72, 45, 0.947, 1},     {83, 41, 0.972, 1},  {100, 44, 0.974, 0.9912},
                           {103, 87, 0.887, 0.94}, {175, 16, 0.726, 1}, {243, 34, 0.944, 1}};
  constexpr int kDraws = 20;
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    Like mean{};
    for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
      const HardInstance instance = hard_instance(bench::hard_family(seed)[i].options);
      const Facts facts = facts_of(instance);
      mean.moments += static_cast<double>(facts.moments) / kDraws;
      mean.most_alive += static_cast<double>(facts.most_alive) / kDraws;
      mean.used += facts.used / kDraws;
      mean.top += static_cast<double>(facts.max_live) / static_cast<double>(1 << 20) / kDraws;
    }
    SCOPED_TRACE(bench::hard_family(1)[i].name);
    EXPECT_NEAR(mean.moments / expected[i].moments, 1, 0.3);
    EXPECT_NEAR(mean.most_alive / expected[i].most_alive, 1, 0.35);
    EXPECT_NEAR(mean.used, expected[i].used, 0.03);
    EXPECT_NEAR(mean.top, expected[i].top, 0.005);
  }
}

TEST(HardInstance, IsTheSameEverywhere) {
  // This sum is our own: other compilers, libraries and machines must reproduce it.
  std::uint64_t sum = 0;
  for (const HardOptions& options :
       {HardOptions{}, HardOptions{.pinwheel_percent = 20}, HardOptions{.even = true},
        HardOptions{.full_percent = 0, .top_permille = 950}}) {
    const HardInstance instance = hard_instance(options);
    for (std::size_t i = 0; i < instance.offsets.size(); ++i) {
      const Buffer& buffer = instance.problem.buffers[i];
      for (const std::int64_t number :
           {buffer.lower, buffer.upper, buffer.size, instance.offsets[i]}) {
        sum = (sum ^ static_cast<std::uint64_t>(number)) * 0x100000001B3U;
      }
    }
  }
  EXPECT_EQ(sum, 13559518527063608320U);
  EXPECT_NE(hard_instance({.seed = 1}).offsets, hard_instance({.seed = 2}).offsets);
}

TEST(HardInstance, IsNotHurtByOddOptions) {
  // A rectangle of 2 x 3 grains has at most six pieces.
  const HardInstance small =
      hard_instance({.buffers = 100, .capacity = 20, .span = 30, .grain = 10, .waste_permille = 0});
  EXPECT_EQ(small.problem.buffers.size(), 6U);
  EXPECT_TRUE(validate(small.problem, small.offsets, 20).empty());
  EXPECT_EQ(hard_instance({.buffers = -5}).problem.buffers.size(), 1U);
  const HardInstance one = hard_instance({.buffers = 3,
                                          .capacity = 0,
                                          .span = -7,
                                          .grain = 0,
                                          .layers = -1,
                                          .time_percent = 900,
                                          .waste_permille = 5000});
  EXPECT_EQ(one.problem.buffers.size(), 1U);
  EXPECT_TRUE(validate(one.problem, one.offsets, one.capacity).empty());
}

}  // namespace
}  // namespace tessera::memory
