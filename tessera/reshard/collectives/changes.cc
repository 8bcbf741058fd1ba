// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/changes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tessera::reshard {
namespace {

using Kind = AxisState::Kind;
using Axes = std::vector<std::size_t>;

/// The change along one axis; kPermute stands for any exchange.
CollectiveKind kind_of_change(const AxisState& a, const AxisState& b) {
  const bool to_cut = b.kind == Kind::kCut;
  const bool to_fixed = b.kind == Kind::kFixed;
  switch (a.kind) {
    case Kind::kReplicated:
      return CollectiveKind::kSlice;
    case Kind::kPartial:
      return to_cut     ? CollectiveKind::kReduceScatter
             : to_fixed ? CollectiveKind::kReduce
                        : CollectiveKind::kAllReduce;
    case Kind::kCut:
      return to_cut     ? CollectiveKind::kPermute
             : to_fixed ? CollectiveKind::kGather
                        : CollectiveKind::kAllGather;
    case Kind::kFixed:
      return to_cut     ? CollectiveKind::kScatter
             : to_fixed ? CollectiveKind::kPermute
                        : CollectiveKind::kBroadcast;
  }
  return CollectiveKind::kSlice;
}

/// The factors that cut an axis, on either side.
std::set<std::size_t> factors_of(const AxisTable& table, const Axes& axes) {
  std::set<std::size_t> factors;
  for (const std::size_t k : axes) {
    for (const bool in_b : {false, true}) {
      const AxisState& state = table.state(in_b, k);
      if (state.kind == Kind::kCut) factors.insert(state.factor);
    }
  }
  return factors;
}

/// Divides axes into lists that no factor connects.
std::vector<Axes> components(const AxisTable& table, const Axes& axes) {
  std::vector<std::pair<std::set<std::size_t>, Axes>> found;
  for (const std::size_t k : axes) {
    std::pair<std::set<std::size_t>, Axes> own = {factors_of(table, {k}), {k}};
    for (std::size_t i = found.size(); i-- > 0;) {
      const bool meets =
          std::any_of(found[i].first.begin(), found[i].first.end(),
                      [&](std::size_t factor) { return own.first.contains(factor); });
      if (!meets) continue;
      own.first.merge(found[i].first);
      own.second.insert(own.second.end(), found[i].second.begin(), found[i].second.end());
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(i));
    }
    found.push_back(std::move(own));
  }
  std::vector<Axes> lists;
  for (auto& [factors, list] : found) {
    std::sort(list.begin(), list.end());
    lists.push_back(std::move(list));
  }
  return lists;
}

Stage switched(Stage stage, const Axes& axes) {
  for (const std::size_t k : axes) stage[k] = true;
  return stage;
}

/// The axes, and all others that their factors cut at this stage.
Axes with_companions(const AxisTable& table, const Axes& axes, const Stage& stage) {
  const std::set<std::size_t> factors = factors_of(table, axes);
  Axes all = axes;
  for (std::size_t k = 0; k < table.axes(); ++k) {
    const AxisState& state = table.state(stage[k], k);
    const bool cut = state.kind == Kind::kCut && factors.contains(state.factor);
    if (cut && !std::binary_search(axes.begin(), axes.end(), k)) all.push_back(k);
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Splits exchanges into one permute and one all_to_all. False where an exchange is neither.
bool add_exchanges(const AxisTable& table, const Axes& axes, Stage& stage,
                   std::vector<Change>& changes) {
  Axes permuted;  // those that switch to B
  Axes along;     // and all along which shards move
  Axes exchanged;
  for (const Axes& component : components(table, axes)) {
    const Stage after = switched(stage, component);
    const Axes companions = with_companions(table, component, stage);
    if (permutation(table, component, stage, after)) {
      permuted.insert(permuted.end(), component.begin(), component.end());
      along.insert(along.end(), component.begin(), component.end());
    } else if (permutation(table, companions, stage, after)) {
      permuted.insert(permuted.end(), component.begin(), component.end());
      along.insert(along.end(), companions.begin(), companions.end());
    } else {
      exchanged.insert(exchanged.end(), component.begin(), component.end());
    }
  }
  if (!permuted.empty()) {
    std::sort(along.begin(), along.end());
    along.erase(std::unique(along.begin(), along.end()), along.end());
    const Stage after = switched(stage, permuted);
    std::optional<std::vector<std::int32_t>> moves = permutation(table, along, stage, after);
    if (!moves) return false;
    changes.push_back({CollectiveKind::kPermute, along, *std::move(moves), stage, after});
    stage = after;
  }
  if (!exchanged.empty()) {
    std::sort(exchanged.begin(), exchanged.end());
    const Stage after = switched(stage, exchanged);
    if (!exchanges_all(table, exchanged, stage, after)) return false;
    changes.push_back({CollectiveKind::kAllToAll, exchanged, {}, stage, after});
    stage = after;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Change>> changes_of(const AxisTable& table) {
  std::map<CollectiveKind, Axes> by_kind;
  Axes changed;
  bool shrinks = false;
  bool grows = false;
  for (std::size_t k = 0; k < table.axes(); ++k) {
    if (table.unchanged(k)) continue;
    changed.push_back(k);
    by_kind[kind_of_change(table.a[k], table.b[k])].push_back(k);
    shrinks = shrinks || (table.b[k].kind == Kind::kFixed && table.a[k].kind != Kind::kFixed);
    grows = grows || (table.a[k].kind == Kind::kFixed && table.b[k].kind != Kind::kFixed);
  }
  std::vector<Change> changes;
  if (changed.empty()) return changes;
  Stage stage(table.axes(), false);
  const Stage end = switched(stage, changed);
  if (std::optional<std::vector<std::int32_t>> moves = permutation(table, changed, stage, end)) {
    changes.push_back({CollectiveKind::kPermute, changed, *std::move(moves), stage, end});
    return changes;
  }
  using enum CollectiveKind;
  const std::vector<CollectiveKind> order =
      shrinks && grows ? std::vector{kSlice,   kReduceScatter, kReduce,    kAllReduce, kGather,
                                     kPermute, kScatter,       kBroadcast, kAllGather}
                       : std::vector{kSlice,   kScatter, kReduceScatter, kReduce,   kAllReduce,
                                     kPermute, kGather,  kBroadcast,     kAllGather};
  for (const CollectiveKind kind : order) {
    const auto found = by_kind.find(kind);
    if (found == by_kind.end()) continue;
    if (kind == kPermute) {
      if (!add_exchanges(table, found->second, stage, changes)) return std::nullopt;
      continue;
    }
    Stage after = switched(stage, found->second);
    changes.push_back({kind, found->second, {}, stage, after});
    stage = std::move(after);
  }
  return changes;
}

}  // namespace tessera::reshard
