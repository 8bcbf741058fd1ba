// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "bench/hard_instance.h"
#include "tessera/base/text.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tools/alloc/alloc_buffers.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

/// 24 + 40 bytes, then 32 more, then 40 + 32 + 8 + 16: 96 live at moments 1 and 2.
const std::string kBuffers =
    "id,lower,upper,size\ninput,0,2,24\nweights,0,6,40\nhidden,1,3,32\nbias,2,3,8\nlogits,2,5,16\n"
    "probs,4,6,16\nloss,5,6,4\n";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Alloc : public ::testing::Test, public TestFolder {
 protected:
  std::string file(const std::string& text) const {
    write("b.csv", text);
    return path("b.csv");
  }
};

/// The offsets of an answer are a valid plan of the file, whose peak is exactly the stated one.
void expect_plan(const std::string& text, const Json& json) {
  const BufferFile file = *read_buffers(text);
  std::vector<std::int64_t> offsets;
  for (const std::string& id : file.ids) offsets.push_back(json["offsets"][id].get<std::int64_t>());
  EXPECT_EQ(json["offsets"].size(), file.ids.size());
  const auto peak = json["peak"].get<std::int64_t>();
  for (const memory::Finding& finding : memory::validate(file.problem, offsets, peak)) {
    ADD_FAILURE() << finding.message;
  }
  EXPECT_TRUE(peak == 0 || !memory::validate(file.problem, offsets, peak - 1).empty());
  EXPECT_GE(json["proven_bound"].get<std::int64_t>(), json["lower_bound"].get<std::int64_t>());
  EXPECT_GE(peak, json["proven_bound"].get<std::int64_t>());
  EXPECT_EQ(json["optimal"].get<bool>(), json["peak"] == json["proven_bound"]);
}

TEST_F(Alloc, AnswersInOneObject) {
  const Answer answer = run({"alloc", file(kBuffers), "--capacity", "100", "--json"});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.members()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"peak", "lower_bound", "optimal", "seconds", "outcome",
                                            "proven_bound", "gap", "found_by", "nodes", "capacity",
                                            "interrupted", "shortfall", "offsets"}));
  EXPECT_EQ(json["outcome"], "fits");
  EXPECT_EQ(json["lower_bound"], 96);
  EXPECT_EQ(json["capacity"], 100);
  EXPECT_TRUE(json["shortfall"].is_null());
  EXPECT_LE(json["peak"].get<int>(), 100);
  expect_plan(kBuffers, json);
}

TEST_F(Alloc, MinimizesWithoutACapacity) {
  const Answer answer = run({"alloc", "-", "--minimize", "--json"}, kBuffers);
  EXPECT_EQ(answer.status, 0) << answer.out;
  const Json json = answer.json();
  EXPECT_EQ(json["peak"], 96);
  EXPECT_EQ(json["optimal"], true);
  EXPECT_TRUE(json["capacity"].is_null());
  expect_plan(kBuffers, json);
}

TEST_F(Alloc, FollowsFixedOffsetsAlignmentsAndAliases) {
  const std::string text =
      "id,lower,upper,size,alignment,offset,alias,delta\n"
      "rom,0,9,10,,100,,\n"
      "a,0,4,7,8,,,\n"
      "b,1,5,30,16,,,\n"
      "\"part, of b\",4,6,10,,,b,20\n"
      "none,2,3,0,,,,\n";
  const Answer answer = run({"alloc", "-", "--minimize", "--json"}, text);
  EXPECT_EQ(answer.status, 0) << answer.out;
  const Json json = answer.json();
  expect_plan(text, json);
  EXPECT_EQ(json["offsets"]["rom"], 100);
  EXPECT_EQ(json["offsets"]["b"].get<int>() + 20, json["offsets"]["part, of b"].get<int>());
  EXPECT_EQ(json["peak"], 110);
}

/// Four buffers of 64 + 48 + 48 + 32 bytes: the two that need memory for a short time use that of
/// 'state' in its gaps, of which it keeps 16 bytes in the second. 64 + 48 bytes are live at all
/// times.
TEST_F(Alloc, UsesTheMemoryOfGaps) {
  const std::string text =
      "id,lower,upper,size,gaps\nweights,0,6,64,\nstate,0,6,48,1-3 4-5@0:16\n"
      "scratch,1,3,48,\nchunk,4,5,32,\n";
  const Json json = run({"alloc", "-", "--json"}, text).json();
  EXPECT_EQ(json["peak"], 112);
  EXPECT_EQ(json["lower_bound"], 112);
  EXPECT_EQ(json["optimal"], true);
  expect_plan(text, json);
  // The same moments with a column end.
  const std::string inclusive =
      "id,lower,end,size,gaps\nweights,0,5,64,\nstate,0,5,48,1-2 4-4@0:16\n"
      "scratch,1,2,48,\nchunk,4,4,32,\n";
  EXPECT_EQ(run({"alloc", "-", "--json"}, inclusive).json()["offsets"], json["offsets"]);
  // Written, read and checked again; 'scratch' may now lie on bytes of 'state'.
  const Answer written = run(
      {"alloc", file(text), "--capacity", "112", "--out", path("o.csv"), "--svg", path("p.svg")});
  EXPECT_EQ(written.status, 0) << written.err;
  const Answer again = run({"alloc", path("o.csv"), "--capacity", "112", "--json"});
  EXPECT_EQ(again.status, 0) << again.out;
  EXPECT_EQ(again.json()["offsets"], json["offsets"]);
  EXPECT_TRUE(has(read("p.svg"), "16 of 48 bytes at ")) << read("p.svg");
  const Answer tight = run({"alloc", "-", "--capacity", "111", "--json"}, text);
  EXPECT_EQ(tight.status, 1);
  EXPECT_EQ(tight.json()["outcome"], "does_not_fit");
  EXPECT_EQ(tight.json()["shortfall"]["missing_bytes"], 1);
}

TEST_F(Alloc, GapsThatCannotBeHaveTheirPosition) {
  const std::string name = file("id,lower,upper,size,gaps\nw,0,9,64,2-4 3-5@0:8\n");
  const Answer text = run({"alloc", name});
  EXPECT_EQ(text.status, 2);
  EXPECT_TRUE(text.err.starts_with("error[bad_buffer]: line 2: ")) << text.err;
  EXPECT_TRUE(has(text.err, "\n --> " + name + ":2:14\n  | w,0,9,64,2-4 3-5@0:8\n" +
                                "  |              ^^^^^^^\nhelp: "))
      << text.err;
}

TEST_F(Alloc, TextHasPeakBoundAndPicture) {
  const Answer answer = run({"alloc", file(kBuffers), "--capacity", "128", "--minimize"});
  EXPECT_EQ(answer.status, 0);
  // Buffers, peak, capacity; peak, lower bound, gap.
  EXPECT_TRUE(facts_in(answer.out).starts_with("7 96 128 96 96 0.00 ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "      1      2    96        3   ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "[weights ")) << answer.out;
}

TEST_F(Alloc, ReportsTheShortfall) {
  const std::string name = file(kBuffers);
  const Answer text = run({"alloc", name, "--capacity", "95"});
  EXPECT_EQ(text.status, 1);
  const std::string facts = facts_in(text.out);
  EXPECT_TRUE(facts.starts_with("7 96 95 ")) << text.out;  // buffers, peak, capacity
  EXPECT_TRUE(has(facts, "1 96 1 95 'weights' 40"))
      << text.out;  // moment, bytes, missing, capacity
  const Answer answer = run({"alloc", name, "--capacity", "95", "--json"});
  EXPECT_EQ(answer.status, 1);
  const Json json = answer.json();
  EXPECT_EQ(json["outcome"], "does_not_fit");
  const Json& shortfall = json["shortfall"];
  EXPECT_EQ(shortfall["moment"], 1);
  EXPECT_EQ(shortfall["live_bytes"], 96);
  EXPECT_EQ(shortfall["live_buffers"], 3);
  EXPECT_EQ(shortfall["missing_bytes"], 1);
  EXPECT_EQ(shortfall["certain"], true);
  EXPECT_EQ(shortfall["largest"].size(), 3U);
  EXPECT_EQ(shortfall["largest"][0]["id"], "weights");
  expect_plan(kBuffers, json);  // the best plan there is
}

bench::HardInstance hard_instance(std::int64_t buffers) {
  bench::HardOptions options;
  options.buffers = buffers;
  return bench::hard_instance(options);
}

std::string csv_of(const memory::Problem& problem) {
  std::string text = "id,lower,upper,size\n";
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const memory::Buffer& buffer = problem.buffers[i];
    text += cat(i, ",", buffer.lower, ",", buffer.upper, ",", buffer.size, "\n");
  }
  return text;
}

/// With any techniques and limits, the answer is a valid plan and its statements are true.
TEST_F(Alloc, EveryTechniqueCanBeSwitchedOff) {
  const bench::HardInstance instance = hard_instance(40);
  const std::string text = csv_of(instance.problem);
  std::vector<std::string> lists = {"", "exact,repair"};
  for (const memory::TechniqueName& technique : memory::technique_names()) {
    lists.emplace_back(technique.name);
  }
  const std::string capacity = std::to_string(instance.capacity);
  for (const std::string& list : lists) {
    const Answer answer = run({"alloc", "-", "--capacity", capacity, "--nodes", "2000", "--seconds",
                               "5", "--without", list, "--json"},
                              text);
    const Json json = answer.json();
    ASSERT_TRUE(json.contains("outcome")) << list << answer.out;
    const bool fits = json["peak"].get<std::int64_t>() <= instance.capacity;
    EXPECT_EQ(json["outcome"] == "fits", fits) << list;
    EXPECT_NE(json["outcome"], "does_not_fit") << list << ": a plan is known";
    EXPECT_EQ(answer.status, fits ? 0 : 1) << list;
    EXPECT_EQ(json["shortfall"].is_null(), fits) << list;
    expect_plan(text, json);
  }
}

TEST_F(Alloc, WritesTheOffsetsOnlyOfPlansThatFit) {
  const std::string name = file(kBuffers);
  const Answer answer = run({"alloc", name, "--minimize", "--out", path("o.csv")});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_TRUE(has(answer.out, path("o.csv"))) << answer.out;
  const std::string written = read("o.csv");
  EXPECT_TRUE(written.starts_with("id,lower,upper,size,offset\ninput,0,2,24,")) << written;
  // All are fixed now, so that reading the file again checks the plan.
  const Answer again = run({"alloc", path("o.csv"), "--capacity", "96", "--json"});
  EXPECT_EQ(again.status, 0) << again.out;
  EXPECT_EQ(again.json()["peak"], 96);
  const Answer none = run({"alloc", name, "--capacity", "95", "--out", path("n.csv")});
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(has(none.out, path("n.csv"))) << none.out;
  EXPECT_EQ(names(), (std::vector<std::string>{"b.csv", "o.csv"}));
}

TEST_F(Alloc, DrawsThePlan) {
  const Answer answer =
      run({"alloc", file(kBuffers), "--capacity", "128", "--svg", path("p.svg"), "--json"});
  EXPECT_EQ(answer.status, 0) << answer.out;
  const std::string svg = read("p.svg");
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  for (const char* id : {"input", "weights", "hidden", "bias", "logits", "probs", "loss"}) {
    EXPECT_TRUE(has(svg, cat("<title>", id, ": "))) << id;
    EXPECT_TRUE(has(svg, cat(">", id, "</text>"))) << id;
  }
}

TEST_F(Alloc, ErrorsHaveTheirPosition) {
  const std::string name = file("id,lower,upper,size\nw,0,9,64\na,0,3,4.5\n");
  const Answer text = run({"alloc", name, "--capacity", "100"});
  EXPECT_EQ(text.status, 2);
  EXPECT_EQ(text.out, "");
  EXPECT_TRUE(text.err.starts_with("error[bad_number]: line 3: ")) << text.err;
  EXPECT_TRUE(has(text.err, "\n --> " + name + ":3:7\n  | a,0,3,4.5\n  |       ^^^\nhelp: "))
      << text.err;
  const Answer answer = run({"alloc", name, "--capacity", "100", "--json"});
  EXPECT_EQ(answer.status, 2);
  const Json error = answer.json()["error"];
  EXPECT_EQ(error["code"], "bad_number");
  EXPECT_EQ(error["file"], name);
  EXPECT_EQ(error["line"], 3);
  EXPECT_EQ(error["column"], 7);
  EXPECT_EQ(error["span"], Json::array({35, 38}));
  const Answer large = run({"alloc", "-", "--capacity", "63"}, "id,lower,upper,size\nw,0,9,64\n");
  EXPECT_EQ(large.status, 1);
  EXPECT_TRUE(has(large.err, "error[does_not_fit]: line 2: 'w' ")) << large.err;
  EXPECT_TRUE(has(large.err, " --> <stdin>:2:7\n")) << large.err;
}

TEST_F(Alloc, ABufferAboveTheCapacityHasTheAnswerOfAllThatDoesNotFit) {
  const Answer answer =
      run({"alloc", "-", "--capacity", "63", "--json"}, "id,lower,upper,size\nx,0,2,8\nw,1,9,64\n");
  EXPECT_EQ(answer.status, 1) << answer.err;
  const Json json = answer.json();
  EXPECT_FALSE(json.contains("error")) << answer.out;
  EXPECT_EQ(json["outcome"], "does_not_fit");
  EXPECT_EQ(json["lower_bound"], 72);
  EXPECT_EQ(json["capacity"], 63);
  EXPECT_EQ(json["shortfall"]["moment"], 1);
  EXPECT_EQ(json["shortfall"]["live_bytes"], 72);
  EXPECT_EQ(json["shortfall"]["missing_bytes"], 9);
  EXPECT_EQ(json["shortfall"]["certain"], true);
  // Fixed beyond the capacity by what it is a part of.
  const Answer fixed = run({"alloc", "-", "--capacity", "100", "--json"},
                           "id,lower,upper,size,offset,alias,delta\n"
                           "w,0,9,64,64,,\nx,0,2,8,,w,40\n");
  EXPECT_EQ(fixed.status, 1) << fixed.err;
  EXPECT_EQ(fixed.json()["outcome"], "does_not_fit") << fixed.out;
  EXPECT_EQ(fixed.json()["lower_bound"], 128);
}

TEST_F(Alloc, AFileAloneIsMinimized) {
  const std::string name = file(kBuffers);
  Json alone = run({"alloc", name, "--json"}).json();
  Json asked = run({"alloc", name, "--minimize", "--json"}).json();
  for (Json* const json : {&alone, &asked}) (*json)["seconds"] = nullptr;
  EXPECT_EQ(alone, asked);
  EXPECT_EQ(alone["optimal"], true);
}

TEST_F(Alloc, SizesMayHaveUnits) {
  const std::string name = file("id,lower,upper,size\na,0,2,1048576\nb,1,3,1048576\n");
  const auto capacity = [&](const std::string& text) {
    return run({"alloc", name, "--capacity", text, "--json"}).json()["capacity"];
  };
  for (const char* text : {"2097152", "2048K", "2M", "2m", "2MB", "2MiB", "2097152B"}) {
    EXPECT_EQ(capacity(text), 2097152) << text;
  }
  EXPECT_EQ(capacity("3G"), std::int64_t{3} << 30);
  EXPECT_EQ(capacity("1T"), std::int64_t{1} << 40);
}

TEST_F(Alloc, BadQuestionsAreRefused) {
  const std::string name = file(kBuffers);
  const auto code = [&](std::vector<std::string> more) {
    std::vector<std::string> args = {"alloc", name, "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const Answer answer = run(args);
    EXPECT_EQ(answer.status, 2) << answer.out;
    return answer.error_code();
  };
  EXPECT_EQ(code({"--capacity", "-1"}), "out_of_range");
  EXPECT_EQ(code({"--capacity", "1 MB"}), "bad_number");
  EXPECT_EQ(code({"--capacity", "1.5K"}), "bad_number");
  EXPECT_EQ(code({"--capacity", "9007199254740992K"}), "overflow");
  EXPECT_EQ(code({"--minimize", "--seconds", "soon"}), "bad_number");
  EXPECT_EQ(code({"--minimize", "--seconds", "-1"}), "bad_number");
  EXPECT_EQ(code({"--minimize", "--seconds", "nan"}), "bad_number");
  EXPECT_EQ(code({"--minimize", "--nodes", "-1"}), "out_of_range");
  EXPECT_EQ(code({"--minimize", "--without", "exact,dominence"}), "unknown_name");
  EXPECT_EQ(code({"--minimize", "--svg", "-"}), "usage");
  EXPECT_EQ(code({"--minimize", "--out", ""}), "usage");
  EXPECT_EQ(code({"--minimize", "--out", path("x"), "--svg", path("x")}), "usage");
  EXPECT_EQ(code({"--minimize", "--out", path("x"), "--svg", path("./x")}), "usage");
  EXPECT_EQ(code({"--minimize", "--svg", path("b.csv")}), "usage");
  EXPECT_EQ(code({"--minimize", "--svg", path("./b.csv")}), "usage");
  EXPECT_EQ(read("b.csv"), kBuffers);
  EXPECT_EQ(code({"--minimize", "--out", path("no/such/folder.csv")}), "io");
  const Answer slip = run({"alloc", name, "--minimize", "--without", "dominence"});
  EXPECT_TRUE(has(slip.err, "'dominance'")) << slip.err;
  EXPECT_EQ(run({"alloc", path("none.csv"), "--minimize", "--json"}).error_code(), "io");
}

extern "C" void be_interrupted(int) {}

TEST_F(Alloc, AnInterruptEndsTheSearchWithItsBestPlan) {
  // A signal that arrives while no search runs must not end the process.
  struct sigaction harmless = {};
  harmless.sa_handler = be_interrupted;
  struct sigaction before = {};
  ASSERT_EQ(sigaction(SIGINT, &harmless, &before), 0);
  std::atomic<bool> has_ended{false};
  std::thread watcher([&] {
    struct sigaction now = harmless;
    while (!has_ended && now.sa_handler == be_interrupted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      sigaction(SIGINT, nullptr, &now);
    }
    if (!has_ended) kill(getpid(), SIGINT);  // only once: a second one ends the process
  });
  const bench::HardInstance instance = hard_instance(454);
  const std::string text = csv_of(instance.problem);
  const Answer answer = run(
      {"alloc", "-", "--capacity", std::to_string(instance.capacity), "--seconds", "600", "--json"},
      text);
  has_ended = true;
  watcher.join();
  struct sigaction after = {};
  ASSERT_EQ(sigaction(SIGINT, &before, &after), 0);
  EXPECT_EQ(after.sa_handler, be_interrupted) << "the handler of before is back";
  EXPECT_EQ(answer.status, 1) << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["outcome"], "unknown");
  EXPECT_EQ(json["interrupted"], true);
  expect_plan(text, json);
}

TEST_F(Alloc, NoBuffersNeedNoMemory) {
  const Answer answer = run({"alloc", "-", "--capacity", "0"}, "id,lower,upper,size\n");
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_TRUE(facts_in(answer.out).starts_with("0 0 0 ")) << answer.out;
}

}  // namespace
}  // namespace tessera::tools
