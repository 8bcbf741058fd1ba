// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tessera/notation/onednn/onednn.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

TEST(OnednnErrors, TextsThatAreNoTag) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, onednn.>",  //
            "                       ^", ErrorCode::kSyntax,
            "expected a format tag, found the end of the layout"},
           {"tensor<4x6xf32, onednn.ab extra>",  //
            "                          ^^^^^", ErrorCode::kSyntax,
            "expected the end of the layout, found 'extra'"},
           {"tensor<4x6xf32, onednn.abb>",  //
            "                         ^", ErrorCode::kSyntax, "dim 'b' is listed twice"},
           {"tensor<4x6xf32, onednn.ac>",  //
            "                       ^^", ErrorCode::kUnknownName,
            "the letters 'ac' are not a valid set of dims"},
           {"tensor<4x6xf32, onednn.nz>",  //
            "                       ^^", ErrorCode::kUnknownName,
            "the letters 'nz' are not a valid set of dims"},
           {"tensor<4x6xf32, onednn.hw>",  //
            "                       ^^", ErrorCode::kUnknownName,
            "the letters 'hw' are not a valid set of dims"},
           {"tensor<4x6xf32, onednn.aB16>",  //
            "                         ^^", ErrorCode::kSyntax,
            "a block of '16' without the letter of its dim"},
           {"tensor<4x6xf32, onednn.aB16b_>",  //
            "                            ^", ErrorCode::kSyntax, "expected a block, found '_'"},
           {"tensor<4x6xf32, onednn.aB16c>",  //
            "                           ^", ErrorCode::kUnknownName,
            "a block of 'c', which is not a dim"},
           {"tensor<4x6xf32, onednn.aB16B>",  //
            "                           ^", ErrorCode::kUnknownName,
            "a block of 'B', which is not a dim"},
           {"tensor<4x6xf32, onednn.any>",  //
            "                       ^^^", ErrorCode::kNotSupported,
            "'any' leaves the layout to oneDNN"},
           {"tensor<4x6xf32, onednn.undef>",  //
            "                       ^^^^^", ErrorCode::kNotSupported,
            "'undef' leaves the layout to oneDNN"}}) {
    expect_refused(refusal);
  }
}

TEST(OnednnErrors, TagsThatContradict) {
  for (const Refusal& refusal :
       std::vector<Refusal>{{"tensor<4x6xf32, onednn.abc>",  //
                             "                       ^^^", ErrorCode::kContradiction,
                             "a tag of 3 dims for a tensor of rank 2"},
                            {"tensor<4x6xf32, onednn.x>",  //
                             "                       ^", ErrorCode::kContradiction,
                             "a tag of 1 dim for a tensor of rank 2"},
                            {"tensor<4x6xf32, onednn.ab16b>",  //
                             "                        ^", ErrorCode::kContradiction,
                             "dim 'b' has blocks but is written in lower case"},
                            {"tensor<4x6xf32, onednn.AB16b>",  //
                             "                       ^", ErrorCode::kContradiction,
                             "dim 'A' is written in upper case but has no block"}}) {
    expect_refused(refusal);
  }
}

TEST(OnednnErrors, HelpsSayWhatWouldFit) {
  for (const auto& [text, help] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<4x6xf32, onednn.abc>", "row-major is onednn.ab"},
           {"tensor<f32, onednn.a>", "tags have 1 to 12 dims"},
           {"tensor<4x6xf32, onednn.ab16b>", "write 'B'"},
           {"tensor<4x6xf32, onednn.AB16b>", "write 'a', or add a block such as 16a"},
           {"tensor<4x6xf32, onednn.aB16c>", "the dims of this tag are ab, in lower case"},
           {"tensor<4x6xf32, onednn.any>", "give the tag that oneDNN chose"}}) {
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_FALSE(tensor.ok()) << text;
    EXPECT_EQ(tensor.error().help, help) << text;
  }
}

TEST(OnednnErrors, HostileNumbers) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, onednn.aB0b>",  //
            "                         ^", ErrorCode::kBadNumber, "a block size out of range"},
           {"tensor<4x6xf32, onednn.aB016b>",  //
            "                         ^^^", ErrorCode::kBadNumber, "a block size out of range"},
           {"tensor<4x6xf32, onednn.aB99999999999999999999b>",
            "                         ^^^^^^^^^^^^^^^^^^^^", ErrorCode::kBadNumber,
            "a block size out of range"},
           {"tensor<4x6xf32, onednn.aB4611686018427387904b4b>",
            "                       ^^^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "the product of a dim's blocks does not fit a signed 64-bit integer"},
           {"tensor<4xf32, onednn.abcdefghijklm>",  //
            "                                 ^", ErrorCode::kRankTooLarge, "more than 12 dims"},
           {"tensor<4xf32, onednn.A2a2a2a2a2a2a2a2a2a2a2a2a2a>",
            "                                              ^^", ErrorCode::kRankTooLarge,
            "more than 12 blocks"}}) {
    expect_refused(refusal);
  }
  std::string many = "tensor<4xf32, onednn.A";
  for (int i = 0; i < 1000000; ++i) many += "2a";
  const Result<Tensor> blocks = parse_tensor(many + ">");
  ASSERT_FALSE(blocks.ok());
  EXPECT_EQ(blocks.error().code, ErrorCode::kRankTooLarge);

  const std::string largest = "tensor<4xi8, onednn.A9223372036854775807a>";
  const Result<Tensor> tensor = parse_tensor(largest);
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), largest);
  EXPECT_EQ(tensor->layout().slots(), INT64_MAX);
  EXPECT_EQ(write(*raise_onednn(tensor->layout())), "onednn.A9223372036854775807a");
}

}  // namespace
}  // namespace tessera::notation
