// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/sub_meshes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/graph/builder.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/execute.h"
#include "tessera/testing/run/run_law.h"

namespace tessera::run {
namespace {

/// Boxes of places that were given out since it began again have no place in common.
TEST(SubMeshes, AreApartUntilTheMeshIsFull) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    test::Dice dice(seed * 37 + 5);
    const Shape mesh = *Shape::make({6 + dice.below(20), 6 + dice.below(20)});
    SubMeshes rows(mesh, 6 + dice.below(20));
    std::vector<Box> given;
    for (int n = 0; n < 30; ++n) {
      const std::vector<std::int64_t> extents = {1 + dice.below(6), 1 + dice.below(6)};
      const std::vector<std::int64_t> first = rows.place(*Shape::make(extents));
      if (first == std::vector<std::int64_t>{0, 0}) given.clear();
      const Box box{first, {first[0] + extents[0], first[1] + extents[1]}};
      EXPECT_LE(box.to[0], mesh[0]);
      EXPECT_LE(box.to[1], mesh[1]);
      for (const Box& other : given) EXPECT_FALSE(meet(box, other)) << seed;
      given.push_back(box);
    }
  }
}

TEST(SubMeshes, BeginWhereTheHeaderSays) {
  SubMeshes rows(*Shape::make({20, 8}), 8);
  const auto place = [&](std::int64_t r, std::int64_t c) {
    return rows.place(*Shape::make({r, c}));
  };
  EXPECT_EQ(place(2, 3), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(place(4, 4), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(place(1, 3), (std::vector<std::int64_t>{4, 0}));
}

/// Twelve products with weights of 4 KB each, which do not fit beside one another on the places of
/// one grid.
TEST(SubMeshes, HoldWeightsThatDoNotFitTogether) {
  graph::GraphBuilder builder("chain");
  graph::ValueId x = *builder.input("x", {8, 32});
  std::map<std::string, test::NaiveTensor> inputs;
  const auto give = [&](const std::string& name, std::vector<std::int64_t> shape, int step) {
    test::NaiveTensor tensor{{*Shape::make(std::move(shape)), DType::kF32}, {}};
    for (std::int64_t i = 0; i < tensor.type.shape.elements(); ++i) {
      tensor.elements.push_back((static_cast<long double>(i * step % 13) - 6) / 32);
    }
    inputs[name] = std::move(tensor);
  };
  give("x", {8, 32}, 5);
  for (int layer = 0; layer < 12; ++layer) {
    const std::string name = "w" + std::to_string(layer);
    const graph::ValueId w = *builder.input(name, {32, 32});
    give(name, {32, 32}, layer + 2);
    x = *builder.add("matmul", {x, w}, {}, "y" + std::to_string(layer));
  }
  (void)builder.output(x);
  const graph::Graph graph = std::move(builder).finish();
  const Machine machine = test::small_machine({12, 12}, 4096);
  const Result<Execution> made = compile_with_defaults(graph, machine, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_LE(made->spaces[0].peak_bytes, 4096);
  EXPECT_LE(made->spaces[0].lower_bound, made->spaces[0].peak_bytes);
  std::size_t apart = 0;
  for (const Buffer& a : made->buffers) {
    for (const Buffer& b : made->buffers) {
      if (&a == &b || a.from >= b.to || b.from >= a.to) continue;
      const bool share_bytes = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      if (!share_bytes) continue;
      EXPECT_FALSE(meet(a.places, b.places)) << a.name << " and " << b.name;
      ++apart;
    }
  }
  EXPECT_GT(apart, 0U);
  std::map<std::string, HostTensor> given;
  for (const auto& [name, tensor] : inputs) given[name] = test::host_tensor(tensor);
  ThreadPool pool(2);
  const auto device = device_for(*made, /*checked=*/true);
  ASSERT_TRUE(device) << device.error().message;
  const Result<RunResult> result = execute(*made, **device, given, pool);
  ASSERT_TRUE(result) << result.error().message;
  const auto expected = test::naive_evaluate(graph, inputs);
  ASSERT_TRUE(expected);
  EXPECT_EQ(test::apart(test::naive_of(result->outputs[0]), (*expected)[0],
                        test::tolerance_of(DType::kF32)),
            "");
}

/// A place that has too much is named, with what it has; other places do not count.
TEST(SubMeshes, APlaceWithTooMuchIsNamed) {
  graph::GraphBuilder builder("sum");
  const graph::ValueId a = *builder.input("a", {64});
  const graph::ValueId b = *builder.input("b", {64});
  (void)builder.output(*builder.add("add", {a, b}, {}, "y"));
  const graph::Graph graph = std::move(builder).finish();
  const Machine machine = test::small_machine({4, 4}, 512);
  const auto on = [&](std::int64_t row, std::int64_t col) {
    const Layout flat = *Layout::row_major(*Shape::make({64}), DType::kF32);
    LayoutSpec spec = flat.spec();
    spec.form.mesh = *Shape::make({4, 4});
    spec.form.fills = {Fill::fixed(0, row), Fill::fixed(1, col)};
    return *Layout::make(std::move(spec));
  };
  // 256 bytes each: y is made beside a, where b is brought.
  const auto made = compile(graph, machine, {on(1, 2), on(3, 3), on(1, 2)});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kDoesNotFit);
  EXPECT_NE(made.error().message.find("place [1, 2]"), std::string::npos) << made.error().message;
  EXPECT_TRUE(compile(graph, test::small_machine({4, 4}, 768), {on(1, 2), on(3, 3), on(1, 2)}));
}

}  // namespace
}  // namespace tessera::run
