// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/onnx_import.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "onnx/onnx_pb.h"
#include "tessera/base/text.h"
#include "tessera/testing/graph/onnx_models.h"

namespace tessera::onnx_import {
namespace {

using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

ModelProto empty_model(int opset = 15) {
  ModelProto model;
  model.set_ir_version(8);
  model.mutable_graph()->set_name("g");
  auto* const import = model.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  return model;
}

/// Extents below 0 are symbolic: -1 is "n", -2 has no name.
void add_value(::onnx::ValueInfoProto* value, const std::string& name,
               const std::vector<std::int64_t>& shape, int type = TensorProto::FLOAT) {
  value->set_name(name);
  auto* const tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const std::int64_t extent : shape) {
    auto* const dim = tensor->mutable_shape()->add_dim();
    if (extent >= 0) dim->set_dim_value(extent);
    if (extent == -1) dim->set_dim_param("n");
  }
}

NodeProto* add_node(ModelProto& model, const std::string& op,
                    const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs) {
  NodeProto* const node = model.mutable_graph()->add_node();
  node->set_op_type(op);
  for (const std::string& name : inputs) node->add_input(name);
  for (const std::string& name : outputs) node->add_output(name);
  return node;
}

TensorProto* add_integers(ModelProto& model, const std::string& name,
                          const std::vector<std::int64_t>& numbers) {
  TensorProto* const tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(TensorProto::INT64);
  tensor->add_dims(std::ssize(numbers));
  for (const std::int64_t number : numbers) tensor->add_int64_data(number);
  return tensor;
}

std::string bytes_of(const ModelProto& model) { return model.SerializeAsString(); }

/// x[n, 3] -> relu -> reshape to [-1] by a chain of Shape, Gather, Mul and Unsqueeze.
ModelProto chain() {
  ModelProto model = empty_model();
  add_value(model.mutable_graph()->add_input(), "x", {-1, 3});
  add_value(model.mutable_graph()->add_output(), "y", {-2});
  add_integers(model, "zero", {0});
  add_integers(model, "three", {3});
  add_node(model, "Relu", {"x"}, {"h"});
  add_node(model, "Shape", {"h"}, {"s"});
  add_node(model, "Gather", {"s", "zero"}, {"rows"});
  add_node(model, "Mul", {"rows", "three"}, {"all"});
  add_node(model, "Reshape", {"h", "all"}, {"y"});
  return model;
}

TEST(OnnxImport, BindsSymbolicDimsAndFoldsShapes) {
  const std::string bytes = bytes_of(chain());
  ImportOptions options;
  const Result<Imported> open = import_onnx(bytes, options);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::kBadGraph);
  EXPECT_NE(open.error().message.find("'n'"), std::string::npos) << open.error().message;

  options.dims["n"] = 8;
  const Result<Imported> imported = import_onnx(bytes, options);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_TRUE(imported->unsupported.empty());
  EXPECT_EQ(graph::to_string(imported->graph),
            "g\n  x: input f32[8, 3]\n  h: f32[8, 3] = relu(x)\n"
            "  y: f32[24] = reshape(h) {shape=[24]}\n  outputs y\n");
  options.dims.clear();
  options.shapes["x"] = {5, 3};
  EXPECT_EQ(import_onnx(bytes, options)->graph.values.back().type.to_string(), "f32[15]");

  // Names that the model does not have.
  options.dims["m"] = 8;
  EXPECT_EQ(import_onnx(bytes, options).error().code, ErrorCode::kUnknownName);
  options.dims = {{"n", 5}};
  EXPECT_TRUE(import_onnx(bytes, options));
  options.shapes["h"] = {5, 3};  // no input
  EXPECT_EQ(import_onnx(bytes, options).error().code, ErrorCode::kUnknownName);
}

TEST(OnnxImport, ListsAllThatIsNotSupported) {
  ModelProto model = empty_model();
  add_value(model.mutable_graph()->add_input(), "x", {2, 3});
  add_value(model.mutable_graph()->add_output(), "d", {-2, -2});
  add_node(model, "NonZero", {"x"}, {"a"})->set_name("first");
  add_node(model, "Det", {"x"}, {"b"})->set_name("second");
  add_node(model, "Relu", {"x"}, {"c"});
  add_node(model, "Cast", {"a"}, {"d"})->add_attribute()->set_name("to");
  auto* const to = model.mutable_graph()->mutable_node(3)->mutable_attribute(0);
  to->set_type(::onnx::AttributeProto::INT);
  to->set_i(TensorProto::FLOAT);
  const Result<Imported> imported = import_onnx(bytes_of(model), {});
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->unsupported.size(), 2U);
  EXPECT_EQ(imported->unsupported[0].node, "first");
  EXPECT_EQ(imported->unsupported[0].op, "NonZero");
  EXPECT_EQ(imported->unsupported[1].node, "second");
  EXPECT_EQ(imported->nodes, 4);
  EXPECT_TRUE(graph::check(imported->graph));
}

/// ConstantOfShape of 2^40 elements is one element; sums of it too.
TEST(OnnxImport, KeepsFillsWithoutMemory) {
  ModelProto model = empty_model();
  add_integers(model, "shape", {1 << 20, 1 << 20});
  add_value(model.mutable_graph()->add_output(), "y", {1 << 20, 1 << 20});
  add_node(model, "ConstantOfShape", {"shape"}, {"zeros"});
  add_node(model, "Add", {"zeros", "zeros"}, {"y"});
  const Result<Imported> imported = import_onnx(bytes_of(model), {});
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->graph.values.size(), 1U);
  EXPECT_EQ(imported->graph.values[0].data.form, graph::Data::Form::kFill);
  EXPECT_EQ(imported->graph.values[0].type.to_string(), "f32[1048576, 1048576]");
}

TEST(OnnxImport, InlinesFunctionsOfTheModel) {
  ModelProto model = empty_model();
  auto* const import = model.add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  auto* const function = model.add_functions();
  function->set_name("Twice");
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("slope");
  auto* const inner = function->add_opset_import();
  inner->set_domain("");
  inner->set_version(15);
  for (const auto& [from, to] : {std::pair{"a", "t"}, std::pair{"t", "b"}}) {
    NodeProto* const node = function->add_node();
    node->set_op_type("LeakyRelu");
    node->add_input(from);
    node->add_output(to);
    auto* const alpha = node->add_attribute();
    alpha->set_name("alpha");
    alpha->set_type(::onnx::AttributeProto::FLOAT);
    alpha->set_ref_attr_name("slope");
  }
  add_value(model.mutable_graph()->add_input(), "x", {2});
  add_value(model.mutable_graph()->add_output(), "z", {2});
  for (const auto& [from, to] : {std::pair{"x", "y"}, std::pair{"y", "z"}}) {
    NodeProto* const call = add_node(model, "Twice", {from}, {to});
    call->set_domain("mine");
    auto* const slope = call->add_attribute();
    slope->set_name("slope");
    slope->set_type(::onnx::AttributeProto::FLOAT);
    slope->set_f(0.5);
  }
  const Result<Imported> imported = import_onnx(bytes_of(model), {});
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_TRUE(imported->unsupported.empty());
  ASSERT_EQ(imported->graph.nodes.size(), 4U);
  for (const graph::Node& node : imported->graph.nodes) {
    EXPECT_EQ(*node.attributes.find("alpha"), graph::Attribute(0.5));
  }
  EXPECT_EQ(imported->graph.values[imported->graph.outputs[0]].name, "z");
}

/// A function that calls itself, and functions that double the nodes at every level.
TEST(OnnxImport, BoundsFunctions) {
  ModelProto model = empty_model();
  auto* const import = model.add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  auto* const function = model.add_functions();
  function->set_name("F");
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  auto* const inner = function->add_opset_import();
  inner->set_domain("mine");
  inner->set_version(1);
  for (const auto& [from, to] : {std::pair{"a", "t"}, std::pair{"t", "b"}}) {
    NodeProto* const node = function->add_node();
    node->set_op_type("F");
    node->set_domain("mine");
    node->add_input(from);
    node->add_output(to);
  }
  add_value(model.mutable_graph()->add_input(), "x", {2});
  add_value(model.mutable_graph()->add_output(), "y", {2});
  add_node(model, "F", {"x"}, {"y"})->set_domain("mine");
  const Result<Imported> imported = import_onnx(bytes_of(model), {});
  ASSERT_FALSE(imported);
  EXPECT_TRUE(imported.error().code == ErrorCode::kTooLarge ||
              imported.error().code == ErrorCode::kBadGraph)
      << imported.error().message;
}

TEST(OnnxImport, ExternalDataAreCheckedAndNotRead) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "tessera_onnx_external";
  fs::create_directories(folder);
  std::ofstream(folder / "w.bin", std::ios::binary) << std::string(64, 'w');
  const auto code = [&](const std::string& location, const std::string& offset) {
    ModelProto model = empty_model();
    add_value(model.mutable_graph()->add_output(), "y", {8});
    TensorProto* const tensor = model.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(TensorProto::FLOAT);
    tensor->add_dims(8);
    tensor->set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair<std::string, std::string>{"location", location}, {"offset", offset}}) {
      auto* const entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    add_node(model, "Relu", {"w"}, {"y"});
    ImportOptions options;
    options.folder = folder.string();
    const Result<Imported> imported = import_onnx(bytes_of(model), options);
    if (!imported) return std::string(code_name(imported.error().code));
    EXPECT_EQ(imported->graph.values[0].data.form, graph::Data::Form::kFile);
    return std::string("ok");
  };
  EXPECT_EQ(code("w.bin", "32"), "ok");
  EXPECT_EQ(code("w.bin", "33"), "io");
  EXPECT_EQ(code("v.bin", "0"), "io");
  EXPECT_EQ(code("../w.bin", "0"), "io");
  EXPECT_EQ(code("/etc/passwd", "0"), "io");
  EXPECT_EQ(code("w.bin", "-1"), "bad_number");
  fs::remove_all(folder);
}

TEST(OnnxImport, RefusesBadModels) {
  const auto code = [](const std::string& bytes) {
    const Result<Imported> imported = import_onnx(bytes, {});
    return imported ? std::string("ok") : std::string(code_name(imported.error().code));
  };
  EXPECT_EQ(code(""), "syntax");
  EXPECT_EQ(code("not a model at all"), "syntax");
  ModelProto cycle = empty_model();
  add_value(cycle.mutable_graph()->add_output(), "b", {2});
  add_node(cycle, "Relu", {"b"}, {"a"});
  add_node(cycle, "Relu", {"a"}, {"b"});
  EXPECT_EQ(code(bytes_of(cycle)), "bad_graph");
  ModelProto unknown = empty_model();
  add_value(unknown.mutable_graph()->add_input(), "x", {2});
  add_value(unknown.mutable_graph()->add_output(), "y", {2});
  add_node(unknown, "Rleu", {"x"}, {"y"});
  EXPECT_EQ(code(bytes_of(unknown)), "bad_graph");
  ModelProto huge = empty_model();
  add_value(huge.mutable_graph()->add_input(), "x", {INT64_MAX, 2});
  add_value(huge.mutable_graph()->add_output(), "y", {2});
  add_node(huge, "Relu", {"x"}, {"y"});
  EXPECT_EQ(code(bytes_of(huge)), "overflow");
  // A conflict of shapes is a reason, with the node and both shapes.
  ModelProto conflict = empty_model();
  add_value(conflict.mutable_graph()->add_input(), "x", {2, 3});
  add_value(conflict.mutable_graph()->add_input(), "z", {4, 5});
  add_value(conflict.mutable_graph()->add_output(), "y", {2});
  add_node(conflict, "MatMul", {"x", "z"}, {"y"})->set_name("m");
  const Result<Imported> refused = import_onnx(bytes_of(conflict), {});
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->unsupported.size(), 1U);
  EXPECT_EQ(refused->unsupported[0].node, "m");
  for (const char* const shape : {"f32[2, 3]", "f32[4, 5]"}) {
    EXPECT_NE(refused->unsupported[0].reason.find(shape), std::string::npos)
        << refused->unsupported[0].reason;
  }
}

/// Damaged models are errors, lists of reasons or valid graphs; the bytes are real models.
TEST(OnnxImport, SurvivesRandomDamage) {
  const std::vector<std::filesystem::path> folders = test::onnx_models();
  if (folders.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::mt19937_64 engine(11);
  std::size_t imported_models = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string bytes = test::file_bytes(folders[engine() % folders.size()] / "model.onnx");
    for (std::size_t edits = 1 + engine() % 3; edits > 0 && !bytes.empty(); --edits) {
      const std::size_t at = engine() % bytes.size();
      switch (engine() % 4) {
        case 0:
          bytes[at] = static_cast<char>(engine());
          break;
        case 1:
          bytes.erase(at, 1 + engine() % 4);
          break;
        case 2:
          bytes.insert(at, bytes.substr(engine() % bytes.size(), 1 + engine() % 8));
          break;
        default:
          bytes.resize(at);
      }
    }
    const Result<Imported> imported = import_onnx(bytes, {});
    if (!imported) {
      EXPECT_FALSE(imported.error().message.empty());
      continue;
    }
    ++imported_models;
    EXPECT_TRUE(graph::check(imported->graph));
  }
  EXPECT_GT(imported_models, 100U);
}

}  // namespace
}  // namespace tessera::onnx_import
