// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

/// y = relu(x·w + b) of [32, 64] and [64, 48].
const std::string kModel = R"({"tessera_graph": 1, "name": "layer",
  "values": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [32, 64]},
             {"name": "w", "kind": "parameter", "dtype": "f32", "shape": [64, 48]},
             {"name": "b", "kind": "parameter", "dtype": "f32", "shape": [48]}],
  "nodes": [
    {"op": "matmul", "inputs": ["x", "w"], "outputs": ["h"]},
    {"op": "add", "inputs": ["h", "b"], "outputs": ["a"]},
    {"op": "relu", "inputs": ["a"], "outputs": ["y"]}],
  "outputs": ["y"]})";

class PlanVerb : public testing::Test, protected TestFolder {
 protected:
  void SetUp() override { write("model.json", kModel); }
  Answer plan(const std::vector<std::string>& more, const std::string& target = "wormhole") const {
    std::vector<std::string> args = {"plan",   path("model.json"), "--target", target,
                                     "--json", "--candidates",     "6"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  Answer check(const std::string& file, const std::string& target = "wormhole") const {
    return run({"plan", path("model.json"), "--target", target, "--json", "--check", path(file)});
  }
};

TEST_F(PlanVerb, AnswersWithEveryField) {
  const Answer made = plan({});
  ASSERT_EQ(made.status, 0) << made.out;
  const Json json = made.json();
  EXPECT_TRUE(json["fits"].get<bool>());
  EXPECT_GT(json["seconds_predicted"].get<double>(), 0);
  EXPECT_LE(json["lower_bound"].get<double>(), json["seconds_predicted"].get<double>() * 1.000001);
  EXPECT_EQ(json["values"].size(), 6U);
  EXPECT_EQ(json["values"][0]["space"].get<std::string>(), "l1");
  ASSERT_EQ(json["ops"].size(), 3U);
  EXPECT_FALSE(json["ops"][0]["reason"].get<std::string>().empty());
  EXPECT_TRUE(json["ops"][0]["runner_up"].is_object());
  for (const char* name : {"max_grid", "each_op_alone", "greedy_forward"}) {
    EXPECT_GE(json["baseline_cycles"][name].get<double>() + 0.1,
              json["cycles_predicted"].get<double>())
        << name;
  }
}

/// What the plan says is what run says, and the results are right.
TEST_F(PlanVerb, RunCarriesAPlanOut) {
  for (const std::string target : {"wormhole", "wse2", "spyre"}) {
    const Answer made = plan({"--out", path("plan.json")}, target);
    ASSERT_EQ(made.status, 0) << target << made.out;
    const Answer checked = check("plan.json", target);
    EXPECT_EQ(checked.status, 0) << checked.out;
    EXPECT_TRUE(checked.json()["valid"].get<bool>()) << checked.out;
    const Answer ran = run({"run", path("model.json"), "--target", target, "--plan",
                            path("plan.json"), "--random", "1", "--check", "--json"});
    ASSERT_EQ(ran.status, 0) << target << ran.out;
    EXPECT_TRUE(ran.json()["agrees"].get<bool>());
    if (target != "wse2") continue;  // of these the one without gaps between ops, with all rates
    EXPECT_NEAR(ran.json()["cycles_predicted"].get<double>(),
                made.json()["cycles_predicted"].get<double>(), 1e-3);
  }
}

/// Where a target's notation can say a layout, it puts every element where the plan says.
TEST_F(PlanVerb, LayoutsAreAlsoInTheNotationOfTheTarget) {
  for (const auto& [target, notation] :
       {std::pair<std::string, std::string>("wse2", "pyflame."), {"spyre", "spyre"}}) {
    ASSERT_EQ(plan({"--out", path("plan.json")}, target).status, 0);
    const Json values = parsed(read("plan.json"))["values"];
    std::size_t said = 0;
    for (const Json& value : values) {
      if (value["target_layout"].is_null()) continue;
      ++said;
      const auto own = value["target_layout"].get<std::string>();
      EXPECT_NE(own.find(notation), std::string::npos) << own;
      EXPECT_EQ(run({"diff", own, value["layout"].get<std::string>(), "--json"}).status, 0) << own;
    }
    EXPECT_GT(said, 0U) << target;
  }
}

TEST_F(PlanVerb, DiffSaysWhatTwoPlansDoDifferently) {
  write("pins.txt", "h: pyflame.Grid(2, 2)\n");
  ASSERT_EQ(plan({"--out", path("a.json")}, "wse2").status, 0);
  ASSERT_EQ(plan({"--out", path("b.json"), "--pins", path("pins.txt")}, "wse2").status, 0);
  const Answer same = run({"diff", path("a.json"), path("a.json"), "--json"});
  EXPECT_EQ(same.status, 0) << same.out;
  EXPECT_TRUE(same.json()["equal"].get<bool>());
  const Answer other = run({"diff", path("a.json"), path("b.json"), "--json"});
  EXPECT_EQ(other.status, 1) << other.out;
  const Json json = other.json();
  EXPECT_TRUE(json["same_model"].get<bool>());
  EXPECT_LE(json["cycles_a"].get<double>(), json["cycles_b"].get<double>() + 0.1);
  bool has_h = false;
  for (const Json& value : json["values"]) has_h = has_h || value["name"] == "h";
  EXPECT_TRUE(has_h) << other.out;
  EXPECT_EQ(run({"diff", path("a.json"), path("b.json")}).status, 1);
  EXPECT_EQ(run({"diff", path("a.json"), "tensor<4xf32, strided<[1]>>", "--json"}).error_code(),
            "usage");
  EXPECT_EQ(run({"diff", path("a.json"), path("none.json"), "--json"}).error_code(), "io");
  EXPECT_EQ(run({"diff", path("a.json"), path("model.json"), "--json"}).error_code(), "syntax");
}

TEST_F(PlanVerb, PinsAreKept) {
  write("pins.txt", "h: pyflame.Grid(2, 2)\n");
  const Answer free = plan({}, "wse2");
  const Answer pinned = plan({"--pins", path("pins.txt")}, "wse2");
  ASSERT_EQ(pinned.status, 0) << pinned.out;
  EXPECT_NE(pinned.json()["values"][3]["layout"].get<std::string>().find("mesh=[2, 2]"),
            std::string::npos)
      << pinned.out;
  EXPECT_GE(pinned.json()["cycles_predicted"].get<double>() + 0.1,
            free.json()["cycles_predicted"].get<double>());
  write("wide.txt", "h: pyflame.Grid(2000, 2)\n");
  EXPECT_EQ(plan({"--pins", path("wide.txt")}, "wse2").status, 2);
  write("two.txt", "h: pyflame.Grid(2, 2)\nh: pyflame.Grid(2, 4)\n");
  EXPECT_EQ(plan({"--pins", path("two.txt")}, "wse2").error_code(), "contradiction");
  write("same.txt", "h: pyflame.Grid(2, 2)\nh: pyflame.Grid(2, 2)\n*: pyflame.SinglePE()\n");
  EXPECT_EQ(plan({"--pins", path("same.txt")}, "wse2").status, 0);
}

TEST_F(PlanVerb, ObjectiveMemoryNeedsNoMore) {
  const Answer fast = plan({});
  const Answer small = plan({"--objective", "memory"});
  ASSERT_EQ(small.status, 0) << small.out;
  EXPECT_LE(small.json()["peak_bytes"]["l1"].get<std::int64_t>(),
            fast.json()["peak_bytes"]["l1"].get<std::int64_t>());
}

TEST_F(PlanVerb, TextNamesOpsBoundsAndMemory) {
  const Answer text =
      run({"plan", path("model.json"), "--target", "wormhole", "--candidates", "4"});
  EXPECT_EQ(text.status, 0) << text.err;
  for (const std::string_view word :
       {"layer on wormhole", "greedy_forward", "l1: ", "matmul h: ", "y f32[32, 48]"}) {
    EXPECT_NE(text.out.find(word), std::string::npos) << word << "\n" << text.out;
  }
}

TEST_F(PlanVerb, SaysWhatDoesNotFit) {
  write("tiny.json",
        R"({"name": "tiny", "mesh": [1, 1], "memory": [{"name": "sram", "bytes": 4096}]})");
  const Answer made = plan({}, path("tiny.json"));
  EXPECT_EQ(made.status, 1) << made.out;
  EXPECT_EQ(made.error_code(), "does_not_fit");
  EXPECT_FALSE(made.json()["fits"].get<bool>());
  EXPECT_EQ(made.json()["error"]["file"].get<std::string>(), path("model.json"));
}

TEST_F(PlanVerb, MistakesHaveOneCode) {
  ASSERT_EQ(plan({"--out", path("plan.json")}).status, 0);
  const std::string text = read("plan.json");
  EXPECT_EQ(run({"plan", path("model.json"), "--json"}).error_code(), "usage");
  EXPECT_EQ(plan({"--objective", "beauty"}).error_code(), "usage");
  EXPECT_EQ(plan({"--seconds", "soon"}).error_code(), "bad_number");
  EXPECT_EQ(run({"plan", path("model.json"), "--target", "wormhole", "--candidates", "0", "--json"})
                .error_code(),
            "out_of_range");
  EXPECT_EQ(plan({"--pins", path("none.txt")}).error_code(), "io");
  EXPECT_EQ(plan({"--check", path("plan.json"), "--seconds", "1"}).error_code(), "usage");
  EXPECT_EQ(check("plan.json", "wse2").error_code(), "contradiction");
  const auto damaged = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const std::size_t at = other.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    other.replace(at, from.size(), to);
    write("damaged.json", other);
    return check("damaged.json");
  };
  EXPECT_EQ(damaged("{", "[").error_code(), "syntax");
  EXPECT_EQ(damaged("\"tessera_plan\":1", "\"tessera_plan\":2").error_code(), "syntax");
  EXPECT_EQ(damaged("\"gap\":", "\"pag\":").error_code(), "bad_json");
  EXPECT_EQ(damaged("\"name\":\"w\"", "\"name\":\"v\"").error_code(), "contradiction");
  EXPECT_EQ(damaged("\"hash\":\"", "\"hash\":\"0").error_code(), "contradiction");
  EXPECT_EQ(damaged("\"compute_cycles\":", "\"compute_cycles\":1").status, 1);
  std::string deep;
  for (int i = 0; i < 300'000; ++i) deep += "{\"a\":";
  write("deep.json", deep + "1" + std::string(300'000, '}'));
  EXPECT_EQ(check("deep.json").error_code(), "syntax");
  // A plan of another model.
  std::string other = kModel;
  other.replace(other.find("relu"), 4, "tanh");
  write("model.json", other);
  EXPECT_EQ(check("plan.json").error_code(), "contradiction");
  EXPECT_EQ(run({"run", path("model.json"), "--target", "wormhole", "--plan", path("plan.json"),
                 "--random", "1", "--json"})
                .error_code(),
            "contradiction");
}

}  // namespace
}  // namespace tessera::tools
