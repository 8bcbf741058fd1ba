// SPDX-License-Identifier: Apache-2.0
#include "tools/run/step_check.h"

#include <algorithm>
#include <utility>

#include "tessera/run/reference.h"
#include "tools/terminal/interrupts.h"

namespace tessera::tools {

void StepCheck::keep_given(const GivenTensors& given) {
  const graph::Graph& graph = execution_.graph;
  readers_.resize(graph.values.size());
  for (const graph::Node& node : graph.nodes) {
    for (const graph::ValueId v : node.inputs) {
      if (v != graph::kAbsent) ++readers_[v];
    }
  }
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const graph::Value& value = graph.values[v];
    if (value.kind == graph::Kind::kComputed || readers_[v] == 0) continue;
    if (const auto found = given.find(value.name); found != given.end()) {
      values_[v] = found->second;
    } else if (value.data.bytes) {
      run::HostTensor tensor{value.type, {}};
      const bool fills = value.data.form == graph::Data::Form::kFill;
      const std::int64_t count = fills ? value.type.shape.elements() : 1;
      for (std::int64_t i = 0; i < count; ++i) tensor.bytes += *value.data.bytes;
      values_[v] = std::move(tensor);
    }
  }
}

/// What is stored as another type was rounded when it was written.
Status StepCheck::begins(const std::function<Result<run::HostTensor>(graph::ValueId)>& value) {
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const Layout& layout = execution_.buffers[v].layout;
    if (!values_[v] || layout.atom().storage == layout.dtype()) continue;
    TESSERA_TRY(values_[v], value(static_cast<graph::ValueId>(v)));
  }
  return ok_status();
}

bool StepCheck::stops() { return Interrupts::seen(); }

Status StepCheck::after(const run::StepReport& report,
                        const std::function<Result<run::HostTensor>(graph::ValueId)>& value) {
  const graph::Node& node = execution_.graph.nodes[report.node];
  for (const graph::ValueId v : node.outputs) done_ += execution_.graph.values[v].type.bytes();
  if (!checks_) return ok_status();
  TESSERA_CHECK_OK(compare(node, value));
  drop_dead_values(report.node);
  return ok_status();
}

Status StepCheck::compare(const graph::Node& node,
                          const std::function<Result<run::HostTensor>(graph::ValueId)>& value) {
  std::vector<const run::HostTensor*> inputs;
  for (const graph::ValueId v : node.inputs) {
    inputs.push_back(v == graph::kAbsent || !values_[v] ? nullptr : &*values_[v]);
  }
  TESSERA_TRY(const std::vector<run::HostTensor> expected,
              run::evaluate_node(execution_.graph, node, inputs));
  NodeError error;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    TESSERA_TRY(run::HostTensor found, value(node.outputs[o]));
    const DType storage = execution_.buffers[node.outputs[o]].layout.atom().storage;
    TESSERA_TRY(const double difference, run::largest_difference(found, expected[o], storage));
    error.difference = std::max(error.difference, difference);
    // The reference has elements of the value's own type.
    error.allowed =
        std::max({error.allowed, run::tolerance_of(storage), run::tolerance_of(found.type.dtype)});
    if (readers_[node.outputs[o]] > 0) values_[node.outputs[o]] = std::move(found);
  }
  errors_.push_back(error);
  return ok_status();
}

void StepCheck::drop_dead_values(std::size_t node) {
  for (const graph::ValueId v : execution_.graph.nodes[node].inputs) {
    if (v != graph::kAbsent && --readers_[v] == 0) values_[v].reset();
  }
}

}  // namespace tessera::tools
