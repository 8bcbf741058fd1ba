// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/reduction.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera::choose {

Reduction::Reduction(const Problem& problem) { run(join(problem)); }

Reduction::Reduction(const Model& model, const std::vector<std::vector<std::uint32_t>>& kept) {
  Joined joined;
  joined.decisions.resize(model.nodes());
  joined.members.resize(model.nodes());
  joined.room = model.room;
  joined.ends.resize(model.room.size() + 1);
  std::iota(joined.ends.begin(), joined.ends.end(), std::int64_t{0});
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    Joined::Decision& decision = joined.decisions[node];
    decision.first_member = node;
    joined.members[node] = {node, kept[node]};
    for (const std::uint32_t k : kept[node]) decision.costs.push_back(model.costs_of(node)[k]);
    for (const Model::Piece& piece : model.pieces_of(node)) {
      Joined::Piece& part = decision.pieces.emplace_back();
      part.from = piece.from;
      part.to = piece.to;
      for (const std::uint32_t k : kept[node]) part.usage.push_back(model.usages[piece.usage + k]);
    }
  }
  for (const Model::Link& link : model.links) {
    Joined::Edge& edge = joined.edges.emplace_back();
    edge.a = link.a;
    edge.b = link.b;
    const std::size_t width = model.strategies(link.b);
    for (const std::uint32_t k : kept[link.a]) {
      for (const std::uint32_t l : kept[link.b]) {
        edge.table.push_back(model.tables[link.table + k * width + l]);
      }
    }
  }
  run(std::move(joined));
  model_.constant += model.constant;
}

void Reduction::run(Joined joined) {
  impossible_ = joined.impossible;
  if (impossible_) return;
  members_ = std::move(joined.members);
  ends_ = joined.ends;
  limit_ = joined.room.empty() ? 0 : joined.room.front();
  for (const Joined::Decision& decision : joined.decisions) {
    first_members_.push_back(decision.first_member);
  }
  simplified_ = simplify(std::move(joined));
  if (simplified_.impossible) impossible_ = first_members_[*simplified_.impossible];
  if (!impossible_ && !simplified_.shortage) flatten();
}

std::optional<std::size_t> Reduction::impossible_node() const { return impossible_; }

void Reduction::flatten() {
  model_.constant = simplified_.constant;
  model_.room = simplified_.room;
  std::vector<std::uint32_t> number(simplified_.nodes.size());
  for (std::size_t i = 0; i < simplified_.nodes.size(); ++i) {
    Simplified::Node& node = simplified_.nodes[i];
    if (node.is_gone) continue;
    number[i] = static_cast<std::uint32_t>(decisions_.size());
    decisions_.push_back(i);
    model_.costs.insert(model_.costs.end(), node.costs.begin(), node.costs.end());
    model_.first.push_back(static_cast<std::uint32_t>(model_.costs.size()));
    for (const Joined::Piece& piece : node.pieces) {
      model_.pieces.push_back({piece.from, piece.to, model_.usages.size()});
      model_.usages.insert(model_.usages.end(), piece.usage.begin(), piece.usage.end());
    }
    model_.first_piece.push_back(static_cast<std::uint32_t>(model_.pieces.size()));
    node.pieces = {};
  }
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> links_of(decisions_.size());
  for (Simplified::Edge& edge : simplified_.edges) {
    if (edge.is_gone) continue;
    const std::uint32_t a = number[edge.a];
    const std::uint32_t b = number[edge.b];
    const auto link = static_cast<std::uint32_t>(model_.links.size());
    links_of[a].emplace_back(b, link);
    links_of[b].emplace_back(a, link);
    model_.links.push_back({a, b, model_.tables.size()});
    model_.tables.insert(model_.tables.end(), edge.table.begin(), edge.table.end());
    edge.table = {};
  }
  for (auto& list : links_of) {
    std::sort(list.begin(), list.end());
    for (const auto& [other, link] : list) model_.links_of.push_back(link);
    model_.first_link.push_back(static_cast<std::uint32_t>(model_.links_of.size()));
  }
}

std::vector<std::int64_t> Reduction::restore(std::span<const std::uint32_t> choice) const {
  std::vector<std::uint32_t> chosen(simplified_.nodes.size());  // strategies of decisions
  for (std::size_t n = 0; n < decisions_.size(); ++n) {
    chosen[decisions_[n]] = simplified_.nodes[decisions_[n]].origin[choice[n]];
  }
  for (std::size_t f = simplified_.folds.size(); f-- > 0;) {
    const Simplified::Fold& fold = simplified_.folds[f];
    const Simplified::Node& node = simplified_.nodes[fold.node];
    std::vector<std::int64_t> costs = node.costs;
    for (const Simplified::Fold::Side& side : fold.sides) {
      const Simplified::Edge& edge = simplified_.edges[side.edge];
      const bool is_row = edge.a == fold.node;
      const std::uint32_t other = chosen[is_row ? edge.b : edge.a];
      const auto l = static_cast<std::size_t>(
          std::find(side.origin.begin(), side.origin.end(), other) - side.origin.begin());
      const std::size_t width = is_row ? side.origin.size() : node.costs.size();
      for (std::size_t k = 0; k < costs.size(); ++k) {
        const std::int64_t pair = edge.table[is_row ? k * width + l : l * width + k];
        costs[k] = costs[k] >= kForbidden || pair >= kForbidden ? kForbidden : costs[k] + pair;
      }
    }
    const auto best = std::min_element(costs.begin(), costs.end()) - costs.begin();
    chosen[fold.node] = node.origin[static_cast<std::size_t>(best)];
  }
  std::vector<std::int64_t> choices;
  choices.reserve(members_.size());
  for (const Joined::Member& member : members_) {
    choices.push_back(member.strategies[chosen[member.decision]]);
  }
  return choices;
}

}  // namespace tessera::choose
