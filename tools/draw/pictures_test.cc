// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/registry.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/notation/random_texts.h"
#include "tools/draw/sheet.h"
#include "tools/show/show_facts.h"
#include "tools/show/show_svg.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/xml_testing.h"

namespace tessera::tools {
namespace {

/// The styles of the cells of a kind, in their order.
std::vector<std::string> cells_of(const std::string& svg, std::string_view kind) {
  std::vector<std::string> styles;
  const std::string start = cat("<rect class=\"", kind, " ");
  for (std::size_t at = svg.find(start); at != std::string::npos; at = svg.find(start, at)) {
    at += start.size();
    styles.push_back(svg.substr(at, svg.find('"', at) - at));
  }
  return styles;
}

std::ptrdiff_t times(const std::vector<std::string>& styles, const std::string& style) {
  return std::ranges::count(styles, style);
}

void expect_xml(const std::string& svg, std::string_view what) {
  std::set<std::string> ids;
  EXPECT_EQ(xml_mistake(svg, ids), "") << what;
  EXPECT_TRUE(svg.starts_with("<svg ")) << what;
}

TEST(Sheet, SamplesCoverTheirExtent) {
  for (const std::int64_t extent : {std::int64_t{1}, std::int64_t{47}, std::int64_t{48},
                                    std::int64_t{49}, std::int64_t{4097}, INT64_MAX}) {
    for (const std::int64_t most : {1, 2, 48, 1536}) {
      const Sampled shown = sampled(extent, most);
      EXPECT_LE(shown.count, most);
      EXPECT_LT((shown.count - 1) * shown.step, extent);
      EXPECT_GE((extent - 1) / shown.step + 1, shown.count);
      EXPECT_LE((extent - 1) / shown.step, shown.count - 1) << extent << " " << most;
      EXPECT_EQ(shown.step == 1, extent <= most);
    }
  }
  EXPECT_EQ(sampled(0, 48).count, 0);
}

/// A cell for each element of the last two dims, place and slot; elements have one colour exactly
/// if they are on one place.
void check_picture(const Tensor& tensor, const std::string& what) {
  const Placement& placement = tensor.placement;
  const ShowFacts facts = facts_of(placement);
  const std::string svg = show_svg(tensor, facts);
  expect_xml(svg, what);
  EXPECT_EQ(show_svg(tensor, facts), svg);
  EXPECT_LT(svg.size(), 1'000'000U) << what;
  const Shape& shape = placement.shape();
  const std::size_t rank = shape.rank();
  const std::int64_t columns = rank > 0 ? shape[rank - 1] : 1;
  const std::int64_t rows = rank > 1 ? shape[rank - 2] : 1;
  const std::vector<std::string> elements = cells_of(svg, "element");
  const bool is_small = std::max(rows, columns) <= kMostDrawnElements;
  if (is_small) {
    EXPECT_EQ(std::ssize(elements), shape.empty() ? 0 : rows * columns) << what;
  }
  if (placement.mesh().rank() > 0 && placement.places() <= kMostDrawnPlaces) {
    EXPECT_EQ(std::ssize(cells_of(svg, "place")), placement.places()) << what;
  }
  if (placement.places() > 0 && placement.slots() <= kMostDrawnSlots &&
      svg.find("not drawn") == std::string::npos) {
    EXPECT_EQ(std::ssize(cells_of(svg, "slot")), placement.slots()) << what;
  }
  if (!is_small || shape.empty() || placement.places() < 2 || placement.places() > 24) return;
  std::map<Place, std::string> style_of;
  std::set<std::string> styles;
  for (std::int64_t k = 0; k < rows * columns; ++k) {
    Index index(rank, 0);
    if (rank > 0) index[rank - 1] = k % columns;
    if (rank > 1) index[rank - 2] = k / columns;
    const Result<Location> location = placement.locate(index);
    ASSERT_TRUE(location.ok()) << what;
    const std::string& style = elements[static_cast<std::size_t>(k)];
    const auto [known, is_new] =
        style_of.try_emplace(*std::ranges::min_element(location->places), style);
    EXPECT_EQ(known->second, style) << what;
    if (is_new) {
      EXPECT_TRUE(styles.insert(style).second) << what;
    }
  }
}

TEST(ShowSvg, DrawsRandomLayouts) {
  std::size_t drawn = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    test::Dice dice(seed);
    const std::optional<Layout> layout = test::random_layout(dice, {});
    if (!layout) continue;
    check_picture({Placement(*layout), "native"}, print_native(Placement(*layout)));
    ++drawn;
  }
  EXPECT_GT(drawn, 1500U);
}

TEST(ShowSvg, DrawsEveryNotation) {
  for (const notation::Notation& notation : notation::notations()) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      test::Dice dice(seed);
      const std::string text = test::random_text(notation.name, dice);
      const Result<Tensor> tensor = parse_tensor(text);
      ASSERT_TRUE(tensor.ok()) << text;
      check_picture(*tensor, text);
    }
  }
}

/// The last place of kTiled has 17 rows and 31 columns of its tile: 14 rows of 32 are tile, and
/// below and beside the data 32 + 17 slots are grid.
TEST(ShowSvg, ColoursPaddingByCause) {
  const std::string svg = run({"show", kTiled, "--svg", "-"}).out;
  const std::vector<std::string> slots = cells_of(svg, "slot");
  EXPECT_EQ(slots.size(), 1024U);
  EXPECT_EQ(times(slots, "tile"), 448);
  EXPECT_EQ(times(slots, "grid"), 49);
  EXPECT_EQ(times(slots, "p5"), 527);
  EXPECT_NE(svg.find("place [2,1]"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
}

TEST(ShowSvg, DrawsLargeTensorsBySamplesAndSaysSo) {
  const std::string svg =
      run({"show", "tensor<9940x7500xf16, pyflame.Grid(994, 750)>", "--svg", "-"}).out;
  expect_xml(svg, "wafer");
  EXPECT_LT(svg.size(), 1'000'000U);
  EXPECT_LE(std::ssize(cells_of(svg, "element")), kMostDrawnElements * kMostDrawnElements);
  EXPECT_LE(std::ssize(cells_of(svg, "place")), kMostDrawnPlaces * kMostDrawnPlaces);
  // 9940 = 48·208 - 44, 7500 = 48·157 - 36; 994 = 32·32 - 30, 750 = 32·24 - 18.
  EXPECT_NE(svg.find("208 x 157 elements"), std::string::npos);
  EXPECT_NE(svg.find("32 x 24 places"), std::string::npos);
  // Places without data are struck out: rows 2 and 3 of 4 hold nothing.
  const std::string empty = run({"show", "tensor<2x8xf32, pyflame.Grid(4, 2)>", "--svg", "-"}).out;
  EXPECT_EQ(times(cells_of(empty, "place"), "none"), 4);
}

TEST(Sheet, EscapesAndCutsHostileTexts) {
  std::string letters;
  for (int i = 0; i < 100000; ++i) letters += "\xC3\xA9";
  for (const std::string& hostile : {std::string("</text><script>alert(\"&amp;\")</script>\x01\n"),
                                     std::string("\xFF\xFE"), letters, std::string("]]>'\"<!--")}) {
    Sheet sheet;
    sheet.title(hostile);
    sheet.heading(hostile);
    sheet.line(hostile);
    sheet.grid({"slot", {hostile}, {hostile}, {{"tile", hostile}}});
    sheet.legend({{{"tile", "T"}, hostile}});
    const std::string svg = std::move(sheet).finish(hostile);
    expect_xml(svg, "hostile");
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_EQ(svg.find('\xFF'), std::string::npos);
    EXPECT_LT(svg.size(), 30000U);
  }
}

class PictureFiles : public testing::Test, protected TestFolder {};

TEST_F(PictureFiles, AreWrittenPrintedOrAField) {
  const std::string file = path("picture.svg");
  const Answer written = run({"show", kRowMajor, "--svg", file});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.out, run({"show", kRowMajor}).out);
  const std::string svg = run({"show", kRowMajor, "--svg", "-"}).out;
  EXPECT_EQ(read("picture.svg"), svg);
  EXPECT_EQ(run({"show", kRowMajor, "--svg", "-", "--json"}).json()["svg"].get<std::string>(), svg);
  EXPECT_FALSE(run({"show", kRowMajor, "--svg", file, "--json"}).json().contains("svg"));
  EXPECT_EQ(run({"show", kRowMajor, "--svg", "", "--json"}).error_code(), "usage");
  EXPECT_EQ(run({"show", kRowMajor, "--svg", path("no/such.svg"), "--json"}).error_code(), "io");
}

TEST_F(PictureFiles, OfADifferenceSayWhatBecomesOfEachElement) {
  const Answer drawn = run({"diff", kRowMajor, kColumnMajor, "--svg", "-"});
  EXPECT_EQ(drawn.status, 1);
  expect_xml(drawn.out, "diff");
  const std::vector<std::string> cells = cells_of(drawn.out, "element");
  // Slots 6r + c and r + 4c agree where 5r = 3c: at 0,0 and 3,5.
  EXPECT_EQ(cells.size(), 24U);
  EXPECT_EQ(times(cells, "stays"), 2);
  EXPECT_EQ(times(cells, "reordered"), 22);
  const Answer moved = run({"diff", "tensor<4x4xf32, pyflame.Grid(4, 1)>",
                            "tensor<4x4xf32, pyflame.Grid(1, 4)>", "--svg", path("diff.svg")});
  EXPECT_EQ(moved.status, 1);
  const std::vector<std::string> places = cells_of(read("diff.svg"), "place");
  EXPECT_EQ(places.size(), 16U);
  EXPECT_EQ(cells_of(read("diff.svg"), "element")[1], places[1]);  // [0, 1] moves to place [0, 1]
  EXPECT_EQ(run({"diff", kRowMajor, kRowMajor, "--svg", "-", "--json"}).status, 0);
  EXPECT_EQ(run({"diff", kRowMajor, kRowMajor, "--svg", "-", "--from", "0,0", "--counts", "1,1",
                 "--json"})
                .error_code(),
            "usage");
}

/// Pairs of random layouts of one tensor.
TEST(DiffSvg, DrawsRandomPairs) {
  std::size_t drawn = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::Dice dice(seed);
    const std::optional<Layout> a = test::random_layout(dice, {});
    if (!a) continue;
    const std::optional<Layout> b = test::random_layout_of(dice, a->shape(), a->dtype(), {});
    if (!b) continue;
    const Answer answer =
        run({"diff", print_native(Placement(*a)), print_native(Placement(*b)), "--svg", "-"});
    if (answer.status == 2) continue;  // meshes of other ranks
    expect_xml(answer.out, print_native(Placement(*a)));
    ++drawn;
  }
  EXPECT_GT(drawn, 100U);
}

}  // namespace
}  // namespace tessera::tools
