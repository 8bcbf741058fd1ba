// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/ops/propagate.h"
#include "tessera/run/common_mesh.h"
#include "tessera/run/compile_step.h"
#include "tessera/run/execution.h"
#include "tessera/run/fitting_step.h"
#include "tessera/run/kernels/kernel.h"
#include "tessera/run/memory_plan.h"

namespace tessera::run {
namespace {

Status check_layout(const graph::Value& value, const Layout& layout) {
  if (!(layout.shape() == value.type.shape)) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("value '", value.name, "' is ", value.type.to_string(), ", its layout is of [",
                     layout.shape().to_string(), "]")};
  }
  if (layout.dtype() != value.type.dtype) {
    return Error{ErrorCode::kBadDType, cat("value '", value.name, "' is ", value.type.to_string(),
                                           ", its layout is of ", dtype_name(layout.dtype()))};
  }
  const DType storage = layout.atom().storage;
  if (storage == layout.dtype()) return ok_status();
  const auto is_refused = [&](std::string_view why, std::string_view fix) {
    return Error{ErrorCode::kNotSupported,
                 cat("value '", value.name, "' of ", dtype_name(layout.dtype()), " is stored as ",
                     dtype_name(storage), ", but ", why),
                 std::nullopt, std::string(fix)};
  };
  const bool are_floats =
      compute_type(layout.dtype()) == DType::kF32 && compute_type(storage) == DType::kF32;
  if (!are_floats) {
    return is_refused("only floats of at most 32 bits may be stored as another type",
                      "store it as its own type");
  }
  if (!ops::partial_axes(layout).empty()) {
    return is_refused("its places hold shares of a sum",
                      "store shares as their own type, or let the layout hold the sum");
  }
  return ok_status();
}

/// The order, if it lists every node once and each after those that it reads from.
Result<std::vector<std::size_t>> checked_order(const graph::Graph& graph,
                                               std::vector<std::size_t> order) {
  if (order.empty()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) order.push_back(n);
  }
  std::vector<bool> done(graph.nodes.size());
  std::vector<bool> known(graph.values.size());
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    known[v] = graph.values[v].kind != graph::Kind::kComputed;
  }
  const Error wrong{ErrorCode::kBadGraph, "the order does not list every node once"};
  if (order.size() != graph.nodes.size()) return wrong;
  for (const std::size_t n : order) {
    if (n >= graph.nodes.size() || done[n]) return wrong;
    done[n] = true;
    for (const graph::ValueId v : graph.nodes[n].inputs) {
      if (v == graph::kAbsent || known[v]) continue;
      return Error{ErrorCode::kBadGraph,
                   cat(graph::node_text(graph, graph.nodes[n]), " is to run before '",
                       graph.values[v].name, "' is computed")};
    }
    for (const graph::ValueId v : graph.nodes[n].outputs) known[v] = true;
  }
  return order;
}

/// The mesh of all layouts and of all work that is given.
Result<Shape> mesh_of(const std::vector<Layout>& layouts, const CompileOptions& options,
                      const Machine& machine) {
  const Shape whole = machine.shape();
  std::vector<std::int64_t> extents = common_mesh(layouts, whole.rank()).extents();
  for (const std::optional<ops::WorkMap>& work : options.work) {
    if (!work) continue;
    if (work->mesh().rank() != whole.rank()) {
      return Error{ErrorCode::kMeshMismatch,
                   cat("work on a mesh of ", bracketed(work->mesh().extents()), " on ",
                       machine.name, ", whose places are ", bracketed(whole.extents()))};
    }
    for (std::size_t a = 0; a < whole.rank(); ++a) {
      const std::int64_t reach = reach_on(work->form(), a);
      if (reach > whole[a]) {
        return Error{ErrorCode::kMeshTooSmall, cat("work on ", reach, " places along axis ", a,
                                                   " of ", machine.name, ", which has ", whole[a])};
      }
      extents[a] = std::max(extents[a], reach);
    }
  }
  return Shape::make(std::move(extents));
}

}  // namespace

Result<Execution> compile(const graph::Graph& graph, const Machine& machine,
                          const std::vector<Layout>& layouts, const CompileOptions& options) {
  TESSERA_CHECK_OK(machine.check());
  if (layouts.size() != graph.values.size()) {
    return Error{ErrorCode::kBadGraph,
                 cat(layouts.size(), " layouts for ", graph.values.size(), " values")};
  }
  TESSERA_TRY(const std::vector<std::size_t> order, checked_order(graph, options.order));
  Execution made{graph, machine, {}, {}, {}, {}};
  std::vector<Layout> placed;
  for (std::size_t v = 0; v < layouts.size(); ++v) {
    TESSERA_CHECK_OK(check_layout(graph.values[v], layouts[v]));
    Result<Layout> layout = on_coordinates(layouts[v], machine);
    if (!layout) {
      Error error = layout.error();
      error.message = cat("value '", graph.values[v].name, "': ", error.message);
      return error;
    }
    placed.push_back(*std::move(layout));
  }
  TESSERA_TRY(made.mesh, mesh_of(placed, options, machine));
  const auto steps = static_cast<std::int64_t>(order.size());
  const std::int64_t end = std::max<std::int64_t>(4 * steps, 1);
  for (std::size_t v = 0; v < placed.size(); ++v) {
    TESSERA_TRY(Layout layout, on_mesh(placed[v], made.mesh));
    const std::string named = layout.spec().space;
    const graph::Kind kind = graph.values[v].kind;
    const bool stays = kind == graph::Kind::kParameter || kind == graph::Kind::kConstant;
    Box places = places_around(layout.form());
    made.buffers.push_back({graph.values[v].name, std::move(layout),
                            named.empty() ? machine.data_space : named, 0, stays ? end : 1, 0, 0,
                            std::move(places)});
  }
  TESSERA_TRY(const FittingSteps fitting,
              FittingSteps::make(made, order, options.may_divide_otherwise));
  for (std::int64_t k = 0; k < steps; ++k) {
    const std::size_t node = order[static_cast<std::size_t>(k)];
    const bool is_given = node < options.work.size() && options.work[node].has_value();
    const bool is_chosen = node < options.choices.size() && options.choices[node].has_value();
    if (is_given || is_chosen) {
      StepCompiler compiler(made, node, k, is_chosen ? *options.choices[node] : StepChoice{});
      TESSERA_TRY(Step step, compiler.step(is_given ? &*options.work[node] : nullptr));
      made.steps.push_back(std::move(step));
      continue;
    }
    TESSERA_TRY(Step step, fitting.step(made, static_cast<std::size_t>(k)));
    made.steps.push_back(std::move(step));
  }
  for (const graph::ValueId v : graph.outputs) made.buffers[v].to = end;
  if (options.offsets) TESSERA_CHECK_OK(plan_memory(made));
  return made;
}

}  // namespace tessera::run
