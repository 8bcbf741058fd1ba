// SPDX-License-Identifier: Apache-2.0
// Views whose strides entangle, huge extents, odd tiles, large meshes: every verb answers within
// the budget of a question, or says too_large. Steps are counted, not seconds.
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/testing/generate.h"
#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

using test::Dice;
using Numbers = std::vector<std::int64_t>;

template <typename List>
std::string joined(const List& list, std::string_view separator) {
  std::string text;
  for (const auto& item : list) text += cat(text.empty() ? "" : separator, item);
  return text;
}

std::int64_t any_extent(Dice& dice) {
  switch (dice.below(5)) {
    case 0:
      return dice.between(1, 9);
    case 1:
      return dice.between(1, 3000);
    case 2:
      return (std::int64_t{1} << dice.between(1, 24)) + dice.between(-1, 1);
    case 3:
      return dice.between(1000, 1100);
    default:
      return dice.chance(50) ? 99991 : 65537;
  }
}

std::string tensor(const Numbers& extents, const std::string& layout) {
  return cat("tensor<", joined(extents, "x"), "xf32, ", layout, ">");
}

std::string strided(Dice& dice) {
  Numbers extents;
  Numbers strides;
  const std::int64_t rank = dice.chance(5) ? 64 : dice.between(1, 6);
  const std::int64_t near = dice.between(900, 1100);
  const std::int64_t kind = dice.below(4);
  std::int64_t room = std::int64_t{1} << dice.between(16, 40);
  for (std::int64_t d = 0; d < rank; ++d) {
    extents.push_back(
        std::clamp<std::int64_t>(any_extent(dice), 1, std::max<std::int64_t>(room, 1)));
    room /= extents.back();
    strides.push_back(kind == 0   ? dice.below(50)
                      : kind == 1 ? any_extent(dice)
                                  : near + dice.between(-3, 3));
  }
  if (kind == 3) {  // row-major with one wrong stride
    strides.back() = 1;
    for (std::size_t d = strides.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * extents[d + 1];
    std::int64_t& wrong =
        strides[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(strides.size())))];
    wrong = std::max<std::int64_t>(0, wrong + dice.between(-5, 5));
  }
  return tensor(extents, cat("strided<[", joined(strides, ", "), "]>"));
}

std::string metal(Dice& dice) {
  const Numbers sizes = {7, 512, 750, 994, 1000, 4096};
  const auto size = [&] { return sizes[static_cast<std::size_t>(dice.below(6))]; };
  const std::int64_t a = size();
  const std::int64_t b = size();
  const std::int64_t c = dice.between(2, dice.chance(20) ? 993 : 40);
  const std::int64_t d = dice.between(2, 40);
  const auto up = [](std::int64_t n, std::int64_t by) { return (n + by - 1) / by; };
  std::string map;
  Numbers lines;
  switch (dice.below(4)) {
    case 0:
      map = cat("d0 floordiv ", c, ", d0 mod ", c, ", d1");
      lines = {up(a, c), std::min(a, c), b};
      break;
    case 1:
      map = cat("d0 mod ", c, ", d0 floordiv ", c, ", d1 mod ", d, ", d1 floordiv ", d);
      lines = {std::min(a, c), up(a, c), std::min(b, d), up(b, d)};
      break;
    case 2:
      map = cat("(d0 * ", b, " + d1) floordiv ", c, ", (d0 * ", b, " + d1) mod ", c);
      lines = {up(a * b, c), c};
      break;
    default:
      map = cat("d0 + d1, d0 mod ", c, ", d1");
      lines = {a + b - 1, std::min(a, c), b};
      break;
  }
  Numbers grid;
  Numbers shard;
  for (const std::int64_t line : lines) {
    grid.push_back(dice.chance(60) ? 1 : dice.between(2, 64));
    shard.push_back(up(line, grid.back()));
  }
  return tensor({a, b}, cat("#tt.metal_layout<(d0, d1) -> (", map, "), undef, <", joined(grid, "x"),
                            ">, memref<", joined(shard, "x"), "xf32, #tt.memory_space<l1>>>"));
}

std::string tiled(Dice& dice) {
  std::string tiles;
  for (std::int64_t t = dice.between(1, 5); t > 0; --t) {
    tiles += cat("(", dice.between(1, 130), ",", dice.between(1, 130), ")");
  }
  return tensor({any_extent(dice), any_extent(dice)}, cat("xla{1,0:T", tiles, "}"));
}

std::string cute(Dice& dice) {
  Numbers extents;
  Numbers strides;
  std::int64_t product = 1;
  for (std::int64_t k = dice.between(1, 8); k > 0; --k) {
    extents.push_back(dice.between(2, dice.chance(20) ? 1024 : 9));
    strides.push_back(dice.below(dice.chance(50) ? 10 : 5000));
    product *= extents.back();
  }
  return tensor({product, 64}, cat("cute<((", joined(extents, ","), "),64):((",
                                   joined(strides, ","), "),", dice.below(100), ")>"));
}

std::string on_a_mesh(Dice& dice) {
  const Numbers extents = {any_extent(dice), any_extent(dice)};
  const std::int64_t rows = dice.between(1, 994);
  const std::int64_t cols = dice.between(1, 750);
  switch (dice.below(4)) {
    case 0:
      return tensor(extents, cat("pyflame.Grid(", rows, ", ", cols, ")"));
    case 1:
      return tensor(extents, cat("pyflame.BlockCyclic(", rows, ", ", cols, ", ",
                                 dice.between(1, 99), ", ", dice.between(1, 99), ")"));
    case 2:
      return tensor(extents, cat("dtensor<mesh=[", dice.between(1, 40), ",", dice.between(1, 40),
                                 "], [Shard(0), Shard(0)]>"));
    default:
      return tensor(extents,
                    cat("gspmd{devices=[", rows, ",", cols, "]<=[", cols, ",", rows, "]T(1,0)}"));
  }
}

std::string native_view(Dice& dice) {
  const Numbers extents = {dice.between(1, 100000), dice.between(1, 3000)};
  std::string folds;
  for (int d = 0; d < 2; ++d) {
    std::string cuts;
    std::int64_t width = extents[static_cast<std::size_t>(d)];
    for (std::int64_t k = dice.below(4); k > 0 && width > 2; --k) {
      width = dice.between(2, width);
      cuts +=
          cat(width, dice.chance(25) ? " -> none, " : cat(" -> mem*", dice.between(1, 4096), ", "));
    }
    const std::string line =
        d == 0 && dice.chance(40) ? cat(dice.between(1, 40), "*d1 + d0") : cat("d", d);
    folds +=
        cat(d == 0 ? "" : ", ", "{", line, "} / (", cuts, "1 -> mem*", dice.between(1, 100), ")");
  }
  return tensor(extents, cat("native.view<", folds, ">"));
}

std::string hostile(Dice& dice) {
  switch (dice.below(7)) {
    case 0:
    case 1:
      return strided(dice);
    case 2:
      return metal(dice);
    case 3:
      return tiled(dice);
    case 4:
      return cute(dice);
    case 5:
      return on_a_mesh(dice);
    default:
      return native_view(dice);
  }
}

/// Asks with a budget, which no question may exceed by more than the step that ends it.
Answer ask(const std::vector<std::string>& args, std::int64_t budget) {
  const Work work(budget);
  const Answer answer = run(args);
  std::string shown;
  for (const std::string& arg : args) shown += cat(" '", arg, "'");
  EXPECT_LE(work.used(), budget + 1) << shown;
  EXPECT_TRUE(answer.status == 0 || answer.status == 1 || answer.status == 2) << shown;
  EXPECT_TRUE(parse_json(answer.out).has_value()) << shown << "\n" << answer.out.substr(0, 400);
  if (answer.status == 2) {
    EXPECT_NE(answer.error_code(), "") << shown;
  }
  return answer;
}

TEST(HostileQuestions, EveryVerbEndsWithinItsBudget) {
  constexpr std::int64_t kBudget = std::int64_t{1} << 18;
  int accepted = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Dice dice(seed);
    const std::string text = hostile(dice);
    const Answer shown = ask({"show", text, "--json"}, kBudget);
    if (shown.status == 2) {
      if (shown.error_code() == "too_large") ++refused;
      continue;
    }
    ++accepted;
    const std::string other = hostile(dice);
    ask({"locate", text, "--slots", "--json"}, kBudget);
    ask({"locate", text, "--place", "0,0", "--slot", "5", "--json"}, kBudget);
    for (const char* to : {"native", "strided", "dtensor", "xla", "cute"}) {
      ask({"convert", text, "--to", to, "--json"}, kBudget);
    }
    ask({"diff", text, other, "--json"}, kBudget);
    const Json shape = shown.json()["shape"];
    if (shape.size() != 2) continue;
    const Numbers extents = {shape[0].get<std::int64_t>(), shape[1].get<std::int64_t>()};
    const std::string cyclic = tensor(extents, "pyflame.BlockCyclic(31, 29, 7, 5)");
    ask({"diff", text, cyclic, "--json"}, kBudget);
    ask({"relayout", text, cyclic, "--dry-run", "--json"}, kBudget);
    ask({"reshard", text, cyclic, "--json"}, kBudget);
  }
  EXPECT_GT(accepted, 50);
  RecordProperty("refused", refused);
}

/// What people write gets a real answer, in few steps, however large it is.
TEST(HostileQuestions, OrdinaryViewsAreCountedInFewSteps) {
  struct Case {
    std::string text;
    std::int64_t padding;
    bool overlap;
  };
  // Padding of [8, 300]: the slots up to 8*17016 + 300*1013, less the sums of 2x + 75y, which are
  // 17017*1014 - (17017 - 75)*(1014 - 2).
  const Case cases[] = {
      {"tensor<8192x8192xf32, strided<[1, 1]>>", 0, true},
      {"tensor<4096x50000xf32, strided<[0, 1]>>", 0, false},
      {"tensor<256x512x1024xf32, strided<[3, 1, 6]>>", 0, true},
      {"tensor<1000000x400xf32, strided<[160, 1]>>", 0, true},
      {"tensor<2000x1000x3x3xf32, strided<[1002, 1, 1002, 1]>>", 0, true},
      {"tensor<17017x1014xf32, strided<[8, 300]>>", 440029 - 109934, true},
      {"tensor<1024x1024xf32, strided<[2048, 1]>>", std::int64_t{1023} * 1024, false},
      {"tensor<128x64x4096xf32, strided<[0, 0, 1]>>", 0, false},
      {"tensor<1048576x512xf32, cute<((1024,1024),512):((0,512),1)>>", 0, false},
  };
  for (const Case& one : cases) {
    const Answer answer = ask({"show", one.text, "--json"}, 1 << 20);
    ASSERT_EQ(answer.status, 0) << one.text;
    const Json json = answer.json();
    ASSERT_TRUE(json["padding_elements"].is_integer()) << one.text;
    EXPECT_EQ(json["padding_elements"].get<std::int64_t>(), one.padding) << one.text;
    EXPECT_EQ(!json["shared_slot"].is_null(), one.overlap) << one.text;
  }
}

/// floordiv and mod by one number place every element once; the padding has its causes.
TEST(HostileQuestions, ALineInTwoHalvesIsCounted) {
  const Answer answer =
      ask({"show",
           "tensor<994x750xf32, #tt.metal_layout<(d0, d1) -> (d0 floordiv 3, d0 mod 3, d1), undef, "
           "<1x1x1>, memref<332x3x750xf32, #tt.memory_space<l1>>>>",
           "--json"},
          kQuestionSteps);
  ASSERT_EQ(answer.status, 0);
  EXPECT_EQ(answer.json()["padding_elements"].get<std::int64_t>(), 2 * 750);
  EXPECT_FALSE(answer.json()["padding"].is_null());
}

TEST(HostileQuestions, LongTextsAreReadOnce) {
  constexpr int kTerms = 100000;
  std::string sum = "d0";
  std::string numbers = "1";
  for (int i = 0; i < kTerms; ++i) {
    sum += " + 0";
    numbers += ", 1";
  }
  ask({"show",
       cat("tensor<64x64xf32, #tt.metal_layout<(d0, d1) -> (", sum,
           ", d1), undef, <1x1>, memref<64x64xf32, #tt.memory_space<l1>>>>"),
       "--json"},
      1 << 16);
  ask({"show", cat("tensor<64x64xf32, strided<[", numbers, "]>>"), "--json"}, 1 << 16);
  ask({"show", cat("tensor<64x64xf32, strided<[64,", std::string(1 << 20, ' '), "1]>>"), "--json"},
      1 << 16);
}

}  // namespace
}  // namespace tessera::tools
