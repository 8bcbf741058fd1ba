// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/reshard/collectives/changes.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxMembers = std::int64_t{1} << 22;
using Kind = AxisState::Kind;
using Axes = std::vector<std::size_t>;

/// Those of `axes` that a factor cuts at a stage.
Axes cut_by(const AxisTable& table, const Axes& axes, const Stage& stage, std::size_t factor) {
  Axes cut;
  for (const std::size_t k : axes) {
    const AxisState& state = table.state(stage[k], k);
    if (state.kind == Kind::kCut && state.factor == factor) cut.push_back(k);
  }
  return cut;
}

/// The number of coordinates along some axes, row-major over them.
std::int64_t places_along(const AxisTable& table, const Axes& axes) {
  Checked places = 1;
  for (const std::size_t k : axes) places *= table.grid.axes[k].count;
  return places.saturated();
}

/// The position of a cell along axes that its factor cuts.
std::int64_t position_of(const AxisTable& table, const Stage& stage, std::size_t factor,
                         std::size_t cell, const Axes& axes) {
  std::int64_t position = 0;
  for (const std::size_t k : axes) {
    position = position * table.grid.axes[k].count + table.at(stage[k], factor, cell, k);
  }
  return position;
}

/// Numbers the shards that a factor makes along some axes; both sides must make the same ones.
struct FactorShards {
  Axes axes_before;
  Axes axes_after;
  std::vector<std::int32_t> before;  // by position: the number of the shard there, or -1
  std::vector<std::int32_t> after;
  std::int32_t count = 0;
};
std::optional<FactorShards> shards_of(const AxisTable& table, const Axes& axes, const Stage& before,
                                      const Stage& after, std::size_t factor) {
  FactorShards shards;
  shards.axes_before = cut_by(table, axes, before, factor);
  shards.axes_after = cut_by(table, axes, after, factor);
  if (shards.axes_before.empty() != shards.axes_after.empty()) return std::nullopt;
  shards.before.assign(static_cast<std::size_t>(places_along(table, shards.axes_before)), -1);
  shards.after.assign(static_cast<std::size_t>(places_along(table, shards.axes_after)), -1);
  std::int32_t ends = 0;
  for (std::size_t cell = 0; cell < table.factors[factor].cells(); ++cell) {
    std::int32_t& from = shards.before[static_cast<std::size_t>(
        position_of(table, before, factor, cell, shards.axes_before))];
    std::int32_t& to = shards.after[static_cast<std::size_t>(
        position_of(table, after, factor, cell, shards.axes_after))];
    if (from < 0) from = shards.count++;
    if (to < 0) {
      to = from;
      ++ends;
    }
    if (to != from) return std::nullopt;
  }
  if (ends != shards.count) return std::nullopt;
  return shards;
}

/// The shard that each member of a group along some axes holds at a stage: its number, or -1.
std::vector<std::int64_t> held_shards(const AxisTable& table, const Axes& axes, const Stage& stage,
                                      const std::vector<FactorShards>& factors, bool is_after) {
  const std::int64_t members = places_along(table, axes);
  std::vector<std::int32_t> at(table.axes(), 0);
  std::vector<std::int64_t> held;
  held.reserve(static_cast<std::size_t>(members));
  for (std::int64_t m = 0; m < members; ++m) {
    std::int64_t rest = m;
    std::int64_t number = 0;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::size_t k = axes[i];
      at[k] = static_cast<std::int32_t>(rest % table.grid.axes[k].count);
      rest /= table.grid.axes[k].count;
      const AxisState& state = table.state(stage[k], k);
      if (state.kind == Kind::kFixed && state.value != at[k]) number = -1;
    }
    for (const FactorShards& factor : factors) {
      if (number < 0) break;
      std::int64_t position = 0;
      for (const std::size_t k : is_after ? factor.axes_after : factor.axes_before) {
        position = position * table.grid.axes[k].count + at[k];
      }
      const std::int32_t shard =
          (is_after ? factor.after : factor.before)[static_cast<std::size_t>(position)];
      number = shard < 0 ? -1 : number * factor.count + shard;
    }
    held.push_back(number);
  }
  return held;
}

/// Copies of an element along `axes`; 0 if an axis is partial.
std::int64_t copies_along(const AxisTable& table, const Axes& axes, const Stage& stage) {
  Checked copies = 1;
  for (const std::size_t k : axes) {
    const Kind kind = table.state(stage[k], k).kind;
    if (kind == Kind::kPartial) return 0;
    if (kind == Kind::kReplicated) copies *= table.grid.axes[k].count;
  }
  return copies.saturated();
}

}  // namespace

std::optional<std::vector<std::int32_t>> permutation(const AxisTable& table, const Axes& axes,
                                                     const Stage& before, const Stage& after) {
  const std::int64_t copies = copies_along(table, axes, before);
  if (copies == 0 || copies != copies_along(table, axes, after)) return std::nullopt;
  if (places_along(table, axes) > kMaxMembers) return std::nullopt;
  std::vector<FactorShards> factors;
  std::int64_t shards = 1;
  for (std::size_t f = 0; f < table.factors.size(); ++f) {
    std::optional<FactorShards> found = shards_of(table, axes, before, after, f);
    if (!found) return std::nullopt;
    if (found->axes_before.empty()) continue;
    shards *= found->count;
    factors.push_back(*std::move(found));
  }
  const std::vector<std::int64_t> has = held_shards(table, axes, before, factors, false);
  const std::vector<std::int64_t> needs = held_shards(table, axes, after, factors, true);
  // For each shard, the members that need it and do not have it.
  std::vector<std::vector<std::int32_t>> needing(static_cast<std::size_t>(shards));
  std::vector<std::int32_t> moves(has.size(), -1);
  for (std::size_t m = has.size(); m-- > 0;) {
    if (needs[m] < 0) continue;
    if (needs[m] == has[m]) {
      moves[m] = static_cast<std::int32_t>(m);
    } else {
      needing[static_cast<std::size_t>(needs[m])].push_back(static_cast<std::int32_t>(m));
    }
  }
  for (std::size_t m = 0; m < has.size(); ++m) {
    if (has[m] < 0 || moves[m] >= 0) continue;
    std::vector<std::int32_t>& list = needing[static_cast<std::size_t>(has[m])];
    moves[m] = list.back();
    list.pop_back();
  }
  return moves;
}

bool exchanges_all(const AxisTable& table, const Axes& axes, const Stage& before,
                   const Stage& after) {
  Axes others;
  for (std::size_t k = 0; k < table.axes(); ++k) {
    if (!std::binary_search(axes.begin(), axes.end(), k)) others.push_back(k);
  }
  // Factors are independent, so what a member has for another is a product, too.
  for (std::size_t f = 0; f < table.factors.size(); ++f) {
    const Axes from_axes = cut_by(table, axes, before, f);
    const Axes to_axes = cut_by(table, axes, after, f);
    if (from_axes.empty() || to_axes.empty()) continue;
    const Axes group_axes = cut_by(table, others, before, f);
    struct Group {
      std::set<std::int64_t> from, to;
      std::set<std::pair<std::int64_t, std::int64_t>> pairs;
    };
    std::map<std::int64_t, Group> groups;
    for (std::size_t cell = 0; cell < table.factors[f].cells(); ++cell) {
      Group& group = groups[position_of(table, before, f, cell, group_axes)];
      const std::int64_t from = position_of(table, before, f, cell, from_axes);
      const std::int64_t to = position_of(table, after, f, cell, to_axes);
      group.from.insert(from);
      group.to.insert(to);
      group.pairs.emplace(from, to);
    }
    for (const auto& [at, group] : groups) {
      if (group.pairs.size() != group.from.size() * group.to.size()) return false;
    }
  }
  return true;
}

}  // namespace tessera::reshard
