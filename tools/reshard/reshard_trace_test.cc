// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tessera/testing/generate.h"
#include "tools/files/mapped_file.h"
#include "tools/json/json.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

using test::Dice;

Json events_of(const std::string& title, const Shape& mesh,
               const std::vector<TraceMessage>& messages) {
  const Result<std::string> text = trace_text(title, mesh, messages);
  EXPECT_TRUE(text.ok());
  const Json json = parse_json(*text).value_or(Json());
  EXPECT_TRUE(json.is_object());
  EXPECT_EQ(json["otherData"]["title"], title);
  return json["traceEvents"];
}

std::vector<Json> with_phase(const Json& events, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : events) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

/// [0, 1] sends 8 bytes to [1, 1] and [1, 2]; they leave in cycles 0 and 1 and arrive, after a
/// ramp, one or two hops and a ramp, in cycles 5 and 6, and 6 and 7.
TEST(Trace, AMulticastIsOneSliceThatLeavesAndTwoThatArrive) {
  const Shape mesh = *Shape::make({2, 3});
  const Json events = events_of("a \"title\"\n", mesh,
                                {{{0, 1}, 8, 2, 0, 2, {{{1, 1}, 1, 5, 7}, {{1, 2}, 2, 6, 8}}}});
  const std::vector<Json> slices = with_phase(events, "X");
  ASSERT_EQ(slices.size(), 3U);
  EXPECT_EQ(dump(slices[0]),
            "{\"ph\":\"X\",\"cat\":\"send\",\"name\":\"to 2 places\",\"pid\":2,\"tid\":0,\"ts\":0,"
            "\"dur\":2,\"args\":{\"bytes\":8,\"wavelets\":2,\"cycles\":2}}");
  EXPECT_EQ(slices[2]["name"], "from [0, 1]");
  EXPECT_EQ(slices[2]["pid"], 6);  // [1, 2] is place 5, and 0 is for the counter
  EXPECT_EQ(slices[2]["ts"], 6);
  EXPECT_EQ(slices[2]["args"]["hops"], 2);
  EXPECT_EQ(with_phase(events, "s").size(), 2U);
  EXPECT_EQ(with_phase(events, "f").size(), 2U);
  // Two in flight from 0, one from 7, none from 8.
  const std::vector<Json> counts = with_phase(events, "C");
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0]["args"]["messages"], 2);
  EXPECT_EQ(counts[1]["ts"], 7);
  EXPECT_EQ(counts[1]["args"]["messages"], 1);
  EXPECT_EQ(counts[2]["args"]["messages"], 0);
}

/// What viewers require: slices of a thread do not overlap, every arrow has two ends, and every
/// process and thread that is used has a name.
TEST(Trace, RandomMessagesKeepTheRulesOfTheFormat) {
  Dice dice(11);
  for (int round = 0; round < 50; ++round) {
    const Shape mesh = *Shape::make({dice.between(1, 3), dice.between(1, 4)});
    std::vector<TraceMessage> messages;
    std::size_t arrivals = 0;
    for (std::int64_t i = dice.between(0, 40); i > 0; --i) {
      TraceMessage message;
      message.source = mesh.delinear(dice.below(mesh.elements()));
      message.wavelets = dice.between(1, 9);
      message.bytes = 4 * message.wavelets;
      message.from = dice.below(30);
      message.to = message.from + message.wavelets;
      for (std::int64_t k = dice.between(1, 3); k > 0; --k) {
        const std::int64_t from = message.from + dice.between(1, 30);
        message.arrivals.push_back(
            {mesh.delinear(dice.below(mesh.elements())), 1, from, from + message.wavelets});
        ++arrivals;
      }
      messages.push_back(message);
    }
    const Json events = events_of("random", mesh, messages);
    std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> threads;
    for (const Json& slice : with_phase(events, "X")) {
      const int from = slice["ts"].get<int>();
      threads[{slice["pid"].get<int>(), slice["tid"].get<int>()}].emplace_back(
          from, from + slice["dur"].get<int>());
    }
    for (auto& [thread, slices] : threads) {
      std::sort(slices.begin(), slices.end());
      for (std::size_t i = 1; i < slices.size(); ++i) {
        EXPECT_LE(slices[i - 1].second, slices[i].first);
      }
    }
    EXPECT_EQ(with_phase(events, "X").size(), messages.size() + arrivals);
    std::multiset<int> begun;
    std::multiset<int> ended;
    for (const Json& arrow : with_phase(events, "s")) begun.insert(arrow["id"].get<int>());
    for (const Json& arrow : with_phase(events, "f")) ended.insert(arrow["id"].get<int>());
    EXPECT_EQ(begun, ended);
    EXPECT_EQ(begun.size(), arrivals);
    std::set<std::pair<int, int>> named;
    std::set<int> places;
    for (const Json& name : with_phase(events, "M")) {
      if (name["name"] == "thread_name")
        named.emplace(name["pid"].get<int>(), name["tid"].get<int>());
      if (name["name"] == "process_name") places.insert(name["pid"].get<int>());
    }
    for (const auto& [thread, slices] : threads) {
      EXPECT_TRUE(named.contains(thread));
      EXPECT_TRUE(places.contains(thread.first));
    }
  }
}

/// A gather sends everything to one place at the same time; threads are found in a sorted queue.
TEST(Trace, ManyArrivalsAtOnePlaceAtOnce) {
  const Shape mesh = *Shape::make({2});
  TraceMessage message{{0}, 4, 1, 0, 1, {{{1}, 1, 5, 1 << 20}}};
  std::vector<TraceMessage> messages(20'000, message);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].from = static_cast<std::int64_t>(i);
    messages[i].to = messages[i].from + 1;
  }
  EXPECT_TRUE(trace_text("gather", mesh, messages).ok());
}

TEST(Trace, TooManyMessagesAreRefusedWithTheirNumber) {
  const Shape mesh = *Shape::make({2});
  const std::vector<TraceMessage> messages(kMostTraceMessages + 1,
                                           {{0}, 4, 1, 0, 1, {{{1}, 1, 5, 6}}});
  const Result<std::string> text = trace_text("too many", mesh, messages);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(text.error().message.find("65537 messages"), std::string::npos);
}

class TraceFile : public TestFolder, public testing::Test {};

TEST_F(TraceFile, IsCompleteOrUnchanged) {
  ASSERT_TRUE(write_whole(path("t.json"), "one").ok());
  ASSERT_TRUE(write_whole(path("t.json"), "two").ok());
  EXPECT_EQ(read("t.json"), "two");
  EXPECT_EQ(write_whole(path("missing/t.json"), "three").error().code, ErrorCode::kIo);
  EXPECT_EQ(names(), std::vector<std::string>{"t.json"});
}

}  // namespace
}  // namespace tessera::tools
