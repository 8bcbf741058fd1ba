// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/testing/generate.h"
#include "tessera/testing/notation/positions.h"
#include "tessera/testing/notation/random_texts.h"
#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

const std::string kTypo = "tensor<53x63xf32, strided<[36, 1]>>";  // 36 for 63

/// [0, 36] and [1, 0] are both in slot 36.
void expect_shared(const Json& shared) {
  ASSERT_TRUE(shared.is_object());
  EXPECT_EQ(dump(shared["indices"]), "[[0,36],[1,0]]");
  EXPECT_EQ(dump(shared["place"]), "[]");
  EXPECT_EQ(shared["slot"].get<std::int64_t>(), 36);
}

TEST(SharedSlot, EveryVerbHasItInJson) {
  const Json shown = run({"show", kTypo, "--json"}).json();
  expect_shared(shown["shared_slot"]);
  EXPECT_EQ(shown["warnings"][0]["code"].get<std::string>(), "shared_slot");
  expect_shared(run({"locate", kTypo, "--index", "1,0", "--json"}).json()["shared_slot"]);
  expect_shared(run({"locate", kTypo, "--slot", "36", "--json"}).json()["shared_slot"]);
  expect_shared(run({"locate", kTypo, "--all", "--json"}).json()["shared_slot"]);
  expect_shared(run({"locate", kTypo, "--slots", "--json"}).json()["shared_slot"]);
  expect_shared(run({"convert", kTypo, "--to", "native", "--json"}).json()["shared_slot"]);
  const std::string whole = "tensor<53x63xf32, strided<[63, 1]>>";
  expect_shared(run({"relayout", kTypo, whole, "--json"}).json()["shared_slot"]);
}

TEST(SharedSlot, TheWarningIsTheFirstLineOfText) {
  EXPECT_EQ(run({"show", kTypo}).out.rfind("warning[shared_slot]", 0), 0U);
  EXPECT_EQ(run({"locate", kTypo, "--index", "1,0"}).out.rfind("warning[shared_slot]", 0), 0U);
  EXPECT_EQ(run({"locate", kTypo, "--all"}).out.rfind("warning[shared_slot]", 0), 0U);
  EXPECT_EQ(run({"convert", kTypo, "--to", "native"}).err.rfind("warning[shared_slot]", 0), 0U);
}

TEST(SharedSlot, ABroadcastAndALayoutHaveNone) {
  for (const char* text :
       {"tensor<53x63xf32, strided<[0, 1]>>", "tensor<53x63xf32, strided<[63, 1]>>",
        "tensor<4x6xf32, native.view<{d0} / (2 -> mem*6, 1 -> none), {d1} / (1 -> mem)>>",
        "tensor<0x63xf32, strided<[1, 1]>>", "tensor<4x6xf32, pyflame.Grid(2, 2)>"}) {
    const Json shown = run({"show", text, "--json"}).json();
    EXPECT_TRUE(shown["shared_slot"].is_null()) << text;
    EXPECT_FALSE(run({"locate", text, "--all", "--json"}).json().contains("shared_slot")) << text;
  }
}

/// Padding is what the list of all elements leaves, and two elements that share a slot are in it.
TEST(SharedSlot, AgreesWithTheListOfElementsInEveryNotation) {
  int shared_slots = 0;
  for (const char* notation : {"native", "strided", "pyflame", "spyre", "metal", "ttnn", "morello",
                               "xla", "onednn", "cute", "gspmd", "dtensor"}) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      test::Dice dice(seed);
      const std::string text = test::random_text(notation, dice);
      const Result<test::Positions> positions = test::positions_of(*parse_tensor(text));
      ASSERT_TRUE(positions.ok()) << text;
      const Json json = run({"show", text, "--json"}).json();
      const auto used = static_cast<std::int64_t>(positions->held.size());
      ASSERT_EQ(json["padding_elements"].get<std::int64_t>(),
                positions->slots * positions->places() - used)
          << text;
      std::int64_t causes = 0;
      for (const auto& [cause, count] : json["padding"].members()) {
        causes += count.get<std::int64_t>();
      }
      EXPECT_EQ(causes, json["padding_elements"].get<std::int64_t>()) << text;
      const Json& shared = json["shared_slot"];
      if (shared.is_null()) continue;
      ++shared_slots;
      bool together = false;
      for (const auto& [position, elements] : positions->held) {
        if (position.second != shared["slot"].get<std::int64_t>()) continue;
        const auto holds = [&](const Json& index) {
          return std::any_of(elements.begin(), elements.end(), [&](std::size_t element) {
            return dump(Json(positions->indices[element])) == dump(index);
          });
        };
        together = together || (holds(shared["indices"][0]) && holds(shared["indices"][1]));
      }
      EXPECT_TRUE(together) << text;
    }
  }
  EXPECT_GT(shared_slots, 5);
}

}  // namespace
}  // namespace tessera::tools
