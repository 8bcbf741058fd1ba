// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/graph/graph.h"
#include "tessera/onnx/model_shim.h"
#include "tessera/testing/graph/onnx_model_files.h"
#include "tessera/testing/run/run_law.h"

/// ONNX's test models, carried out on small meshes under random layouts: the elements of the output
/// files, within ONNX's own tolerance.
namespace tessera::onnx_import {
namespace {

/// The tolerances of ONNX's own tests, and what the types allow beyond.
test::Tolerance backend_tolerance(DType dtype) {
  if (dtype == DType::kF16) return {1e-7L, 1e-2L};
  if (dtype == DType::kBF16) return {1e-7L, 1.0L / 64};
  return graph::is_float(dtype) ? test::Tolerance{1e-7L, 1e-3L} : test::Tolerance{};
}

struct Model {
  graph::Graph graph;
  std::map<std::string, run::HostTensor> inputs;
  std::vector<test::NaiveTensor> outputs;  ///< of the files
};

/// A model that is imported whole and small enough for many runs.
std::optional<Model> model_in(const std::filesystem::path& folder) {
  if (test::differs_from_the_text(folder)) return std::nullopt;
  const std::string bytes = test::file_bytes(folder / "model.onnx");
  const Result<::onnx::ModelProto> proto = parse_model(bytes);
  if (!proto) return std::nullopt;
  const Result<Imported> imported = test::import_with_data(folder, bytes, *proto);
  if (!imported || !imported->unsupported.empty()) return std::nullopt;
  constexpr std::int64_t kMostFlops = 5'000'000;
  const graph::Figures figures = graph::figures_of(imported->graph);
  if (figures.flops > kMostFlops || figures.bytes > (std::int64_t{1} << 21)) return std::nullopt;
  const auto inputs = test::inputs_of_files(folder, *proto);
  if (!inputs) return std::nullopt;
  Model model{imported->graph, {}, {}};
  for (const auto& [name, tensor] : *inputs) {
    for (const graph::ValueId v : model.graph.of_kind(graph::Kind::kInput)) {
      if (model.graph.values[v].name == name) model.inputs[name] = test::host_tensor(tensor);
    }
  }
  for (std::size_t i = 0; i < model.graph.outputs.size(); ++i) {
    const Result<BoundInput> file =
        read_tensor(test::file_bytes(folder / "test_data_set_0" / cat("output_", i, ".pb")));
    if (!file) return std::nullopt;
    const auto tensor =
        test::naive_tensor(model.graph.values[model.graph.outputs[i]].type, file->data);
    if (!tensor) return std::nullopt;
    model.outputs.push_back(*tensor);
  }
  return model;
}

std::string run_once(test::Dice& dice, const Model& model, const Machine& machine) {
  const std::vector<Layout> layouts = test::random_layouts(dice, model.graph, machine.shape());
  const Result<run::Execution> execution = run::compile(model.graph, machine, layouts);
  if (!execution) return cat("compile: ", execution.error().message);
  const auto device = run::device_for(*execution, true);
  if (!device) return cat("device: ", device.error().message);
  ThreadPool pool(1);
  const Result<run::RunResult> result = run::execute(*execution, **device, model.inputs, pool);
  if (!result) return cat("run: ", result.error().message);
  for (std::size_t o = 0; o < model.outputs.size(); ++o) {
    const std::string wrong = test::apart(test::naive_of(result->outputs[o]), model.outputs[o],
                                          backend_tolerance(model.outputs[o].type.dtype));
    if (!wrong.empty()) return cat("output ", o, ": ", wrong);
  }
  return "";
}

TEST(OnnxConformance, ModelsRunUnderRandomLayouts) {
  const std::vector<std::filesystem::path> folders = test::onnx_models();
  if (folders.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  constexpr std::int64_t kBytes = std::int64_t{4}
                                  << 20;  // the largest models need two copies of 2^20
  const std::vector<Machine> machines = {test::machine_with_banks({1, 1}, kBytes),
                                         test::machine_with_banks({2, 3}, kBytes),
                                         test::machine_with_banks({4, 4}, kBytes)};
  constexpr int kLayouts = 3;  // per mesh
  int models = 0;
  int runs = 0;
  int failures = 0;
  for (std::size_t f = 0; f < folders.size(); ++f) {
    const std::optional<Model> model = model_in(folders[f]);
    if (!model) continue;
    ++models;
    for (std::size_t m = 0; m < machines.size(); ++m) {
      for (int k = 0; k < kLayouts; ++k) {
        test::Dice dice(f * 1009 + m * 31 + static_cast<std::uint64_t>(k));
        const std::string wrong = run_once(dice, *model, machines[m]);
        EXPECT_EQ(wrong, "") << folders[f] << " mesh " << m << " layouts " << k;
        ++runs;
        failures += wrong.empty() ? 0 : 1;
      }
    }
    if (failures > 20) FAIL() << "and so on";
  }
  EXPECT_GE(models, 880);
  RecordProperty("models", models);
  RecordProperty("runs", runs);
  std::printf("%d models in %d runs, %d failures\n", models, runs, failures);
}

}  // namespace
}  // namespace tessera::onnx_import
