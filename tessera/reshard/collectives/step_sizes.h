// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/reshard/collectives/axis_table.h"
#include "tessera/reshard/collectives/changes.h"
#include "tessera/reshard/collectives/collective.h"

namespace tessera::reshard {

/// What every place holds before and after one step, from the tables of the factors: the elements
/// of a place are the product over the factors of their elements at its coordinates.
class StepSizes {
 public:
  /// `group_axes` and `member_axes` are grid axes; along any other axis the step has one
  /// coordinate. Numbers of groups and members are row-major over them.
  StepSizes(std::shared_ptr<const AxisTable> table, const Change& change,
            const std::vector<std::size_t>& group_axes,
            const std::vector<std::size_t>& member_axes);

  std::int64_t elements(bool after, std::int64_t group, std::int64_t member) const;
  std::int64_t between(std::int64_t group, std::int64_t from, std::int64_t to) const;
  HeldElements held(bool after) const;
  /// What `elements` and `between` give for all members, or pairs of members, of all groups, where
  /// the tables of the factors show that it is the same; empty: it may differ.
  std::optional<std::int64_t> same_elements(bool after) const;
  std::optional<std::int64_t> same_between() const;

 private:
  /// One side of one factor: elements by their coordinates along the axes that it cuts.
  struct Cuts {
    std::vector<std::size_t> axes;
    std::vector<std::int64_t> elements;
  };
  struct Factor {
    Cuts before;
    Cuts after;
    /// (position in `before`, position in `after`) → elements.
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> between;
    std::int64_t total = 0;
  };

  /// What gives the coordinate along a grid axis: a digit of the number of the group or of the
  /// member, or neither.
  struct Digit {
    enum class Of : std::uint8_t { kNeither, kGroup, kMember };
    Of of = Of::kNeither;
    std::int64_t divisor = 1;
  };
  /// A place by its group and its member.
  struct Seat {
    std::int64_t group = 0;
    std::int64_t member = 0;
  };

  Cuts cuts_of(const Stage& stage, std::size_t factor) const;
  void add_digits(const std::vector<std::size_t>& axes, Digit::Of of);
  std::int32_t coordinate(std::size_t axis, const Seat& seat) const;
  std::int64_t position(const Cuts& cuts, const Seat& seat) const;
  /// True when a stage is not fixed along any axis of groups and members.
  bool holds_everywhere(const Stage& stage) const;
  /// True when a place may hold elements at a stage: it is where fixed axes are.
  bool holds(const Stage& stage, const Seat& seat) const;

  std::shared_ptr<const AxisTable> table_;
  Stage before_;
  Stage after_;
  std::vector<Digit> digits_;       // of each grid axis
  std::vector<std::int32_t> base_;  // coordinates along axes of neither
  std::vector<Factor> factors_;
};

}  // namespace tessera::reshard
