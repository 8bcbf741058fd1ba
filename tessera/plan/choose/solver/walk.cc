// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/walk.h"

#include <algorithm>
#include <cmath>

namespace tessera::choose {
namespace {
constexpr std::uint32_t kInTree = 1U << 31;
constexpr double kRaise = 1.05;
constexpr double kRaiseMean = 0.02;
constexpr double kFull = 0.97;
constexpr double kLower = 0.97;
}  // namespace

Walk::Walk(const Model& model, const FloatTables& tables, std::uint64_t seed)
    : model_(model),
      tables_(tables),
      random_(seed),
      state_(model, Choice(model.nodes())),
      priced_(tables.size()),
      mark_(model.nodes()),
      touched_(model.nodes()),
      position_(model.nodes()) {
  std::uint32_t widest = 4;
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    widest = std::max(widest, tables.width(node));
  }
  if (!message_.assign(widest, 0)) return;
  if (!noise_.assign((1U << 14) + widest, 0)) return;
  for (float& each : noise_)
    each = static_cast<float>(std::log(-std::log(1 - random_.unit()) + 1e-9));
}

void Walk::start(Choice choice, std::span<const double> prices) {
  state_ = State(model_, std::move(choice));
  if (prices.data() != prices_.data()) set_prices(prices);
  keep_if_best();
}

void Walk::keep_if_best() {
  if (!state_.fits() || state_.cost() >= best_cost_) return;
  best_cost_ = state_.cost();
  best_ = state_.choice();
}

void Walk::move(const Move& move) {
  ++moves_;
  if (model_.nodes() == 0) return;
  grow(move.most_nodes);
  solve_tree(move.scale, move.noise);
  apply(move.temperature);
  keep_if_best();
}

/// touched_[v]: number of links from v into the tree; kInTree when it's inside.
void Walk::grow(std::uint32_t most_nodes) {
  ++stamp_;
  tree_.clear();
  frontier_.clear();
  std::size_t local = 0;
  const auto touch = [&](std::uint32_t node) {
    if (mark_[node] != stamp_) {
      mark_[node] = stamp_;
      touched_[node] = 0;
    }
  };
  // Half of the trees begin at an end of a random link, so at nodes of many links more often, and
  // half grow in breadth: a node and all of its neighbours may have to change together.
  std::uint32_t start = random_.below(model_.nodes());
  if (!model_.links.empty() && random_.below(2) == 0) {
    const Model::Link& link =
        model_.links[random_.below(static_cast<std::uint32_t>(model_.links.size()))];
    start = random_.below(2) == 0 ? link.a : link.b;
  }
  const bool in_breadth = random_.below(2) == 0;
  std::size_t oldest = 0;
  touch(start);
  frontier_.push_back(start);
  while (oldest < frontier_.size() && tree_.size() < most_nodes) {
    std::uint32_t node = 0;
    if (in_breadth) {
      node = frontier_[oldest++];
    } else {
      const std::uint32_t at = random_.below(static_cast<std::uint32_t>(frontier_.size()));
      node = frontier_[at];
      frontier_[at] = frontier_.back();
      frontier_.pop_back();
    }
    if (touched_[node] > 1) continue;  // in the tree, or it would close a cycle
    TreeNode entry;
    entry.node = node;
    entry.parent = static_cast<std::uint32_t>(tree_.size());
    entry.local = local;
    local += tables_.width(node);
    for (const std::uint32_t link : model_.links_at(node)) {
      const std::uint32_t other = model_.other(link, node);
      touch(other);
      if ((touched_[other] & kInTree) != 0) {
        entry.parent = position_[other];
        entry.link = link;
        continue;
      }
      if (++touched_[other] == 1) frontier_.push_back(other);
    }
    touched_[node] = kInTree;
    position_[node] = static_cast<std::uint32_t>(tree_.size());
    tree_.push_back(entry);
  }
  if (locals_.size() < local && !locals_.resize(2 * local)) tree_.clear();
}

void Walk::solve_tree(float scale, float noise) {
  for (TreeNode& entry : tree_) {
    const std::uint32_t node = entry.node;
    work_ += std::int64_t{4} * tables_.width(node);
    const std::uint32_t width = tables_.width(node);
    float* const sum = locals_.data() + entry.local;
    const float* const costs = tables_.costs(node);
    const float* const priced = priced_.data() + tables_.first(node);
    const float* const random = noise_.data() + random_.below(1U << 14);
    for (std::uint32_t k = 0; k < width; ++k)
      sum[k] = costs[k] + scale * priced[k] + noise * random[k];
    for (const std::uint32_t link : model_.links_at(node)) {
      const bool is_a = model_.links[link].a == node;
      const std::uint32_t other = is_a ? model_.links[link].b : model_.links[link].a;
      if (mark_[other] == stamp_ && (touched_[other] & kInTree) != 0) continue;
      add_row(sum, tables_.rows(link, !is_a) + std::size_t{state_[other]} * width, width);
    }
  }
  for (std::size_t at = tree_.size(); at-- > 0;) {
    const TreeNode& entry = tree_[at];
    if (entry.parent == at) continue;
    TreeNode& parent = tree_[entry.parent];
    const bool is_a = model_.links[entry.link].a == entry.node;
    const std::uint32_t width = tables_.width(parent.node);
    work_ += std::int64_t{model_.strategies(entry.node)} * width;
    min_plus(locals_.data() + entry.local, model_.strategies(entry.node),
             tables_.rows(entry.link, is_a), width, message_.data());
    // Only differences count, and small numbers are more exact.
    const float least = least_of(message_.data(), width);
    float* const sum = locals_.data() + parent.local;
    for (std::uint32_t k = 0; k < width; ++k) sum[k] += message_[k] - least;
  }
  for (std::size_t at = 0; at < tree_.size(); ++at) {
    TreeNode& entry = tree_[at];
    const float* const sum = locals_.data() + entry.local;
    const std::uint32_t width = tables_.width(entry.node);
    if (entry.parent == at) {
      entry.strategy = position_of_least(sum, width);
      continue;
    }
    const TreeNode& parent = tree_[entry.parent];
    const bool parent_is_a = model_.links[entry.link].a == parent.node;
    entry.strategy = position_of_least_sum(
        sum, tables_.rows(entry.link, parent_is_a) + std::size_t{parent.strategy} * width, width);
  }
}

/// Changes the nodes of a patch to what the tree proposes, or back.
void Walk::put(Patch& patch, bool forward) {
  for (std::size_t k = patch.from; k < patch.to; ++k) {
    const TreeNode& entry = tree_[members_[k]];
    state_.change(entry.node, forward ? entry.strategy : entry.before);
    work_ += 32 * static_cast<std::int64_t>(model_.pieces_of(entry.node).size());
  }
  patch.is_put = forward;
}

void Walk::find_patches() {
  patch_of_.assign(tree_.size(), UINT32_MAX);
  patches_.clear();
  for (std::uint32_t at = 0; at < tree_.size(); ++at) {
    TreeNode& entry = tree_[at];
    entry.before = state_[entry.node];
    if (entry.strategy == entry.before) continue;
    const std::uint32_t up = entry.parent;
    if (up != at && patch_of_[up] != UINT32_MAX) {
      patch_of_[at] = patch_of_[up];
    } else {
      patch_of_[at] = static_cast<std::uint32_t>(patches_.size());
      patches_.emplace_back();
    }
    ++patches_[patch_of_[at]].to;
  }
  std::uint32_t from = 0;
  for (Patch& patch : patches_) {
    const std::uint32_t size = patch.to;
    patch.from = patch.to = from;
    from += size;
  }
  members_.resize(from);
  for (std::uint32_t at = 0; at < tree_.size(); ++at) {
    if (patch_of_[at] != UINT32_MAX) members_[patches_[patch_of_[at]].to++] = at;
  }
}

bool Walk::try_put(Patch& patch) {
  const std::int64_t excess = std::max<std::int64_t>(0, state_.loads().largest());
  const int forbidden = state_.forbidden();
  put(patch, true);
  if (state_.loads().largest() <= excess && state_.forbidden() <= forbidden) return true;
  if (!prices_.empty() && state_.loads().largest() > excess) ++blocked_[state_.loads().fullest()];
  put(patch, false);
  return false;
}

void Walk::free_move(const Move& move) {
  ++moves_;
  if (model_.nodes() == 0) return;
  grow(move.most_nodes);
  solve_tree(move.scale, move.noise);
  for (const TreeNode& entry : tree_) {
    if (state_[entry.node] == entry.strategy) continue;
    state_.change(entry.node, entry.strategy);
    work_ += 32 * static_cast<std::int64_t>(model_.pieces_of(entry.node).size());
  }
  keep_if_best();
}

void Walk::absorb(const Choice& other) {
  ++stamp_;
  tree_.clear();
  for (std::uint32_t start = 0; start < model_.nodes(); ++start) {
    if (other[start] == state_[start] || mark_[start] == stamp_) continue;
    std::uint32_t at = static_cast<std::uint32_t>(tree_.size());
    mark_[start] = stamp_;
    tree_.push_back({start, at, 0, other[start], 0, 0});
    for (; at < tree_.size(); ++at) {
      const std::uint32_t node = tree_[at].node;
      for (const std::uint32_t link : model_.links_at(node)) {
        const std::uint32_t next = model_.other(link, node);
        if (other[next] == state_[next] || mark_[next] == stamp_) continue;
        mark_[next] = stamp_;
        tree_.push_back({next, at, link, other[next], 0, 0});
      }
    }
  }
  apply(0);
  keep_if_best();
}

void Walk::press(double raise) {
  double sum = 0;
  for (const double price : prices_) sum += price;
  const double mean = sum / static_cast<double>(std::max<std::size_t>(1, prices_.size()));
  const std::vector<std::int64_t> loads = loads_of(model_, state_.choice());
  for (std::size_t m = 0; m < prices_.size(); ++m) {
    const auto load = static_cast<double>(loads[m]);
    const auto room = static_cast<double>(model_.room[m]);
    if (load > room) {
      prices_[m] = prices_[m] * (1 + raise) + raise * mean;
    } else if (load < kFull * room) {
      prices_[m] *= 1 - raise / 4;
    }
  }
  renew_prices();
}

void Walk::charge(double amount) {
  const std::vector<std::int64_t> loads = loads_of(model_, state_.choice());
  double squares = 0;
  for (std::size_t m = 0; m < prices_.size(); ++m) {
    const auto excess = static_cast<double>(loads[m] - model_.room[m]);
    if (excess > 0) squares += excess * excess;
  }
  if (squares <= 0) return;
  for (std::size_t m = 0; m < prices_.size(); ++m) {
    const auto excess = static_cast<double>(loads[m] - model_.room[m]);
    if (excess > 0) prices_[m] += amount * excess / squares;
  }
  renew_prices();
}

void Walk::renew_prices() {
  price_usages(model_, tables_, prices_, priced_);
  work_ += static_cast<std::int64_t>(2 * model_.usages.size() + std::size_t{8} * model_.moments());
}

void Walk::set_prices(std::span<const double> prices) {
  prices_.assign(prices.begin(), prices.end());
  renew_prices();
  blocked_.assign(prices.size(), 0);
}

void Walk::adapt_prices() {
  double sum = 0;
  std::size_t count = 0;
  for (const double price : prices_) {
    sum += price;
    count += price > 0 ? 1 : 0;
  }
  if (count == 0) return;
  const double mean = sum / static_cast<double>(count);
  const std::vector<std::int64_t> loads = loads_of(model_, state_.choice());
  for (std::size_t m = 0; m < prices_.size(); ++m) {
    if (blocked_[m] > 0) {
      prices_[m] = prices_[m] * kRaise + kRaiseMean * mean;
    } else if (prices_[m] > 0 &&
               static_cast<double>(loads[m]) < kFull * static_cast<double>(model_.room[m])) {
      prices_[m] *= kLower;
    }
  }
  std::fill(blocked_.begin(), blocked_.end(), 0U);
  renew_prices();
}

void Walk::apply(double temperature) {
  find_patches();
  if (patches_.empty()) return;
  // Patches that cost less are welcome if they fit; as long as the choice does not fit, so are
  // those that bring it nearer to the limit.
  bool waits = false;
  for (Patch& patch : patches_) {
    const std::int64_t before = state_.cost();
    const std::int64_t excess = std::max<std::int64_t>(0, state_.loads().largest());
    const int forbidden = state_.forbidden();
    put(patch, true);
    patch.delta = state_.cost() - before;
    const std::int64_t over = std::max<std::int64_t>(0, state_.loads().largest());
    const bool is_nearer = over < excess || state_.forbidden() < forbidden;
    if ((patch.delta <= 0 || is_nearer) && over <= excess && state_.forbidden() <= forbidden) {
      continue;
    }
    if (!prices_.empty() && state_.loads().largest() > 0) ++blocked_[state_.loads().fullest()];
    put(patch, false);
    if (patch.delta <= 0) waits = true;
  }
  std::int64_t start = state_.cost();
  if (!waits) {
    // Those that cost more are tried for the sake of variety.
    for (Patch& patch : patches_) {
      if (patch.is_put ||
          static_cast<double>(patch.delta) > temperature * -std::log(1 - random_.unit()))
        continue;
      try_put(patch);
    }
    return;
  }
  // Those that cost more free memory for those that cost less.
  stage_.clear();
  for (std::uint32_t p = 0; p < patches_.size(); ++p) {
    if (!patches_[p].is_put && patches_[p].delta > 0 && try_put(patches_[p])) stage_.push_back(p);
  }
  const std::size_t freeing = stage_.size();
  for (std::uint32_t p = 0; p < patches_.size(); ++p) {
    if (!patches_[p].is_put && patches_[p].delta <= 0 && try_put(patches_[p])) stage_.push_back(p);
  }
  if (stage_.size() > freeing) {
    std::sort(
        stage_.begin(), stage_.begin() + static_cast<std::ptrdiff_t>(freeing),
        [&](std::uint32_t x, std::uint32_t y) { return patches_[x].delta > patches_[y].delta; });
    for (std::size_t k = 0; k < freeing; ++k) {
      Patch& patch = patches_[stage_[k]];
      put(patch, false);
      if (state_.loads().largest() > 0 || state_.forbidden() > 0) put(patch, true);
    }
  }
  const double total = static_cast<double>(state_.cost() - start);
  if (total <= temperature * -std::log(1 - random_.unit())) return;
  for (std::size_t k = stage_.size(); k-- > 0;) {
    if (patches_[stage_[k]].is_put) put(patches_[stage_[k]], false);
  }
}

}  // namespace tessera::choose
