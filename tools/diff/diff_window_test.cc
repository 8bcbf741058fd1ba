// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/notation/notation.h"
#include "tessera/testing/notation/random_texts.h"
#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

std::string comma_list(const std::vector<std::int64_t>& list) {
  std::string text;
  for (const std::int64_t n : list) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

Answer window(const std::string& a, const std::string& b, const std::string& from,
              const std::string& counts) {
  return run({"diff", a, b, "--from", from, "--counts", counts, "--json"});
}

TEST(DiffWindow, SaysWhatBecomesOfEachElement) {
  // A row on [0, 0] and one on [1, 0] become a column on [0, 0] and one on [0, 1]: places 0, 2 and
  // 0, 1 of the 2x2 mesh that has them all. Only element [0, 0] is on the same one.
  const Answer answer = window("tensor<2x2xf32, pyflame.Grid(2, 1)>",
                               "tensor<2x2xf32, pyflame.Grid(1, 2)>", "0,0", "2,2");
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.json(), parsed(R"({"equal": false, "mesh": [2, 2],
      "changes": ["stays", "moves", "moves", "moves"],
      "from": [0, 0, 2, 2], "to": [0, 1, 0, 1]})"));
  EXPECT_EQ(window(kRowMajor, kColumnMajor, "0,0", "1,3").json()["changes"],
            parsed(R"(["stays", "reordered", "reordered"])"));
}

TEST(DiffWindow, CopiesMoveOnlyToPlacesWithoutThem) {
  const std::string one = "tensor<4xf32, dtensor<mesh=[2], [Shard(0)]>>";
  const std::string all = "tensor<4xf32, dtensor<mesh=[2], [Replicate()]>>";
  EXPECT_EQ(window(one, all, "0", "4").json()["changes"],
            parsed(R"(["moves", "moves", "moves", "moves"])"));
  EXPECT_EQ(window(all, one, "0", "4").json()["changes"],
            parsed(R"(["reordered", "reordered", "reordered", "reordered"])"));
}

TEST(DiffWindow, NeedsAWindowOfTheTensor) {
  EXPECT_EQ(window(kRowMajor, kColumnMajor, "0,0", "5,1").error_code(), "out_of_range");
  EXPECT_EQ(run({"diff", kRowMajor, kRowMajor, "--from", "0,0", "--json"}).error_code(), "usage");
  EXPECT_EQ(run({"diff", kRowMajor, kRowMajor, "--steps", "1,1", "--json"}).error_code(), "usage");
}

/// The law of the header: elements other than `stays` are those that diff counts.
TEST(DiffWindow, CountsWhatDiffCounts) {
  int pairs = 0;
  for (const Notation& notation : notations()) {
    std::vector<std::string> texts;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      test::Dice dice(seed);
      texts.push_back(test::random_text(notation.name, dice));
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      for (std::size_t j = i; j < texts.size(); j += 3) {
        const Result<Tensor> a = parse_tensor(texts[i]);
        const Result<Tensor> b = parse_tensor(texts[j]);
        ASSERT_TRUE(a.ok() && b.ok());
        const Shape& shape = a->placement.shape();
        if (!(shape == b->placement.shape()) || shape.empty()) continue;
        const Answer whole = run({"diff", texts[i], texts[j], "--json"});
        const Answer parts = window(texts[i], texts[j], comma_list(Index(shape.rank(), 0)),
                                    comma_list(shape.extents()));
        if (whole.status == 2) {
          EXPECT_EQ(parts.status, 2) << texts[i] << "\n" << texts[j];
          continue;
        }
        const Json counted = whole.json()["moved_elements"];
        if (!counted.is_integer() || parts.error_code() == "too_large") continue;
        std::int64_t changed = 0;
        const Json found = parts.json();
        for (const Json& change : found["changes"]) {
          changed += change.get<std::string>() == "stays" ? 0 : 1;
        }
        EXPECT_EQ(changed, counted.get<std::int64_t>()) << texts[i] << "\n" << texts[j];
        ++pairs;
      }
    }
  }
  EXPECT_GT(pairs, 200);
}

}  // namespace
}  // namespace tessera::tools
