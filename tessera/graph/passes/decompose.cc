// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/passes/decompose.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/passes/decomposition.h"

namespace tessera::graph {
namespace {

class Rewriter {
 public:
  Rewriter(const Graph& graph, std::span<const std::string> ops) : out_(graph) {
    out_.nodes.clear();
    ops_.insert(ops.begin(), ops.end());
    for (const Value& value : graph.values) names_.insert(value.name);
  }

  /// Adds the node, or those that take its place.
  Status add(Node node) {
    std::vector<const TensorType*> types;
    bool is_empty = false;
    for (const ValueId v : node.inputs) {
      types.push_back(v == kAbsent ? nullptr : &out_.values[v].type);
      is_empty = is_empty || (v != kAbsent && types.back()->shape.elements() == 0);
    }
    if (is_empty || !ops_.contains(std::string(node.op.name()))) {
      out_.nodes.push_back(std::move(node));
      return ok_status();
    }
    Decomposition parts(out_, node, std::move(types));
    decompositions().at(node.op.name())(parts);
    if (parts.error()) {
      Error error = *parts.error();
      error.message = cat(node_text(out_, node), ": ", error.message);
      return error;
    }
    return splice(node, parts);
  }

  Graph finish() && { return std::move(out_); }

 private:
  /// Results take the node's outputs, other values become new ones of the graph.
  Status splice(const Node& node, const Decomposition& parts) {
    const ValueId first = parts.first();
    std::unordered_map<ValueId, ValueId> settled;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      settled.emplace(parts.results()[i], node.outputs[i]);
    }
    const std::string stem = out_.values[node.outputs[0]].name;
    if (out_.values.size() + parts.values().size() > kMaxValues) {
      return Error{ErrorCode::kTooLarge, cat(node_text(out_, node), " makes the graph too large")};
    }
    for (std::size_t i = 0; i < parts.values().size(); ++i) {
      const auto fresh = static_cast<ValueId>(out_.values.size());
      if (!settled.emplace(first + static_cast<ValueId>(i), fresh).second) continue;
      out_.values.push_back(parts.values()[i]);
      out_.values.back().name = free_name(cat(stem, ".", out_.values.back().name));
    }
    const auto renamed = [&](std::vector<ValueId> list) {
      for (ValueId& v : list) v = v == kAbsent || v < first ? v : settled.at(v);
      return list;
    };
    for (const Node& part : parts.nodes()) {
      TESSERA_CHECK_OK(
          add({node.name, part.op, renamed(part.inputs), renamed(part.outputs), part.attributes}));
    }
    return ok_status();
  }

  std::string free_name(const std::string& stem) {
    std::string name = stem;
    for (std::int64_t& i = numbers_[stem]; !names_.insert(name).second;) {
      name = cat(stem, "_", ++i);
    }
    return name;
  }

  Graph out_;
  std::unordered_set<std::string> ops_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::int64_t> numbers_;  ///< the last that was tried
};

}  // namespace

std::vector<std::string_view> decomposable_ops() {
  std::vector<std::string_view> names;
  for (const auto& [name, rule] : decompositions()) names.push_back(name);
  return names;
}

Result<Graph> with_decomposed_ops(const Graph& graph, std::span<const std::string> ops) {
  const std::vector<std::string_view> known = decomposable_ops();
  for (const std::string& op : ops) {
    if (std::ranges::find(known, op) != known.end()) continue;
    std::string all;
    for (const std::string_view name : known) all += cat(all.empty() ? "" : ", ", name);
    return Error{ErrorCode::kUnknownName, cat("op ", quote_name(op), " cannot be decomposed"),
                 std::nullopt, cat("those that can: ", all)};
  }
  Rewriter rewriter(graph, ops);
  for (const Node& node : graph.nodes) TESSERA_CHECK_OK(rewriter.add(node));
  return std::move(rewriter).finish();
}

}  // namespace tessera::graph
