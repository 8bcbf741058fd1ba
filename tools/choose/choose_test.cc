// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include <csignal>
#include <fstream>

#include "tessera/plan/choose/read_problem.h"
#include "tessera/plan/choose/validate.h"
#include "tools/choose/choose_search.h"
#include "tools/files/gzip.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

/// The example of plan/choose/problem.h: the best choice is 1, 1 with cost 3.
const std::string kProblem =
    R"({"problem": {"nodes": {"intervals": [[0, 4], [2, 6]], "costs": [[5, 1], [0, 2]],
"usages": [[4, 8], [5, 1]]}, "edges": {"nodes": [[0, 1]], "costs": [[0, 0, 3, 0]]},
"usage_limit": 10}})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string gzipped(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

class Choose : public ::testing::Test, public TestFolder {
 protected:
  std::string file(const std::string& text) const {
    write("p.json", text);
    return path("p.json");
  }
};

TEST_F(Choose, AnswersInOneObject) {
  const Answer answer = run({"choose", file(kProblem), "--json"});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.members()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"cost", "lower_bound", "gap", "optimal", "choices",
                                            "seconds", "found_by", "outcome", "first_seconds",
                                            "rounds", "interrupted", "obstacle"}));
  EXPECT_EQ(json["cost"], 3);
  EXPECT_EQ(json["lower_bound"], 3);
  EXPECT_EQ(json["optimal"], true);
  EXPECT_EQ(json["choices"], (Json::array({1, 1})));
  EXPECT_TRUE(json["obstacle"].is_null());
}

TEST_F(Choose, ReadsStandardInputAndGzip) {
  EXPECT_EQ(run({"choose", "-", "--json"}, kProblem).json()["cost"], 3);
  const std::string bytes = gzipped(kProblem);
  EXPECT_EQ(run({"choose", file(bytes), "--json"}).json()["cost"], 3);
  EXPECT_EQ(run({"choose", "-", "--json"}, bytes + bytes.substr(0, 0)).json()["cost"], 3);
  for (const std::size_t size : {std::size_t{2}, std::size_t{12}, bytes.size() - 1}) {
    const Answer answer = run({"choose", file(bytes.substr(0, size)), "--json"});
    EXPECT_EQ(answer.error_code(), "io") << size;
    EXPECT_EQ(answer.status, 2);
  }
  EXPECT_EQ(gunzip(bytes, 10, "x").error().code, ErrorCode::kTextTooLong);
  EXPECT_EQ(*gunzip(bytes + bytes, 10000, "x"), kProblem + kProblem);
}

TEST_F(Choose, SaysWhyNothingIsFeasible) {
  const std::string text = replaced(kProblem, "\"usage_limit\": 10", "\"usage_limit\": 4");
  const Answer answer = run({"choose", file(text), "--json"});
  EXPECT_EQ(answer.status, 1);
  const Json json = answer.json();
  EXPECT_EQ(json["outcome"], "infeasible");
  EXPECT_TRUE(json["cost"].is_null());
  EXPECT_EQ(json["obstacle"]["from"], 2);
  EXPECT_EQ(json["obstacle"]["to"], 4);
  EXPECT_EQ(json["obstacle"]["needed"], 5);
  EXPECT_EQ(json["obstacle"]["excess"], 1);
  EXPECT_EQ(json["obstacle"]["proven"], true);
  const Answer words = run({"choose", file(text)});
  EXPECT_EQ(words.status, 1);
  EXPECT_NE(words.out.find("[2, 4)"), std::string::npos) << words.out;
}

TEST_F(Choose, PointsIntoTheFile) {
  const std::string text = replaced(kProblem, "[4, 8]", "[4, -8]");
  const Answer answer = run({"choose", file(text), "--json"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error_code(), "bad_problem");
  const Json json = answer.json();
  EXPECT_EQ(json["error"]["line"], 2);
  EXPECT_EQ(json["error"]["column"], 12);
}

TEST_F(Choose, RefusesBadFlags) {
  const std::string name = file(kProblem);
  EXPECT_EQ(run({"choose", name, "--seconds", "-1", "--json"}).error_code(), "bad_number");
  EXPECT_EQ(run({"choose", name, "--rounds", "-1", "--json"}).error_code(), "out_of_range");
  EXPECT_EQ(run({"choose", name, "--seed", "-1", "--json"}).error_code(), "out_of_range");
  EXPECT_EQ(run({"choose", path("missing.json"), "--json"}).error_code(), "io");
}

TEST(ChooseLine, FitsTheTerminal) {
  choose::Progress progress;
  progress.seconds = 12.5;
  progress.cost = 200;
  progress.lower_bound = 150;
  EXPECT_EQ(choose_line(progress, 80), "cost 200 so far, at least 150 (gap 25.00 %), 12 s");
  EXPECT_EQ(choose_line(progress, 10).size(), 9U);
  EXPECT_EQ(choose_line(progress, 0), "");
}

}  // namespace
}  // namespace tessera::tools
