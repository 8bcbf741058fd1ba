// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tools/files/npy.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

/// y = relu(x·w + b) of [6, 8] and [8, 4], and z = sum of y.
const std::string kModel = R"({"tessera_graph": 1, "name": "layer",
  "values": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [6, 8]},
             {"name": "w", "kind": "parameter", "dtype": "f32", "shape": [8, 4]},
             {"name": "b", "kind": "parameter", "dtype": "f32", "shape": [4]}],
  "nodes": [
    {"op": "matmul", "inputs": ["x", "w"], "outputs": ["h"]},
    {"op": "add", "inputs": ["h", "b"], "outputs": ["a"]},
    {"op": "relu", "inputs": ["a"], "outputs": ["y"]},
    {"op": "reduce_sum", "inputs": ["y"], "outputs": ["z"], "attributes": {"keepdims": 0}}],
  "outputs": ["y", "z"]})";
const std::string kMachine =
    R"({"name": "small", "mesh": [2, 3], "memory": [{"name": "sram", "bytes": 4096}]})";

class RunVerb : public testing::Test, protected TestFolder {
 protected:
  void SetUp() override {
    write("model.json", kModel);
    write("small.json", kMachine);
  }
  Answer answer(const std::vector<std::string>& more) const {
    std::vector<std::string> args = {"run", path("model.json"), "--target", path("small.json"),
                                     "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  void write_npy(const std::string& name, const NpyType& type,
                 const std::vector<std::int64_t>& shape, const std::vector<float>& values,
                 bool fortran = false) const {
    write(name, write_npy_header(type, fortran, shape) +
                    std::string(reinterpret_cast<const char*>(values.data()),
                                values.size() * sizeof(float)));
  }
  std::vector<float> numbers_in(const std::string& name) const {
    const std::string bytes = read(name);
    const auto header = read_npy_header(std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(header);
    std::vector<float> numbers(static_cast<std::size_t>(header->elements));
    std::memcpy(numbers.data(), bytes.data() + header->data_offset,
                static_cast<std::size_t>(header->data_bytes));
    return numbers;
  }
};

TEST_F(RunVerb, ChecksARandomRun) {
  const Answer checked = answer({"--random", "3", "--check"});
  EXPECT_EQ(checked.status, 0) << checked.out;
  const Json json = checked.json();
  EXPECT_LE(json["max_error"].get<double>(), 1e-3);
  EXPECT_TRUE(json["agrees"].get<bool>());
  EXPECT_EQ(json["ops"].size(), 4U);
  for (const Json& op : json["ops"]) EXPECT_FALSE(op["kernels"].empty());
  EXPECT_EQ(json["outputs"][0]["name"].get<std::string>(), "y");
  EXPECT_TRUE(json["outputs"][0]["file"].is_null());
  EXPECT_GT(json["peak_bytes"]["sram"].get<std::int64_t>(), 0);
  EXPECT_LE(json["peak_bytes"]["sram"].get<std::int64_t>(), 4096);
  EXPECT_TRUE(json["cycles_simulated"].is_null());
  EXPECT_GT(json["seconds"].get<double>(), 0);
}

/// Without layouts a run is planned, which takes no longer than simple layouts; without figures for
/// moves it still runs.
TEST_F(RunVerb, PlansByItself) {
  write("all.txt", "h: pyflame.Grid(1, 1)\n");
  const auto on = [&](const std::string& target, const std::vector<std::string>& more) {
    std::vector<std::string> args = {"run", path("model.json"), "--target", target, "--random",
                                     "3",   "--check",          "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  };
  const Answer planned = on("wse2", {});
  ASSERT_EQ(planned.status, 0) << planned.out;
  EXPECT_EQ(planned.json()["layouts_from"].get<std::string>(), "planned");
  const Answer simple = on("wse2", {"--layouts", path("all.txt")});
  ASSERT_EQ(simple.status, 0) << simple.out;
  EXPECT_EQ(simple.json()["layouts_from"].get<std::string>(), "layouts_file");
  EXPECT_LE(planned.json()["cycles_predicted"].get<double>(),
            simple.json()["cycles_predicted"].get<double>());
  EXPECT_EQ(on(path("small.json"), {}).status, 0);
}

/// 6·8·4 multiply-adds over 6 places at most, one a cycle.
TEST_F(RunVerb, PredictsCyclesAndTracesThem) {
  write("rated.json",
        R"({"name": "rated", "mesh": [2, 3], "memory": [{"name": "sram", "bytes": 4096}],
            "compute": [{"unit": "vector", "dtype": "f32", "per_cycle": 1}]})");
  write("grid.txt", "h: pyflame.Grid(2, 2)\n");
  const Answer made =
      run({"run", path("model.json"), "--target", path("rated.json"), "--random", "1", "--layouts",
           path("grid.txt"), "--trace", path("t.json"), "--json"});
  ASSERT_EQ(made.status, 0) << made.out;
  const Json op = made.json()["ops"][0];
  EXPECT_EQ(op["places"].get<std::int64_t>(), 4);
  EXPECT_EQ(op["cycles"]["compute"].get<double>(), 6 * 8 * 4 / 4);
  const Json trace = parsed(read("t.json"));
  std::int64_t computes = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["name"].get<std::string>() == "matmul h") {
      ++computes;
      EXPECT_EQ(event["args"]["places"].get<std::int64_t>(), 4);
      EXPECT_EQ(event["dur"].get<double>(), 48);
    }
  }
  EXPECT_EQ(computes, 1);
}

TEST_F(RunVerb, TextNamesEveryOpAndTheMemory) {
  const Answer text =
      run({"run", path("model.json"), "--target", path("small.json"), "--random", "1", "--check"});
  EXPECT_EQ(text.status, 0) << text.err;
  for (const std::string_view word :
       {"matmul h f32[6, 4]", "reduce_sum z f32[]", "sram: ", "of 4096", "output y f32[6, 4]"}) {
    EXPECT_NE(text.out.find(word), std::string::npos) << word << "\n" << text.out;
  }
}

/// x[i, k] = i, w[k, j] = j, b = -8: y[i, j] = 8·i·j - 8, at least 0.
TEST_F(RunVerb, ReadsAndWritesArrays) {
  std::vector<float> x;
  for (int i = 0; i < 6; ++i) x.insert(x.end(), 8, static_cast<float>(i));
  std::vector<float> w;  // in Fortran order
  for (int j = 0; j < 4; ++j) w.insert(w.end(), 8, static_cast<float>(j));
  write_npy("x.npy", {'f', 4}, {6, 8}, x);
  write_npy("w.npy", {'f', 4}, {8, 4}, w, true);
  write_npy("b.npy", {'f', 4}, {4}, {-8, -8, -8, -8});
  const std::vector<std::string> inputs = {
      "--in", "x=" + path("x.npy"), "--in", "w=" + path("w.npy"), "--in", "b=" + path("b.npy")};
  std::vector<float> expected;
  float sum = 0;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 4; ++j) {
      expected.push_back(std::max(0.0F, static_cast<float>(8 * i * j - 8)));
      sum += expected.back();
    }
  }
  // The default, rows and columns of PEs, and k divided over places.
  write("grid.txt", "# comment\n\nx: pyflame.Grid(2, 3)\n* : pyflame.SinglePE()\n");
  write("sums.txt",
        "x: pyflame.ColPartition(3)\nw:\tpyflame.RowPartition(2)\nh: pyflame.SinglePE()\n");
  for (const std::string layouts : {"", "grid.txt", "sums.txt"}) {
    std::vector<std::string> more = inputs;
    if (!layouts.empty()) more.insert(more.end(), {"--layouts", path(layouts)});
    more.insert(more.end(), {"--out", path("."), "--check"});
    const Answer made = answer(more);
    ASSERT_EQ(made.status, 0) << layouts << made.out;
    EXPECT_EQ(numbers_in("y.npy"), expected) << layouts;
    EXPECT_EQ(numbers_in("z.npy"), std::vector<float>{sum}) << layouts;
  }
}

/// The cache that one run leaves is what the next one reads.
TEST_F(RunVerb, OutputsAreInputsOfTheNextRun) {
  const auto make = [&](const std::string& past, const std::string& file) {
    return run({"graph", "--make", "llama", "--layers", "2", "--hidden", "16", "--heads", "2",
                "--vocabulary", "8", "--sequence", past == "0" ? "3" : "1", "--past", past, "--out",
                path(file)})
        .status;
  };
  ASSERT_EQ(make("0", "prompt.json"), 0);
  ASSERT_EQ(make("3", "step.json"), 0);
  std::vector<std::string> args = {"run", path("prompt.json"), "--target", "wormhole", "--random",
                                   "1",   "--check",           "--out",    path("."),  "--json"};
  const Answer prompt = run(args);
  ASSERT_EQ(prompt.status, 0) << prompt.out;
  EXPECT_EQ(numbers_in("layer1.keys.npy").size(), 1U * 2 * 3 * 8);
  args[1] = path("step.json");
  args.insert(args.end(), {"--in", "layer*.past_keys=" + path("layer*.keys.npy"), "--in",
                           "layer*.past_values=" + path("layer*.values.npy")});
  const auto code_with = [&](const std::string& more) {
    std::vector<std::string> all = args;
    all.insert(all.end(), {"--in", more});
    return run(all).error_code();
  };
  EXPECT_EQ(code_with("layer0.past_keys=" + path("layer0.keys.npy")), "usage");
  EXPECT_EQ(code_with("layer*.past=" + path("layer*.keys.npy")), "unknown_name");
  EXPECT_EQ(code_with("layer*.norm1=" + path("layer*.none.npy")), "io");
  const std::vector<float> before = numbers_in("layer1.keys.npy");
  const Answer step = run(args);
  ASSERT_EQ(step.status, 0) << step.out;
  const std::vector<float> after = numbers_in("layer1.keys.npy");
  ASSERT_EQ(after.size(), 1U * 2 * 4 * 8);
  // [1, 2, 3, 8] and [1, 2, 4, 8]: the tokens before are first in each head.
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(after[head * 32 + i], before[head * 24 + i]);
  }
}

TEST_F(RunVerb, MistakesHaveOneCode) {
  write_npy("x.npy", {'f', 4}, {6, 7}, std::vector<float>(42));
  write_npy("i.npy", {'i', 4}, {6, 8}, std::vector<float>(48));
  write("unknown.txt", "q: pyflame.SinglePE()\n");
  write("no_colon.txt", "x pyflame.SinglePE()\n");
  write("wide.txt", "x: pyflame.Grid(4, 4)\n");
  write("bad.txt", "x: pyflame.Gird(2, 2)\n");
  write("tiny.json",
        R"({"name": "tiny", "mesh": [1, 1], "memory": [{"name": "sram", "bytes": 64}]})");
  EXPECT_EQ(answer({}).error_code(), "bad_graph");
  EXPECT_EQ(answer({"--random", "1", "--in", "x=" + path("x.npy")}).error_code(), "shape_mismatch");
  EXPECT_EQ(answer({"--random", "1", "--in", "x=" + path("i.npy")}).error_code(), "bad_dtype");
  EXPECT_EQ(answer({"--random", "1", "--in", "q=" + path("x.npy")}).error_code(), "unknown_name");
  EXPECT_EQ(answer({"--random", "1", "--in", path("x.npy")}).error_code(), "usage");
  EXPECT_EQ(answer({"--random", "1", "--in", "x=" + path("none.npy")}).error_code(), "io");
  EXPECT_EQ(answer({"--random", "1", "--layouts", path("unknown.txt")}).error_code(),
            "unknown_name");
  EXPECT_EQ(answer({"--random", "1", "--layouts", path("no_colon.txt")}).error_code(), "syntax");
  EXPECT_EQ(answer({"--random", "1", "--layouts", path("wide.txt")}).error_code(),
            "mesh_too_small");
  EXPECT_EQ(answer({"--random", "1", "--layouts", path("bad.txt")}).error_code(), "unknown_name");
  EXPECT_EQ(answer({"--random", "1", "--out", path("nowhere")}).error_code(), "io");
  EXPECT_EQ(run({"run", path("model.json"), "--json"}).error_code(), "usage");
  EXPECT_EQ(
      run({"run", path("model.json"), "--target", path("tiny.json"), "--random", "1", "--json"})
          .error_code(),
      "does_not_fit");
  for (const std::string& name : names()) EXPECT_NE(name, "y.npy");
}

}  // namespace
}  // namespace tessera::tools
