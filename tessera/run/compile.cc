// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/ops/divide_like.h"
#include "tessera/ops/layouts_for.h"
#include "tessera/ops/propagate.h"
#include "tessera/ops/shares.h"
#include "tessera/ops/supply.h"
#include "tessera/run/common_mesh.h"
#include "tessera/run/elements.h"
#include "tessera/run/execution.h"
#include "tessera/run/kernels/kernel.h"
#include "tessera/run/memory_plan.h"

namespace tessera::run {
namespace {

/// The same slots with elements of another type.
Result<Layout> with_type_of(const Layout& layout, DType dtype) {
  LayoutSpec spec = layout.spec();
  spec.dtype = dtype;
  spec.atom.storage = dtype;
  spec.padding = PaddingValue::undef();
  return Layout::make(std::move(spec));
}

bool is_partial(const Layout& layout) { return !ops::partial_axes(layout).empty(); }

/// All of a tensor on every place of the mesh.
Result<Layout> everywhere(const graph::TensorType& type, const Shape& mesh) {
  TESSERA_TRY(const Layout flat, Layout::row_major(type.shape, type.dtype));
  LayoutSpec spec = flat.spec();
  spec.form.mesh = mesh;
  for (std::size_t a = 0; a < mesh.rank(); ++a) {
    spec.form.fills.push_back(Fill::replicate(static_cast<int>(a), mesh[a]));
  }
  return Layout::make(std::move(spec));
}

/// Compiles one node after the other.
class Compiler {
 public:
  explicit Compiler(Execution& made) : made_(made) {}

  Status add(std::size_t node, std::int64_t number);

 private:
  const graph::Node& node() const { return made_.graph.nodes[node_]; }
  Error in_node(Error error) const {
    error.message = cat(graph::node_text(made_.graph, node()), ": ", error.message);
    return error;
  }

  Status divide(const graph::Types& outputs, Step& step, std::vector<Layout>& made);
  Result<ops::WorkMap> follow_operands(const ops::Loops& loops) const;
  Result<ops::WorkMap> on_one_place(const ops::Loops& loops) const;
  Result<std::vector<Layout>> layouts_of_results(const ops::Loops& loops,
                                                 const graph::Types& outputs,
                                                 const ops::WorkMap& work) const;
  Status bring(std::size_t i, const graph::TensorType& type, Step& step);
  Status extend(std::size_t i, const Layout& operand, BufferNumber from, const ops::Supply& supply,
                Step& step);
  Status settle(std::size_t o, const Layout& result, Step& step);
  BufferNumber add_buffer(std::string name, Layout layout, std::int64_t from, std::int64_t to) {
    made_.buffers.push_back({std::move(name), std::move(layout), made_.machine.data_space,
                             4 * number_ + from, 4 * number_ + to, 0, 0});
    return made_.buffers.size() - 1;
  }
  void read_until(BufferNumber buffer, std::int64_t moment) {
    std::int64_t& to = made_.buffers[buffer].to;
    to = std::max(to, 4 * number_ + moment + 1);
  }
  const std::string& value_name(graph::ValueId v) const { return made_.graph.values[v].name; }

  Execution& made_;
  std::size_t node_ = 0;
  std::int64_t number_ = 0;  ///< of the step
};

Result<ops::WorkMap> Compiler::follow_operands(const ops::Loops& loops) const {
  ops::Division division(loops, made_.mesh);
  for (std::size_t o = 0; o < node().outputs.size(); ++o) {
    TESSERA_CHECK_OK(
        division.follow(loops.outputs[o], made_.buffers[node().outputs[o]].layout.form()));
  }
  for (std::size_t i = 0; i < node().inputs.size(); ++i) {
    if (node().inputs[i] == graph::kAbsent || !loops.inputs[i]) continue;
    TESSERA_CHECK_OK(
        division.follow(*loops.inputs[i], made_.buffers[node().inputs[i]].layout.form()));
  }
  return std::move(division).finish();
}

Result<ops::WorkMap> Compiler::on_one_place(const ops::Loops& loops) const {
  Form form;
  TESSERA_TRY(form.shape, loops.iterations());
  form.mesh = made_.mesh;
  for (std::size_t a = 0; a < form.mesh.rank(); ++a) {
    form.fills.push_back(Fill::fixed(static_cast<int>(a), 0));
  }
  return ops::WorkMap::make(loops, std::move(form));
}

Result<std::vector<Layout>> Compiler::layouts_of_results(const ops::Loops& loops,
                                                         const graph::Types& outputs,
                                                         const ops::WorkMap& work) const {
  std::vector<Layout> layouts;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    TESSERA_TRY(Layout layout, ops::layout_for_output(loops, loops.outputs[o], outputs[o], work));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

/// Divides the work as the operands are divided; on one place where that is not possible or where
/// no layout can say what results.
Status Compiler::divide(const graph::Types& outputs, Step& step, std::vector<Layout>& made) {
  const Result<ops::WorkMap> followed = follow_operands(step.loops);
  if (followed) {
    Result<std::vector<Layout>> layouts = layouts_of_results(step.loops, outputs, *followed);
    Result<Layout> iterations = ops::iterations_layout(*followed);
    if (layouts && iterations) {
      step.work = *followed;
      step.iterations = *std::move(iterations);
      made = *std::move(layouts);
      return ok_status();
    }
  }
  TESSERA_TRY(step.work, on_one_place(step.loops));
  TESSERA_TRY(step.iterations, ops::iterations_layout(step.work));
  TESSERA_TRY(made, layouts_of_results(step.loops, outputs, step.work));
  return ok_status();
}

/// Blocks with halos around them, taken from a buffer of blocks.
Status Compiler::extend(std::size_t i, const Layout& operand, BufferNumber from,
                        const ops::Supply& supply, Step& step) {
  TESSERA_TRY(std::vector<ops::HaloPart> parts,
              ops::halo_exchange(operand, supply.halos, supply.readers));
  if (parts.empty()) {
    step.inputs[i] = OperandSource{from};
    return ok_status();
  }
  const BufferNumber to =
      add_buffer(cat(value_name(node().inputs[i]), " with halos"), parts[0].to, 0, 2);
  for (const ops::HaloPart& part : parts) {
    step.bring.push_back({from, to, Placement(part.from), Placement(part.to)});
  }
  step.inputs[i] = OperandSource{
      to, std::make_shared<const Extended>(Extended{operand, supply.halos, std::move(parts)})};
  return ok_status();
}

Status Compiler::bring(std::size_t i, const graph::TensorType& type, Step& step) {
  const graph::ValueId value = node().inputs[i];
  const Layout layout = made_.buffers[value].layout;
  const ops::Access& access = *step.loops.inputs[i];
  const bool is_near =
      made_.buffers[value].space == made_.machine.data_space && !is_partial(layout);
  if (is_near) {
    const Result<ops::Supply> supply = ops::supplies(step.loops, access, layout.form(), step.work);
    if (supply && supply->complete && !supply->has_halos()) {
      step.inputs[i] = OperandSource{value};
      read_until(value, 1);
      return ok_status();
    }
    if (supply && supply->complete && extend(i, layout, value, *supply, step)) {
      read_until(value, 0);
      return ok_status();
    }
  }
  read_until(value, 0);
  TESSERA_TRY(Layout wanted, ops::layout_for_input(step.loops, access, type, step.work));
  const Result<ops::Supply> supply = ops::supplies(step.loops, access, wanted.form(), step.work);
  const bool is_complete = supply && supply->complete;
  if (is_complete && supply->has_halos()) {
    const BufferNumber blocks = made_.buffers.size();
    const std::size_t moves = step.bring.size();
    add_buffer(cat(value_name(value), " in blocks"), wanted, 0, 1);
    step.bring.push_back({value, blocks});
    if (extend(i, wanted, blocks, *supply, step)) return ok_status();
    made_.buffers.erase(made_.buffers.begin() + static_cast<std::ptrdiff_t>(blocks),
                        made_.buffers.end());
    step.bring.resize(moves);
  }
  if (!is_complete || supply->has_halos()) {
    TESSERA_TRY(wanted, everywhere(type, made_.mesh));
  }
  const BufferNumber to =
      add_buffer(cat(value_name(value), " where it is read"), std::move(wanted), 0, 2);
  step.bring.push_back({value, to});
  step.inputs[i] = OperandSource{to};
  return ok_status();
}

Status Compiler::settle(std::size_t o, const Layout& result, Step& step) {
  const graph::ValueId value = node().outputs[o];
  const Layout wanted = made_.buffers[value].layout;
  TESSERA_TRY(const Comparison same, same_function(result.form(), wanted.form()));
  const bool is_near = made_.buffers[value].space == made_.machine.data_space;
  const auto begins = [&](std::int64_t moment) {
    made_.buffers[value].from = 4 * number_ + moment;
    read_until(value, 3);
  };
  if (same.equal && is_near) {
    step.results.push_back(value);
    begins(1);
    return ok_status();
  }
  const DType dtype = wanted.dtype();
  const DType kept = is_partial(result) ? share_type(dtype) : dtype;
  TESSERA_TRY(Layout shares, with_type_of(result, kept));
  const BufferNumber from =
      add_buffer(cat(value_name(value), " as computed"), std::move(shares), 1, 3);
  step.results.push_back(from);
  if (kept == dtype) {
    step.settle.push_back({from, value});
    begins(2);
    return ok_status();
  }
  TESSERA_TRY(Layout combined, with_type_of(wanted, kept));
  const BufferNumber to =
      add_buffer(cat(value_name(value), " combined"), std::move(combined), 2, 4);
  step.settle.push_back({from, to});
  step.retype.push_back({to, value});
  begins(3);
  return ok_status();
}

Status Compiler::add(std::size_t node_number, std::int64_t number) {
  node_ = node_number;
  number_ = number;
  if (!has_kernel(node().op.name())) {
    return in_node({ErrorCode::kNotSupported, "the op has no kernel", std::nullopt,
                    "replace it by ops of the table (tessera graph --ops)"});
  }
  std::vector<const graph::TensorType*> types;
  for (const graph::ValueId v : node().inputs) {
    types.push_back(v == graph::kAbsent ? nullptr : &made_.graph.values[v].type);
  }
  graph::Types outputs;
  for (const graph::ValueId v : node().outputs) outputs.push_back(made_.graph.values[v].type);
  const graph::Call call(node().op, types, node().attributes, outputs.size());
  Result<ops::Loops> loops = ops::loops_of(call, outputs);
  if (!loops) return in_node(loops.error());
  Result<ops::WorkMap> anywhere = ops::WorkMap::repeated(*loops, made_.mesh);
  if (!anywhere) return in_node(anywhere.error());
  Step step{node_number, *loops, *anywhere, made_.buffers[node().outputs[0]].layout, {}, {},
            {},          {},     {}};
  std::vector<Layout> results;
  if (Status status = divide(outputs, step, results); !status) {
    return in_node(status.error());
  }
  step.inputs.resize(node().inputs.size());
  for (std::size_t i = 0; i < node().inputs.size(); ++i) {
    if (node().inputs[i] == graph::kAbsent || !step.loops.inputs[i]) continue;
    if (Status status = bring(i, *types[i], step); !status) return in_node(status.error());
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (Status status = settle(o, results[o], step); !status) return in_node(status.error());
  }
  made_.steps.push_back(std::move(step));
  return ok_status();
}

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
  if (layout.atom().storage != layout.dtype()) {
    return Error{ErrorCode::kNotSupported,
                 cat("value '", value.name, "' of ", dtype_name(layout.dtype()), " is stored as ",
                     dtype_name(layout.atom().storage)),
                 std::nullopt, "store it as its own type"};
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
  made.mesh = common_mesh(placed, machine.shape().rank());
  const auto steps = static_cast<std::int64_t>(order.size());
  const std::int64_t end = std::max<std::int64_t>(4 * steps, 1);
  for (std::size_t v = 0; v < placed.size(); ++v) {
    TESSERA_TRY(Layout layout, on_mesh(placed[v], made.mesh));
    const std::string named = layout.spec().space;
    const graph::Kind kind = graph.values[v].kind;
    const bool stays = kind == graph::Kind::kParameter || kind == graph::Kind::kConstant;
    made.buffers.push_back({graph.values[v].name, std::move(layout),
                            named.empty() ? machine.data_space : named, 0, stays ? end : 1, 0, 0});
  }
  Compiler compiler(made);
  for (std::int64_t k = 0; k < steps; ++k) {
    TESSERA_CHECK_OK(compiler.add(order[static_cast<std::size_t>(k)], k));
  }
  for (const graph::ValueId v : graph.outputs) made.buffers[v].to = end;
  TESSERA_CHECK_OK(plan_memory(made));
  return made;
}

}  // namespace tessera::run
