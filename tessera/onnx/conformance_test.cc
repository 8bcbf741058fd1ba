// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "tessera/base/text.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/graph_json.h"
#include "tessera/onnx/model_shim.h"
#include "tessera/onnx/onnx_import.h"
#include "tessera/onnx/round_trip_testing.h"
#include "tessera/testing/graph/naive_eval.h"
#include "tessera/testing/graph/onnx_model_files.h"
#include "tessera/testing/pages/generated_page.h"

/// Every model of ONNX's test data is imported or refused with its reasons, and the outputs of an
/// imported one have the types of the files that come with it.
namespace tessera::onnx_import {
namespace {

namespace fs = std::filesystem;

using test::differs_from_the_text;
using test::import_with_data;

/// Whether the naive evaluator gives the elements of the output files, within ONNX's own tolerance
/// (1e-3 relative) or that of the element type. Models that the evaluator cannot run are false; a
/// wrong element is a failure.
bool evaluates_like_the_files(const fs::path& folder, const ::onnx::ModelProto& model,
                              const graph::Graph& graph) {
  const fs::path data = folder / "test_data_set_0";
  const auto inputs = test::inputs_of_files(folder, model);
  if (!inputs) return false;
  constexpr std::int64_t kMostFlops = 5'000'000;  // of loops one element at a time
  if (graph::figures_of(graph).flops > kMostFlops) return false;
  const auto results = test::naive_evaluate(graph, *inputs);
  if (!results) return false;
  for (std::size_t i = 0; i < results->size(); ++i) {
    const Result<BoundInput> file = read_tensor(test::file_bytes(data / cat("output_", i, ".pb")));
    const test::NaiveTensor& found = (*results)[i];
    const auto expected = test::naive_tensor(found.type, file->data);
    if (!expected) return false;
    const long double relative = found.type.dtype == DType::kBF16  ? 1.0L / 64
                                 : found.type.dtype == DType::kF16 ? 1.0L / 256
                                                                   : 1e-3L;
    for (std::size_t k = 0; k < expected->elements.size(); ++k) {
      const long double a = found.elements[k];
      const long double b = expected->elements[k];
      const bool close = a == b || (std::isnan(a) && std::isnan(b)) ||
                         std::fabs(a - b) <= 1e-5L + relative * std::fabs(b);
      if (close) continue;
      ADD_FAILURE() << folder << " output " << i << " element " << k << ": "
                    << static_cast<double>(a) << " instead of " << static_cast<double>(b) << "\n"
                    << graph::to_string(graph);
      return false;
    }
  }
  return true;
}

struct Counts {
  int models = 0;
  int imported = 0;
};

TEST(OnnxConformance, TypesOfOutputsAreThoseOfTheFiles) {
  const std::vector<fs::path> folders = test::onnx_models();
  if (folders.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  EXPECT_GE(folders.size(), 1072U);
  int imported_models = 0;
  int compared = 0;
  int evaluated = 0;
  std::map<std::string, Counts> by_op;
  std::map<std::string, int> reasons;
  for (const fs::path& folder : folders) {
    const std::string bytes = test::file_bytes(folder / "model.onnx");
    const Result<::onnx::ModelProto> model = parse_model(bytes);
    ASSERT_TRUE(model) << folder;
    const Result<Imported> imported = import_with_data(folder, bytes, *model);
    const bool whole = imported && imported->unsupported.empty();
    std::set<std::string> ops;
    for (const auto& node : model->graph().node()) {
      ops.insert(node.domain().empty() ? node.op_type() : cat(node.domain(), "::", node.op_type()));
    }
    for (const std::string& op : ops) {
      ++by_op[op].models;
      by_op[op].imported += whole ? 1 : 0;
    }
    if (!whole) {
      // A refusal has a reason for each node that it names.
      if (!imported) {
        ++reasons[cat(code_name(imported.error().code), ": ", imported.error().message)];
        EXPECT_FALSE(imported.error().message.empty());
        continue;
      }
      for (const Unsupported& each : imported->unsupported) {
        EXPECT_FALSE(each.reason.empty()) << folder;
        EXPECT_FALSE(each.op.empty()) << folder;
        ++reasons[cat(each.op, ": ", each.reason)];
      }
      continue;
    }
    ++imported_models;
    const graph::Graph& graph = imported->graph;
    ASSERT_EQ(static_cast<int>(graph.outputs.size()), model->graph().output_size()) << folder;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      Result<BoundInput> expected =
          read_tensor(test::file_bytes(folder / "test_data_set_0" / cat("output_", i, ".pb")));
      ASSERT_TRUE(expected) << folder << ": " << expected.error().message;
      // The files have the bits of bf16 as ui16; the model's own declaration has the type.
      const auto& declared = model->graph().output(static_cast<int>(i)).type().tensor_type();
      if (declared.elem_type() == ::onnx::TensorProto::BFLOAT16) {
        EXPECT_EQ(expected->type.dtype, DType::kU16) << folder;
        expected->type.dtype = DType::kBF16;
      }
      EXPECT_EQ(graph.values[graph.outputs[i]].type.to_string(), expected->type.to_string())
          << folder << "\n"
          << graph::to_string(graph);
      ++compared;
    }
    const bool differs = differs_from_the_text(folder);
    evaluated += !differs && evaluates_like_the_files(folder, *model, graph) ? 1 : 0;
    const Result<graph::Graph> back = graph::parse_graph(graph::to_json(graph));
    ASSERT_TRUE(back) << folder << ": " << back.error().message;
    EXPECT_EQ(*back, graph) << folder;
  }
  EXPECT_GE(imported_models, 700);
  EXPECT_GE(evaluated, 700);
  RecordProperty("imported", imported_models);
  RecordProperty("compared", compared);

  std::string table =
      cat("\n", imported_models, " of ", folders.size(), " models are imported, with ", compared,
          " outputs. For ", evaluated,
          " of them the naive evaluator (tessera/testing/graph/naive_eval.h) gives the "
          "elements of every output file as well.\n\n| op | models | imported |\n|---|---|---|\n");
  for (const auto& [op, counts] : by_op) {
    table += cat("| `", op, "` | ", counts.models, " | ", counts.imported, " |\n");
  }
  if (std::getenv("TESSERA_SHOW_REASONS") != nullptr) {
    for (const auto& [reason, count] : reasons) std::printf("%4d %s\n", count, reason.c_str());
  }
  EXPECT_EQ(test::page_mistake("docs/onnx.md", {{"models", table + "\n"}}), "");
}

/// Every model that is imported whole can be written, is read back, and then gives the elements of
/// its output files.
TEST(OnnxConformance, ModelsMakeRoundTrips) {
  const std::vector<fs::path> folders = test::onnx_models();
  if (folders.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  int models = 0;
  int evaluated = 0;
  for (const fs::path& folder : folders) {
    const std::string bytes = test::file_bytes(folder / "model.onnx");
    const Result<::onnx::ModelProto> model = parse_model(bytes);
    const Result<Imported> imported = import_with_data(folder, bytes, *model);
    if (!imported || !imported->unsupported.empty()) continue;
    const graph::Graph back = test::expect_round_trip(imported->graph, folder.string());
    ++models;
    evaluated +=
        !differs_from_the_text(folder) && evaluates_like_the_files(folder, *model, back) ? 1 : 0;
    if (HasFailure()) FAIL() << folder;
  }
  EXPECT_GE(models, 906);
  EXPECT_GE(evaluated, 902);
}

}  // namespace
}  // namespace tessera::onnx_import
