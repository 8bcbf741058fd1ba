// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/cerebras.h"

#include <gtest/gtest.h>

#include "tessera/testing/figures.h"

namespace tessera::target {
namespace {

TEST(Cerebras, RowsAreYAndColumnsAreX) {
  const Shape wafer = *Shape::make({994, 750});  // 994 rows, 750 columns: not square
  EXPECT_EQ(*to_sdk(wafer, {993, 7}), (SdkPoint{7, 993}));
  EXPECT_EQ(*from_sdk(wafer, {749, 0}), (Place{0, 749}));
  // Swapped coordinates lie outside the wafer instead of naming another PE.
  EXPECT_EQ(to_sdk(wafer, {7, 993}).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(test::figures(from_sdk(wafer, {993, 7}).error().message), "993 7 750 994");
  EXPECT_FALSE(from_sdk(wafer, {-1, 0}).ok());
  EXPECT_FALSE(to_sdk(wafer, {1}).ok());
  EXPECT_EQ(to_sdk(*Shape::make({32}), {1}).error().code, ErrorCode::kMeshMismatch);
}

TEST(Cerebras, ThereAndBackForEveryPe) {
  const Shape mesh = *Shape::make({5, 3});
  std::int64_t streamed = 0;  // the SDK's ROW_MAJOR order of a rectangle: (y·w + x)
  for (std::int64_t y = 0; y < 5; ++y) {
    for (std::int64_t x = 0; x < 3; ++x) {
      const Place place = *from_sdk(mesh, {x, y});
      EXPECT_EQ(*to_sdk(mesh, place), (SdkPoint{x, y}));
      EXPECT_EQ(mesh.linear(place), streamed++);
    }
  }
}

}  // namespace
}  // namespace tessera::target
