// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/transforms.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tessera/notation/tensor.h"

namespace tessera::ops {
namespace {

using Parts = std::vector<TransformPart>;

moves::MoveModel model_of(std::string_view name) {
  const Result<const Machine*> machine = find_machine(name);
  EXPECT_TRUE(machine) << name;
  return *moves::MoveModel::make(**machine);
}

moves::Stored stored(std::string_view text, std::string_view space) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor) << text << ": " << tensor.error().message;
  return {tensor->placement, std::string(space), target::Spread::kWhole};
}

constexpr std::string_view kRows =
    "tensor<64x64xbf16, native<mesh=[1, 1], {d0} / (1 -> mem*64), {d1} / (1 -> mem)>>";
constexpr std::string_view kTiles =
    "tensor<64x64xbf16, native<mesh=[1, 1], {d0} / (32 -> mem*2048, 1 -> mem*32), "
    "{d1} / (32 -> mem*1024, 1 -> mem), atom=tile(32x32, bf16)>>";
constexpr std::string_view kTilesOfF32 =
    "tensor<64x64xf32, native<mesh=[1, 1], {d0} / (32 -> mem*2048, 1 -> mem*32), "
    "{d1} / (32 -> mem*1024, 1 -> mem), atom=tile(32x32, f32)>>";

TEST(Transforms, TilizeUntilizeAndCastHavePrices) {
  const moves::MoveModel model = model_of("wormhole");
  EXPECT_EQ(family_of(model.machine()), MachineFamily::kTtnn);
  const moves::Stored rows = stored(kRows, "l1");
  const moves::Stored tiles = stored(kTiles, "l1");

  const Result<Transform> tilize = transform_between(model, rows, tiles);
  ASSERT_TRUE(tilize) << tilize.error().message;
  EXPECT_EQ(tilize->parts, Parts{TransformPart::kTilize});
  ASSERT_TRUE(tilize->move.seconds);
  EXPECT_GT(*tilize->move.seconds, 0);
  // The time is that of the move, whatever it is called.
  EXPECT_EQ(tilize->move.seconds, model.price(rows, tiles)->seconds);

  const Result<Transform> untilize = transform_between(model, tiles, rows);
  ASSERT_TRUE(untilize);
  EXPECT_EQ(untilize->parts, Parts{TransformPart::kUntilize});

  const Result<Transform> cast = transform_between(model, tiles, stored(kTilesOfF32, "l1"));
  ASSERT_TRUE(cast) << cast.error().message;
  EXPECT_EQ(cast->parts, Parts{TransformPart::kCast});
  ASSERT_TRUE(cast->move.seconds);
  EXPECT_GT(*cast->move.seconds, 0);

  const Result<Transform> both = transform_between(model, rows, stored(kTilesOfF32, "l1"));
  ASSERT_TRUE(both);
  EXPECT_EQ(both->parts, (Parts{TransformPart::kCast, TransformPart::kTilize}));

  const Result<Transform> nothing = transform_between(model, tiles, tiles);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->parts.empty());
  EXPECT_EQ(nothing->move.seconds, 0.0);

  const Result<Transform> away = transform_between(model, tiles, stored(kTiles, "dram"));
  ASSERT_TRUE(away) << away.error().message;
  EXPECT_EQ(away->parts, Parts{TransformPart::kExchange});
}

TEST(Transforms, RestickifyIsDenseToDense) {
  const moves::MoveModel model = model_of("spyre");
  EXPECT_EQ(family_of(model.machine()), MachineFamily::kSpyre);
  const moves::Stored columns = stored("tensor<512x256xf16, spyre.default()>", "lx");
  const moves::Stored rows = stored("tensor<512x256xf16, spyre.default(dim_order=[1, 0])>", "lx");
  const moves::Stored sparse = stored("tensor<512x256xf16, spyre.default(sparse=true)>", "lx");
  const Result<Transform> dense = transform_between(model, columns, rows);
  ASSERT_TRUE(dense) << dense.error().message;
  EXPECT_EQ(dense->parts, Parts{TransformPart::kRestickify});
  EXPECT_TRUE(dense->allowed.legal);
  EXPECT_TRUE(dense->move.seconds);
  const Result<Transform> gather = transform_between(model, sparse, columns);
  ASSERT_TRUE(gather) << gather.error().message;
  EXPECT_FALSE(gather->allowed.legal);
  EXPECT_EQ(gather->allowed.rule, "restickify");
}

TEST(Transforms, RefusesOtherShapes) {
  const moves::MoveModel model = model_of("wormhole");
  const moves::Stored other = stored("tensor<64xbf16, strided<[1]>>", "l1");
  EXPECT_EQ(transform_between(model, stored(kRows, "l1"), other).error().code,
            ErrorCode::kShapeMismatch);
  EXPECT_EQ(family_of(model_of("wse2").machine()), MachineFamily::kWafer);
}

}  // namespace
}  // namespace tessera::ops
