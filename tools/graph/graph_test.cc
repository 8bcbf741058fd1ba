// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tessera/graph/models/models.h"
#include "tools/graph/read_graph.h"
#include "tools/graph/write_onnx.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

const std::string kClassifier =
    R"({"tessera_graph": 1, "name": "c", "outputs": ["p"], "values": [
 {"name": "x", "kind": "input", "dtype": "f32", "shape": [1, 8]},
 {"name": "w", "kind": "parameter", "dtype": "f32", "shape": [8, 4]}], "nodes": [
 {"op": "matmul", "inputs": ["x", "w"], "outputs": ["h"]},
 {"op": "softmax", "inputs": ["h"], "outputs": ["p"]}]})";

TEST(GraphVerb, AnswersTheContract) {
  const Answer answer = run({"graph", "-", "--json"}, kClassifier);
  ASSERT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["nodes"].get<int>(), 2);
  EXPECT_EQ(json["values"].get<int>(), 4);
  EXPECT_EQ(json["parameters"].get<int>(), 32);
  EXPECT_EQ(json["flops"].get<int>(), 2 * 8 * 4 + 5 * 4);
  EXPECT_EQ(json["bytes"].get<int>(), 4 * (8 + 32 + 4 + 4));
  EXPECT_EQ(dump(json["ops"]), R"({"matmul":1,"softmax":1})");
  EXPECT_EQ(dump(json["unsupported"]), "[]");
  EXPECT_EQ(dump(json["inputs"]), R"([{"name":"x","shape":[1,8],"dtype":"f32"}])");
  EXPECT_EQ(dump(json["outputs"]), R"([{"name":"p","shape":[1,4],"dtype":"f32"}])");
}

TEST(GraphVerb, ErrorsHavePositions) {
  std::string text = kClassifier;
  text.replace(text.find("\"x\", \"w\"], \"out"), 3, "\"z\"");
  const Answer answer = run({"graph", "-", "--json"}, text);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error_code(), "bad_graph");
  const std::size_t from = answer.json()["error"]["span"][std::size_t{0}].get<std::size_t>();
  EXPECT_EQ(text.substr(from, 3), "\"z\"");
  EXPECT_EQ(run({"graph"}).status, 2);
  EXPECT_EQ(run({"graph", "-", "--make", "mlp"}).status, 2);
  EXPECT_EQ(run({"graph", "/no/such/file", "--json"}).error_code(), "io");
}

TEST(GraphVerb, MakesModelsThatReadBack) {
  const std::string file = testing::TempDir() + "/tessera_graph_verb.json";
  const Answer made = run({"graph", "--make", "llama", "--layers", "1", "--hidden", "64", "--heads",
                           "8", "--past", "10", "--dtype", "bf16", "--out", file, "--json"});
  ASSERT_EQ(made.status, 0) << made.out << made.err;
  const Answer read = run({"graph", file, "--json"});
  EXPECT_EQ(read.out, made.out);
  std::filesystem::remove(file);
  EXPECT_EQ(run({"graph", "--make", "resnet51", "--json"}).error_code(), "unknown_name");
  const Answer text = run({"graph", "--make", "mlp"});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("matmul 3"), std::string::npos) << text.out;
}

TEST(GraphVerb, DecomposesAndFuses) {
  const Answer plain = run({"graph", "-", "--fuse", "--json"}, kClassifier);
  ASSERT_EQ(plain.status, 0) << plain.out << plain.err;
  EXPECT_EQ(
      dump(plain.json()["groups"]),
      R"([{"kind":"contraction","nodes":[0],"ops":["matmul"],"inputs":["x","w"],"outputs":["h"]},)"
      R"({"kind":"other","nodes":[1],"ops":["softmax"],"inputs":["h"],"outputs":["p"]}])");
  for (const std::string ops : {"softmax", "gelu,softmax", "all"}) {
    const Answer simple = run({"graph", "-", "--decompose", ops, "--fuse", "--json"}, kClassifier);
    ASSERT_EQ(simple.status, 0) << simple.out << simple.err;
    EXPECT_EQ(dump(simple.json()["ops"]),
              R"({"div":1,"exp":1,"matmul":1,"reduce_max":1,"reduce_sum":1,"sub":1})");
    EXPECT_EQ(simple.json()["groups"].size(), 5U);
  }
  for (const std::string wrong : {"", "matmul", "softmax,", "softmax,gleu"}) {
    EXPECT_EQ(run({"graph", "-", "--decompose", wrong, "--json"}, kClassifier).error_code(),
              "unknown_name")
        << wrong;
  }
  EXPECT_EQ(run({"graph", "-", "--fuse"}, kClassifier).status, 0);
}

TEST(GraphVerb, ReadsBindings) {
  for (const std::string wrong : {"batch", "=8", "batch=x", "batch=-1"}) {
    EXPECT_EQ(run({"graph", "-", "--dim", wrong, "--json"}, kClassifier).error_code(), "usage")
        << wrong;
  }
  EXPECT_EQ(run({"graph", "-", "--shape", "x=1,a", "--json"}, kClassifier).error_code(), "usage");
}

class GraphFiles : public testing::Test, protected TestFolder {};

TEST_F(GraphFiles, WritesOnnx) {
  const std::string file = path("small.onnx");
  const Answer made = run({"graph", "-", "--out", file, "--seed", "5", "--json"}, kClassifier);
  if (made.status == 2 && made.error_code() == "not_supported") {
    GTEST_SKIP() << "this build has no ONNX";
  }
  ASSERT_EQ(made.status, 0) << made.out << made.err;
  EXPECT_EQ(dump(made.json()["random_weights"]),
            R"({"values":1,"elements":32,"seed":5,"file":null})");
  const Answer back = run({"graph", file, "--json"});
  ASSERT_EQ(back.status, 0) << back.out << back.err;
  for (const char* const field : {"name", "nodes", "values", "parameters", "flops", "ops"}) {
    EXPECT_EQ(dump(back.json()[field]), dump(made.json()[field])) << field;
  }
  // The same seed gives the same file, another one another.
  const auto bytes_with = [&](const std::string& seed) {
    EXPECT_EQ(run({"graph", "-", "--out", file, "--seed", seed}, kClassifier).status, 0);
    return read("small.onnx");
  };
  const std::string first = bytes_with("5");
  EXPECT_NE(bytes_with("6"), first);
  EXPECT_EQ(bytes_with("5"), first);
}

/// A file that cannot be written keeps its former content.
TEST_F(GraphFiles, AreWrittenWholeOrNotAtAll) {
  write("odd.onnx", "before");
  std::string odd = kClassifier;
  odd.replace(odd.find("softmax"), 7, "layout_transform");
  const Answer refused = run({"graph", "-", "--out", path("odd.onnx"), "--json"}, odd);
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.error_code(), "not_supported");
  EXPECT_EQ(read("odd.onnx"), "before");
  EXPECT_EQ(names(), std::vector<std::string>{"odd.onnx"});
  const auto code = [&](const std::string& out, const std::string& more = "--fuse") {
    return run({"graph", "-", "--json", "--out", out, more}, kClassifier).error_code();
  };
  EXPECT_EQ(code(path("missing/x.json")), "io");
  EXPECT_EQ(code("-"), "usage");
  EXPECT_EQ(code(""), "usage");
  EXPECT_EQ(code(path("x.json"), "--seed=1"), "usage");
  EXPECT_EQ(names(), std::vector<std::string>{"odd.onnx"});
}

TEST_F(GraphFiles, HasADrawing) {
  write("model.json", kClassifier);
  const Answer answer =
      run({"graph", path("model.json"), "--svg", path("model.svg"), "--decompose", "softmax"});
  ASSERT_EQ(answer.status, 0) << answer.out << answer.err;
  // What is drawn is the graph after decomposing.
  EXPECT_NE(read("model.svg").find("reduce_max"), std::string::npos);
  const auto code = [&](const std::string& svg, const std::string& out) {
    return run({"graph", path("model.json"), "--json", "--svg", svg, "--out", out}).error_code();
  };
  EXPECT_EQ(code(path("x"), path("x")), "usage");
  EXPECT_EQ(code(path("./model.json"), path("x")), "usage");
  EXPECT_EQ(code("-", path("x")), "usage");
  EXPECT_EQ(code(path("missing/x.svg"), path("x")), "io");
  EXPECT_EQ(names(), (std::vector<std::string>{"model.json", "model.svg"}));
}

/// Weights in a file of their own are those that the model would have.
TEST_F(GraphFiles, PutsManyWeightsNextToTheModel) {
  const graph::Graph graph = *graph::make_model("mlp", {.dtype = DType::kBF16});
  const Result<WrittenWeights> inside = write_onnx(graph, path("inside.onnx"), 3);
  if (!inside && inside.error().code == ErrorCode::kNotSupported) {
    GTEST_SKIP() << "this build has no ONNX";
  }
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->file, "");
  const Result<WrittenWeights> outside = write_onnx(graph, path("outside.onnx"), 3, 1000);
  ASSERT_TRUE(outside) << outside.error().message;
  EXPECT_EQ(outside->file, path("outside.onnx.data"));
  EXPECT_EQ(outside->elements, inside->elements);
  EXPECT_LT(read("outside.onnx").size(), 4000U);
  const auto graph_of = [&](const std::string& name) {
    onnx_import::ImportOptions options;
    options.folder = folder_.string();
    const Result<ReadGraph> back = read_graph(read(name), options);
    EXPECT_TRUE(back) << back.error().message;
    return back->graph;
  };
  const graph::Graph a = graph_of("inside.onnx");
  const graph::Graph b = graph_of("outside.onnx");
  const std::string data = read("outside.onnx.data");
  ASSERT_EQ(a.values.size(), b.values.size());
  int compared = 0;
  for (std::size_t v = 0; v < a.values.size(); ++v) {
    EXPECT_EQ(a.values[v].name, b.values[v].name);
    if (a.values[v].kind != graph::Kind::kParameter) continue;
    ASSERT_EQ(b.values[v].data.form, graph::Data::Form::kFile);
    const std::string& bytes = *a.values[v].data.bytes;
    EXPECT_EQ(data.substr(static_cast<std::size_t>(b.values[v].data.offset), bytes.size()), bytes);
    ++compared;
  }
  EXPECT_EQ(compared, 6);
  // What is refused writes neither file.
  const graph::Graph bad = *graph::make_model("mlp", {.dtype = DType::kF8E4M3});
  EXPECT_FALSE(write_onnx(bad, path("bad.onnx"), 3, 0));
  EXPECT_EQ(names(),
            (std::vector<std::string>{"inside.onnx", "outside.onnx", "outside.onnx.data"}));
}

}  // namespace
}  // namespace tessera::tools
