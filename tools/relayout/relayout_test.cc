// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/testing/generate.h"
#include "tools/relayout/relayout_places.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

using test::Dice;

/// The memory of a placement: what is on each place, by coordinates.
using Memories = std::map<Place, std::vector<std::int64_t>>;
constexpr std::int64_t kUntouched = -1;
constexpr std::int64_t kFilled = -2;

Memories memories_of(const Layout& layout, std::int64_t value) {
  Memories memories;
  Place place(layout.mesh().rank(), 0);
  do {
    memories[place] = std::vector<std::int64_t>(static_cast<std::size_t>(layout.slots()), value);
  } while (layout.mesh().next(place));
  return memories;
}

/// Runs one nest of the JSON as documented: plain loops.
void run_loops(const Json& nest, const std::string& side,
               const std::function<void(const Index&)>& visit) {
  const auto extents = nest["extent"].get<std::vector<std::int64_t>>();
  ASSERT_EQ(nest[side + "_stride"].size(), extents.size());
  ASSERT_EQ(nest[side + "_place_step"].size(), extents.size());
  Index at(extents.size(), 0);
  while (true) {
    visit(at);
    std::size_t l = extents.size();
    while (l > 0 && ++at[l - 1] == extents[l - 1]) at[--l] = 0;
    if (l == 0) return;
  }
}

/// The cell of `memories` to which counters lead.
std::int64_t* cell(Memories& memories, const Json& nest, const std::string& side, const Index& at) {
  auto place = nest[side + "_place"].get<Place>();
  auto slot = nest[side + "_offset"].get<std::int64_t>();
  for (std::size_t l = 0; l < at.size(); ++l) {
    slot += at[l] * nest[side + "_stride"][l].get<std::int64_t>();
    const auto step = nest[side + "_place_step"][l].get<Place>();
    EXPECT_EQ(step.size(), place.size());
    for (std::size_t a = 0; a < place.size(); ++a) place[a] += at[l] * step[a];
  }
  const auto found = memories.find(place);
  if (found == memories.end() || slot < 0 ||
      slot >= static_cast<std::int64_t>(found->second.size())) {
    ADD_FAILURE() << "outside: place " << bracketed(place) << " slot " << slot;
    return nullptr;
  }
  return &found->second[static_cast<std::size_t>(slot)];
}

/// Executes the printed nests on memory whose slots all have different values, and compares with
/// `locate` for every element.
void expect_reproduces(const Layout& from, const Layout& to, const std::string& what) {
  const Answer answer =
      run({"relayout", print_native(from), print_native(to), "--dry-run", "--json"});
  ASSERT_EQ(answer.status, 0) << what << ": " << answer.out;
  const Json json = answer.json();
  Memories source = memories_of(from, 0);
  std::int64_t value = 0;
  for (auto& [place, memory] : source) {
    for (std::int64_t& slot : memory) slot = value++;
  }
  Memories found = memories_of(to, kUntouched);
  for (const Json& fill : json["fills"]) {
    run_loops(fill, "dst", [&](const Index& at) {
      if (std::int64_t* slot = cell(found, fill, "dst", at)) *slot = kFilled;
    });
  }
  for (const Json& nest : json["nests"]) {
    run_loops(nest, "src", [&](const Index& at) {
      const std::int64_t* read = cell(source, nest, "src", at);
      std::int64_t* write = cell(found, nest, "dst", at);
      if (read != nullptr && write != nullptr) *write = *read;
    });
  }
  const bool fills = to.spec().padding.kind == PaddingValue::Kind::kNumber;
  Memories expected = memories_of(to, fills ? kFilled : kUntouched);
  std::int64_t copies = 0;
  if (!from.shape().empty()) {
    Index index(from.shape().rank(), 0);
    do {
      const Location at = *from.locate(index);
      const Location wanted = *to.locate(index);
      for (const Place& place : wanted.places) {
        expected[place][static_cast<std::size_t>(wanted.slot)] =
            source[at.places[0]][static_cast<std::size_t>(at.slot)];
        ++copies;
      }
    } while (from.shape().next(index));
  }
  EXPECT_EQ(found, expected) << what;
  EXPECT_EQ(json["bytes"], *dtype_bytes(to.atom().storage, copies)) << what;
}

/// A line cut over both axes of a mesh in some order, in blocks or cyclic, with replicas on a
/// remaining axis: where places are numbered consecutively, loops run past the ends of rows.
std::optional<Layout> random_line_on_mesh(Dice& dice, std::int64_t extent) {
  const std::vector<std::int64_t> axes = {dice.between(1, 4), dice.between(1, 5),
                                          dice.between(1, 3)};
  LayoutSpec spec;
  const Result<Shape> shape = Shape::make({extent});
  const Result<Shape> mesh = Shape::make(axes);
  spec.form.shape = *shape;
  spec.form.mesh = *mesh;
  const std::vector<std::size_t> order = dice.order(axes.size());
  const auto used = static_cast<std::size_t>(dice.between(1, 3));
  std::vector<Cut> cuts = {{1, 1, Target::memory(), 1}};
  std::int64_t width = dice.between(1, 4);
  cuts[0].count = width;
  std::int64_t slots = width;
  for (std::size_t i = 0; i < used; ++i) {
    const int axis = static_cast<int>(order[i]);
    cuts.insert(cuts.begin(), {width, axes[order[i]], Target::mesh(axis), 1, Cause::kGrid});
    width *= axes[order[i]];
    if (dice.chance(40)) {
      const std::int64_t rounds = dice.between(2, 3);
      cuts.insert(cuts.begin(), {width, rounds, Target::memory(), slots});
      width *= rounds;
      slots *= rounds;
    }
  }
  cuts.insert(cuts.begin(), {width, ceil_div(extent, width), Target::memory(), slots});
  spec.form.folds = {{{{0, 1}}, 0, cuts}};
  for (std::size_t i = used; i < axes.size(); ++i) {
    const int axis = static_cast<int>(order[i]);
    spec.form.fills.push_back(dice.chance(50) ? Fill::replicate(axis, axes[order[i]])
                                              : Fill::fixed(axis, axes[order[i]] - 1));
  }
  if (dice.chance(50)) spec.padding = PaddingValue::of(1);
  Result<Layout> layout = Layout::make(std::move(spec));
  if (!layout) return std::nullopt;
  return *std::move(layout);
}

TEST(Relayout, PrintedNestsReproduceTheMoveOnMeshes) {
  int cases = 0;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    Dice dice(seed);
    const std::int64_t extent = dice.between(1, 130);
    const std::optional<Layout> from = random_line_on_mesh(dice, extent);
    const std::optional<Layout> to = random_line_on_mesh(dice, extent);
    if (!from || !to) continue;
    ++cases;
    expect_reproduces(*from, *to, cat("seed ", seed));
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(cases, 500);
}

TEST(Relayout, PrintedNestsReproduceTheMoveOfWildLayouts) {
  int cases = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Dice dice(seed);
    const std::optional<Layout> layout = random_layout(dice, {.max_mesh_rank = 3});
    if (!layout) continue;
    const Layout plain = *Layout::row_major(layout->shape(), layout->atom().storage);
    const auto is_partial = [](const Fill& fill) {
      return fill.kind == Fill::Kind::kPartial && fill.count > 1;
    };
    const auto& fills = layout->form().fills;
    if (std::any_of(fills.begin(), fills.end(), is_partial)) {
      EXPECT_EQ(run({"relayout", print_native(*layout), print_native(plain)}).status, 2);
      continue;
    }
    ++cases;
    expect_reproduces(plain, *layout, cat("seed ", seed));
    expect_reproduces(*layout, plain, cat("seed ", seed));
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(cases, 300);
}

// 8 places of a 2x4 mesh in order are one loop of the program; as coordinates they are two.
TEST(Relayout, ALoopThatWrapsIsCut) {
  const Answer answer =
      run({"relayout", "tensor<8xf32, strided<[1]>>",
           "tensor<8xf32, native<mesh=[2, 4], {d0} / (4 -> m0, 1 -> m1)>>", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out;
  EXPECT_EQ(answer.out,
            "{\"nests\":[{\"extent\":[2,4],\"src_stride\":[4,1],\"dst_stride\":[0,0],"
            "\"src_offset\":0,\"dst_offset\":0,\"src_place\":[],\"dst_place\":[0,0],"
            "\"src_place_step\":[[],[]],\"dst_place_step\":[[1,0],[0,1]]}],\"fills\":[],"
            "\"fills_cover_data\":false,\"bytes\":32}\n");
}

// 5 elements in 2 tiles of 4: three slots of the last tile are padding.
TEST(Relayout, TextIsLoops) {
  const Answer answer = run({"relayout", "tensor<5x2xf32, strided<[2, 1]>>",
                             "tensor<5x2xf16, native<{d0} / (4 -> mem*8, 1#4 -> mem), {d1} / (1 -> "
                             "mem*4), pad=0>>"});
  ASSERT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(facts_in(answer.out),
            "10 2 20 "          // elements, copies, bytes
            "6 0 1 "            // slots that are filled, value, fills
            "1 1 6 9 3 1 2 4 "  // a fill: number, of, slots, first slot; extent and step per loop
            "1 2 8 0 0 4 2 1 2 1 4 "
            "2 2 2 8 8 2 1 4");
}

TEST(Relayout, PaddingThatJsonHasNoNumberFor) {
  const std::string to = "tensor<3xf32, native<{d0} / (2 -> mem*2, 1 -> mem), pad=-inf>>";
  const Answer answer = run({"relayout", "tensor<3xf32, strided<[1]>>", to, "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out;
  EXPECT_EQ(answer.json()["fills"][0]["value"], "-inf");
}

// 331 and 337 share no multiple below 331·337: about 300 + 300 pieces per dim.
TEST(Relayout, TooManyNestsToListAreCounted) {
  const auto tensor = [](int width) {
    const std::string digits = cat("(", width, " -> mem*");
    return cat("tensor<100000x100000xi8, native<{d0} / ", digits, "50000000, 1 -> mem*110000), ",
               "{d1} / ", digits, "340, 1 -> mem)>>");
  };
  const Answer answer = run({"relayout", tensor(331), tensor(337), "--json"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error_code(), "too_large") << answer.out.substr(0, 300);
}

TEST(Relayout, Batch) {
  const Answer answer =
      run({"relayout", "--batch"},
          cat("{\"a\": \"", kRowMajor, "\", \"b\": \"", kColumnMajor, "\", \"dry-run\": true}\n",
              "{\"a\": \"", kRowMajor, "\", \"b\": \"tensor<6x4xf32, strided<[4, 1]>>\"}\n",
              "{\"a\": \"", kRowMajor, "\", \"b\": \"", kColumnMajor, "\", \"emit\": \"c\"}\n",
              "{\"a\": \"", kRowMajor, "\", \"b\": \"", kColumnMajor, "\", \"emit\": \"go\"}\n"));
  ASSERT_EQ(answer.lines().size(), 4U) << answer.out;
  EXPECT_EQ(parsed(answer.lines()[0])["bytes"], 96);
  EXPECT_EQ(parsed(answer.lines()[1])["error"]["code"], "shape_mismatch");
  EXPECT_NE(parsed(answer.lines()[2])["c"].get<std::string>().find("memcpy"), std::string::npos);
  EXPECT_EQ(parsed(answer.lines()[3])["error"]["code"], "unknown_name");
}

TEST(Relayout, FlagsThatDoNotGoTogether) {
  const auto facts = [](const std::vector<std::string>& flags) {
    std::vector<std::string> args = {"relayout", kRowMajor, kColumnMajor, "--json"};
    args.insert(args.end(), flags.begin(), flags.end());
    const Answer answer = run(args);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error_code(), "usage");
    return facts_in(answer.json()["error"]["message"].get<std::string>());
  };
  EXPECT_EQ(facts({"--in", "x.npy"}), "--in --out");
  EXPECT_EQ(facts({"--out", "y.npy"}), "--out --in");
  EXPECT_EQ(facts({"--in", "x.npy", "--out", "y.npy", "--emit", "c"}), "--emit --in --out");
  EXPECT_EQ(facts({"--dry-run", "--emit", "c"}), "--dry-run --emit");
  EXPECT_EQ(facts({"--threads", "2"}), "--threads --in --out");
  EXPECT_EQ(facts({"--in", "x.npy", "--out", "y.npy", "--threads", "0"}), "--threads 0");
}

TEST(Relayout, EmitsC) {
  const Answer answer = run({"relayout", kRowMajor, kColumnMajor, "--emit", "c"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_NE(answer.out.find(cat("/* from ", kRowMajor, " */\n/* to   ", kColumnMajor, " */\n")),
            std::string::npos)
      << answer.out;
  EXPECT_NE(answer.out.find("void relayout(const void* src, void* dst) {"), std::string::npos);
}

}  // namespace
}  // namespace tessera::tools
