// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_picture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "tessera/base/text.h"
#include "tools/alloc/alloc_print.h"
#include "tools/alloc/alloc_search.h"
#include "tools/alloc/alloc_svg_marks.h"

// Pictures of plans, without a solver: plans are written by hand.
namespace tessera::tools {
namespace {

std::size_t count_in(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

TEST(AllocProfile, TimeRangesEqualACountOfEveryMoment) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<PlacedBlock> blocks;
    for (unsigned i = 0, count = random() % 8; i < count; ++i) {
      const auto lower = static_cast<std::int64_t>(random() % 20) - 10;
      const auto upper = lower + 1 + static_cast<std::int64_t>(random() % 10);
      blocks.push_back({lower, upper, static_cast<std::int64_t>(random() % 50),
                        1 + static_cast<std::int64_t>(random() % 9)});
    }
    const std::vector<TimeRange> ranges = time_ranges_of(blocks);
    for (std::size_t i = 0; i + 1 < ranges.size(); ++i) {
      EXPECT_EQ(ranges[i].to, ranges[i + 1].from);
    }
    for (std::int64_t moment = -12; moment < 22; ++moment) {
      TimeRange naive;
      for (const PlacedBlock& held : blocks) {
        if (moment < held.lower || moment >= held.upper) continue;
        naive.live += held.size;
        ++naive.count;
        naive.top = std::max(naive.top, held.offset + held.size);
      }
      TimeRange found;
      for (const TimeRange& range : ranges) {
        if (range.from <= moment && moment < range.to) found = range;
      }
      EXPECT_EQ(found.live, naive.live);
      EXPECT_EQ(found.count, naive.count);
      EXPECT_EQ(found.top, naive.top);
    }
  }
}

TEST(AllocPicture, HasALineForEachBorderAndAColumnForEachMoment) {
  const std::vector<PlacedBlock> blocks = {
      {0, 7, 0, 64, 0, 0}, {0, 5, 64, 48, 1, 2}, {5, 7, 96, 16, 2, 0}};
  const std::vector<std::string> ids = {"a", "b\x1b", "a longer name"};
  Terminal terminal;
  terminal.width = 32;
  EXPECT_EQ(plan_picture(blocks, ids, terminal),
            "address\n"
            "     96 [b? +2    ][a longer ]\n"
            "     64 [         ]\n"
            "      0 [a                   ]\n"
            "time    0          5          7\n");
  terminal.width = kMinWidth;
  EXPECT_EQ(plan_picture(blocks, ids, terminal),
            "address\n"
            "     96 [b? ][a l]\n"
            "     64 [   ]\n"
            "      0 [a       ]\n"
            "time    0    5    7\n");
  EXPECT_EQ(plan_picture({}, ids, terminal), "");
  std::vector<PlacedBlock> many;
  for (std::int64_t i = 0; i < 40; ++i) many.push_back({i, i + 1, 0, 1, 0, 0});
  EXPECT_EQ(plan_picture(many, ids, terminal), "") << "40 moments do not fit 20 columns";
}

/// Buffer 0 has 8 bytes at 0 and, from moment 3 to 6, only its bytes 2 and 3; buffer 1 of 4 bytes
/// is above these for that time, and leaves two bytes free.
memory::Problem gapped_problem() {
  return {{{.lower = 0, .upper = 9, .size = 8, .gaps = {{3, 6, 2, 4}}},
           {.lower = 3, .upper = 6, .size = 4}}};
}

TEST(AllocPicture, ShowsWhatIsKeptInGaps) {
  const std::vector<PlacedBlock> blocks =
      *placed_blocks(gapped_problem(), std::vector<std::int64_t>{0, 4});
  Terminal terminal;
  terminal.width = 40;
  EXPECT_EQ(plan_picture(blocks, std::vector<std::string>{"a", "b"}, terminal),
            "address\n"
            "      4 [a       ][b       ][a       ]\n"
            "      2 [        ][a       ][        ]\n"
            "      0 [        ]          [        ]\n"
            "time    0         3         6         9\n");
}

TEST(AllocProfile, CountsWhatIsKeptInGaps) {
  const std::vector<PlacedBlock> blocks =
      *placed_blocks(gapped_problem(), std::vector<std::int64_t>{0, 4});
  std::string text;
  for (const TimeRange& range : time_ranges_of(blocks)) {
    text += cat(range.from, " ", range.to, " ", range.live, " ", range.count, " ", range.top, "|");
  }
  EXPECT_EQ(text, "0 3 8 1 8|3 6 6 2 8|6 9 8 1 8|");
}

TEST(AllocPicture, SearchLineStaysInsideTheTerminal) {
  const memory::Progress progress{3.7, 12'345'678, 1048576, 1043456};
  EXPECT_EQ(search_line(progress, 80), "peak 1048576 so far, at least 1043456, 12 M nodes, 3 s");
  EXPECT_EQ(search_line(progress, 13), "peak 1048576");
}

TEST(AllocSvg, NumbersTextsAndTicks) {
  EXPECT_EQ(svg_number(12), "12");
  EXPECT_EQ(svg_number(0.5), "0.5");
  EXPECT_EQ(svg_number(-0.001), "0");
  EXPECT_EQ(svg_number(100), "100");
  EXPECT_EQ(svg_text("<a & \"b\">\x01\n", 80), "&lt;a &amp; &quot;b&quot;&gt;\xEF\xBF\xBD ");
  // Each byte that begins no code point of UTF-8 is replaced: a lone byte, an overlong slash, half
  // of a surrogate, a cut character.
  constexpr const char* kReplaced = "\xEF\xBF\xBD";
  for (const std::string bad : {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF5", "\xE2\x82"}) {
    std::string expected;
    for (std::size_t i = 0; i < bad.size(); ++i) expected += kReplaced;
    EXPECT_EQ(svg_text(bad, 80), expected);
  }
  EXPECT_EQ(svg_text("\xC3\xA9\xC3\xA9\xC3\xA9", 2), "\xC3\xA9\xC3\xA9...");
  const auto labels = [](const std::vector<Tick>& ticks) {
    std::string all;
    for (const Tick& tick : ticks) all += cat(tick.label, "|");
    return all;
  };
  EXPECT_EQ(labels(time_ticks(-7, 33, 8)), "-5|0|5|10|15|20|25|30|");
  EXPECT_EQ(labels(time_ticks(0, 3, 8)), "0|1|2|3|");
  EXPECT_EQ(labels(address_ticks(4096, 4)), "0|1 KB|2 KB|3 KB|4 KB|");
  EXPECT_EQ(labels(address_ticks(96, 8)), "0|16|32|48|64|80|96|");
  // Even the widest range has only a few ticks.
  EXPECT_LE(time_ticks(INT64_MIN, INT64_MAX, 8).size(), 10U);
  EXPECT_GE(time_ticks(INT64_MIN, INT64_MAX, 8).size(), 2U);
  EXPECT_LE(address_ticks(INT64_MAX, 8).size(), 10U);
}

/// Relative luminance by WCAG 2 (www.w3.org/TR/WCAG21/#dfn-relative-luminance).
double luminance(const std::string& colour) {
  const auto channel = [&](std::size_t at) {
    const double value = std::stoi(colour.substr(at, 2), nullptr, 16) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

TEST(AllocSvg, LettersAreReadableOnEveryColour) {
  std::set<std::string> colours;
  for (int i = 0; i < 2000; ++i) {
    const std::string colour = svg_colour(std::to_string(i));
    EXPECT_EQ(colour, svg_colour(std::to_string(i)));
    colours.insert(colour);
    const double contrast = (luminance(colour) + 0.05) / (luminance("#111827") + 0.05);
    EXPECT_GE(contrast, 4.5) << colour;
  }
  EXPECT_GT(colours.size(), 1500U);
}

/// A plan in which buffers of lifetime 1 and size 1 are stacked in address and in time.
struct MadePlan {
  BufferFile file;
  memory::Solution solution;
};
MadePlan made_plan(std::int64_t columns, std::int64_t rows) {
  MadePlan plan;
  for (std::int64_t i = 0; i < columns * rows; ++i) {
    memory::Buffer buffer;
    buffer.lower = i % columns;
    buffer.upper = buffer.lower + 1;
    buffer.size = 1;
    plan.file.problem.buffers.push_back(buffer);
    plan.file.ids.push_back(cat("<", i, ">"));
    plan.file.rows.push_back({0, 0, i + 2});
    EXPECT_TRUE(plan.solution.offsets.push(i / columns));
  }
  plan.solution.outcome = memory::Outcome::kFits;
  plan.solution.peak = rows;
  plan.solution.lower_bound = rows;
  plan.solution.found_by = "hand";
  return plan;
}
std::string drawn(const MadePlan& plan, std::optional<std::int64_t> capacity) {
  AllocAnswer answer{plan.file, plan.solution, capacity, false, {}, {}};
  answer.blocks = *placed_blocks(plan.file.problem, plan.solution.offsets);
  answer.ranges = time_ranges_of(answer.blocks);
  return alloc_svg(answer);
}

TEST(AllocSvg, EveryBufferHasARectangleAndATooltip) {
  MadePlan plan = made_plan(3, 4);
  plan.file.problem.buffers[5].alias = memory::Alias{2, 3};
  plan.solution.offsets[5] = 3;
  const std::string svg = drawn(plan, 5);
  // Eleven blocks, the dashed part, and the background.
  EXPECT_EQ(count_in(svg, "<rect"), 13U);
  EXPECT_EQ(count_in(svg, "stroke-dasharray=\"4 2\""), 1U);
  EXPECT_EQ(count_in(svg, "<title>"), 12U);
  EXPECT_NE(svg.find("<title>&lt;7&gt;: "), std::string::npos);
  EXPECT_EQ(svg.find("<7>"), std::string::npos);
  EXPECT_NE(svg.find(">capacity 5<"), std::string::npos);
  EXPECT_NE(svg.find(">peak 4<"), std::string::npos);
  EXPECT_EQ(svg.find("grey"), std::string::npos);
  // A capacity far above the plan is printed but not drawn.
  EXPECT_EQ(drawn(plan, 1000).find(">capacity "), std::string::npos);
  EXPECT_NE(drawn(plan, 1000).find(" 1000"), std::string::npos);
}

TEST(AllocSvg, ABufferWithGapsHasARectangleForEachPart) {
  MadePlan plan = made_plan(1, 2);
  plan.file.problem = gapped_problem();
  plan.solution.offsets[1] = 4;
  plan.solution.peak = 8;
  const std::string svg = drawn(plan, {});
  // Three of the first, one of the second, and the background.
  EXPECT_EQ(count_in(svg, "<rect"), 5U);
  EXPECT_EQ(count_in(svg, "<title>&lt;0&gt;: 8 bytes at 0, from 0 to 3<"), 1U);
  EXPECT_EQ(count_in(svg, "<title>&lt;0&gt;: 2 of 8 bytes at 2, from 3 to 6<"), 1U);
  EXPECT_EQ(count_in(svg, "<title>&lt;0&gt;: 8 bytes at 0, from 6 to 9<"), 1U);
  EXPECT_EQ(count_in(svg, "<title>&lt;1&gt;: 4 bytes at 4, from 3 to 6<"), 1U);
}

TEST(AllocSvg, ManyBuffersStayASmallPicture) {
  const std::string svg = drawn(made_plan(300, 200), std::nullopt);
  EXPECT_LT(svg.size(), 1'000'000U);
  EXPECT_NE(svg.find(" 57000 "), std::string::npos);
  EXPECT_EQ(count_in(svg, "<rect"), 3001U);
}

TEST(AllocSvg, NothingIsDrawnOfNothing) {
  const std::string svg = drawn(made_plan(0, 0), 8);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace tessera::tools
