// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"

namespace tessera::graph {
namespace {

constexpr std::size_t kNobody = SIZE_MAX;

/// A cycle among the nodes that wait: from any of them, follow producers that wait until one is
/// reached for the second time. In the order in which results pass.
std::vector<std::size_t> cycle_of(const Graph& graph, const std::vector<std::size_t>& producer,
                                  const std::vector<std::size_t>& waits_for) {
  std::size_t at = 0;
  while (waits_for[at] == 0) ++at;
  std::vector<std::size_t> seen(graph.nodes.size(), kNobody);
  std::vector<std::size_t> path;
  while (seen[at] == kNobody) {
    seen[at] = path.size();
    path.push_back(at);
    for (const ValueId v : graph.nodes[at].inputs) {
      if (v >= producer.size() || producer[v] == kNobody || waits_for[producer[v]] == 0) continue;
      at = producer[v];
      break;
    }
  }
  path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(seen[at]));
  std::ranges::reverse(path);
  return path;
}

std::string cycle_text(const Graph& graph, const std::vector<std::size_t>& cycle) {
  std::string text;
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (i == kShown) return cat(text, " -> ..");
    text += cat(text.empty() ? "" : " -> ", node_text(graph, graph.nodes[cycle[i]]));
  }
  return text;
}

}  // namespace

Result<std::vector<std::size_t>> topological_order(const Graph& graph, std::size_t* wrong) {
  std::vector<std::size_t> producer(graph.values.size(), kNobody);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId v : graph.nodes[n].outputs) {
      if (v >= producer.size()) continue;
      if (producer[v] != kNobody) {
        if (wrong != nullptr) *wrong = n;
        return Error{
            ErrorCode::kBadGraph,
            cat(node_text(graph, graph.nodes[n]), " computes ", quote_name(graph.values[v].name),
                ", which ", node_text(graph, graph.nodes[producer[v]]), " computes already"),
            std::nullopt, "every value is defined once"};
      }
      producer[v] = n;
    }
  }
  // Readers of each node as one list with offsets.
  std::vector<std::size_t> waits_for(graph.nodes.size(), 0);
  std::vector<std::size_t> offset(graph.nodes.size() + 1, 0);
  const auto each_edge = [&](const auto& visit) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ValueId v : graph.nodes[n].inputs) {
        if (v < producer.size() && producer[v] != kNobody) visit(producer[v], n);
      }
    }
  };
  each_edge([&](std::size_t from, std::size_t to) {
    ++offset[from + 1];
    ++waits_for[to];
  });
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) offset[n + 1] += offset[n];
  std::vector<std::size_t> readers(offset.back());
  std::vector<std::size_t> next(offset.begin(), offset.end() - 1);
  each_edge([&](std::size_t from, std::size_t to) { readers[next[from]++] = to; });

  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (waits_for[n] == 0) ready.push(n);
  }
  std::vector<std::size_t> order;
  order.reserve(graph.nodes.size());
  while (!ready.empty()) {
    const std::size_t n = ready.top();
    ready.pop();
    order.push_back(n);
    for (std::size_t r = offset[n]; r < offset[n + 1]; ++r) {
      if (--waits_for[readers[r]] == 0) ready.push(readers[r]);
    }
  }
  if (order.size() == graph.nodes.size()) return order;
  const std::vector<std::size_t> cycle = cycle_of(graph, producer, waits_for);
  if (wrong != nullptr) *wrong = cycle.front();
  return Error{ErrorCode::kBadGraph, cat("a cycle: ", cycle_text(graph, cycle)), std::nullopt,
               "a node cannot need its own result"};
}

Status sort_nodes(Graph& graph) {
  TESSERA_TRY(const std::vector<std::size_t> order, topological_order(graph));
  if (std::ranges::is_sorted(order)) return ok_status();
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (const std::size_t n : order) nodes.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(nodes);
  return ok_status();
}

}  // namespace tessera::graph
