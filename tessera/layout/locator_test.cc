// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/locator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

// Law: divide(n) = n div width, at every edge of the 63-bit range.
TEST(FastDivide, IsExact) {
  std::vector<std::int64_t> widths = {1, 2, 3, 5, 7, 10, 18, 32, 641, 65537, 6700417};
  for (int bit = 2; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    widths.insert(widths.end(), {power - 1, power, power + 1});
  }
  widths.insert(widths.end(), {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, INT64_MAX / 3});
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    widths.push_back(static_cast<std::int64_t>(random() >> (1 + random() % 62)) | 1);
  }
  for (const std::int64_t width : widths) {
    const FastDivide divide(width);
    const auto check = [&](std::int64_t n) {
      ASSERT_EQ(divide.divide(n), n / width) << n << " / " << width;
    };
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, INT64_MAX, INT64_MAX - 1})
      check(n);
    // Multiples of the width, and their neighbours, are where a rounded reciprocal fails.
    for (int i = 0; i < 20; ++i) {
      const std::int64_t q = static_cast<std::int64_t>(random() >> 1) / width;
      const std::int64_t multiple = q * width;
      check(multiple);
      if (multiple > 0) check(multiple - 1);
      if (multiple < INT64_MAX) check(multiple + 1);
      check(static_cast<std::int64_t>(random() >> 1));
    }
    check(INT64_MAX / width * width);
    if (INT64_MAX / width * width > 0) check(INT64_MAX / width * width - 1);
  }
}

TEST(Locator, TheLaw) {
  const std::vector<Form> cases = {
      tiled_53x63(),
      form({}, {}, {}, {}, 4),
      form({5, 7}, {3}, {fold({x(0, 7), x(1)}, {on(0, 13, 3), mem(4, 4, 4), mem(1, 4, 1)})}),
      form({5, 7}, {}, {fold({x(0, -7), x(1, -1)}, {mem(10, 4, 3), mem(1, 10, 12)}, 34)}),
      form({8}, {}, {fold(x(0), {mem(8, 1, 8), mem(2, 4, 1), mem(1, 2, 4)})}),
      form({4, 4}, {4, 4},
           {fold(x(0), {on(0, 1, 4)}), fold({x(0), x(1)}, {nowhere(4, 2), on(1, 1, 4)})}),
  };
  for (const Form& f : cases) EXPECT_EQ(about(f, law_locator(f)), "");
}

// Partial batches: every length up to a few batches, in a shuffled order.
TEST(Locator, ManyAtOnce) {
  const Form f = form({97, 89}, {7},
                      {fold({x(0, 89), x(1)}, {on(0, 1300, 7), mem(48, 28, 50), mem(1, 48, 1)})});
  const Locator locator(*canonical(f));
  std::vector<std::int64_t> indices;
  std::vector<Position> expected;
  for (std::int64_t i = 0; i < 5000; ++i) {
    const Index index = f.shape.delinear(i * 4793 % f.shape.elements());
    indices.insert(indices.end(), index.begin(), index.end());
    const NaivePosition position = naive_evaluate(f, index);
    expected.push_back({f.mesh.linear(position.first), position.slot});
  }
  for (std::size_t n = 0; n <= 5000; n += n < 700 ? 1 : 431) {
    std::vector<Position> positions(n);
    locator.at_many(std::span(indices).first(2 * n), positions);
    ASSERT_TRUE(std::equal(positions.begin(), positions.end(), expected.begin())) << n;
  }
}

TEST(Locator, HugeIndices) {
  const std::int64_t n = INT64_MAX / 4;
  const Form f =
      form({n}, {}, {fold(x(0), {mem(1000003, n / 1000003 + 1, 1000003), mem(1, 1000003, 1)})});
  const Locator locator(*canonical(f));
  for (const std::int64_t index : {std::int64_t{0}, std::int64_t{1000003}, n - 1}) {
    EXPECT_EQ(locator.at(&index), (Position{0, index}));
  }
}

}  // namespace
}  // namespace tessera::test
