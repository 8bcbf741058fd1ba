// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/layouts_for.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/ops/supply.h"

namespace tessera::ops {
namespace {

using Integers = std::vector<std::int64_t>;

/// Elements from `start` on of a tensor of `extent`, `count` of them, divided over `places` places
/// of axis 0 of a 4x4 mesh.
struct Slice {
  std::int64_t extent = 0;
  std::int64_t start = 0;
  std::int64_t count = 0;
  std::int64_t places = 1;

  graph::TensorType type() const { return {*Shape::make({extent}), DType::kF32}; }
  Loops loops() const {
    const graph::TensorType input = type();
    const graph::Attributes attributes = {
        {"starts", Integers{start}}, {"ends", Integers{start + count}}, {"axes", Integers{0}}};
    const std::vector<const graph::TensorType*> inputs = {&input};
    const graph::Call call(*graph::Op::find("slice"), inputs, attributes, 1);
    return *loops_of(call, *graph::infer(call));
  }
  WorkMap work(std::int64_t rows, std::int64_t cols) const {
    Form form;
    form.shape = *Shape::make({count});
    form.mesh = *Shape::make({rows, cols});
    const std::int64_t width = (count + places - 1) / places;
    form.folds = {{{Term{0, 1}}, 0, {{width, places, Target::mesh(0), 1, Cause::kGrid}}}};
    if (width > 1)
      form.folds[0].cuts.push_back({1, width, Target::nothing(), 1, Cause::kAlignment});
    if (cols > 1) form.fills = {Fill::fixed(1, 0)};
    return *WorkMap::make(loops(), form);
  }
};

/// Element `start + f` lies on the place that reads it, no element lies elsewhere, and none twice.
void expect_dealt(const Slice& slice) {
  const Loops loops = slice.loops();
  const Access& access = *loops.inputs[0];
  const WorkMap work = slice.work(4, 4);
  const Result<Layout> layout = layout_for_input(loops, access, slice.type(), work);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_TRUE(supplies(loops, access, layout->form(), work)->complete);
  EXPECT_EQ(layout->form().replicas(), 1);
  const std::int64_t width = (slice.count + slice.places - 1) / slice.places;
  for (std::int64_t x = 0; x < slice.extent; ++x) {
    const Place place = layout->locate({x})->places[0];
    EXPECT_LT(place[0], slice.places) << x;
    EXPECT_EQ(place[1], 0);
    const std::int64_t read = x - slice.start;
    if (read >= 0 && read < slice.count) {
      EXPECT_EQ(place[0], read / width) << x;
    }
  }
  // The same on the smallest mesh with the places of the work.
  const Result<Layout> small =
      layout_for_input(loops, access, slice.type(), slice.work(slice.places, 1));
  ASSERT_TRUE(small) << small.error().message;
  for (std::int64_t x = 0; x < slice.extent; ++x) {
    EXPECT_EQ(layout->locate({x})->places[0][0], small->locate({x})->places[0][0]) << x;
    EXPECT_EQ(layout->locate({x})->slot, small->locate({x})->slot) << x;
  }
}

/// Three parts of one tensor, as of queries, keys and values: each place has its share of all.
TEST(LayoutForInput, DealsOutADimOfWhichAPartIsRead) {
  for (const std::int64_t start : {0, 8, 16}) expect_dealt({24, start, 8, 4});
}

TEST(LayoutForInput, DealsOutPartsThatBeginAnywhere) {
  for (std::int64_t start = 0; start <= 11; ++start) {
    for (const std::int64_t places : {2, 3, 4}) expect_dealt({19, start, 8, places});
  }
}

}  // namespace
}  // namespace tessera::ops
