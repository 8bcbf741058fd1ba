// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/device/device.h"
#include "tessera/device/transfer_manager.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/models/models.h"
#include "tessera/graph/random_weights.h"
#include "tessera/notation/tensor.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/execute.h"
#include "tools/bench/bench_relayout.h"
#include "tools/bench/bench_run.h"

namespace tessera::tools {
namespace {

struct TransferCase {
  std::string_view name;
  std::string_view machine;
  std::string tensor;
  std::string_view space = "";
  bool in_place = true;
};

std::vector<TransferCase> transfer_cases(bool quick) {
  if (quick) return {{"wse2/grid", "wse2", "tensor<256x256xf32, pyflame.Grid(8, 8)>"}};
  return {
      {"wse2/grid", "wse2", "tensor<4096x4096xf32, pyflame.Grid(64, 64)>"},
      {"wse2/ragged", "wse2", "tensor<4000x4100xf32, pyflame.Grid(63, 61)>"},
      {"wse2/grid_f16", "wse2", "tensor<4096x4096xf16, pyflame.Grid(64, 64)>"},
      {"wse2/grid_i8", "wse2", "tensor<512x131072xi8, pyflame.Grid(64, 64)>"},
      {"wse2/cyclic", "wse2", "tensor<4096x4096xf32, pyflame.BlockCyclic(64, 64, 32, 32)>"},
      {"wormhole/dram_rows", "wormhole", "tensor<8192x4096xf32, strided<[4096, 1]>>", "dram"},
      {"wormhole/dram_tiles", "wormhole",
       "tensor<4096x4096xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
       "memref<128x128x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>",
       "dram"},
      {"wse2/grid/staged", "wse2", "tensor<4096x4096xf32, pyflame.Grid(64, 64)>", "", false},
      {"wse2/grid_f16/staged", "wse2", "tensor<4096x4096xf16, pyflame.Grid(64, 64)>", "", false}};
}

Status bench_transfer(const TransferCase& one, const BenchOptions& options, BenchReport& report) {
  // The goal is for memory that the host addresses; staging copies twice.
  const double goal = one.in_place ? 0.7 : 0;
  const std::string name = cat("transfer/", one.name);
  const bool sends = is_chosen(options, cat(name, "/to_device"));
  const bool receives = is_chosen(options, cat(name, "/to_host"));
  if (!sends && !receives) return ok_status();
  TESSERA_TRY(const Machine* const machine, find_machine(one.machine));
  TESSERA_TRY(const std::unique_ptr<device::Device> device, device::make_embedded(*machine));
  TESSERA_TRY(const Tensor tensor, parse_tensor(one.tensor));
  TESSERA_TRY(
      const device::BufferId buffer,
      device->add({.name = "x", .placement = tensor.placement, .space = std::string(one.space)}));
  TESSERA_TRY(const auto transfers,
              device::TransferManager::make(*device, {.in_place = one.in_place}));
  TESSERA_TRY(const std::int64_t bytes, transfers->host_bytes(buffer));
  TESSERA_TRY(const BenchBuffer host, BenchBuffer::make(bytes));
  TESSERA_TRY(const BenchBuffer back, BenchBuffer::make(bytes));
  const std::span<std::byte> sent = host.first(bytes);
  const std::span<std::byte> received = back.first(bytes);
  fill_with_numbers(sent);
  TESSERA_CHECK_OK(transfers->host_to_device(buffer, sent));
  TESSERA_CHECK_OK(transfers->device_to_host(buffer, received));
  if (std::memcmp(sent.data(), received.data(), sent.size()) != 0) {
    return Error{ErrorCode::kContradiction, cat(name, " does not give back what was sent"),
                 std::nullopt, ""};
  }
  const std::vector<double> seconds =
      median_seconds({{"to device", [&] { keep(transfers->host_to_device(buffer, sent).ok()); }},
                      {"to host", [&] { keep(transfers->device_to_host(buffer, received).ok()); }},
                      {"memcpy",
                       [&] {
                         std::memcpy(received.data(), sent.data(), sent.size());
                         keep(received[0]);
                       }}},
                     rounds_of(options));
  for (std::size_t i = 0; i < 2; ++i) {
    if (!(i == 0 ? sends : receives)) continue;
    BenchCase result;
    result.name = cat(name, i == 0 ? "/to_device" : "/to_host");
    result.dtype = dtype_name(tensor.placement.dtype());
    result.elements = tensor.placement.shape().elements();
    result.seconds = seconds[i];
    compare(result, "memcpy", seconds[2], goal, options);
    report.cases.push_back(std::move(result));
  }
  return ok_status();
}

std::map<std::string, run::HostTensor> inputs_of(const graph::Graph& graph) {
  std::map<std::string, run::HostTensor> given;
  for (const graph::ValueId v : graph.of_kind(graph::Kind::kInput)) {
    const graph::TensorType& type = graph.values[v].type;
    run::HostTensor tensor{type, {}};
    for (std::int64_t n = 0; n < type.shape.elements(); ++n) {
      const float number = static_cast<float>(n % 13 - 6) / 6;
      tensor.bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    given.emplace(graph.values[v].name, std::move(tensor));
  }
  return given;
}

/// One run from the graph to its outputs: layouts, plan of the memory, device, execution.
struct RunOnce {
  std::int64_t places = 0;  ///< that computed, of all steps
  std::int64_t messages = 0;
  std::int64_t device_bytes = 0;
  double plan_seconds = 0;  ///< of the choice of layouts and work
  double seconds = 0;       ///< of the steps alone
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<RunOnce> run_once(const graph::Graph& graph, const run::Execution& execution, int threads) {
  TESSERA_TRY(const std::unique_ptr<device::Device> device,
              run::device_for(execution, /*checked=*/false));
  ThreadPool pool(threads);
  TESSERA_TRY(const run::RunResult result,
              run::execute(execution, *device, inputs_of(graph), pool));
  RunOnce once;
  once.seconds = result.seconds;
  once.device_bytes = result.memory.resident_bytes;
  for (const run::StepReport& step : result.steps) {
    once.places += step.places;
    once.messages += step.messages;
  }
  return once;
}

Result<RunOnce> run_once(const graph::Graph& graph, const Machine& machine,
                         const std::vector<std::optional<Layout>>& layouts) {
  TESSERA_TRY(const run::Execution execution, run::compile_with_defaults(graph, machine, layouts));
  return run_once(graph, execution, 1);
}

/// The same as `tessera run` without layouts: planned first.
Result<RunOnce> plan_and_run(const graph::Graph& graph, const Machine& machine) {
  constexpr int kThreads = 2;
  const auto start = std::chrono::steady_clock::now();
  TESSERA_TRY(const plan::ModelPlan plan, plan::plan_model(graph, machine, {.threads = kThreads}));
  TESSERA_TRY(const run::Execution execution, plan::execution_of(plan, graph, machine));
  const double planned = seconds_since(start);
  TESSERA_TRY(RunOnce once, run_once(graph, execution, kThreads));
  once.plan_seconds = planned;
  return once;
}

Status bench_mlp(bool is_planned, const BenchOptions& options, BenchReport& report) {
  constexpr double kMostSeconds = 2;
  constexpr double kMostBytes = 1e9;
  BenchCase result;
  result.name = is_planned ? "run/mlp_planned/wse2" : "run/mlp/wse2";
  if (!is_chosen(options, result.name)) return ok_status();
  graph::ModelOptions numbers;
  numbers.batch = options.quick ? 4 : 32;
  TESSERA_TRY(graph::Graph graph, graph::make_model("mlp", numbers));
  TESSERA_TRY(graph, graph::with_random_weights(graph, 1));
  TESSERA_TRY(const Machine* const machine, find_machine("wse2"));
  const std::vector<std::optional<Layout>> layouts(graph.values.size());
  const auto run = [&] {
    return is_planned ? plan_and_run(graph, *machine) : run_once(graph, *machine, layouts);
  };
  Result<RunOnce> once = run();
  if (!once) return once.error();
  const std::int64_t host = peak_bytes_of([&] { once = run(); });
  const MeasureOptions rounds = options.quick ? MeasureOptions{1, 1e-6} : MeasureOptions{5, 1e-3};
  result.seconds = median_seconds({{result.name, [&] { once = run(); }}}, rounds).front();
  if (!once) return once.error();
  result.threads = is_planned ? 2 : 1;
  result.peak_bytes = host + once->device_bytes;
  if (is_planned) result.figures.emplace_back("seconds_of_plan", once->plan_seconds);
  result.figures.emplace_back("seconds_of_steps", once->seconds);
  result.figures.emplace_back("messages", static_cast<double>(once->messages));
  if (!options.quick) {
    result.goal = "<= 2 s, <= 1 GB";
    result.met =
        result.seconds <= kMostSeconds && static_cast<double>(*result.peak_bytes) <= kMostBytes;
  }
  report.cases.push_back(std::move(result));
  return ok_status();
}

/// A chain of ops on one element per place: all but nothing is computed.
Status bench_overhead(int rows, int columns, const BenchOptions& options, BenchReport& report) {
  constexpr int kOps = 16;
  BenchCase result;
  result.name = cat("run/overhead/", rows, "x", columns);
  if (!is_chosen(options, result.name)) return ok_status();
  graph::GraphBuilder builder("chain");
  TESSERA_TRY(graph::ValueId value, builder.input("x", {rows, columns}));
  for (int n = 0; n < kOps; ++n) {
    TESSERA_TRY(value, builder.add("relu", {value}));
  }
  TESSERA_CHECK_OK(builder.output(value));
  const graph::Graph graph = std::move(builder).finish();
  TESSERA_TRY(const Machine* const machine, find_machine("wse2"));
  TESSERA_TRY(const Tensor tensor,
              parse_tensor(cat("tensor<", rows, "x", columns, "xf32, pyflame.Grid(", rows, ", ",
                               columns, ")>")));
  const std::vector<std::optional<Layout>> layouts(graph.values.size(), *tensor.placement.layout());
  std::vector<double> samples;
  std::int64_t places = 0;
  for (int round = 0; round < (options.quick ? 1 : 5); ++round) {
    TESSERA_TRY(const RunOnce once, run_once(graph, *machine, layouts));
    samples.push_back(once.seconds);
    places = once.places;
  }
  std::ranges::sort(samples);
  const double median = samples[samples.size() / 2];
  result.seconds = median / kOps;
  result.elements = places / kOps;
  result.outcome = "seconds of one op";
  result.figures.emplace_back("microseconds_per_place",
                              1e6 * result.seconds / static_cast<double>(result.elements));
  report.cases.push_back(std::move(result));
  return ok_status();
}

}  // namespace

Status bench_run_device(const BenchOptions& options, BenchReport& report) {
  for (const TransferCase& one : transfer_cases(options.quick)) {
    TESSERA_CHECK_OK(bench_transfer(one, options, report));
  }
  TESSERA_CHECK_OK(bench_mlp(/*is_planned=*/false, options, report));
  if (!options.quick) TESSERA_CHECK_OK(bench_mlp(/*is_planned=*/true, options, report));
  TESSERA_CHECK_OK(bench_overhead(1, 1, options, report));
  if (options.quick) return ok_status();
  return bench_overhead(128, 128, options, report);
}

}  // namespace tessera::tools
