// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/fabric/networks/listed_loads.h"
#include "tessera/fabric/networks/parts.h"

namespace tessera::fabric {

/// Where the loads of the links of an inner network are kept. In a mesh, torus or ring of up to two
/// axes they are in lines: the links of a line are at [up or down + line · extent + i] of a device,
/// between coordinates i and i + 1. In other networks a device is one list, by slot of the grid.
struct LinkLines {
  explicit LinkLines(const InnerNetwork& own);

  /// The lines along one axis.
  struct Lines {
    GridAxis axis;
    std::int64_t extent = 1;
    std::int64_t count = 1;
    std::int64_t number = 0;  ///< of the axis
    std::int64_t up = 0;
    std::int64_t down = 0;
  };
  /// The number of the link whose load is at a position.
  std::int64_t link_at(std::size_t at) const;

  const InnerNetwork& network;
  bool present = false;
  bool cols_first = false;  ///< routes take the last axis first
  Lines rows;               ///< along the first of two axes; of one axis: lines of one router
  Lines cols;               ///< along the last axis
  std::int64_t slots = 0;   ///< of one device
};

/// What crosses the links of an inner network. A load is anything that is added up.
///
/// On lines, a route is an interval of links of one line per axis. The ends of each interval are
/// noted on its line, and sums along the lines give the loads in the end; no route is walked. In
/// other networks each link of a route is counted. Lines on which nothing is noted cost nothing.
template <typename Load>
class LineLoads {
 public:
  LineLoads(const InnerNetwork& network, std::int64_t devices)
      : lines_(network),
        loads_(static_cast<std::size_t>(lines_.slots * devices)),
        is_noted_(loads_.size()) {}

  /// Steps of a part of a route, and of the way back.
  struct Steps {
    std::int64_t there = 0;
    std::int64_t back = 0;
  };
  /// Adds the load to each link of a part of a route inside a device.
  Steps add(std::int64_t device, std::int64_t from, std::int64_t to, const Load& load) {
    if (!lines_.present) return add_walked(device, from, to, load);
    const Cell a = lines_.network.cells[static_cast<std::size_t>(from)];
    const Cell b = lines_.network.cells[static_cast<std::size_t>(to)];
    const Steps along =
        add_line(lines_.cols, device, lines_.cols_first ? a.row : b.row, a.col, b.col, load);
    if (lines_.rows.extent == 1) return along;
    const Steps more =
        add_line(lines_.rows, device, lines_.cols_first ? b.col : a.col, a.row, b.row, load);
    return {along.there + more.there, along.back + more.back};
  }
  /// Adds the load once to each link of the union of the routes from one router to others.
  void add_tree(std::int64_t device, std::int64_t from, std::span<const std::int32_t> to,
                const Load& load);

  /// Forgets what was added.
  void clear() {
    for (const Noted& noted : noted_) {
      is_noted_[noted.first] = 0;
      std::fill_n(loads_.data() + noted.first, noted.count, Load{});
    }
    noted_.clear();
  }
  /// Ends adding: calls visit(position, load) for all links of the lines on which something is
  /// noted.
  template <typename Visit>
  void sum_up(const Visit& visit) {
    for (const Noted& noted : noted_) {
      Load* const line = loads_.data() + noted.first;
      for (std::size_t i = 0; i < noted.count; ++i) {
        if (lines_.present && i > 0) line[i] += line[i - 1];
        visit(noted.first + i, line[i]);
      }
    }
  }
  const LinkLines& lines() const { return lines_; }

  /// The links of one line between two of its coordinates, as positions in a device: found once, to
  /// be added to often.
  struct Interval {
    std::uint32_t first = 0;  ///< of the line
    std::uint32_t count = 0;  ///< of the line; 0: no links
    std::uint32_t low = 0;
    std::uint32_t high = 0;
  };
  Interval interval(const LinkLines::Lines& lines, std::int64_t line, std::int64_t from,
                    std::int64_t to) const {
    const AxisSteps steps = lines.axis.steps(from, to);
    if (steps.count == 0) return {};
    const std::int64_t first = (steps.up ? lines.up : lines.down) + line * lines.extent;
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(lines.extent),
            static_cast<std::uint32_t>(first + (steps.up ? from : to)),
            static_cast<std::uint32_t>(first + (steps.up ? to : from))};
  }
  /// Adds to an interval of a device.
  void add(std::int64_t device, const Interval& interval, const Load& load) {
    if (interval.count == 0) return;
    const std::int64_t first = device * lines_.slots;
    Load* const loads = loads_.data() + first;
    note(first + interval.first, interval.count);
    loads[interval.low] += load;
    loads[interval.high] -= load;
    if (interval.high < interval.low) loads[interval.first] += load;
  }

 protected:
  Steps add_line(const LinkLines::Lines& lines, std::int64_t device, std::int64_t line,
                 std::int64_t from, std::int64_t to, const Load& load) {
    const AxisSteps steps = lines.axis.steps(from, to);
    if (steps.count == 0) return {};
    add_interval(lines, device, line, steps.up ? from : to, steps.up ? to : from, steps.up, load);
    const bool one_way = lines.axis.wraps && lines.axis.way != target::Way::kBoth;
    return {steps.count, one_way ? lines.extent - steps.count : steps.count};
  }

 private:
  /// A line on which something is noted; without lines, a whole device.
  struct Noted {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// How far a tree reaches from its root along a line, up and down.
  struct Reach {
    std::int64_t up = 0;
    std::int64_t down = 0;
    bool listed = false;

    void include(const AxisSteps& steps) {
      std::int64_t& far = steps.up ? up : down;
      far = std::max(far, steps.count);
    }
  };

  /// The links between two coordinates, around the end if `high` is below `low`.
  void add_interval(const LinkLines::Lines& lines, std::int64_t device, std::int64_t line,
                    std::int64_t low, std::int64_t high, bool up, const Load& load) {
    Load* const ends = note(
        device * lines_.slots + (up ? lines.up : lines.down) + line * lines.extent, lines.extent);
    ends[low] += load;
    ends[high] -= load;
    if (high < low) ends[0] += load;
  }
  void add_reach(const LinkLines::Lines& lines, std::int64_t device, std::int64_t line,
                 std::int64_t from, const Reach& reach, const Load& load) {
    const auto around = [&](std::int64_t at) {
      return at < 0 ? at + lines.extent : at >= lines.extent ? at - lines.extent : at;
    };
    if (reach.up > 0) {
      add_interval(lines, device, line, from, around(from + reach.up), true, load);
    }
    if (reach.down > 0) {
      add_interval(lines, device, line, around(from - reach.down), from, false, load);
    }
  }
  Steps add_walked(std::int64_t device, std::int64_t from, std::int64_t to, const Load& load) {
    const Grid& grid = lines_.network.grid;
    Steps steps;
    if (from == to) return steps;
    Load* const loads = note(device * lines_.slots, lines_.slots);
    steps.back = grid.distance(to, from);
    while (from != to) {
      const GridStep step = grid.step(from, to);
      loads[step.slot] += load;
      ++steps.there;
      from = step.next;
    }
    return steps;
  }
  Load* note(std::int64_t first, std::int64_t count) {
    const auto at = static_cast<std::size_t>(first);
    if (is_noted_[at] == 0) {
      is_noted_[at] = 1;
      noted_.push_back({at, static_cast<std::size_t>(count)});
    }
    return loads_.data() + at;
  }

  LinkLines lines_;
  ZeroedArray<Load> loads_;
  ZeroedArray<std::uint8_t> is_noted_;  ///< by the first position of a line
  std::vector<Noted> noted_;
  std::vector<Reach> reaches_;  ///< of a tree, by line of the second axis
  std::vector<std::int32_t> reached_lines_;
  std::vector<std::int32_t> tree_of_slot_;  ///< without lines: the last tree that has the link
  std::int32_t trees_ = 0;
};

template <typename Load>
void LineLoads<Load>::add_tree(std::int64_t device, std::int64_t from,
                               std::span<const std::int32_t> to, const Load& load) {
  if (!lines_.present) {
    const Grid& grid = lines_.network.grid;
    tree_of_slot_.resize(static_cast<std::size_t>(lines_.slots), 0);
    ++trees_;
    Load* const loads = note(device * lines_.slots, lines_.slots);
    for (const std::int32_t end : to) {
      for (std::int64_t at = from; at != end;) {
        const GridStep step = grid.step(at, end);
        std::int32_t& tree = tree_of_slot_[static_cast<std::size_t>(step.slot)];
        if (tree != trees_) loads[step.slot] += load;
        tree = trees_;
        at = step.next;
      }
    }
    return;
  }
  const LinkLines::Lines& first = lines_.cols_first ? lines_.cols : lines_.rows;
  const LinkLines::Lines& second = lines_.cols_first ? lines_.rows : lines_.cols;
  reaches_.resize(static_cast<std::size_t>(std::max(first.count, second.count)));
  const Cell root = lines_.network.cells[static_cast<std::size_t>(from)];
  // Along the first axis on the line of the root; then on the line that each end is on.
  const auto of_first = [&](const Cell& cell) { return lines_.cols_first ? cell.col : cell.row; };
  const auto of_second = [&](const Cell& cell) { return lines_.cols_first ? cell.row : cell.col; };
  Reach trunk;
  for (const std::int32_t end : to) {
    const Cell cell = lines_.network.cells[static_cast<std::size_t>(end)];
    trunk.include(first.axis.steps(of_first(root), of_first(cell)));
    if (second.extent == 1) continue;
    Reach& reach = reaches_[static_cast<std::size_t>(of_first(cell))];
    if (!reach.listed) {
      reach.listed = true;
      reached_lines_.push_back(of_first(cell));
    }
    reach.include(second.axis.steps(of_second(root), of_second(cell)));
  }
  add_reach(first, device, of_second(root), of_first(root), trunk, load);
  for (const std::int32_t line : reached_lines_) {
    Reach& reach = reaches_[static_cast<std::size_t>(line)];
    add_reach(second, device, line, of_second(root), reach, load);
    reach = {};
  }
  reached_lines_.clear();
}

}  // namespace tessera::fabric
