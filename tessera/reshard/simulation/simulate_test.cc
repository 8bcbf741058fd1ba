// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/simulation/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/relayout/jobs/combine.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/simulation/dispatch.h"
#include "tessera/reshard/simulation/traffic.h"
#include "tessera/reshard/transfers.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_laws.h"
#include "tessera/testing/reshard/reshard_runs.h"

namespace tessera::reshard {
namespace {

using test::Dice;
using test::Home;
using test::home_of;
using test::NaiveReshard;
using test::reshard_law_holds;
using test::ReshardPair;
using test::ReshardSource;

Reshard reshard_of(const std::string& a, const std::string& b) {
  const Result<Tensor> from = parse_tensor(a);
  const Result<Tensor> to = parse_tensor(b);
  EXPECT_TRUE(from.ok() && to.ok()) << a << " " << b;
  const Result<PhysicalMesh> physical = PhysicalMesh::around(from->placement, to->placement);
  EXPECT_TRUE(physical.ok());
  Result<Reshard> made = Reshard::make(from->placement, to->placement, *physical);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

/// Memory of all places, bit by bit: slot s of a place begins at bit s·bits of its bytes.
class Bits {
 public:
  Bits(const Placement& placement, std::vector<std::byte>& memory)
      : memory_(memory),
        bits_(*dtype_bits(placement.atom().storage)),
        shard_(placement.shard_bytes()) {}
  std::uint64_t get(std::int64_t place, std::int64_t slot) const {
    std::uint64_t value = 0;
    for (std::int64_t i = 0; i < bits_; ++i) {
      const std::int64_t at = place * shard_ * 8 + slot * bits_ + i;
      const auto byte = std::to_integer<std::uint64_t>(memory_[static_cast<std::size_t>(at / 8)]);
      value |= (byte >> (at % 8) & 1) << i;
    }
    return value;
  }
  void set(std::int64_t place, std::int64_t slot, std::uint64_t value) {
    for (std::int64_t i = 0; i < bits_; ++i) {
      const std::int64_t at = place * shard_ * 8 + slot * bits_ + i;
      std::byte& byte = memory_[static_cast<std::size_t>(at / 8)];
      const auto mask = static_cast<std::byte>(1 << (at % 8));
      byte = (value >> i & 1) != 0 ? byte | mask : byte & ~mask;
    }
  }

 private:
  std::vector<std::byte>& memory_;
  std::int64_t bits_;
  std::int64_t shard_;
};

std::uint64_t small_number(DType dtype, std::uint64_t random) {
  if (dtype == DType::kF32) return std::bit_cast<std::uint32_t>(static_cast<float>(random % 100));
  if (dtype == DType::kF64) return std::bit_cast<std::uint64_t>(static_cast<double>(random % 100));
  return random;
}

/// Every element has a value, the same on all copies; shares have their own values. Elements of a
/// view may share slots, also where each has copies, so positions that hold one value are joined
/// first.
std::vector<std::byte> source_memory(const Reshard& reshard) {
  const Placement& from = reshard.from();
  std::vector<std::byte> memory(static_cast<std::size_t>(from.allocated_bytes()));
  Bits bits(from, memory);
  using Position = std::pair<std::int64_t, std::int64_t>;
  std::map<Position, Position> same_as;
  const auto root = [&](Position position) {
    while (same_as.emplace(position, position).first->second != position)
      position = same_as[position];
    return position;
  };
  Index index(from.shape().rank(), 0);
  do {
    const Home home = home_of(from, index);
    for (const std::vector<std::int64_t>& share : home.shares) {
      for (const std::int64_t place : share) {
        same_as[root({place, home.slot})] = root({share[0], home.slot});
      }
    }
  } while (from.shape().next(index));
  Dice dice(7);
  std::map<Position, std::uint64_t> values;
  for (const auto& [position, next] : same_as) {
    const auto random = static_cast<std::uint64_t>(dice.below(INT64_MAX));
    const std::uint64_t value =
        values.emplace(root(position), small_number(from.atom().storage, random)).first->second;
    bits.set(position.first, position.second, value);
  }
  return memory;
}

/// B's memory by one loop over the elements: what each share of it must hold.
std::optional<std::vector<std::byte>> expected_memory(const Reshard& reshard,
                                                      std::vector<std::byte>& source) {
  std::vector<std::byte> memory(static_cast<std::size_t>(reshard.to().allocated_bytes()));
  const Bits from(reshard.from(), source);
  Bits to(reshard.to(), memory);
  const DType dtype = reshard.to().atom().storage;
  Index index(reshard.to().shape().rank(), 0);
  do {
    const ReshardPart* part = nullptr;
    for (const ReshardPart& each : reshard.parts()) {
      if (each.box.contains(index)) part = &each;
    }
    const Home a = home_of(reshard.from(), index);
    const Home b = home_of(reshard.to(), index);
    for (std::size_t share = 0; share < b.shares.size(); ++share) {
      std::uint64_t value = 0;
      if (part->shares.alike) {
        value = from.get(a.shares[share][0], a.slot);
      } else if (share == 0) {
        value = from.get(a.shares[0][0], a.slot);
        for (std::size_t i = 1; i < a.shares.size(); ++i) {
          const Result<relayout::Combiner> combiner =
              relayout::combiner_of(part->shares.reduction, dtype);
          if (!combiner.ok()) return std::nullopt;
          value = combiner->combine(value, from.get(a.shares[i][0], a.slot));
        }
      } else {
        for (const Fill& fill : part->b.fills) {
          if (fill.kind != Fill::Kind::kPartial || fill.count <= 1) continue;
          const Result<relayout::Combiner> combiner = relayout::combiner_of(fill.reduction, dtype);
          if (!combiner.ok()) return std::nullopt;
          value = combiner->neutral;
        }
      }
      for (const std::int64_t place : b.shares[share]) to.set(place, b.slot, value);
    }
  } while (reshard.to().shape().next(index));
  return memory;
}

/// Checks that what arrives is what B must hold, in the ideal mode or with static colours.
std::string data_mistake(const Reshard& reshard, fabric::FabricMode mode) {
  std::vector<std::byte> source = source_memory(reshard);
  const std::optional<std::vector<std::byte>> expected = expected_memory(reshard, source);
  fabric::SimulateOptions options;
  options.mode = mode;
  const Result<ReshardSimulation> run = simulate_reshard(reshard, source, options);
  if (!expected) {
    return !run.ok() && run.error().code == ErrorCode::kNotSupported ? "" : "combines anything";
  }
  if (!run.ok()) return run.error().message;
  return run->memory == *expected ? "" : "B's memory differs";
}

TEST(Combine, ByHand) {
  const auto f32 = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
  const auto combined = [](Reduction reduction, DType dtype, std::uint64_t x, std::uint64_t y) {
    return relayout::combiner_of(reduction, dtype)->combine(x, y);
  };
  EXPECT_EQ(combined(Reduction::kSum, DType::kF32, f32(1.5F), f32(-4)), f32(-2.5F));
  EXPECT_EQ(combined(Reduction::kMax, DType::kF32, f32(-1), f32(-4)), f32(-1));
  EXPECT_EQ(combined(Reduction::kSum, DType::kI32, 0xFFFFFFFF, 2), 1u);
  EXPECT_EQ(combined(Reduction::kSum, DType::kI8, 200, 100), 44u);
  EXPECT_EQ(combined(Reduction::kMin, DType::kI8, 0xFF, 1), 0xFFu);
  EXPECT_EQ(combined(Reduction::kMin, DType::kU8, 0xFF, 1), 1u);
  EXPECT_EQ(combined(Reduction::kProduct, DType::kU16, 300, 300), 90000u % 65536);
  EXPECT_EQ(combined(Reduction::kOr, DType::kBool, 0, 1), 1u);
  for (const DType dtype : all_dtypes()) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kProduct, Reduction::kMin,
                                      Reduction::kMax, Reduction::kAnd, Reduction::kOr}) {
      const Result<relayout::Combiner> combiner = relayout::combiner_of(reduction, dtype);
      if (!combiner.ok()) {
        EXPECT_EQ(combiner.error().code, ErrorCode::kNotSupported);
        continue;
      }
      const std::uint64_t one = small_number(dtype, 1);
      EXPECT_EQ(combiner->combine(combiner->neutral, one), one) << dtype_name(dtype);
    }
  }
  EXPECT_FALSE(relayout::combiner_of(Reduction::kAnd, DType::kF32).ok());
  EXPECT_FALSE(relayout::combiner_of(Reduction::kSum, DType::kBF16).ok());
}

TEST(Simulate, DataArriveInEveryType) {
  for (const std::string type : {"f64", "f32", "bf16", "i8", "i4", "i2", "i1"}) {
    const auto text = [&](const std::string& layout) {
      return cat("tensor<9x10x", type, ", pyflame.", layout, ">");
    };
    for (const std::string b : {"Grid(2, 3)", "SinglePE()", "BlockCyclic(3, 2, 1, 3)",
                                "Grid(3, 2, replicate=[0], dim_to_pe=[-1, 1])",
                                "Grid(2, 2, replicate=[0, 1], dim_to_pe=[-1, -1])"}) {
      for (const fabric::FabricMode mode :
           {fabric::FabricMode::kIdeal, fabric::FabricMode::kStatic}) {
        EXPECT_EQ(data_mistake(reshard_of(text("Grid(3, 2)"), text(b)), mode), "") << type << b;
      }
    }
  }
}

TEST(Simulate, DataOfRandomPairsArrive) {
  const auto law = [](const ReshardPair& pair, const NaiveReshard& moves) -> std::string {
    const Result<Reshard> reshard = Reshard::make(pair.from, pair.to, pair.physical);
    if (!reshard.ok()) return reshard.error().message;
    const bool fits = pair.physical.fabric && pair.physical.fabric->wavelet_bits == 32 &&
                      !pair.from.shape().empty() && dtype_bits(pair.from.atom().storage);
    if (!fits) return "";
    // Dispatches are the naive multicasts.
    const Result<Dispatches> dispatches = dispatches_of(*reshard, {});
    if (!dispatches.ok()) return dispatches.error().message;
    std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, std::int64_t> found;
    for (const Dispatch& d : dispatches->list)
      found[{d.source, dispatches->sets[d.set]}] = d.elements;
    if (found != moves.multicasts) return "other multicasts than the naive ones";
    return data_mistake(*reshard, fabric::FabricMode::kIdeal);
  };
  reshard_law_holds(1500, ReshardSource::kForms, law);
  reshard_law_holds(300, ReshardSource::kTexts, law);
}

TEST(Simulate, RefusesWhatItCannotDo) {
  const auto code = [](const Reshard& reshard, std::size_t bytes,
                       fabric::SimulateOptions options = {}) {
    const Result<ReshardSimulation> run =
        simulate_reshard(reshard, std::vector<std::byte>(bytes), options);
    return run.ok() ? "" : std::string(code_name(run.error().code));
  };
  const Reshard small =
      reshard_of("tensor<4x4xf32, pyflame.Grid(2, 2)>", "tensor<4x4xf32, pyflame.SinglePE()>");
  EXPECT_EQ(code(small, 64), "");
  EXPECT_EQ(code(small, 63), "out_of_range");
  EXPECT_EQ(code(small, 64, {.max_hops = 3}), "too_large");
  const Reshard shares = reshard_of("tensor<4xbf16, pyflame.Grid(2, 1, partial=[0:sum])>",
                                    "tensor<4xbf16, pyflame.SinglePE()>");
  EXPECT_EQ(code(shares, 16), "not_supported");
  const Reshard large = reshard_of("tensor<65536x65536xi8, pyflame.Grid(64, 64)>",
                                   "tensor<65536x65536xi8, pyflame.Grid(32, 64)>");
  EXPECT_EQ(code(large, 0), "too_large");
}

TEST(Traffic, EveryWordOfEveryDispatchLeavesOnce) {
  const Reshard reshard =
      reshard_of("tensor<20x30xf16, pyflame.Grid(5, 3)>",
                 "tensor<20x30xf16, pyflame.Grid(2, 4, replicate=[0], dim_to_pe=[-1, 1])>");
  const Result<Dispatches> dispatches = dispatches_of(reshard, {});
  ASSERT_TRUE(dispatches.ok());
  for (const std::int64_t parts : {1, 3, 64}) {
    const Result<ReshardTraffic> made = traffic_of(reshard, *dispatches, {.parts = parts});
    ASSERT_TRUE(made.ok());
    std::map<std::uint32_t, std::int64_t> elements, words;
    for (std::size_t m = 0; m < made->traffic.messages.size(); ++m) {
      elements[made->dispatches[m]] += made->elements[m];
      words[made->dispatches[m]] += made->traffic.messages[m].words;
      EXPECT_LE(made->traffic.messages[m].not_before, made->busiest);
    }
    for (std::uint32_t d = 0; d < dispatches->list.size(); ++d) {
      EXPECT_EQ(elements[d], dispatches->list[d].elements);
      EXPECT_EQ(words[d], reshard.wavelets(dispatches->list[d].elements));
    }
    const Result<ReshardCost> cost = cost_of(reshard);
    ASSERT_TRUE(cost.ok());
    EXPECT_EQ(made->busiest,
              std::max(cost->fabric->max_link_wavelets, cost->fabric->max_ramp_wavelets));
  }
  EXPECT_EQ(traffic_of(reshard, 3).error().code, ErrorCode::kTooLarge);
}

/// Each half of a line of places sends to the other, so everything passes the link in the middle.
/// The routes have 5·10^9 links in total, and none of them is walked.
TEST(Traffic, LongWaysCostNoMoreThanShortOnes) {
  const Reshard turned =
      reshard_of("tensor<100000xf32, native<mesh=[100000], {d0} / (1 -> m0)>>",
                 "tensor<100000xf32, native<mesh=[100000], {-d0 + 99999} / (1 -> m0)>>");
  const Result<ReshardTraffic> made = traffic_of(turned, 1 << 20, {.parts = 1});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->traffic.messages.size(), 100000U);
  EXPECT_EQ(made->busiest, 50000);
}

TEST(Traffic, AMeshTooLargeToSimulateIsRefusedBeforeItIsListed) {
  const Reshard large =
      reshard_of("tensor<4xf32, native<mesh=[8192, 8192], {d0} / (1 -> m0), fixed(m1=0)>>",
                 "tensor<4xf32, native<mesh=[8192, 8192], {d0} / (1 -> m1), fixed(m0=0)>>");
  const Result<ReshardTraffic> made = traffic_of(large, 100);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(test::figures(made.error().message).find("67108864"), std::string::npos);
}

}  // namespace
}  // namespace tessera::reshard
