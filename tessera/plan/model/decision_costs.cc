// SPDX-License-Identifier: Apache-2.0
// The problem of choose/ that decisions make, and how its costs become prices.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/plan/model/decisions.h"

namespace tessera::plan {
namespace {

constexpr double kMostUnits = 1e17;  ///< of all costs together

}  // namespace

const Phase& Decisions::bring(std::size_t node, std::size_t input, std::int64_t work,
                              std::int64_t layout) {
  const graph::ValueId v = graph_->nodes[node].inputs[input];
  return classes_[class_of_[node]].bring(work_[node][static_cast<std::size_t>(work)], input,
                                         layouts_[v][static_cast<std::size_t>(layout)], table_,
                                         prices_);
}

const Phase& Decisions::settle(std::size_t node, std::size_t output, std::int64_t work,
                               std::int64_t layout) {
  const graph::ValueId v = graph_->nodes[node].outputs[output];
  return classes_[class_of_[node]].settle(work_[node][static_cast<std::size_t>(work)], output,
                                          layouts_[v][static_cast<std::size_t>(layout)], table_,
                                          prices_);
}

double Decisions::compute(std::size_t node, std::int64_t work) const {
  return class_of(node).candidates()[work_[node][static_cast<std::size_t>(work)]].compute_cycles;
}

std::int64_t Decisions::copied_bytes(std::size_t node, std::int64_t work, const Choice& choice) {
  const graph::Node& each = graph_->nodes[node];
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < each.inputs.size(); ++i) {
    if (each.inputs[i] == graph::kAbsent || !class_of(node).reads(i)) continue;
    sum += bring(node, i, work, choice[each.inputs[i]]).copied_bytes;
  }
  for (std::size_t o = 0; o < each.outputs.size(); ++o) {
    sum += settle(node, o, work, choice[each.outputs[o]]).copied_bytes;
  }
  return sum;
}

/// What each pair of work and layout consists of.
void Decisions::add_operands() {
  // By class, number of the input or (after these) the output, work and layouts.
  using Key =
      std::tuple<std::size_t, std::size_t, std::vector<std::size_t>, std::vector<LayoutNumber>>;
  std::map<Key, std::size_t> numbers;
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    const graph::Node& node = graph_->nodes[n];
    const auto add = [&](std::size_t position, graph::ValueId v, const auto& phase_of) {
      const auto [found, is_new] =
          numbers.try_emplace(Key{class_of_[n], position, work_[n], layouts_[v]}, tables_.size());
      operands_.push_back({n, v, found->second});
      if (!is_new) return;
      PhaseTable& table = tables_.emplace_back();
      for (std::size_t w = 0; w < work_[n].size(); ++w) {
        for (std::size_t l = 0; l < layouts_[v].size(); ++l) {
          table.push_back(&phase_of(static_cast<std::int64_t>(w), static_cast<std::int64_t>(l)));
        }
      }
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == graph::kAbsent || !class_of(n).reads(i)) continue;
      add(i, node.inputs[i],
          [&](std::int64_t w, std::int64_t l) -> const Phase& { return bring(n, i, w, l); });
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      add(node.inputs.size() + o, node.outputs[o],
          [&](std::int64_t w, std::int64_t l) -> const Phase& { return settle(n, o, w, l); });
    }
  }
}

/// Makes the problem of choose/: decisions with their lives and sizes, edges without costs.
void Decisions::add_nodes() {
  const std::size_t nodes = graph_->nodes.size();
  const target::MemorySpace& space = machine_->default_space();
  const auto end = static_cast<std::int64_t>(std::max<std::size_t>(4 * nodes, 1));
  problem_.usage_limit = space.data_bytes();
  // Moments are those of run/: step k has 4k .. 4k + 3.
  for (std::size_t v = 0; v < values(); ++v) {
    choose::Node each;
    const graph::Kind kind = graph_->values[v].kind;
    const bool stays = kind == graph::Kind::kParameter || kind == graph::Kind::kConstant;
    each.life = {0, stays ? end : 1};
    for (const LayoutNumber number : layouts_[v]) {
      each.costs.push_back(0);
      each.usages.push_back(table_.space(number) == space.name ? table_.bytes(number) : 0);
    }
    problem_.nodes.push_back(std::move(each));
  }
  for (std::size_t n = 0; n < nodes; ++n) {
    const graph::Node& node = graph_->nodes[n];
    const auto moment = static_cast<std::int64_t>(4 * n);
    for (const graph::ValueId v : node.outputs) problem_.nodes[v].life = {moment + 1, moment + 4};
    for (const graph::ValueId v : node.inputs) {
      if (v == graph::kAbsent) continue;
      std::int64_t& to = problem_.nodes[v].life.to;
      to = std::max(to, moment + 1);
    }
    choose::Node each;
    each.life = {moment, moment + 4};
    each.costs.resize(work_[n].size());
    each.usages.resize(work_[n].size());
    problem_.nodes.push_back(std::move(each));
  }
  for (const graph::ValueId v : graph_->outputs) problem_.nodes[v].life.to = end;
  for (const Operand& operand : operands_) {
    problem_.edges.push_back({values() + operand.node, operand.value,
                              std::vector<std::int64_t>(phases_of(operand).size())});
  }
}

std::int64_t Decisions::units(double cycles) const {
  if (cycles == kImpossible) return choose::kForbidden;
  return std::llround(std::min(cycles * units_per_cycle_, kMostUnits));
}

/// The costs of all nodes and edges, as far as they are known.
Status Decisions::fill_costs() {
  priced_in_costs_ = prices_.priced();
  std::vector<std::vector<double>> cycles;  // by table
  std::vector<double> dearest;
  for (const PhaseTable& table : tables_) {
    std::vector<double>& own = cycles.emplace_back();
    double most_of_these = -1;
    for (const Phase* const phase : table) {
      own.push_back(phase->at_least(prices_));
      if (own.back() != kImpossible) most_of_these = std::max(most_of_these, own.back());
    }
    dearest.push_back(most_of_these);
  }
  double most = 0;
  for (const Operand& operand : operands_) {
    if (dearest[operand.table] < 0) {
      return Error{ErrorCode::kNotSupported,
                   cat(graph::node_text(*graph_, graph_->nodes[operand.node]), ": no way to have '",
                       graph_->values[operand.value].name, "' where it is needed on ",
                       machine_->name, " has a price"),
                   std::nullopt, "tessera reshard --target names figures that are missing"};
    }
    most += dearest[operand.table];
  }
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    double slowest = 0;
    for (std::size_t w = 0; w < work_[n].size(); ++w) {
      slowest = std::max(slowest, compute(n, static_cast<std::int64_t>(w)));
    }
    most += slowest;
  }
  while (most * units_per_cycle_ > kMostUnits && units_per_cycle_ > 1e-12) units_per_cycle_ /= 1024;
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    std::vector<std::int64_t>& costs = problem_.nodes[values() + n].costs;
    for (std::size_t w = 0; w < costs.size(); ++w) {
      costs[w] = units(compute(n, static_cast<std::int64_t>(w)));
    }
  }
  std::vector<std::vector<std::int64_t>> costs(tables_.size());
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    for (const double each : cycles[t]) costs[t].push_back(units(each));
  }
  for (std::size_t e = 0; e < operands_.size(); ++e) {
    problem_.edges[e].costs = costs[operands_[e].table];
  }
  return ok_status();
}

Result<bool> Decisions::price(const Choice& choice, bool is_wide) {
  std::vector<run::MovePrices::Number> unknown;
  for (const Operand& operand : operands_) {
    const std::size_t layouts = layouts_[operand.value].size();
    const auto work = static_cast<std::size_t>(choice[values() + operand.node]);
    const auto layout = static_cast<std::size_t>(choice[operand.value]);
    const PhaseTable& phases = phases_of(operand);
    const Phase& chosen = *phases[work * layouts + layout];
    if (chosen.is_priced(prices_)) continue;
    unknown.insert(unknown.end(), chosen.moves.begin(), chosen.moves.end());
    for (std::size_t p = 0; is_wide && p < phases.size(); ++p) {
      if (p / layouts != work && p % layouts != layout) continue;
      const Phase& beside = *phases[p];
      unknown.insert(unknown.end(), beside.moves.begin(), beside.moves.end());
    }
  }
  if (unknown.empty() && prices_.priced() == priced_in_costs_) return false;
  TESSERA_CHECK_OK(prices_.price(unknown, *pool_));
  TESSERA_CHECK_OK(fill_costs());
  return true;
}

Status Decisions::price_all() {
  std::vector<run::MovePrices::Number> all;
  for (const PhaseTable& table : tables_) {
    for (const Phase* const phase : table) {
      if (phase->is_priced(prices_)) continue;
      all.insert(all.end(), phase->moves.begin(), phase->moves.end());
    }
  }
  TESSERA_CHECK_OK(prices_.price(all, *pool_));
  return fill_costs();
}

bool Decisions::price_pairs(const std::vector<Pair>& pairs) {
  const auto index_of = [&](const Pair& pair) {
    const std::size_t layouts = layouts_[operands_[pair.edge].value].size();
    return static_cast<std::size_t>(pair.work) * layouts + static_cast<std::size_t>(pair.layout);
  };
  std::vector<run::MovePrices::Number> moves;
  for (const Pair& pair : pairs) {
    const Phase& phase = *phases_of(operands_[pair.edge])[index_of(pair)];
    moves.insert(moves.end(), phase.moves.begin(), phase.moves.end());
  }
  // Without threads they are priced here.
  if (!prices_.price(moves, *pool_)) {
    for (const run::MovePrices::Number move : moves) (void)prices_.cycles(move);
  }
  bool is_changed = false;
  for (const Pair& pair : pairs) {
    const std::size_t index = index_of(pair);
    const std::int64_t cost = units(phases_of(operands_[pair.edge])[index]->at_least(prices_));
    if (std::exchange(problem_.edges[pair.edge].costs[index], cost) != cost) is_changed = true;
  }
  return is_changed;
}

}  // namespace tessera::plan
