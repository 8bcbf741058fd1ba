// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/step_sizes.h"

#include <algorithm>
#include <iterator>

#include "tessera/base/checked.h"

namespace tessera::reshard {

using Kind = AxisState::Kind;

StepSizes::StepSizes(std::shared_ptr<const AxisTable> table, const Change& change,
                     std::vector<std::size_t> group_axes, std::vector<std::size_t> member_axes)
    : table_(std::move(table)),
      before_(change.before),
      after_(change.after),
      group_axes_(std::move(group_axes)),
      member_axes_(std::move(member_axes)),
      base_(table_->axes(), 0) {
  for (std::size_t k = 0; k < table_->axes(); ++k) {
    const bool varies =
        std::find(group_axes_.begin(), group_axes_.end(), k) != group_axes_.end() ||
        std::find(member_axes_.begin(), member_axes_.end(), k) != member_axes_.end();
    if (!varies) base_[k] = table_->state(before_[k], k).value;
  }
  for (std::size_t f = 0; f < table_->factors.size(); ++f) {
    Factor factor{cuts_of(before_, f), cuts_of(after_, f), {}, 0};
    const GridCells& cells = table_->factors[f];
    std::vector<std::int32_t> from(table_->axes());
    std::vector<std::int32_t> to(table_->axes());
    for (std::size_t cell = 0; cell < cells.cells(); ++cell) {
      for (std::size_t k = 0; k < table_->axes(); ++k) {
        from[k] = table_->at(before_[k], f, cell, k);
        to[k] = table_->at(after_[k], f, cell, k);
      }
      const std::int64_t at_from = position(factor.before, from);
      const std::int64_t at_to = position(factor.after, to);
      factor.before.elements[static_cast<std::size_t>(at_from)] += cells.elements[cell];
      factor.after.elements[static_cast<std::size_t>(at_to)] += cells.elements[cell];
      factor.between[{at_from, at_to}] += cells.elements[cell];
      factor.total += cells.elements[cell];
    }
    factors_.push_back(std::move(factor));
  }
}

StepSizes::Cuts StepSizes::cuts_of(const Stage& stage, std::size_t factor) const {
  Cuts cuts;
  std::int64_t positions = 1;
  for (std::size_t k = 0; k < table_->axes(); ++k) {
    const AxisState& state = table_->state(stage[k], k);
    if (state.kind != Kind::kCut || state.factor != factor) continue;
    cuts.axes.push_back(k);
    positions *= table_->grid.axes[k].count;
  }
  cuts.elements.assign(static_cast<std::size_t>(positions), 0);
  return cuts;
}

std::int64_t StepSizes::position(const Cuts& cuts, const std::vector<std::int32_t>& at) const {
  std::int64_t sum = 0;
  for (const std::size_t k : cuts.axes) sum = sum * table_->grid.axes[k].count + at[k];
  return sum;
}

StepSizes::At StepSizes::coordinates(std::int64_t group, std::int64_t member) const {
  std::vector<std::int32_t> at = base_;
  const auto read = [&](std::int64_t number, const std::vector<std::size_t>& axes) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::int64_t count = table_->grid.axes[axes[i]].count;
      at[axes[i]] = static_cast<std::int32_t>(number % count);
      number /= count;
    }
  };
  read(group, group_axes_);
  read(member, member_axes_);
  return at;
}

bool StepSizes::holds(const Stage& stage, const std::vector<std::int32_t>& at) const {
  for (std::size_t k = 0; k < at.size(); ++k) {
    const AxisState& state = table_->state(stage[k], k);
    if (state.kind == Kind::kFixed && state.value != at[k]) return false;
  }
  return true;
}

std::int64_t StepSizes::elements(bool after, std::int64_t group, std::int64_t member) const {
  const std::vector<std::int32_t> at = coordinates(group, member);
  if (!holds(after ? after_ : before_, at)) return 0;
  std::int64_t product = 1;
  for (const Factor& factor : factors_) {
    const Cuts& cuts = after ? factor.after : factor.before;
    product *= cuts.elements[static_cast<std::size_t>(position(cuts, at))];
  }
  return product;
}

std::int64_t StepSizes::between(std::int64_t group, std::int64_t from, std::int64_t to) const {
  const std::vector<std::int32_t> at_from = coordinates(group, from);
  const std::vector<std::int32_t> at_to = coordinates(group, to);
  if (!holds(before_, at_from) || !holds(after_, at_to)) return 0;
  std::int64_t product = 1;
  for (const Factor& factor : factors_) {
    const auto found =
        factor.between.find({position(factor.before, at_from), position(factor.after, at_to)});
    if (found == factor.between.end()) return 0;
    product *= found->second;
  }
  return product;
}

bool StepSizes::holds_everywhere(const Stage& stage) const {
  for (const std::vector<std::size_t>* const axes : {&group_axes_, &member_axes_}) {
    for (const std::size_t k : *axes) {
      if (table_->state(stage[k], k).kind == Kind::kFixed) return false;
    }
  }
  return holds(stage, base_);
}

std::optional<std::int64_t> StepSizes::same_elements(bool after) const {
  if (!holds_everywhere(after ? after_ : before_)) return std::nullopt;
  std::int64_t product = 1;
  for (const Factor& factor : factors_) {
    const std::vector<std::int64_t>& elements = (after ? factor.after : factor.before).elements;
    const std::int64_t first = elements.front();
    if (std::any_of(elements.begin(), elements.end(), [&](auto e) { return e != first; })) {
      return std::nullopt;
    }
    product *= first;
  }
  return product;
}

std::optional<std::int64_t> StepSizes::same_between() const {
  if (!holds_everywhere(before_) || !holds_everywhere(after_)) return std::nullopt;
  std::int64_t product = 1;
  for (const Factor& factor : factors_) {
    const std::int64_t pairs =
        (Checked(std::ssize(factor.before.elements)) * std::ssize(factor.after.elements))
            .saturated();
    if (std::ssize(factor.between) != pairs) return std::nullopt;
    const std::int64_t first = factor.between.begin()->second;
    for (const auto& [ends, elements] : factor.between) {
      if (elements != first) return std::nullopt;
    }
    product *= first;
  }
  return product;
}

HeldElements StepSizes::held(bool after) const {
  const Stage& stage = after ? after_ : before_;
  Checked total = 1;
  Checked most = 1;
  for (const Factor& factor : factors_) {
    const Cuts& cuts = after ? factor.after : factor.before;
    total *= factor.total;
    most *= *std::max_element(cuts.elements.begin(), cuts.elements.end());
  }
  for (std::size_t k = 0; k < table_->axes(); ++k) {
    const Kind kind = table_->state(stage[k], k).kind;
    if (kind == Kind::kReplicated || kind == Kind::kPartial) total *= table_->grid.axes[k].count;
  }
  return {most.saturated(), total.saturated()};
}

}  // namespace tessera::reshard
