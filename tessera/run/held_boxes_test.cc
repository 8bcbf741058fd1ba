// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/held_boxes.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "tessera/base/text.h"
#include "tessera/notation/tensor.h"
#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/process.h"

namespace tessera::run {
namespace {

using test::Dice;

/// Every element of every place with its slot, by the definition.
using Held = std::map<std::int64_t, std::map<Index, std::int64_t>>;

Held held_by_definition(const Layout& layout) {
  Held held;
  const Shape& shape = layout.shape();
  for (std::int64_t e = 0; e < shape.elements(); ++e) {
    const Index x = shape.delinear(e);
    const Location at = *layout.locate(x);
    for (const Place& place : at.places) held[layout.mesh().linear(place)][x] = at.slot;
  }
  return held;
}

std::string mistake(const Layout& layout) {
  const Held expected = held_by_definition(layout);
  const HeldBoxes with_slots(layout);
  const HeldBoxes without(layout, HeldBoxes::Slots::kLeftOut);
  const Shape& shape = layout.shape();
  for (std::int64_t number = 0; number < layout.mesh().elements(); ++number) {
    const Place place = layout.mesh().delinear(number);
    std::map<Index, std::int64_t> of_place;
    if (const auto known = expected.find(number); known != expected.end()) of_place = known->second;
    for (const HeldBoxes* const held : {&with_slots, &without}) {
      const auto boxes = held->at(place);
      if (!boxes) return cat("place ", number, ": ", boxes.error().message);
      std::map<Index, std::int64_t> found;
      for (const LocalBox& box : *boxes) {
        for (std::int64_t e = 0; e < shape.elements(); ++e) {
          const Index x = shape.delinear(e);
          std::int64_t slot = box.first;
          bool is_inside = true;
          for (std::size_t d = 0; d < x.size(); ++d) {
            is_inside = is_inside && box.box.from[d] <= x[d] && x[d] < box.box.to[d];
            slot += (x[d] - box.box.from[d]) * box.steps[d];
          }
          if (!is_inside) continue;
          if (!found.emplace(x, slot).second) return cat("place ", number, " has boxes that meet");
        }
      }
      auto wanted = of_place;
      if (held == &without) {
        for (auto& [x, slot] : wanted) slot = 0;
      }
      if (found != wanted) return cat("place ", number, " holds something else");
    }
  }
  return "";
}

TEST(HeldBoxes, AreThoseOfTheDefinitionForRandomLayouts) {
  int tried = 0;
  const std::uint64_t seeds = test::kSanitized ? 100 : 1000;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Dice dice(seed * 13 + 7);
    const std::optional<Layout> layout = test::random_layout(dice, {});
    if (!layout || layout->shape().elements() * layout->mesh().elements() > 20000) continue;
    EXPECT_EQ(mistake(*layout), "") << "seed " << seed;
    ++tried;
  }
  EXPECT_GT(tried, test::kSanitized ? 20 : 200);
}

TEST(HeldBoxes, AreThoseOfTheDefinitionForGrids) {
  for (const char* const text : {
           "tensor<6x8xf32, pyflame.Grid(2, 2)>",
           "tensor<7x11xf32, pyflame.Grid(3, 4, origin=(1, 2))>",
           "tensor<13x9xf32, pyflame.BlockCyclic(3, 4, 2, 3)>",
           "tensor<5x7xi32, pyflame.Grid(3, 4, dim_to_pe=[1, -1], partial=[0:sum])>",
           "tensor<5x7xf32, pyflame.Grid(3, 4, dim_to_pe=[1, -1])>",
           "tensor<9xf32, pyflame.RowPartition(4)>",
           "tensor<4x6xf32, strided<[1, 4]>>",
       }) {
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << text;
    EXPECT_EQ(mistake(*tensor->placement.layout()), "") << text;
  }
}

TEST(HeldBoxes, AreOneBoxWhereSlotsAllow) {
  const Result<Tensor> tensor = parse_tensor("tensor<6x8xf32, pyflame.Grid(2, 2)>");
  const HeldBoxes held(*tensor->placement.layout());
  const auto boxes = *held.at({1, 0});
  ASSERT_EQ(boxes.size(), 1U);
  EXPECT_EQ(boxes[0].box.from, (Index{3, 0}));
  EXPECT_EQ(boxes[0].box.to, (Index{6, 4}));
  EXPECT_EQ(boxes[0].first, 0);
  EXPECT_EQ(boxes[0].steps, (std::vector<std::int64_t>{4, 1}));
}

}  // namespace
}  // namespace tessera::run
