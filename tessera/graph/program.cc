// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/program.h"

#include <utility>

namespace tessera::graph {
namespace {

memory::Value::Kind kind_of_value(Kind kind) {
  switch (kind) {
    case Kind::kInput:
      return memory::Value::Kind::kInput;
    case Kind::kParameter:
      return memory::Value::Kind::kParameter;
    case Kind::kConstant:
      return memory::Value::Kind::kConstant;
    case Kind::kComputed:
      break;
  }
  return memory::Value::Kind::kComputed;
}

}  // namespace

memory::Program program_of(const Graph& graph, const ProgramOptions& options) {
  memory::Program program;
  program.values.reserve(graph.values.size());
  for (const Value& value : graph.values) {
    program.values.push_back({value.name, kind_of_value(value.kind)});
  }
  for (const ValueId v : graph.outputs) program.values[v].output = true;
  for (const ValueId v : options.staying) program.values[v].stays = true;
  program.ops.reserve(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    memory::Op op;
    op.name = node.name;
    const auto memory = options.nodes.find(n);
    if (memory != options.nodes.end()) {
      op.scratch = memory->second.scratch;
      op.in_place = memory->second.in_place;
    }
    for (const ValueId v : node.inputs) {
      if (v != kAbsent) op.inputs.push_back(v);
    }
    op.outputs.assign(node.outputs.begin(), node.outputs.end());
    if (options.views && node.op.rule().is_view) {
      op.views.push_back({op.outputs[0], op.inputs[0], 0});
    } else if (options.in_place && node.op.rule().family == Family::kElementwise) {
      for (const std::size_t v : op.inputs) {
        if (graph.values[v].type == graph.values[op.outputs[0]].type) {
          op.in_place.push_back({op.outputs[0], v});
        }
      }
    }
    program.ops.push_back(std::move(op));
  }
  return program;
}

std::vector<std::int64_t> sizes_of(const Graph& graph) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(graph.values.size());
  for (const Value& value : graph.values) sizes.push_back(value.type.bytes());
  return sizes;
}

}  // namespace tessera::graph
