// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/memory/validate.h"
#include "tessera/pyflame/pe_memory_planner.h"
#include "tools/bench/bench_alloc.h"
#include "tools/bench/bench_alloc_reference.h"
#include "tools/bench/measure.h"
#include "tools/command/bug.h"

// A graph of 100 tensors on meshes up to a wafer: one plan for all places, against a plan for each.
namespace tessera::tools {
namespace {

using pyflame::MeshLayout;
using pyflame::TensorId;

constexpr std::size_t kTensors = 100;
constexpr std::int64_t kSharedGrids = 4;
constexpr double kMostSeconds = 20e-3;
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;
constexpr double kMostRatio = 1e-3;
constexpr std::int64_t kMostPeerPlaces = 120'000;
constexpr std::int64_t kMostQuickPeerPlaces = 80;

struct Mesh {
  std::int64_t rows = 0, cols = 0;
  std::string text() const { return cat(rows, "x", cols); }
};
constexpr std::array<Mesh, 5> kMeshes = {{{10, 8}, {32, 32}, {100, 75}, {400, 300}, {994, 750}}};

/// The grids of the tensors.
enum class Grids : std::uint8_t {
  kShared,      ///< four in total
  kOwn,         ///< a separate number of rows and columns for each tensor
  kOwnOrigins,  ///< separate sizes, at any position on the mesh
};
constexpr std::array<std::pair<Grids, std::string_view>, 3> kGrids = {
    {{Grids::kShared, "shared_grids"},
     {Grids::kOwn, "own_grids"},
     {Grids::kOwnOrigins, "own_origins"}}};

Error wrong(std::string_view name, std::string_view what) {
  return Error{ErrorCode::kContradiction, cat(name, ": ", what), std::nullopt, kBugHelp};
}

/// The same tensors for both planners.
struct Scene {
  pyflame::PEGraph graph;
  std::map<TensorId, MeshLayout> layouts;
  std::vector<SpreadMatrix> matrices;
};

/// Layers of x[i + 1] = f(x[i], w[i], x[i - 5]): half of the tensors are weights that stay alive.
/// Tiles have 1 to 25 elements, and the last ones are ragged.
Scene scene_on(const Mesh& mesh, Grids grids) {
  Scene scene;
  const auto grid_of = [&](std::size_t tensor) {
    const auto i = static_cast<std::int64_t>(tensor);
    const std::int64_t kind = grids == Grids::kShared ? 7 * (i % kSharedGrids) : i;
    // No two of 100 have the same rows or columns on a wafer; small meshes have fewer grids.
    if (grids == Grids::kOwnOrigins) {  // a quarter of the mesh to nearly all of it
      return Mesh{ceil_div(mesh.rows * (25 + i * 37 % 73), 100),
                  ceil_div(mesh.cols * (25 + i * 59 % 71), 100)};
    }
    return Mesh{mesh.rows - kind % mesh.rows, mesh.cols - kind % mesh.cols};
  };
  const auto shape_of = [&](std::size_t tensor) {
    const Mesh grid = grid_of(tensor);
    const auto i = static_cast<std::int64_t>(tensor);
    return std::vector<std::int64_t>{
        std::max<std::int64_t>(1, grid.rows * (1 + i % 5) - i % 3),
        std::max<std::int64_t>(1, grid.cols * (1 + i % 4) - i % 7 % 2)};
  };
  const auto add = [&](TensorId tensor) {
    const Mesh grid = grid_of(tensor);
    const std::vector<std::int64_t> shape = shape_of(tensor);
    MeshLayout layout = MeshLayout::Grid(static_cast<std::int32_t>(grid.rows),
                                         static_cast<std::int32_t>(grid.cols));
    if (grids == Grids::kOwnOrigins) {
      const auto i = static_cast<std::int64_t>(tensor);
      layout.origin.row = static_cast<std::int32_t>(i * 71 % (mesh.rows - grid.rows + 1));
      layout.origin.col = static_cast<std::int32_t>(i * 43 % (mesh.cols - grid.cols + 1));
    }
    scene.layouts.emplace(tensor, std::move(layout));
    scene.matrices.push_back({shape[0], shape[1], grid.rows, grid.cols, 4});
  };
  std::vector<TensorId> values;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const std::vector<std::int64_t> shape = shape_of(i);
    if (i % 2 == 1) {
      pyflame::PETensor weight;
      weight.name = cat("w", i);
      weight.shape = shape;
      weight.kind = graph::Kind::kParameter;
      add(scene.graph.add(std::move(weight)));
      continue;
    }
    if (values.empty()) {
      pyflame::PETensor input;
      input.name = "x0";
      input.shape = shape;
      input.kind = graph::Kind::kInput;
      values.push_back(scene.graph.add(std::move(input)));
    } else {
      std::vector<TensorId> inputs = {values.back(), i - 1};
      if (values.size() > 5) inputs.push_back(values[values.size() - 6]);
      values.push_back(scene.graph.compute(cat("x", i), inputs, shape));
    }
    add(values.back());
  }
  return scene;
}

/// Validates the plan of each class of places, and compares the peer's number with ours.
Status check_plan(const pyflame::MemoryPlan& plan, std::string_view name) {
  if (plan.error) return *plan.error;
  if (!plan.valid) return wrong(name, plan.error_message);
  if (plan.lower_bound() > plan.max_pe_memory_used()) return wrong(name, "the bound is too high");
  for (const pyflame::PEClass& each : plan.classes()) {
    TESSERA_TRY(const pyflame::PEMemoryPlan place, plan.plan_for(each.example));
    memory::Problem problem;
    std::vector<std::int64_t> offsets;
    for (const auto& [tensor, region] : place.tensor_regions) {
      memory::Buffer buffer = plan.lifetimes()->buffers[tensor];
      buffer.alias.reset();  // no buffer of this graph is an alias
      buffer.size = static_cast<std::int64_t>(place.regions[region].size);
      problem.buffers.push_back(buffer);
      offsets.push_back(static_cast<std::int64_t>(place.regions[region].offset));
    }
    const std::vector<memory::Finding> findings =
        memory::validate(problem, offsets, static_cast<std::int64_t>(place.total_available), 1);
    if (!findings.empty()) return wrong(name, findings.front().message);
  }
  return ok_status();
}

Result<BenchCase> measure(const Mesh& mesh, Grids grids, std::string_view name,
                          const BenchMemoryOptions& options) {
  BenchCase result;
  result.name = cat("mesh/", name, "/", mesh.text());
  const Scene scene = scene_on(mesh, grids);
  const pyflame::PEMemoryPlanner planner;
  const auto plan = [&] { return planner.plan(scene.graph, scene.layouts); };
  const pyflame::MemoryPlan planned = plan();
  TESSERA_CHECK_OK(check_plan(planned, result.name));
  result.figures = {{"classes", static_cast<double>(planned.classes().size())},
                    {"peak", static_cast<double>(planned.max_pe_memory_used())},
                    {"without_reuse", static_cast<double>(planned.bump_max_pe())}};
  const MeasureOptions measure = options.quick ? MeasureOptions{1, 1e-6} : MeasureOptions{};
  result.peak_bytes = peak_bytes_of([&] { keep(plan().valid); });
  result.seconds = median_seconds({{result.name, [&] { keep(plan().valid); }}}, measure).front();
  const std::int64_t places = mesh.rows * mesh.cols;
  // The peer supports only grids from (0, 0).
  if (grids != Grids::kOwnOrigins &&
      places <= (options.quick ? kMostQuickPeerPlaces : kMostPeerPlaces)) {
    const auto by_place = [&] { return plan_place_by_place(scene.matrices); };
    if (by_place().most_used() != planned.bump_max_pe()) {
      return wrong(result.name, "the two planners have different tiles");
    }
    // Not interleaved with our runs: the memory it frees would slow down our allocations.
    const MeasureOptions once = options.quick ? measure : MeasureOptions{1, 1e-3};
    result.peers.emplace_back(
        "map_per_place",
        median_seconds({{"map_per_place", [&] { keep(by_place().most_used()); }}}, once).front());
    set_ratio(result);
  }
  const bool is_full = mesh.rows == kMeshes.back().rows;
  const bool is_compared = places == kMostPeerPlaces && result.ratio;
  if (is_full) {
    result.goal = "<= 20 ms, 64 MiB";
    result.met = result.seconds <= kMostSeconds && *result.peak_bytes <= kMostBytes;
  } else if (is_compared) {
    result.goal = "<= 1/1000 of map_per_place";
    result.met = *result.ratio <= kMostRatio;
  }
  return result;
}

}  // namespace

Status bench_memory_mesh(const BenchMemoryOptions& options, BenchReport& report) {
  for (const auto& [grids, name] : kGrids) {
    std::vector<BenchCase> cases;
    for (const Mesh& mesh : kMeshes) {
      if (!options.selects(cat("mesh/", name, "/", mesh.text()))) continue;
      TESSERA_TRY(BenchCase measured, measure(mesh, grids, name, options));
      cases.push_back(std::move(measured));
    }
    if (cases.empty()) continue;
    report.growth.emplace_back(std::string(name), cases.back().seconds / cases.front().seconds);
    std::vector<double> peer;
    for (const BenchCase& each : cases) {
      if (!each.peers.empty()) peer.push_back(each.peers[0].second);
    }
    if (peer.size() > 1) {
      report.growth.emplace_back(cat(name, "/map_per_place"), peer.back() / peer.front());
    }
    report.cases.insert(report.cases.end(), cases.begin(), cases.end());
  }
  return ok_status();
}

}  // namespace tessera::tools
