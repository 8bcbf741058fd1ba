// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/random_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/models/models.h"

namespace tessera::graph {
namespace {

/// A product and a norm with parameters of one type, a parameter of integers, and one that has its
/// elements.
Graph small(DType dtype) {
  GraphBuilder builder;
  const ValueId x = *builder.input("x", {1, 64}, dtype);
  const ValueId w = *builder.parameter("w", {64, 256}, dtype);
  const ValueId scale = *builder.parameter("scale", {256}, dtype);
  const ValueId h = *builder.add("matmul", {x, w});
  EXPECT_TRUE(builder.output(*builder.add("rms_norm", {h, scale})));
  EXPECT_TRUE(builder.parameter("table", {4}, DType::kI64));
  EXPECT_TRUE(builder.constant("given", {4}, DType::kF32, Data::of_fill(std::string(4, '\0'))));
  return std::move(builder).finish();
}

TEST(RandomWeights, AreBoundedAndRepeat) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const Graph graph = small(dtype);
    const RandomWeights weights(graph, 1);
    EXPECT_EQ(weights.values(), (std::vector<ValueId>{1, 2}));
    EXPECT_EQ(weights.elements(), 64 * 256 + 256);
    EXPECT_EQ(weights.bytes(), weights.elements() * *element_bytes(dtype));
    const Result<Graph> made = with_random_weights(graph, 1);
    ASSERT_TRUE(made);
    EXPECT_TRUE(check(*made));
    EXPECT_EQ(*made, *with_random_weights(graph, 1));
    EXPECT_FALSE(*made == *with_random_weights(graph, 2));
    const auto elements = [&](std::size_t v) {
      const Value& value = made->values[v];
      return *reals_of(value.data, value.type.shape, dtype, 1 << 20);
    };
    // 64 terms: ±1/8. The mean of 16384 numbers of variance 1/192 is within 5 deviations of 0.
    double sum = 0;
    double squares = 0;
    for (const double number : elements(1)) {
      EXPECT_LE(std::fabs(number), 0.125) << dtype_name(dtype);
      sum += number;
      squares += number * number;
    }
    const double deviation = std::sqrt(16384.0 / 192);
    EXPECT_LE(std::fabs(sum), 5 * deviation) << dtype_name(dtype);
    EXPECT_NEAR(squares / 16384 * 192, 1, 0.05) << dtype_name(dtype);
    for (const double number : elements(2)) {
      EXPECT_GE(number, 0.5) << dtype_name(dtype);
      EXPECT_LE(number, 1.5) << dtype_name(dtype);
    }
    Graph rest = *made;
    rest.values[1].data = {};
    rest.values[2].data = {};
    EXPECT_EQ(rest, graph);
  }
}

/// The first numbers, computed a second time from the published generator, so that they stay the
/// same on every machine and in every version.
TEST(RandomWeights, AreThoseOfTheGenerator) {
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  };
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;
  const std::uint64_t seed = 5;
  // The hash of "w": FNV-1a, the offset basis combined with one byte.
  const std::uint64_t stream = (0xCBF29CE484222325U ^ std::uint64_t{'w'}) * 0x100000001B3U;
  const std::uint64_t state = mix(seed + kStep) ^ (stream * kStep);
  const Graph graph = *with_random_weights(small(DType::kF64), seed);
  const auto found =
      reals_of(graph.values[1].data, graph.values[1].type.shape, DType::kF64, 1 << 20);
  for (std::uint64_t i = 0; i < 8; ++i) {
    const auto bits = static_cast<double>(mix(state + (i + 1) * kStep) >> 40U);
    EXPECT_EQ((*found)[i], (bits / (1 << 23) - 1) / 8) << i;
  }
}

/// The graphs of a prompt and of a step of decoding differ in their values, but not in their
/// weights.
TEST(RandomWeights, AreThoseOfTheName) {
  const Graph prompt = *with_random_weights(
      *make_model(
          "llama",
          {.layers = 1, .sequence = 3, .past = 0, .hidden = 32, .heads = 4, .vocabulary = 8}),
      3);
  const Graph step = *with_random_weights(
      *make_model("llama", {.layers = 1, .past = 3, .hidden = 32, .heads = 4, .vocabulary = 8}), 3);
  int compared = 0;
  for (const Value& value : prompt.values) {
    if (value.kind != Kind::kParameter) continue;
    const auto same = std::ranges::find(step.values, value.name, &Value::name);
    ASSERT_NE(same, step.values.end()) << value.name;
    EXPECT_EQ(same->data, value.data) << value.name;
    ++compared;
  }
  EXPECT_EQ(compared, 12);
}

TEST(RandomWeights, AreBoundedInMemory) {
  const Graph llama = *make_model("llama", {.layers = 32});
  EXPECT_EQ(with_random_weights(llama, 1).error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace tessera::graph
