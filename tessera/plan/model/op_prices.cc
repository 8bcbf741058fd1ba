// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/model/op_prices.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/ops/layouts_for.h"
#include "tessera/ops/shares.h"
#include "tessera/plan/model/candidates.h"
#include "tessera/run/common_mesh.h"
#include "tessera/run/compile_step.h"
#include "tessera/run/memory_plan.h"
#include "tessera/run/predict.h"

namespace tessera::plan {
namespace {

/// One node as a graph: its inputs and outputs are values of its own.
graph::Graph alone(const graph::Graph& graph, const graph::Node& node) {
  graph::Graph made;
  graph::Node own = node;
  for (graph::ValueId& v : own.inputs) {
    if (v == graph::kAbsent) continue;
    made.values.push_back(
        {cat("x", made.values.size()), graph.values[v].type, graph::Kind::kInput, {}});
    v = static_cast<graph::ValueId>(made.values.size() - 1);
  }
  for (graph::ValueId& v : own.outputs) {
    made.values.push_back(
        {cat("y", made.values.size()), graph.values[v].type, graph::Kind::kComputed, {}});
    v = static_cast<graph::ValueId>(made.values.size() - 1);
  }
  made.nodes.push_back(std::move(own));
  return made;
}

}  // namespace

double Phase::at_least(const run::MovePrices& prices) const {
  if (!is_possible) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const run::MovePrices::Number move : moves) sum += prices.at_least(move);
  return sum;
}

bool Phase::is_priced(const run::MovePrices& prices) const {
  return std::ranges::all_of(moves,
                             [&](run::MovePrices::Number move) { return prices.is_priced(move); });
}

Result<LayoutNumber> LayoutTable::add(const Layout& layout) {
  TESSERA_TRY(const Layout placed, run::on_coordinates(layout, *machine_));
  TESSERA_TRY(const Layout whole, run::on_mesh(placed, mesh_));
  LayoutSpec spec = whole.spec();
  if (spec.space.empty()) spec.space = machine_->data_space;
  TESSERA_TRY(Layout made, Layout::make(std::move(spec)));
  const auto [found, is_new] =
      numbers_.try_emplace(cat(made.spec().space, "|", run::text_key(made)), layouts_.size());
  if (!is_new) return found->second;
  run::Buffer buffer{"", made, made.spec().space, 0, 0, 0, 0};
  const Result<std::int64_t> bytes = run::bytes_of(buffer, *machine_);
  if (!bytes) {
    numbers_.erase(found);
    return bytes.error();
  }
  layouts_.push_back(std::move(made));
  bytes_.push_back(*bytes);
  return layouts_.size() - 1;
}

Result<OpClass> OpClass::make(const graph::Graph& graph, const graph::Node& node,
                              const Machine& machine) {
  run::Execution scratch{alone(graph, node), machine, machine.shape(), {}, {}, {}};
  for (const graph::Value& value : scratch.graph.values) {
    TESSERA_TRY(const Layout flat, Layout::row_major(value.type.shape, value.type.dtype));
    TESSERA_TRY(Layout one, run::on_mesh(flat, scratch.mesh));
    scratch.buffers.push_back({value.name, std::move(one), machine.data_space, 0, 1, 0, 0});
  }
  OpClass made(std::move(scratch));
  run::StepCompiler compiler(made.scratch_, 0, 0);
  TESSERA_TRY(const run::Step step, compiler.begin(nullptr));
  made.loops_ = step.loops;
  return made;
}

bool OpClass::matches(const graph::Graph& graph, const graph::Node& other) const {
  const graph::Node& own = node();
  if (!(own.op == other.op) || own.inputs.size() != other.inputs.size() ||
      own.outputs.size() != other.outputs.size() || !(own.attributes == other.attributes)) {
    return false;
  }
  for (std::size_t i = 0; i < own.inputs.size(); ++i) {
    if ((own.inputs[i] == graph::kAbsent) != (other.inputs[i] == graph::kAbsent)) return false;
    if (own.inputs[i] == graph::kAbsent) continue;
    if (!(scratch_.graph.values[own.inputs[i]].type == graph.values[other.inputs[i]].type)) {
      return false;
    }
  }
  for (std::size_t o = 0; o < own.outputs.size(); ++o) {
    if (!(scratch_.graph.values[own.outputs[o]].type == graph.values[other.outputs[o]].type)) {
      return false;
    }
  }
  return true;
}

std::optional<std::size_t> OpClass::add(const ops::WorkMap& work) {
  const Result<ops::WorkMap> whole = run::on_mesh(loops_, work, scratch_.mesh);
  if (!whole) return std::nullopt;
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    if (candidates_[c].work == *whole) return c;
  }
  run::StepCompiler compiler(scratch_, 0, 0);
  Result<run::Step> step = compiler.begin(&*whole);
  if (!step) return std::nullopt;
  run::StepCycles cycles;
  run::add_compute(scratch_, *step, cycles);
  if (!cycles.compute) {
    // The machine has no rate for this arithmetic: one operation per cycle and place.
    std::vector<const graph::TensorType*> types;
    for (const graph::ValueId v : node().inputs) {
      types.push_back(v == graph::kAbsent ? nullptr : &scratch_.graph.values[v].type);
    }
    graph::Types outputs;
    for (const graph::ValueId v : node().outputs) outputs.push_back(scratch_.graph.values[v].type);
    const graph::Call call(node().op, types, node().attributes, outputs.size());
    const Result<std::vector<ops::Share>> shares =
        ops::shares_of(call, outputs, step->loops, step->work);
    if (!shares) return std::nullopt;
    double most = 0;
    for (const ops::Share& share : *shares) most = std::max(most, static_cast<double>(share.flops));
    cycles.compute = most;
    assumed_ =
        cat("one operation per cycle for ", node().op.name(), " of ", dtype_name(outputs[0].dtype));
  }
  candidates_.push_back({*whole, *std::move(step), compiler.results(), *cycles.compute});
  return candidates_.size() - 1;
}

std::optional<Layout> OpClass::wanted(std::size_t candidate, std::size_t input) const {
  const graph::ValueId v = node().inputs[input];
  if (v == graph::kAbsent || !loops_.inputs[input]) return std::nullopt;
  Result<Layout> layout = ops::layout_for_input(
      loops_, *loops_.inputs[input], scratch_.graph.values[v].type, candidates_[candidate].work);
  return layout ? std::optional(*std::move(layout)) : std::nullopt;
}

Phase OpClass::phase_of(const std::vector<run::Move>& moves, run::MovePrices& prices) const {
  Phase phase;
  phase.is_possible = true;
  for (const run::Move& move : moves) {
    const std::optional<run::MovePrices::Number> number = run::number_of(scratch_, move, prices);
    if (!number) return {};
    phase.moves.push_back(*number);
  }
  for (std::size_t b = scratch_.graph.values.size(); b < scratch_.buffers.size(); ++b) {
    const Result<std::int64_t> bytes = run::bytes_of(scratch_.buffers[b], scratch_.machine);
    phase.copied_bytes = (Checked(phase.copied_bytes) + (bytes ? *bytes : 0)).saturated();
  }
  return phase;
}

const Phase& OpClass::bring(std::size_t candidate, std::size_t input, LayoutNumber number,
                            const LayoutTable& table, run::MovePrices& prices) {
  const auto [found, is_new] = brought_.try_emplace(Key{candidate, input, number});
  if (!is_new) return found->second;
  const graph::ValueId v = node().inputs[input];
  scratch_.buffers[v].layout = table[number];
  scratch_.buffers[v].space = table.space(number);
  run::Step step = candidates_[candidate].step;
  run::StepCompiler compiler(scratch_, 0, 0);
  if (compiler.bring(input, step)) found->second = phase_of(step.bring, prices);
  scratch_.buffers.erase(
      scratch_.buffers.begin() + static_cast<std::ptrdiff_t>(scratch_.graph.values.size()),
      scratch_.buffers.end());
  return found->second;
}

const Phase& OpClass::settle(std::size_t candidate, std::size_t output, LayoutNumber number,
                             const LayoutTable& table, run::MovePrices& prices) {
  const auto [found, is_new] = settled_.try_emplace(Key{candidate, output, number});
  if (!is_new) return found->second;
  const graph::ValueId v = node().outputs[output];
  scratch_.buffers[v].layout = table[number];
  scratch_.buffers[v].space = table.space(number);
  run::Step step = candidates_[candidate].step;
  run::StepCompiler compiler(scratch_, 0, 0);
  compiler.set_results(candidates_[candidate].results);
  if (compiler.settle(output, step)) {
    std::vector<run::Move> outward = std::move(step.settle);
    outward.insert(outward.end(), step.deliver.begin(), step.deliver.end());
    found->second = phase_of(outward, prices);
  }
  scratch_.buffers.erase(
      scratch_.buffers.begin() + static_cast<std::ptrdiff_t>(scratch_.graph.values.size()),
      scratch_.buffers.end());
  return found->second;
}

}  // namespace tessera::plan
