// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

const std::string kMetalOnThreeByTwo =
    "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
    "memref<1x1x!tt.tile<32x32, f32>, #tt.memory_space<l1>>>>";

TEST(Convert, PrintsTheSameTensorInAnotherNotation) {
  const Answer text = run({"convert", kRowMajor, "--to", "morello"});
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.out, "tensor<4x6xf32, morello.row_major()>\n");
  const Answer json = run({"convert", kColumnMajor, "--to", "morello", "--json"});
  EXPECT_EQ(json.status, 0);
  EXPECT_EQ(json.json(), parsed(R"({"text": "tensor<4x6xf32, morello.col_major()>"})"));
}

TEST(Convert, ItsOwnNotationIsTheTextSpelledCanonically) {
  EXPECT_EQ(run({"convert", "tensor< 4x6xf32 , strided<[ 6,1 ]> >", "--to", "strided"}).out,
            kRowMajor + "\n");
}

TEST(Convert, ARefusalIsTheAnswerNoWithEveryReason) {
  // 3 shards of ceil(53/3) = 18 rows, each in one tile of 32 rows: space for 96.
  const Answer text = run({"convert", kMetalOnThreeByTwo, "--to", "morello"});
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.out, "");
  EXPECT_TRUE(text.err.starts_with("error[not_supported]: ")) << text.err;
  EXPECT_EQ(facts_in(text.err), "0 53 96") << text.err;            // dim 0 is padded
  EXPECT_NE(text.err.find("3x2"), std::string::npos) << text.err;  // and there are several places
  const Answer json = run({"convert", kMetalOnThreeByTwo, "--to", "morello", "--json"});
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(json.error_code(), "not_supported");
}

TEST(Convert, PropertiesThatMoveNoElementAreOmittedAndListed) {
  const std::string in_l1 =
      "tensor<4x6xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), zero, <1x1>, "
      "memref<4x6xf32, #tt.memory_space<l1>>>>";
  const Answer text = run({"convert", in_l1, "--to", "strided"});
  EXPECT_EQ(text.status, 0);
  ASSERT_EQ(text.lines().size(), 3U) << text.out;
  EXPECT_EQ(text.lines()[0], "tensor<4x6xf32, strided<[6, 1]>>");
  const Json json = run({"convert", in_l1, "--to", "strided", "--json"}).json();
  EXPECT_EQ(json["text"], "tensor<4x6xf32, strided<[6, 1]>>");
  ASSERT_EQ(json["lost"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto lost = json["lost"][i].get<std::string>();
    EXPECT_NE(text.lines()[i + 1].find(lost), std::string::npos) << text.out;
  }
  EXPECT_TRUE(json["lost"][1].get<std::string>().ends_with(" l1"));
  // Native can express all of it.
  EXPECT_FALSE(run({"convert", in_l1, "--to", "native", "--json"}).json().contains("lost"));
}

TEST(Convert, TilesOfPlainElementsAreTheirElements) {
  const auto in_tiles = [](std::string_view storage) {
    return cat(
        "tensor<64x64xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, "
        "memref<2x2x!tt.tile<32x32, ",
        storage, ">>>>");
  };
  const Json plain = run({"convert", in_tiles("f32"), "--to", "xla", "--json"}).json();
  EXPECT_EQ(plain["text"], "tensor<64x64xf32, xla{1,0:T(32,32)}>");
  ASSERT_EQ(plain["lost"].size(), 1U);
  EXPECT_TRUE(plain["lost"][0].get<std::string>().ends_with(" 32x32"));
  // In a block float the elements of a tile share exponents: no element is independent of the
  // others.
  const Answer refused = run({"convert", in_tiles("bfp_bf8"), "--to", "xla", "--json"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.json()["error"]["reasons"],
            parsed(R"([{"reason": "tiles", "facts": {"rows": 32, "cols": 32}}])"));
}

TEST(Convert, BadInputIsStatusTwo) {
  EXPECT_EQ(run({"convert", kRowMajor}).status, 2);
  const Answer unknown = run({"convert", kRowMajor, "--to", "stridd", "--json"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.error_code(), "unknown_notation");
  EXPECT_EQ(run({"convert", "tensor<4x6xf32, strided<[6]>>", "--to", "native"}).status, 2);
}

TEST(Convert, BatchAnswersLineByLine) {
  const Answer answer =
      run({"convert", "--batch"}, cat("{\"tensor\": \"", kRowMajor, "\", \"to\": \"native\"}\n",
                                      "{\"tensor\": \"", kRowMajor, "\", \"to\": \"nativ\"}\n"));
  EXPECT_EQ(answer.status, 0);
  ASSERT_EQ(answer.lines().size(), 2U);
  EXPECT_EQ(
      parsed(answer.lines()[0]),
      parsed(R"({"text": "tensor<4x6xf32, native<{d0} / (1 -> mem*6), {d1} / (1 -> mem)>>"})"));
  EXPECT_EQ(parsed(answer.lines()[1])["error"]["code"], "unknown_notation");
}

}  // namespace
}  // namespace tessera::tools
