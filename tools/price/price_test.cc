// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

/// y = relu(x·w + b); the weights have 256 KiB, more than a place of wse2 has.
const std::string kModel = R"({"tessera_graph": 1, "name": "layer",
  "values": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [32, 256]},
             {"name": "w", "kind": "parameter", "dtype": "f32", "shape": [256, 256]},
             {"name": "b", "kind": "parameter", "dtype": "f32", "shape": [256]}],
  "nodes": [
    {"op": "matmul", "inputs": ["x", "w"], "outputs": ["h"]},
    {"op": "add", "inputs": ["h", "b"], "outputs": ["a"]},
    {"op": "relu", "inputs": ["a"], "outputs": ["y"]}],
  "outputs": ["y"]})";

class Price : public testing::Test, protected TestFolder {
 protected:
  void SetUp() override {
    write("model.json", kModel);
    const Answer made = run({"plan", path("model.json"), "--target", "wse2", "--candidates", "4",
                             "--out", path("plan.json"), "--json"});
    ASSERT_EQ(made.status, 0) << made.out;
  }
  Answer price(const std::vector<std::string>& more, const std::string& file = "plan.json") const {
    std::vector<std::string> args = {"price", path(file), "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  Json plan() const { return parsed(read("plan.json")); }
  /// The cycles that a run of the plan predicts with another layout of one value.
  double predicted(std::size_t value, const std::string& layout) const {
    Json changed = plan();
    changed["values"][value]["layout"] =
        run({"show", layout, "--json"}).json()["native"].get<std::string>();
    write("changed.json", dump(changed));
    const Answer ran = run({"run", path("model.json"), "--target", "wse2", "--plan",
                            path("changed.json"), "--random", "1", "--json"});
    EXPECT_EQ(ran.status, 0) << ran.out;
    return ran.json()["cycles_predicted"].get<double>();
  }
};

TEST_F(Price, WithoutAChangeIsThatOfThePlan) {
  const Answer priced = price({});
  EXPECT_EQ(priced.status, 0) << priced.out;
  const Json json = priced.json();
  EXPECT_EQ(json["cycles"].get<double>(), plan()["cycles"].get<double>());
  EXPECT_EQ(json["changed"].size(), 0U);
  EXPECT_EQ(json["ops"].size(), 0U);
  EXPECT_EQ(json["buffers"], plan()["buffers"]);
}

/// Another computation of the same cycles: a run of the changed plan as a whole.
TEST_F(Price, IsWhatARunWithTheOtherLayoutPredicts) {
  const std::vector<std::pair<std::size_t, std::string>> changes = {
      {0, "tensor<32x256xf32, pyflame.Grid(4, 4)>"},
      {0, "tensor<32x256xf32, pyflame.SinglePE()>"},
      {3, "tensor<32x256xf32, pyflame.Grid(2, 8)>"},
      {4, "tensor<32x256xf32, pyflame.RowPartition(8)>"},
      {5, "tensor<32x256xf32, pyflame.Grid(1, 4)>"}};
  for (const auto& [value, layout] : changes) {
    const std::string name = plan()["values"][value]["name"].get<std::string>();
    const Answer priced = price({"--layout", cat(name, ": ", layout)});
    ASSERT_EQ(priced.status, 0) << priced.out;
    EXPECT_EQ(priced.json()["changed"][std::size_t{0}].get<std::string>(), name);
    EXPECT_NEAR(priced.json()["cycles"].get<double>(), predicted(value, layout), 1e-3) << layout;
  }
  // Pins of a file, and of several values at once.
  write("pins.txt", "h: pyflame.Grid(2, 8)\na: pyflame.Grid(8, 2)\n");
  const Json both = price({"--pins", path("pins.txt"), "--layout", "h: pyflame.Grid(2, 2)"}).json();
  EXPECT_EQ(both["changed"].size(), 2U);
  EXPECT_EQ(both["ops"].size(), 3U);
}

/// Ops around the value divide their work as it is, so it need not move to where they are.
TEST_F(Price, DividesTheWorkAnew) {
  const std::string line = "y: pyflame.Grid(2, 2)";
  const Json kept = price({"--layout", line}).json();
  const Json anew = price({"--layout", line, "--divide"}).json();
  const auto last = [](const Json& json) { return json["ops"][json["ops"].size() - 1]; };
  EXPECT_EQ(last(kept)["divided"], plan()["ops"][std::size_t{2}]["divided"]);
  EXPECT_NE(last(anew)["divided"], last(kept)["divided"]);
  EXPECT_EQ(last(anew)["settle_cycles"].get<double>(), 0);
}

TEST_F(Price, SaysWhatDoesNotFit) {
  const Answer priced = price({"--layout", "w: pyflame.SinglePE()"});
  EXPECT_EQ(priced.status, 1) << priced.out;
  EXPECT_EQ(priced.error_code(), "does_not_fit");
  EXPECT_FALSE(priced.json()["fits"].get<bool>());
  EXPECT_EQ(priced.json()["error"]["file"].get<std::string>(), path("plan.json"));
}

TEST_F(Price, MistakesHaveOneCode) {
  EXPECT_EQ(price({"--layout", "z: pyflame.Grid(2, 2)"}).error_code(), "unknown_name");
  EXPECT_EQ(price({"--layout", "pyflame"}).error_code(), "syntax");
  EXPECT_EQ(price({"--layout", "x: tensor<3x3xf32, pyflame.Grid(1, 1)>"}).error_code(),
            "shape_mismatch");
  EXPECT_EQ(price({"--layout", "x: pyflame.Grid(2000, 2)"}).status, 2);
  EXPECT_EQ(price({"--target", "wormhole"}).error_code(), "contradiction");
  EXPECT_EQ(price({}, "none.json").error_code(), "io");
  EXPECT_EQ(price({}, "model.json").error_code(), "syntax");
  const auto damaged = [&](const std::string& from, const std::string& to) {
    std::string other = read("plan.json");
    const std::size_t at = other.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    other.replace(at, from.size(), to);
    write("damaged.json", other);
    return price({}, "damaged.json").error_code();
  };
  EXPECT_EQ(damaged("\"graph\":", "\"hparg\":"), "bad_json");
  EXPECT_EQ(damaged("\"model\":{", "\"ledom\":{"), "bad_json");
  EXPECT_NE(damaged("\"tessera_graph\":1", "\"tessera_graph\":9"), "");
  EXPECT_EQ(damaged("\"values\":[{", "\"values\":[{\"name\":\"q\",\"layout\":\"\"},{"),
            "contradiction");
  EXPECT_NE(damaged("\"node\":0", "\"node\":1"), "");
  EXPECT_EQ(damaged("\"node\":0", "\"node\":99"), "contradiction");
}

/// The page of a plan, by its two ways.
TEST_F(Price, ViewAndReportWriteThePlanIntoThePage) {
  write("page.html", "<script type=\"application/json\"><!--OPENED--></script>");
  const auto state = [&](const std::string& file) {
    const std::string page = read(file);
    const std::size_t from = page.find("json\">") + 6;
    return parsed(page.substr(from, page.find("</script>") - from));
  };
  const Answer viewed = run({"view", path("plan.json"), "--page", path("page.html"), "--out",
                             path("view.html"), "--json"});
  EXPECT_EQ(viewed.status, 0) << viewed.out;
  EXPECT_EQ(state("view.html")["v"].get<std::string>(), "model");
  EXPECT_EQ(state("view.html")["plan"].get<std::string>(), read("plan.json"));
  const Answer planned = run({"plan", path("model.json"), "--target", "wse2", "--candidates", "4",
                              "--page", path("page.html"), "--report", path("r.html"), "--json"});
  EXPECT_EQ(planned.status, 0) << planned.out;
  EXPECT_EQ(parsed(state("r.html")["plan"].get<std::string>())["tessera_plan"].get<int>(), 1);
  EXPECT_EQ(run({"view", path("model.json"), "--page", path("page.html"), "--out",
                 path("view.html"), "--json"})
                .error_code(),
            "syntax");
}

}  // namespace
}  // namespace tessera::tools
