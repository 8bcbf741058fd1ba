// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/graph_print.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/passes/fuse.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Json value_json(const graph::Value& value) {
  Json json;
  json["name"] = value.name;
  json["shape"] = value.type.shape.extents();
  json["dtype"] = dtype_name(value.type.dtype);
  return json;
}

Json groups_json(const graph::Graph& graph, const std::vector<graph::Group>& groups) {
  Json json = Json::array();
  const auto names = [&](const std::vector<graph::ValueId>& values) {
    Json list = Json::array();
    for (const graph::ValueId v : values) list.push_back(graph.values[v].name);
    return list;
  };
  for (const graph::Group& group : groups) {
    Json each;
    each["kind"] = graph::group_kind_name(group.kind);
    each["nodes"] = Json::array();
    each["ops"] = Json::array();
    for (const std::size_t n : group.nodes) {
      each["nodes"].push_back(static_cast<std::int64_t>(n));
      each["ops"].push_back(graph.nodes[n].op.name());
    }
    each["inputs"] = names(group.inputs);
    each["outputs"] = names(group.outputs);
    json.push_back(std::move(each));
  }
  return json;
}

/// "add 3, matmul 2".
std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += cat(text.empty() ? "" : ", ", name, " ", count);
  return text;
}

/// The groups by kind, and how many nodes they hold: "contraction 3 (9 nodes)".
std::string groups_text(const std::vector<graph::Group>& groups) {
  std::map<std::string_view, std::pair<std::int64_t, std::int64_t>> kinds;
  for (const graph::Group& group : groups) {
    auto& [count, nodes] = kinds[graph::group_kind_name(group.kind)];
    ++count;
    nodes += std::ssize(group.nodes);
  }
  std::string out = "groups\n";
  for (const auto& [kind, counts] : kinds) {
    out += cat("  ", kind, " ", counts.first, " (", count_of(counts.second, "node"), ")\n");
  }
  return out;
}

/// 4089284608 is "4.09 G".
std::string short_number(std::int64_t number) {
  constexpr std::string_view kUnits = " KMGTPE";
  std::size_t unit = 0;
  double value = static_cast<double>(number);
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return std::to_string(number);
  const std::int64_t hundredths = std::llround(value * 100);
  const std::string fraction = std::to_string(100 + hundredths % 100).substr(1);
  return cat(hundredths / 100, ".", fraction, " ", kUnits[unit]);
}

}  // namespace

std::string graph_json(const GraphAnswer& answer) {
  const ReadGraph& read = answer.read;
  const graph::Figures figures = graph::figures_of(read.graph);
  Json json;
  json["name"] = read.graph.name;
  json["nodes"] = figures.nodes;
  json["values"] = figures.values;
  json["parameters"] = figures.parameters;
  json["parameter_bytes"] = figures.parameter_bytes;
  json["flops"] = figures.flops;
  json["bytes"] = figures.bytes;
  json["moved_bytes"] = figures.moved_bytes;
  json["ops"] = Json::object();
  for (const auto& [op, count] : figures.ops) json["ops"][op] = count;
  json["unsupported"] = Json::array();
  for (const onnx_import::Unsupported& each : read.unsupported) {
    json["unsupported"].push_back({{"node", each.node}, {"op", each.op}, {"reason", each.reason}});
  }
  json["inputs"] = Json::array();
  for (const graph::ValueId v : read.graph.of_kind(graph::Kind::kInput)) {
    json["inputs"].push_back(value_json(read.graph.values[v]));
  }
  json["outputs"] = Json::array();
  for (const graph::ValueId v : read.graph.outputs) {
    json["outputs"].push_back(value_json(read.graph.values[v]));
  }
  if (answer.decomposed) {
    json["decomposed"] = Json::object();
    for (const auto& [op, count] : *answer.decomposed) json["decomposed"][op] = count;
  }
  if (answer.fuses) json["groups"] = groups_json(read.graph, graph::fuse(read.graph));
  if (answer.random_weights) {
    Json& weights = json["random_weights"];
    weights["values"] = answer.random_weights->values;
    weights["elements"] = answer.random_weights->elements;
    weights["seed"] = answer.random_weights->seed;
    const std::string& file = answer.random_weights->file;
    weights["file"] = file.empty() ? Json() : Json(file);
  }
  json["written"] = Json::array();
  for (const std::string& file : answer.written) json["written"].push_back(file);
  json["hash"] = graph::hash(read.graph).to_string();
  return dump(json);
}

std::string graph_text(const GraphAnswer& answer, const Terminal& terminal) {
  const ReadGraph& read = answer.read;
  const graph::Figures figures = graph::figures_of(read.graph);
  std::string out =
      paint(terminal, Paint::kHeading,
            cat(read.graph.name.empty() ? "graph" : printable(read.graph.name), ": ",
                count_of(figures.nodes, "node"), ", ", count_of(figures.values, "value")));
  out += cat("\n  ", short_number(figures.parameters), " parameters in ",
             short_number(figures.parameter_bytes), "B, ", short_number(figures.flops),
             " operations, ", short_number(figures.bytes), "B of values, ",
             short_number(figures.moved_bytes), "B read and written\n");
  const auto list = [&](std::string_view title, const std::vector<graph::ValueId>& values) {
    constexpr std::size_t kMost = 12;
    if (!values.empty()) out += cat(title, "\n");
    for (std::size_t i = 0; i < std::min(values.size(), kMost); ++i) {
      const graph::Value& value = read.graph.values[values[i]];
      out += cat("  ", printable(value.name), "  ", value.type.to_string(), "\n");
    }
    if (values.size() > kMost) out += cat("  and ", values.size() - kMost, " more\n");
  };
  list("inputs", read.graph.of_kind(graph::Kind::kInput));
  list("outputs", read.graph.outputs);
  if (!figures.ops.empty()) out += "ops\n";
  if (!figures.ops.empty()) out += wrap(counts_text(figures.ops), terminal, "  ", "  ");
  if (answer.decomposed) {
    out += cat("decomposed\n",
               wrap(answer.decomposed->empty() ? "nothing: the graph has none of these ops"
                                               : counts_text(*answer.decomposed),
                    terminal, "  ", "  "));
  }
  if (answer.fuses) out += groups_text(graph::fuse(read.graph));
  if (answer.random_weights && answer.random_weights->values == 0) {
    out += "random weights: none, the graph has all elements\n";
  } else if (answer.random_weights) {
    out += cat(
        "random weights: ", short_number(answer.random_weights->elements), " elements of ",
        count_of(answer.random_weights->values, "tensor"), ", seed ", answer.random_weights->seed,
        answer.random_weights->file.empty() ? ""
                                            : cat(", in ", printable(answer.random_weights->file)),
        "\n");
  }
  for (const std::string& file : answer.written) out += cat("wrote ", printable(file), "\n");
  if (!read.unsupported.empty()) {
    out += paint(terminal, Paint::kError,
                 cat("not supported: ",
                     count_of(static_cast<std::int64_t>(read.unsupported.size()), "node")));
    out += "\n";
    for (const onnx_import::Unsupported& each : read.unsupported) {
      out +=
          wrap(cat(printable(each.node), " (", printable(each.op), "): ", printable(each.reason)),
               terminal, "  ", "    ");
    }
  }
  if (!answer.not_written.empty()) {
    out += cat(printable(answer.not_written), " was not written: without these nodes it would be ",
               "another model\n");
  }
  return out;
}

}  // namespace tessera::tools
