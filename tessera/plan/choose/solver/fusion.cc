// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/fusion.h"

#include <algorithm>
#include <cmath>

namespace tessera::choose {
namespace {

constexpr std::uint32_t kNowhere = UINT32_MAX;
constexpr double kMostSize = 1 << 14;   // numbers in one table
constexpr double kMostTotal = 1 << 23;  // in all of them
constexpr double kSmallerTables = 4;    // of tables, where all of them are too large
constexpr double kBeyond = 1e12;        // larger sizes are all the same

bool is_larger(const auto& x, const auto& y) {
  return x.size != y.size ? x.size > y.size : x.at > y.at;
}

}  // namespace

Fusion::Fusion(const Model& model, const FloatTables& tables)
    : model_(model), tables_(tables), position_(model.nodes(), kNowhere) {}

Choice Fusion::mix(const Choice& first, std::span<const Choice> others,
                   std::span<const float> priced, Random& random) {
  gather(first, others);
  double most = kMostSize;
  while (!order(most, random)) most /= kSmallerTables;
  fill(first, priced);
  solve();
  Choice mixture = first;
  std::vector<std::uint32_t> taken(nodes_.size());
  for (std::size_t k = order_.size(); k-- > 0;) {
    const std::uint32_t at = order_[k];
    std::size_t index = 0;
    for (const std::uint32_t other : near_[at]) index = index * count(other) + taken[other];
    taken[at] = best_[at][index];
    mixture[nodes_[at]] = strategy(at, taken[at]);
  }
  for (const std::uint32_t node : nodes_) position_[node] = kNowhere;
  return mixture;
}

void Fusion::gather(const Choice& first, std::span<const Choice> others) {
  nodes_.clear();
  strategies_.clear();
  first_strategy_.assign(1, 0);
  for (std::uint32_t node = 0; node < model_.nodes(); ++node) {
    const std::size_t from = strategies_.size();
    strategies_.push_back(first[node]);
    for (const Choice& other : others) {
      const auto begin = strategies_.begin() + static_cast<std::ptrdiff_t>(from);
      if (std::find(begin, strategies_.end(), other[node]) == strategies_.end() &&
          strategies_.size() - from < 255) {
        strategies_.push_back(other[node]);
      }
    }
    if (strategies_.size() == from + 1) {
      strategies_.pop_back();
      continue;
    }
    position_[node] = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(node);
    first_strategy_.push_back(static_cast<std::uint32_t>(strategies_.size()));
  }
  work_ += std::int64_t{8} * model_.nodes();
}

void Fusion::connect() {
  near_.resize(std::max(near_.size(), nodes_.size()));
  for (std::uint32_t at = 0; at < nodes_.size(); ++at) {
    near_[at].clear();
    for (const std::uint32_t link : model_.links_at(nodes_[at])) {
      const std::uint32_t other = position_[model_.other(link, nodes_[at])];
      if (other != kNowhere) near_[at].push_back(other);
    }
  }
}

void Fusion::weigh(std::uint32_t at) {
  double size = count(at);
  for (const std::uint32_t other : near_[at]) {
    size *= count(other);
    if (size > kBeyond) break;
  }
  size = std::min(size, kBeyond);
  if (size == size_[at]) return;
  size_[at] = size;
  heap_.push_back({size, at});
  std::push_heap(heap_.begin(), heap_.end(), is_larger<Next, Next>);
}

/// Finds an order of elimination, smallest tables first; near_ then has the scope of each table.
/// False if all tables together are too large.
bool Fusion::order(double most_size, Random& random) {
  connect();
  const std::size_t all = nodes_.size();
  size_.assign(all, 0);
  heap_.clear();
  order_.clear();
  rank_.assign(all, kNowhere);
  is_kept_.assign(all, false);
  is_gone_.assign(all, false);
  kept_ = 0;
  total_ = 0;
  for (std::uint32_t at = 0; at < all; ++at) weigh(at);
  while (!heap_.empty()) {
    const Next next = heap_.front();
    if (is_gone_[next.at] || next.size != size_[next.at]) {
      std::pop_heap(heap_.begin(), heap_.end(), is_larger<Next, Next>);
      heap_.pop_back();
      continue;
    }
    if (next.size > most_size) {
      keep_one(random);
      continue;
    }
    total_ += next.size;
    if (total_ > kMostTotal && most_size > kSmallerTables) return false;
    is_gone_[next.at] = true;
    rank_[next.at] = static_cast<std::uint32_t>(order_.size());
    order_.push_back(next.at);
    const std::vector<std::uint32_t>& scope = near_[next.at];
    work_ += static_cast<std::int64_t>(16 * (1 + scope.size() * scope.size()));
    for (const std::uint32_t other : scope) {
      union_.clear();
      std::set_union(near_[other].begin(), near_[other].end(), scope.begin(), scope.end(),
                     std::back_inserter(union_));
      std::erase_if(union_, [&](std::uint32_t x) { return x == other || x == next.at; });
      near_[other].swap(union_);
    }
    for (const std::uint32_t other : scope) weigh(other);
  }
  for (const std::uint32_t at : order_) {
    std::erase_if(near_[at], [&](std::uint32_t other) { return is_kept_[other]; });
    std::sort(near_[at].begin(), near_[at].end(),
              [&](std::uint32_t x, std::uint32_t y) { return rank_[x] < rank_[y]; });
  }
  return true;
}

/// Keeps the node with the most combinations of neighbours, more or less.
void Fusion::keep_one(Random& random) {
  std::uint32_t best = kNowhere;
  double most = -1;
  for (std::uint32_t at = 0; at < nodes_.size(); ++at) {
    if (is_gone_[at]) continue;
    const double score = static_cast<double>(near_[at].size()) *
                         std::log2(static_cast<double>(count(at))) * (1 + random.unit());
    if (score <= most) continue;
    most = score;
    best = at;
  }
  work_ += static_cast<std::int64_t>(4 * nodes_.size());
  ++kept_;
  is_kept_[best] = true;
  is_gone_[best] = true;
  for (const std::uint32_t other : near_[best]) {
    std::erase(near_[other], best);
    weigh(other);
  }
}

/// Tables of the costs of nodes, and of the links between them.
void Fusion::fill(const Choice& first, std::span<const float> priced) {
  waiting_.resize(std::max(waiting_.size(), nodes_.size()));
  for (std::uint32_t at = 0; at < nodes_.size(); ++at) {
    if (is_kept_[at]) continue;
    const std::uint32_t node = nodes_[at];
    Table own{{at}, std::vector<float>(count(at))};
    for (std::uint32_t k = 0; k < count(at); ++k) {
      own.costs[k] =
          tables_.costs(node)[strategy(at, k)] + priced[tables_.first(node) + strategy(at, k)];
    }
    for (const std::uint32_t link : model_.links_at(node)) {
      const bool is_a = model_.links[link].a == node;
      const std::uint32_t neighbour = model_.other(link, node);
      const std::uint32_t other = position_[neighbour];
      if (other == kNowhere || is_kept_[other]) {
        const float* const row =
            tables_.rows(link, !is_a) + std::size_t{first[neighbour]} * tables_.width(node);
        for (std::uint32_t k = 0; k < count(at); ++k) own.costs[k] += row[strategy(at, k)];
        continue;
      }
      if (rank_[other] < rank_[at]) continue;
      Table pair{{at, other}, {}};
      for (std::uint32_t k = 0; k < count(at); ++k) {
        const float* const row =
            tables_.rows(link, is_a) + std::size_t{strategy(at, k)} * tables_.width(neighbour);
        for (std::uint32_t l = 0; l < count(other); ++l) {
          pair.costs.push_back(row[strategy(other, l)]);
        }
      }
      waiting_[at].push_back(std::move(pair));
    }
    const float least = *std::min_element(own.costs.begin(), own.costs.end());
    for (float& cost : own.costs) cost -= least;
    waiting_[at].push_back(std::move(own));
  }
  work_ += static_cast<std::int64_t>(32 * strategies_.size());
}

void Fusion::solve() {
  best_.resize(std::max(best_.size(), nodes_.size()));
  for (const std::uint32_t at : order_) eliminate(at);
  work_ += static_cast<std::int64_t>(total_);
}

/// Adds a table to sum_, for one strategy of its first node. The scope without that node is part
/// of near_[at], in the same order.
void Fusion::add(const Table& table, std::uint32_t at, std::uint32_t strategy) {
  const std::size_t part = table.costs.size() / count(at);
  const float* from = table.costs.data() + strategy * part;
  // Neighbouring axes that the table has, or lacks, are one.
  axes_.clear();
  std::size_t step = 1;
  std::size_t in_scope = table.scope.size();
  for (std::size_t k = near_[at].size(); k-- > 0;) {
    const std::uint32_t node = near_[at][k];
    const bool is_in = in_scope > 1 && table.scope[in_scope - 1] == node;
    const std::size_t size = count(node);
    if (!axes_.empty() && (axes_.back().step != 0) == is_in) {
      axes_.back().count *= size;
    } else {
      axes_.push_back({size, is_in ? step : 0, 0});
    }
    if (!is_in) continue;
    step *= size;
    --in_scope;
  }
  if (axes_.empty()) axes_.push_back({1, 0, 0});
  const Axis inner = axes_.front();
  float* out = sum_.data();
  float* const end = out + sum_.size();
  for (;;) {
    if (inner.step == 0) {
      const float value = *from;
      for (std::size_t k = 0; k < inner.count; ++k) out[k] += value;
    } else {
      for (std::size_t k = 0; k < inner.count; ++k) out[k] += from[k];
    }
    out += inner.count;
    if (out == end) return;
    for (std::size_t k = 1; k < axes_.size(); ++k) {
      Axis& axis = axes_[k];
      from += axis.step;
      if (++axis.at < axis.count) break;
      from -= axis.step * axis.count;
      axis.at = 0;
    }
  }
}

void Fusion::eliminate(std::uint32_t at) {
  const std::vector<std::uint32_t>& scope = near_[at];
  std::size_t size = 1;
  for (const std::uint32_t other : scope) size *= count(other);
  least_.assign(size, 0);
  std::vector<std::uint8_t>& best = best_[at];
  best.assign(size, 0);
  for (std::uint32_t k = 0; k < count(at); ++k) {
    sum_.assign(size, 0);
    for (const Table& table : waiting_[at]) add(table, at, k);
    if (k == 0) {
      least_.swap(sum_);
      continue;
    }
    for (std::size_t s = 0; s < size; ++s) {
      const bool is_less = sum_[s] < least_[s];
      best[s] = is_less ? static_cast<std::uint8_t>(k) : best[s];
      least_[s] = is_less ? sum_[s] : least_[s];
    }
  }
  waiting_[at].clear();
  if (scope.empty()) return;
  Table table{scope, least_};
  const float least = *std::min_element(table.costs.begin(), table.costs.end());
  for (float& cost : table.costs) cost -= least;
  waiting_[scope.front()].push_back(std::move(table));
}

}  // namespace tessera::choose
