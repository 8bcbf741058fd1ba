// SPDX-License-Identifier: Apache-2.0
// Texts of CuTe, GSPMD and DTensor with one mistake each: the result is a tensor that prints and
// raises, or a typed error that points into the text.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/notation/terms.h"
#include "tessera/testing/notation/placement_checks.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kTexts[] = {
    "tensor<4x8xf32, cute<(4,(2,4)):(8,(1,2))>>",
    "tensor<9xf32, cute<((3,3)):((1,5))>>",
    "tensor<4x6xf32, cute<(_4,_6)>>",
    "tensor<8x6xf32, gspmd{devices=[4,2]<=[8]}>",
    "tensor<5x6xf32, gspmd{devices=[2,2,2]<=[2,4]T(1,0) last_tile_dim_replicate}>",
    "tensor<5xf32, gspmd{devices=[2,2,2]<=[8] last_tile_dims={replicated, unreduced}}>",
    "tensor<4x4xf32, gspmd{devices=[2,2]3,2,1,0}>",
    "tensor<4xf32, gspmd{replicated num_partitions=8}>",
    "tensor<4xf32, gspmd{maximal device=3 num_partitions=8}>",
    "tensor<5x7xf32, dtensor<mesh=[2,4], [Shard(0), Replicate()]>>",
    "tensor<5x7xf32, dtensor<mesh=[2,2], [Shard(1), Shard(1)]>>",
    "tensor<10xf32, dtensor<mesh=[3,2], [_StridedShard(0, split_factor=2), Shard(0)]>>",
    "tensor<4xf32, dtensor<mesh=[2,2], [Partial(sum), S(dim=-1)]>>",
};

std::set<std::string> codes;

std::string answer_mistake(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) {
    const Error& error = tensor.error();
    codes.insert(std::string(code_name(error.code)));
    const auto size = static_cast<std::int64_t>(text.size());
    const bool inside = error.span && 0 <= error.span->from && error.span->from <= error.span->to &&
                        error.span->to <= size;
    if (!inside || error.message.empty()) return cat(text, "\n  ", error.message);
    return {};
  }
  const std::string printed = print_tensor(*tensor);
  const Result<Tensor> again = parse_tensor(printed);
  if (!again || terms_of(*again) != terms_of(*tensor)) return cat(text, "\n  prints ", printed);
  const std::string wrong = raised_mistake(tensor->placement, **find_notation(tensor->notation));
  return wrong.empty() ? wrong : cat(text, "\n  ", wrong);
}

TEST(Lists, EverySlipHasAnAnswer) {
  constexpr std::string_view kBytes = "0(]<}=,:-T_";
  constexpr std::string_view kNumbers[] = {"0",
                                           "-1",
                                           "3",
                                           "7",
                                           "16",
                                           "4096",
                                           "1000003",
                                           "4611686018427387904",
                                           "9223372036854775807",
                                           "9223372036854775808"};
  int failures = 0;
  const auto check = [&](const std::string& text) {
    const std::string wrong = answer_mistake(text);
    EXPECT_EQ(wrong, "");
    failures += wrong.empty() ? 0 : 1;
  };
  for (const std::string_view whole : kTexts) {
    const std::string text(whole);
    ASSERT_EQ(answer_mistake(text), "");
    for (std::size_t at = 7; at < text.size() && failures < 3; ++at) {
      check(text.substr(0, at));
      check(text.substr(0, at) + text.substr(at + 1));
      for (const char byte : kBytes) check(text.substr(0, at) + byte + text.substr(at + 1));
      const bool digit = text[at] >= '0' && text[at] <= '9';
      const bool first = digit && (text[at - 1] < '0' || text[at - 1] > '9');
      std::size_t end = at;
      while (first && text[end] >= '0' && text[end] <= '9') ++end;
      for (const std::string_view number : kNumbers) {
        if (first) check(cat(text.substr(0, at), number, text.substr(end)));
      }
    }
  }
  for (const std::string_view code :
       {"syntax", "contradiction", "out_of_range", "bad_number", "overflow", "unknown_name",
        "bad_shape", "not_supported", "unknown_notation"}) {
    EXPECT_TRUE(codes.contains(std::string(code))) << code;
  }
}

}  // namespace
}  // namespace tessera::notation
