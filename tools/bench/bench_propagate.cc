// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_propagate.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/tensor.h"
#include "tessera/ops/propagate.h"
#include "tools/bench/measure.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr double kMostPerOp = 100e-6;

/// A call of a transformer: the type of each input, and which of its dims the rows and the columns
/// of a mesh divide; -1 where it is replicated.
struct OpOfTransformer {
  std::string_view name;
  std::string_view op;
  std::vector<std::pair<std::string_view, std::array<int, 2>>> inputs;
  graph::Attributes attributes;
};

using Integers = std::vector<std::int64_t>;

std::vector<OpOfTransformer> ops_of_transformer() {
  return {
      {"embedding", "embedding", {{"32000x4096xf16", {-1, 1}}, {"1x2048xi32", {1, -1}}}, {}},
      {"rms_norm", "rms_norm", {{"2048x4096xf16", {0, -1}}, {"4096xf16", {-1, -1}}}, {}},
      {"layer_norm",
       "layer_norm",
       {{"2048x4096xf16", {0, -1}}, {"4096xf16", {-1, -1}}, {"4096xf16", {-1, -1}}},
       {}},
      {"project", "matmul", {{"2048x4096xf16", {0, -1}}, {"4096x4096xf16", {-1, 1}}}, {}},
      {"project_bias",
       "gemm",
       {{"2048x4096xf16", {0, -1}}, {"4096x4096xf16", {-1, 1}}, {"4096xf16", {-1, 0}}},
       {}},
      {"partial", "matmul", {{"2048x4096xf16", {0, 1}}, {"4096x4096xf16", {-1, 0}}}, {}},
      {"refused", "matmul", {{"2048x4096xf16", {0, 1}}, {"4096x4096xf16", {0, 1}}}, {}},
      {"heads", "reshape", {{"2048x4096xf16", {0, -1}}}, {{"shape", Integers{2048, 32, 128}}}},
      {"transpose", "transpose", {{"2048x32x128xf16", {0, 2}}}, {{"perm", Integers{1, 0, 2}}}},
      {"scores", "matmul", {{"32x2048x128xf16", {1, -1}}, {"32x128x2048xf16", {-1, 2}}}, {}},
      {"softmax", "softmax", {{"32x2048x2048xf16", {1, 0}}}, {}},
      {"attention",
       "attention",
       {{"32x2048x128xf16", {1, 0}}, {"32x2048x128xf16", {-1, 0}}, {"32x2048x128xf16", {-1, 0}}},
       {}},
      {"rotate",
       "slice",
       {{"32x2048x128xf16", {1, 0}}},
       {{"starts", Integers{64}}, {"ends", Integers{128}}, {"axes", Integers{2}}}},
      {"residual", "add", {{"2048x4096xf16", {0, 1}}, {"2048x4096xf16", {0, 1}}}, {}},
      {"gelu", "gelu", {{"2048x4096xf16", {0, 1}}}, {}},
      {"scale", "mul", {{"2048x4096xf16", {0, 1}}, {"4096xf16", {-1, 0}}}, {}},
  };
}

/// The layout of an input on a mesh, in the PyFlame notation.
Result<Tensor> input_on(const std::pair<std::string_view, std::array<int, 2>>& input, int rows,
                        int columns) {
  const auto& [type, divided] = input;
  std::vector<std::string> to;
  for (const char c : type) {
    if (c == 'x') to.emplace_back("-1");
  }
  std::string replicate;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (divided[axis] >= 0) {
      to[static_cast<std::size_t>(divided[axis])] = cat(axis);
    } else {
      replicate += cat(replicate.empty() ? "" : ", ", axis);
    }
  }
  std::string list;
  for (const std::string& each : to) list += cat(list.empty() ? "" : ", ", each);
  return parse_tensor(cat("tensor<", type, ", pyflame.Grid(", rows, ", ", columns, ", dim_to_pe=[",
                          list, "], replicate=[", replicate, "])>"));
}

Result<BenchCase> measure_op(const OpOfTransformer& op, int rows, int columns,
                             const BenchOptions& options) {
  graph::Types types;
  ops::Question question;
  for (const auto& input : op.inputs) {
    TESSERA_TRY(Tensor tensor, input_on(input, rows, columns));
    types.push_back({tensor.shape(), tensor.dtype()});
    question.inputs.emplace_back(*tensor.placement.layout());
  }
  std::vector<const graph::TensorType*> pointers;
  for (const graph::TensorType& type : types) pointers.push_back(&type);
  const graph::Call call(*graph::Op::find(op.op), pointers, op.attributes, 1);
  question.call = &call;
  TESSERA_TRY(const ops::Answer answer, ops::propagate(question));
  BenchCase result;
  result.name = cat(rows, "x", columns, "/", op.name);
  result.dtype = "";
  result.outcome = answer.legal ? "legal" : "refused";
  result.seconds = median_seconds({{result.name, [&] { keep(ops::propagate(question).ok()); }}},
                                  options.quick ? MeasureOptions{1, 1e-6} : MeasureOptions{5, 1e-3})
                       .front();
  if (options.quick) return result;
  result.goal = "<= 100 us";
  result.met = result.seconds <= kMostPerOp;
  return result;
}

}  // namespace

Result<BenchReport> bench_propagate(const BenchOptions& options) {
  BenchReport report;
  report.suite = "propagate";
  for (const auto& [rows, columns] : {std::pair(8, 8), std::pair(994, 750)}) {
    for (const OpOfTransformer& op : ops_of_transformer()) {
      if (cat(rows, "x", columns, "/", op.name).find(options.only) == std::string::npos) continue;
      TESSERA_TRY(BenchCase result, measure_op(op, rows, columns, options));
      report.cases.push_back(std::move(result));
    }
  }
  if (report.cases.empty()) {
    return Error{ErrorCode::kUsage, cat("no case name contains '", printable(options.only), "'"),
                 std::nullopt, "tessera bench propagate --quick lists the names"};
  }
  return report;
}

}  // namespace tessera::tools
