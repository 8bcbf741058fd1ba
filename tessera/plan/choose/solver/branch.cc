// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/branch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/plan/choose/solver/ascent.h"
#include "tessera/plan/choose/solver/reduction.h"
#include "tessera/plan/choose/solver/round.h"
#include "tessera/plan/choose/solver/walk.h"

namespace tessera::choose {
namespace {

constexpr int kMostPasses = 80;         // to bound one part
constexpr int kPassesBetween = 5;       // between looks at the exact bound
constexpr int kMoves = 8;               // of a walk that improves the rounding
constexpr std::size_t kMostSingle = 6;  // strategies that get a part of their own

bool is_later(const auto& x, const auto& y) {
  return x.bound != y.bound ? x.bound > y.bound : x.number < y.number;
}

/// The node at which to split: the one whose favourites differed most between passes, weighted by
/// how much is at stake.
std::uint32_t node_to_split(const Model& model, const Ascent& ascent) {
  std::uint32_t best = 0;
  double best_score = -1;
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    const double doubt = ascent.doubt(node) + 1e-3;
    const double score = doubt * ascent.stake(node);
    if (score > best_score) {
      best_score = score;
      best = node;
    }
  }
  return best;
}

}  // namespace

Branch::Branch(const Model& model, std::int64_t bound, std::span<const double> prices)
    : model_(model), prices_(prices.begin(), prices.end()) {
  push({bound, -1, 0});
}

void Branch::push(Part part) {
  part.number = created_++;
  open_.push_back(part);
  std::push_heap(open_.begin(), open_.end(), is_later<Part, Part>);
}

std::int64_t Branch::lower_bound() const {
  return open_.empty() ? upper_ : std::min(upper_, open_.front().bound);
}

void Branch::offer(const Choice& choice) {
  const State state(model_, choice);
  if (!state.fits() || state.cost() >= upper_) return;
  upper_ = state.cost();
  best_ = choice;
}

void Branch::run(std::int64_t work, std::int64_t upper, const std::function<bool()>& stop) {
  if (upper < upper_) {
    upper_ = upper;
    best_.reset();
  }
  const std::int64_t until = work_ + work;
  while (!open_.empty() && work_ < until && !stop()) {
    if (open_.front().bound >= upper_) {
      open_.clear();
      return;
    }
    std::pop_heap(open_.begin(), open_.end(), is_later<Part, Part>);
    const Part part = open_.back();
    open_.pop_back();
    look_at(part);
  }
}

void Branch::look_at(const Part& part) {
  ++parts_;
  std::vector<std::vector<std::uint32_t>> kept(model_.nodes());
  for (std::int32_t at = part.parent; at >= 0; at = history_[at].parent) {
    if (kept[history_[at].node].empty()) kept[history_[at].node] = history_[at].kept;
  }
  for (std::uint32_t node = 0; node < model_.nodes(); ++node) {
    if (!kept[node].empty()) continue;
    kept[node].resize(model_.strategies(node));
    std::iota(kept[node].begin(), kept[node].end(), 0U);
  }
  work_ += static_cast<std::int64_t>(4 * model_.tables.size() + model_.usages.size()) + 1000;
  const Reduction reduction(model_, kept);
  if (reduction.shortage() || reduction.impossible_node()) return;
  const Model& model = reduction.model();
  const auto restored = [&](const Choice& choice) {
    const std::vector<std::int64_t> strategies = reduction.restore(choice);
    return Choice(strategies.begin(), strategies.end());
  };
  if (model.nodes() == 0) return offer(restored({}));

  const FloatTables tables(model);
  Ascent ascent(model, tables);
  if (!prices_.empty()) {
    std::vector<double> prices;
    for (const std::uint32_t m : reduction.moments()) prices.push_back(prices_[m]);
    ascent.set_prices(prices);
  }
  std::int64_t bound = part.bound;
  for (int pass = 0; pass < kMostPasses && bound < upper_; ++pass) {
    ascent.advance();
    work_ += ascent.work_per_pass();
    if (pass % kPassesBetween == kPassesBetween - 1) {
      bound = std::max(bound, ascent.certified_bound());
      if (pass >= 20 && ascent.has_stalled()) break;
    }
  }
  if (bound >= upper_) return;
  Walk walk(model, tables, static_cast<std::uint64_t>(parts_));
  for (const bool forward : {true, false}) {
    walk.start(rounded(model, tables, ascent.dual(), forward), ascent.prices());
    for (int k = 0; k < kMoves; ++k) walk.move({64, 1, 0, 0});
    if (walk.has_best()) offer(restored(walk.best()));
  }
  if (bound >= upper_) return;
  // Split.
  const std::uint32_t node = node_to_split(model, ascent);
  std::vector<std::uint32_t> order(model.strategies(node));
  std::iota(order.begin(), order.end(), 0U);
  const float* belief = ascent.dual().belief(node);
  std::sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) {
    return belief[x] != belief[y] ? belief[x] < belief[y] : x < y;
  });
  const auto root_node = static_cast<std::uint32_t>(reduction.node_of(node));
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k < kMostSingle) groups.emplace_back();
    groups.back().push_back(reduction.strategy_of(node, order[k]));
  }
  for (std::size_t g = groups.size(); g-- > 0;) {
    history_.push_back({part.parent, root_node, std::move(groups[g])});
    push({bound, static_cast<std::int32_t>(history_.size()) - 1, 0});
  }
}

}  // namespace tessera::choose
