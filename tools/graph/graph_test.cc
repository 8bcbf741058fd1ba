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
  EXPECT_EQ(dump(made.json()["written"]), "[\"" + file + "\"]");
  for (const char* const field : {"name", "nodes", "values", "flops", "ops", "inputs", "hash"}) {
    EXPECT_EQ(dump(read.json()[field]), dump(made.json()[field])) << field;
  }
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

/// What was decomposed is counted, also if that is nothing.
TEST(GraphVerb, SaysWhatWasDecomposed) {
  const auto decomposed = [](const std::string& ops) {
    return dump(
        run({"graph", "-", "--decompose", ops, "--json"}, kClassifier).json()["decomposed"]);
  };
  EXPECT_EQ(decomposed("softmax"), R"({"softmax":1})");
  EXPECT_EQ(decomposed("all,softmax"), R"({"softmax":1})");
  EXPECT_EQ(decomposed("gelu"), "{}");
}

/// A flag that would change nothing is an error.
TEST(GraphVerb, IgnoresNoFlag) {
  const auto make_code = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"graph", "--json", "--make"});
    return run(flags).error_code();
  };
  EXPECT_EQ(make_code({"resnet50", "--layers", "3"}), "unknown_name");
  EXPECT_EQ(make_code({"mlp", "--heads", "3"}), "unknown_name");
  for (const std::string flag : {"layers", "sequence", "batch-size", "hidden", "vocabulary"}) {
    EXPECT_EQ(make_code({"bert-base", "--" + flag, "0"}), "out_of_range") << flag;
    EXPECT_EQ(make_code({"bert-base", "--" + flag, "-1"}), "out_of_range") << flag;
  }
  EXPECT_EQ(make_code({"llama", "--past", "-1"}), "out_of_range");
  EXPECT_EQ(make_code({"mlp", "--dim", "batch=2"}), "usage");
  EXPECT_EQ(make_code({"mlp", "--shape", "x=2"}), "usage");
  for (const std::string flag : {"batch-size", "past", "kv-heads", "image", "dtype"}) {
    EXPECT_EQ(run({"graph", "-", "--json", "--" + flag, "4"}, kClassifier).error_code(), "usage");
  }
  EXPECT_EQ(run({"graph", "-", "--json", "--dim", "a=4"}, kClassifier).error_code(), "usage");
  EXPECT_EQ(run({"graph", "-", "--json", "--shape", "x=4"}, kClassifier).error_code(), "usage");
  const Answer eight = run({"graph", "--make", "mlp", "--batch-size", "8", "--json"});
  EXPECT_EQ(dump(eight.json()["inputs"]), R"([{"name":"x","shape":[8,1024],"dtype":"f32"}])");
  // --batch keeps its meaning: requests, one on each line.
  const Answer batch = run({"graph", "--batch"}, R"({"make": "mlp", "batch-size": 8})");
  EXPECT_EQ(dump(batch.json()["inputs"]), dump(eight.json()["inputs"]));
}

TEST(GraphVerb, ReadsBindings) {
  for (const std::string wrong :
       {"batch", "=8", "batch=x", "batch=-1", "", "batch=8,", "batch=8,batch=8"}) {
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

/// The name decides what a file is; without a known one, how it begins.
TEST_F(GraphFiles, AreWhatTheirNamesSay) {
  const auto code = [&](const std::string& name, const std::string& text) {
    write(name, text);
    return run({"graph", path(name), "--json"}).error_code();
  };
  EXPECT_EQ(code("text.json", "no graph"), "syntax");
  EXPECT_EQ(run({"graph", path("text.json"), "--json"}).json()["error"]["file"].get<std::string>(),
            path("text.json"));
  EXPECT_EQ(code("empty.JSON", ""), "syntax");
  write("graph.txt", kClassifier);
  EXPECT_EQ(run({"graph", path("graph.txt")}).status, 0);
  const std::string file = path("UPPER.ONNX");
  const Answer made = run({"graph", "-", "--out", file, "--json"}, kClassifier);
  if (made.status == 2 && made.error_code() == "not_supported") {
    GTEST_SKIP() << "this build has no ONNX";
  }
  EXPECT_EQ(dump(made.json()["written"]), "[\"" + file + "\"]");
  EXPECT_NE(read("UPPER.ONNX")[0], '{');
  EXPECT_EQ(run({"graph", file}).status, 0);
  EXPECT_EQ(code("json.onnx", kClassifier), "syntax");
  EXPECT_EQ(code("text.onnx", "no graph"), "syntax");
  EXPECT_EQ(code("text", "no graph"), "syntax");
  EXPECT_EQ(run({"graph", "-", "--out", file, "--seed", "-1", "--json"}, kClassifier).error_code(),
            "out_of_range");
  // The model has no open dims, and its input is x.
  EXPECT_EQ(run({"graph", file, "--dim", "batch=2", "--json"}).error_code(), "unknown_name");
  EXPECT_EQ(run({"graph", file, "--shape", "y=1,8", "--json"}).error_code(), "unknown_name");
  EXPECT_EQ(run({"graph", file, "--shape", "x=3,8"}).status, 0);
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
    const Result<ReadGraph> back = read_graph(read(name), format_of_name(name), options);
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
  // A model that cannot be written has no data file, and no file is replaced that is read.
  std::filesystem::create_directory(path("folder.onnx"));
  EXPECT_EQ(write_onnx(graph, path("folder.onnx"), 3, 1000).error().code, ErrorCode::kIo);
  std::filesystem::remove(path("folder.onnx"));
  graph::Graph reads = b;
  reads.values.push_back({"more", {*Shape::make({8}), DType::kF32}, graph::Kind::kParameter});
  EXPECT_EQ(write_onnx(reads, path("outside.onnx"), 3, 0).error().code, ErrorCode::kIo);
  EXPECT_EQ(read("outside.onnx.data"), data);
  // What is refused writes neither file.
  const graph::Graph bad = *graph::make_model("mlp", {.dtype = DType::kF8E4M3});
  EXPECT_FALSE(write_onnx(bad, path("bad.onnx"), 3, 0));
  EXPECT_EQ(names(),
            (std::vector<std::string>{"inside.onnx", "outside.onnx", "outside.onnx.data"}));
}

}  // namespace
}  // namespace tessera::tools
