// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/step_sizes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::reshard {

using Kind = AxisState::Kind;

StepSizes::StepSizes(std::shared_ptr<const AxisTable> table, const Change& change,
                     const std::vector<std::size_t>& group_axes,
                     const std::vector<std::size_t>& member_axes)
    : table_(std::move(table)),
      before_(change.before),
      after_(change.after),
      digits_(table_->axes()),
      base_(table_->axes(), 0) {
  add_digits(group_axes, Digit::Of::kGroup);
  add_digits(member_axes, Digit::Of::kMember);
  for (std::size_t k = 0; k < table_->axes(); ++k) {
    if (digits_[k].of == Digit::Of::kNeither) base_[k] = table_->state(before_[k], k).value;
  }
  for (std::size_t f = 0; f < table_->factors.size(); ++f) {
    Factor factor{cuts_of(before_, f), cuts_of(after_, f), {}, 0};
    const GridCells& cells = table_->factors[f];
    for (std::size_t cell = 0; cell < cells.cells(); ++cell) {
      const auto position_at = [&](const Cuts& cuts, const Stage& stage) {
        std::int64_t sum = 0;
        for (const std::size_t k : cuts.axes) {
          sum = sum * table_->grid.axes[k].count + table_->at(stage[k], f, cell, k);
        }
        return sum;
      };
      const std::int64_t at_from = position_at(factor.before, before_);
      const std::int64_t at_to = position_at(factor.after, after_);
      factor.before.elements[static_cast<std::size_t>(at_from)] += cells.elements[cell];
      factor.after.elements[static_cast<std::size_t>(at_to)] += cells.elements[cell];
      factor.between[{at_from, at_to}] += cells.elements[cell];
      factor.total += cells.elements[cell];
    }
    factors_.push_back(std::move(factor));
  }
}

/// Numbers are row-major over the axes.
void StepSizes::add_digits(const std::vector<std::size_t>& axes, Digit::Of of) {
  std::int64_t divisor = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    digits_[axes[i]] = {of, divisor};
    divisor *= table_->grid.axes[axes[i]].count;
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

std::int32_t StepSizes::coordinate(std::size_t axis, const Seat& seat) const {
  const Digit& digit = digits_[axis];
  if (digit.of == Digit::Of::kNeither) return base_[axis];
  const std::int64_t number = digit.of == Digit::Of::kGroup ? seat.group : seat.member;
  return static_cast<std::int32_t>(number / digit.divisor % table_->grid.axes[axis].count);
}

std::int64_t StepSizes::position(const Cuts& cuts, const Seat& seat) const {
  std::int64_t sum = 0;
  for (const std::size_t k : cuts.axes) {
    sum = sum * table_->grid.axes[k].count + coordinate(k, seat);
  }
  return sum;
}

bool StepSizes::holds(const Stage& stage, const Seat& seat) const {
  for (std::size_t k = 0; k < digits_.size(); ++k) {
    const AxisState& state = table_->state(stage[k], k);
    if (state.kind == Kind::kFixed && state.value != coordinate(k, seat)) return false;
  }
  return true;
}

std::int64_t StepSizes::elements(bool after, std::int64_t group, std::int64_t member) const {
  const Seat seat{group, member};
  if (!holds(after ? after_ : before_, seat)) return 0;
  std::int64_t product = 1;
  for (const Factor& factor : factors_) {
    const Cuts& cuts = after ? factor.after : factor.before;
    product *= cuts.elements[static_cast<std::size_t>(position(cuts, seat))];
  }
  return product;
}

std::int64_t StepSizes::between(std::int64_t group, std::int64_t from, std::int64_t to) const {
  const Seat source{group, from};
  const Seat destination{group, to};
  if (!holds(before_, source) || !holds(after_, destination)) return 0;
  std::int64_t product = 1;
  for (const Factor& factor : factors_) {
    const auto found =
        factor.between.find({position(factor.before, source), position(factor.after, destination)});
    if (found == factor.between.end()) return 0;
    product *= found->second;
  }
  return product;
}

bool StepSizes::holds_everywhere(const Stage& stage) const {
  for (std::size_t k = 0; k < digits_.size(); ++k) {
    const bool varies = digits_[k].of != Digit::Of::kNeither;
    if (varies && table_->state(stage[k], k).kind == Kind::kFixed) return false;
  }
  return holds(stage, {0, 0});
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
