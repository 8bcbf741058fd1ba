// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tessera/base/text.h"
#include "tessera/layout/regions.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/same_places.h"
#include "tessera/testing/notation/random_texts.h"
#include "tools/terminal/text.h"
#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

using Numbers = std::vector<std::int64_t>;

std::string comma(const Numbers& list) {
  std::string text;
  for (const std::int64_t n : list) text += cat(text.empty() ? "" : ",", n);
  return text;
}

Answer locate(std::vector<std::string> args) {
  args.insert(args.begin(), "locate");
  args.emplace_back("--json");
  return run(args);
}

TEST(LocateWindow, HasThePlacesAndSlotsOfItsElements) {
  // Rows 17 and 18 and columns 31 and 32 are on both sides of the cuts at 18 and 32: four places.
  EXPECT_EQ(locate({kTiled, "--from", "17,31", "--counts", "2,2"}).json(),
            parsed(R"({"places": [0, 1, 2, 3], "slots": [575, 544, 31, 0]})"));
  EXPECT_EQ(locate({kTiled, "--from", "0,0", "--counts", "2,2", "--steps", "36,32"}).json(),
            parsed(R"({"places": [0, 1, 4, 5], "slots": [0, 0, 0, 0]})"));
  EXPECT_EQ(locate({kRowMajor, "--from", "0,0", "--counts", "0,3"}).json(),
            parsed(R"({"places": [], "slots": []})"));
}

TEST(LocateWindow, HasWhatItsSlotsHold) {
  EXPECT_EQ(locate({kTiled, "--place", "2,1", "--slot", "30", "--count", "3"}).json(),
            parsed(R"({"contents": [[36, 62], "grid", [37, 32]]})"));
  EXPECT_EQ(
      locate({kTiled, "--place", "0,0", "--slot", "0", "--count", "2", "--step", "576"}).json(),
      parsed(R"({"contents": [[0, 0], "tile"]})"));
  EXPECT_EQ(locate({"tensor<2x2xf32, strided<[0, 1]>>", "--slot", "0", "--count", "2"}).json(),
            parsed(R"({"contents": [[[0, 0], [1, 0]], [[0, 1], [1, 1]]]})"));
}

TEST(LocateWindow, RefusesWhatIsOutside) {
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--from", "0,0", "--counts", "5,1"},
           {"--from", "0", "--counts", "1"},
           {"--from", "0,0", "--counts", "1,1", "--steps", "0,1"},
           {"--from", "-1,0", "--counts", "1,1"},
           {"--slot", "0", "--count", "25"},
           {"--slot", "0", "--count", "2", "--step", "0"},
           {"--slot", "0", "--count", "3", "--step", "9223372036854775807"}}) {
    std::vector<std::string> args = {kRowMajor};
    args.insert(args.end(), flags.begin(), flags.end());
    EXPECT_EQ(locate(args).error_code(), "out_of_range") << flags[1];
  }
  EXPECT_EQ(locate({"tensor<1000x1000xf32, strided<[1000, 1]>>", "--from", "0,0", "--counts",
                    "1000,1000"})
                .error_code(),
            "too_large");
  for (const char* flag : {"--from", "--counts", "--steps", "--count", "--step"}) {
    EXPECT_EQ(locate({kRowMajor, flag, "1"}).error_code(), "usage") << flag;
  }
}

TEST(LocateWindow, ClassesAreAllPlaces) {
  // Full; the last column has 31; the last row 17; both.
  const Json json = locate({kTiled, "--classes"}).json();
  ASSERT_EQ(json["classes"].size(), 4U);
  std::multiset<std::int64_t> elements;
  for (const Json& one : json["classes"]) elements.insert(one["elements"].get<std::int64_t>());
  EXPECT_EQ(elements, (std::multiset<std::int64_t>{527, 544, 558, 576}));
  EXPECT_EQ(locate({"tensor<2x2xf32, strided<[0, 1]>>", "--classes"}).error_code(),
            "not_supported");
}

/// The laws of the header, on random layouts of every notation: windows agree with --index and
/// --slots, and each place is in one class, with as many elements as its slots hold.
TEST(LocateWindow, AgreesWithQuestionsOneByOne) {
  int windows = 0;
  int classes = 0;
  for (const Notation& notation : notations()) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      test::Dice dice(seed);
      const std::string text = test::random_text(notation.name, dice);
      const Result<Tensor> tensor = parse_tensor(text);
      ASSERT_TRUE(tensor.ok()) << text;
      const Placement& placement = tensor->placement;
      const PlaceNames names = PlaceNames::of(*tensor);
      if (placement.shape().empty()) continue;
      const Json all = locate({text, "--all"}).json();
      const Json window = locate({text, "--from", comma(Index(placement.shape().rank(), 0)),
                                  "--counts", comma(placement.shape().extents())})
                              .json();
      ASSERT_TRUE(window.contains("slots")) << text;
      const Shape& mesh = placement.mesh();
      for (std::size_t k = 0; k < all["elements"].size(); ++k) {
        const Json& one = all["elements"][k];
        EXPECT_EQ(one["slot"], window["slots"][k]) << text;
        bool held = false;
        for (const Json& place : one["places"]) {
          if (!place.is_array()) continue;
          Place name;
          for (const Json& n : place) name.push_back(n.get<std::int64_t>());
          const std::int64_t number = names.are_places() ? mesh.linear(name) : name[0];
          held = held || window["places"][k].get<std::int64_t>() == number;
        }
        EXPECT_TRUE(held) << text << " element " << k;
        ++windows;
      }
      if (placement.layout() == nullptr || placement.slots() == 0) continue;
      std::map<Place, std::int64_t> held;
      const Json slots = locate({text, "--slots"}).json();
      for (const Json& slot : slots["slots"]) {
        Place place;
        for (const Json& n : slot["place"]) place.push_back(n.get<std::int64_t>());
        held[place] += slot.contains("index") ? 1 : 0;
      }
      std::size_t seen = 0;
      const Json found = locate({text, "--classes"}).json();
      for (const Json& one : found["classes"]) {
        for (const Json& set : one["sets"]) {
          PlaceSet places;
          for (const Json& n : set["first"]) places.first.push_back(n.get<std::int64_t>());
          for (const Json& loop : set["loops"]) {
            places.loops.push_back({static_cast<int>(loop["axis"].get<std::int64_t>()),
                                    loop["count"].get<std::int64_t>(),
                                    loop["stride"].get<std::int64_t>()});
          }
          for (const Place& place : places.places()) {
            EXPECT_EQ(held.at(place), one["elements"].get<std::int64_t>()) << text;
            ++seen;
          }
        }
      }
      EXPECT_EQ(seen, held.size()) << text;
      ++classes;
    }
  }
  EXPECT_GT(windows, 3000);
  EXPECT_GT(classes, 50);
}

}  // namespace
}  // namespace tessera::tools
