// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_reshard.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/fabric/patterns.h"
#include "tessera/fabric/simulate.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"
#include "tools/bench/measure.h"
#include "tools/command/bug.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kExtent = 8192;
constexpr double kMostDisjointSeconds = 1e-3;
constexpr std::int64_t kMostDisjointBytes = 1'000'000;
constexpr double kMostJointSeconds = 10e-3;
constexpr double kLeastRate = 20e6;  // transfers, and wavelet-hops, per second
constexpr std::int64_t kMostPeerPlaces = 10'000;
constexpr std::int64_t kMostQuickPeerPlaces = 1'024;

struct Mesh {
  std::int64_t rows = 0, cols = 0;
  std::string text() const { return cat(rows, "x", cols); }
};
constexpr std::array<Mesh, 5> kMeshes = {{{10, 8}, {32, 32}, {100, 75}, {300, 250}, {994, 750}}};

Error wrong(std::string_view name) {
  return Error{ErrorCode::kContradiction, cat(name, " has the wrong answer"), std::nullopt,
               kBugHelp};
}

/// A change of layout on a mesh; `joint` when one dim determines both rows and columns, in A and B
/// together.
struct Change {
  std::string_view name;
  bool joint = false;
  std::string from, to;  ///< layouts
};

std::vector<Change> changes(const Mesh& mesh) {
  const auto [rows, cols] = mesh;
  const std::string grid = cat("pyflame.Grid(", rows, ", ", cols, ")");
  const std::int64_t width = ceil_div(kExtent, rows * cols);
  return {
      {"grid", false, grid, cat("pyflame.Grid(", rows * 3 / 4, ", ", cols * 2 / 3, ")")},
      {"cyclic", false, grid, cat("pyflame.BlockCyclic(", rows, ", ", cols, ", 4, 4)")},
      {"transpose", true, grid, cat("pyflame.Grid(", rows, ", ", cols, ", dim_to_pe=[1, 0])")},
      {"rows_to_columns", true, cat("pyflame.RowPartition(", rows, ")"),
       cat("pyflame.Grid(1, ", cols, ", dim_to_pe=[1, -1])")},
      {"fold", true, grid,
       cat("native<mesh=[", rows, ", ", cols, "], {d0} / (", width * cols, " -> m0, ", width,
           " -> m1, 1 -> mem*", kExtent, "), {d1} / (1 -> mem)>")},
  };
}

/// The two layouts of a change, and their mesh.
struct Scene {
  Tensor from, to;
  reshard::PhysicalMesh physical;
};

Result<Scene> scene_of(const Change& change, const Mesh& mesh, std::string_view dtype) {
  const auto text = [&](const std::string& layout) {
    return cat("tensor<", kExtent, "x", kExtent, "x", dtype, ", ", layout, ">");
  };
  TESSERA_TRY(Tensor from, parse_tensor(text(change.from)));
  TESSERA_TRY(Tensor to, parse_tensor(text(change.to)));
  reshard::PhysicalMesh physical;
  TESSERA_TRY(physical.mesh, Shape::make({mesh.rows, mesh.cols}));
  physical.fabric.emplace();
  physical.fabric->rows = static_cast<std::int32_t>(mesh.rows);
  physical.fabric->cols = static_cast<std::int32_t>(mesh.cols);
  return Scene{std::move(from), std::move(to), std::move(physical)};
}

Result<reshard::ReshardCost> cost_in(const Scene& scene) {
  TESSERA_TRY(const reshard::Reshard reshard,
              reshard::Reshard::make(scene.from.placement, scene.to.placement, scene.physical));
  return reshard::cost_of(reshard);
}

/// Times the peer and compares its result with ours. Not interleaved with our runs: the millions of
/// blocks that it frees would slow down our allocations.
Status add_peer(const Scene& scene, const reshard::ReshardCost& cost, const MeasureOptions& measure,
                BenchCase& result) {
  TESSERA_TRY(const reshard::Reshard reshard,
              reshard::Reshard::make(scene.from.placement, scene.to.placement, scene.physical));
  const auto totals = [&] {
    return totals_by_pairs(scene.from.layout(), scene.to.layout(), reshard);
  };
  const reshard::FabricCost& fabric = *cost.fabric;
  const PairTotals ours = {cost.bytes, cost.messages, cost.wavelets, fabric.hops,
                           fabric.max_link_wavelets};
  if (!(ours == totals())) return wrong(result.name);
  result.peers.emplace_back(
      "pairs_map", median_seconds({{"pairs_map", [&] { keep(totals()); }}}, measure).front());
  set_ratio(result);
  return ok_status();
}

Result<BenchCase> measure_cost(const Change& change, const Mesh& mesh, std::string_view dtype,
                               const BenchOptions& options) {
  const MeasureOptions measure = options.quick ? MeasureOptions{1, 1e-6} : MeasureOptions{};
  BenchCase result;
  result.name = cat(change.name, "/", dtype, "/", mesh.text());
  result.dtype = dtype;
  TESSERA_TRY(const Scene scene, scene_of(change, mesh, dtype));
  TESSERA_TRY(const reshard::ReshardCost cost, cost_in(scene));
  if (!cost.fabric) return wrong(result.name);
  result.peak_bytes = peak_bytes_of([&] { keep(cost_in(scene).ok()); });
  result.seconds =
      median_seconds({{result.name, [&] { keep(cost_in(scene).ok()); }}}, measure).front();
  if (mesh.rows * mesh.cols <= (options.quick ? kMostQuickPeerPlaces : kMostPeerPlaces)) {
    const MeasureOptions few = options.quick ? measure : MeasureOptions{3, 1e-3};
    TESSERA_CHECK_OK(add_peer(scene, cost, few, result));
  }
  result.goal = change.joint ? "<= 10 ms" : "<= 1 ms, 1 MB";
  result.met = change.joint ? result.seconds <= kMostJointSeconds
                            : result.seconds <= kMostDisjointSeconds &&
                                  *result.peak_bytes <= kMostDisjointBytes;
  return result;
}

/// Work that is done `elements` times in one call, with the rate as its goal.
BenchCase measure_rate(std::string name, std::int64_t elements, std::string_view of_what,
                       const std::function<void()>& work, const BenchOptions& options) {
  BenchCase result;
  result.name = std::move(name);
  result.elements = elements;
  result.peak_bytes = peak_bytes_of(work);
  result.seconds = median_seconds({{result.name, work}},
                                  options.quick ? MeasureOptions{1, 1e-6} : MeasureOptions{5, 1e-2})
                       .front();
  result.goal = cat(">= 20 M ", of_what, " per second");
  result.met = static_cast<double>(elements) >= kLeastRate * result.seconds;
  return result;
}

}  // namespace

Status bench_reshard_cost(const BenchOptions& options, BenchReport& report) {
  const std::size_t before = report.cases.size();
  std::size_t a_mesh = 0;  // number of cases on each
  for (const Mesh& mesh : kMeshes) {
    for (const std::string_view dtype : {"f32", "bf16"}) {
      for (const Change& change : changes(mesh)) {
        TESSERA_TRY(BenchCase result, measure_cost(change, mesh, dtype, options));
        report.cases.push_back(std::move(result));
      }
    }
    if (a_mesh == 0) a_mesh = report.cases.size() - before;
  }
  for (std::size_t i = 0; i < a_mesh; ++i) {
    const BenchCase& smallest = report.cases[before + i];
    const BenchCase& largest = report.cases[report.cases.size() - a_mesh + i];
    report.growth.emplace_back(smallest.name.substr(0, smallest.name.rfind('/')),
                               largest.seconds / smallest.seconds);
  }
  std::map<std::string, std::vector<double>> ratios;  // by change and type
  for (std::size_t i = before; i < report.cases.size(); ++i) {
    const BenchCase& found = report.cases[i];
    if (found.ratio) ratios[found.name.substr(0, found.name.rfind('/'))].push_back(*found.ratio);
  }
  for (const auto& [name, list] : ratios) {
    report.geometric_means.emplace_back(name, geometric_mean(list));
  }
  return ok_status();
}

Status bench_reshard_transfers(const BenchOptions& options, BenchReport& report) {
  const Mesh mesh = options.quick ? kMeshes.front() : kMeshes.back();
  for (const Change& change : changes(mesh)) {
    if (change.name != "grid" && change.name != "cyclic" && change.name != "transpose") continue;
    TESSERA_TRY(const Scene scene, scene_of(change, mesh, "f32"));
    TESSERA_TRY(const reshard::Reshard reshard,
                reshard::Reshard::make(scene.from.placement, scene.to.placement, scene.physical));
    std::int64_t transfers = 0;
    std::int64_t elements = 0;
    const auto expand = [&] {
      transfers = 0;
      elements = 0;
      return reshard::for_each_transfer(reshard, reshard::TransferChoice{},
                                        [&](const reshard::Transfer& transfer) {
                                          ++transfers;
                                          elements += transfer.elements;
                                          return ok_status();
                                        });
    };
    TESSERA_CHECK_OK(expand());
    const std::string name = cat("expand/", change.name, "/", mesh.text());
    if (elements != kExtent * kExtent) return wrong(name);
    report.cases.push_back(
        measure_rate(name, transfers, "transfers", [&] { keep(expand().ok()); }, options));
  }
  return ok_status();
}

Status bench_reshard_fabric(const BenchOptions& options, BenchReport& report) {
  fabric::FabricMesh mesh;
  mesh.rows = options.quick ? 8 : 32;
  mesh.cols = mesh.rows;
  const std::int64_t words = options.quick ? 4 : 64;
  const std::int32_t centre = mesh.node(mesh.rows / 2, mesh.cols / 2);
  TESSERA_TRY(const fabric::Traffic permutation, fabric::random_permutation(mesh, words, 1));
  TESSERA_TRY(const fabric::Traffic transpose, fabric::transpose_mesh(mesh, words));
  TESSERA_TRY(const fabric::Traffic gather, fabric::gather_to(mesh, centre, words));
  TESSERA_TRY(const fabric::Traffic broadcast, fabric::broadcast_from(mesh, centre, words * 16));
  struct Pattern {
    std::string_view name;
    const fabric::Traffic& traffic;
    fabric::FabricMode mode = fabric::FabricMode::kIdeal;
  };
  const std::vector<Pattern> patterns = {
      {"permutation", permutation},
      {"transpose", transpose},
      {"gather", gather},
      {"broadcast", broadcast},
      {"permutation_colours", permutation, fabric::FabricMode::kStatic}};
  for (const Pattern& pattern : patterns) {
    fabric::SimulateOptions simulate_options;
    simulate_options.mode = pattern.mode;
    TESSERA_TRY(const fabric::Simulation simulation,
                fabric::simulate(mesh, pattern.traffic, simulate_options));
    report.cases.push_back(measure_rate(
        cat("simulate/", pattern.name, "/", mesh.rows, "x", mesh.cols), simulation.hops,
        "wavelet-hops",
        [&] { keep(fabric::simulate(mesh, pattern.traffic, simulate_options).ok()); }, options));
  }
  return ok_status();
}

Result<BenchReport> bench_reshard(const BenchOptions& options) {
  BenchReport report;
  report.suite = "reshard";
  TESSERA_CHECK_OK(bench_reshard_cost(options, report));
  TESSERA_CHECK_OK(bench_reshard_transfers(options, report));
  TESSERA_CHECK_OK(bench_reshard_fabric(options, report));
  return report;
}

}  // namespace tessera::tools
