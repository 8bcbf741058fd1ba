// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/fabric/networks/parts.h"
#include "tessera/fabric/networks/zeroed_array.h"

namespace tessera::fabric {

/// What crosses the links of an inner network.
///
/// Inside a device whose network is a mesh, torus or ring of up to two axes, a route is an interval
/// of links on one line per axis. The ends of each interval are noted on its line, and sums along
/// the lines give the loads in the end; no route is walked. In other networks each link of a route
/// is counted. Lines on which nothing is noted cost nothing.
class InnerLoads {
 public:
  InnerLoads(const InnerNetwork& network, std::int64_t devices);

  /// Steps of a part of a route, and of the way back.
  struct Steps {
    std::int64_t there = 0;
    std::int64_t back = 0;
  };
  /// Adds a part of a route inside a device. The sum of all bytes must fit an int64.
  Steps add(std::int64_t device, std::int64_t from, std::int64_t to, std::int64_t bytes);
  /// Adds the bytes of each entry of the network's PairTable, on device 0.
  void add_pairs(const std::vector<std::int64_t>& bytes);
  /// Forgets what was added.
  void clear();

  /// Ends adding. The largest load of a link, and its number, the first of several; 0 and -1 if
  /// nothing was added.
  struct Largest {
    std::int64_t bytes = 0;
    std::int64_t link = -1;
  };
  Largest sum_up();
  /// After sum_up: calls visit(link, bytes) for every link that carries something.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (const Noted& noted : noted_) {
      for (std::size_t at = noted.first; at < noted.first + noted.count; ++at) {
        if (loads_[at] != 0) visit(link_at(at), loads_[at]);
      }
    }
  }

 private:
  /// The lines along one axis. The links of a line are at [up or down + line · extent + i] of a
  /// device, between coordinates i and i + 1.
  struct Lines {
    GridAxis axis;
    std::int64_t extent = 1;
    std::int64_t count = 1;
    std::int64_t number = 0;  ///< of the axis
    bool first = false;       ///< routes take this axis first
    std::int64_t up = 0;
    std::int64_t down = 0;
  };
  /// A line on which something is noted; without lines, a whole device.
  struct Noted {
    std::size_t first = 0;
    std::size_t count = 0;
  };

  static Steps steps_of(const Lines& lines, const AxisSteps& steps) {
    const bool one_way = lines.axis.wraps && lines.axis.way != target::Way::kBoth;
    return {steps.count, one_way && steps.count > 0 ? lines.extent - steps.count : steps.count};
  }
  Steps add_line(const Lines& lines, std::int64_t device, std::int64_t line, std::int64_t from,
                 std::int64_t to, std::int64_t bytes) {
    const AxisSteps steps = lines.axis.steps(from, to);
    if (steps.count == 0) return {};
    const std::int64_t low = steps.up ? from : to;
    const std::int64_t high = steps.up ? to : from;
    std::int64_t* const ends = note(
        device * slots_ + (steps.up ? lines.up : lines.down) + line * lines.extent, lines.extent);
    ends[low] += bytes;
    ends[high] -= bytes;
    if (high < low) ends[0] += bytes;  // around the end
    return steps_of(lines, steps);
  }
  Steps add_walked(std::int64_t device, std::int64_t from, std::int64_t to, std::int64_t bytes);
  std::int64_t* note(std::int64_t first, std::int64_t count) {
    const auto at = static_cast<std::size_t>(first);
    if (is_noted_[at] == 0) {
      is_noted_[at] = 1;
      noted_.push_back({at, static_cast<std::size_t>(count)});
    }
    return loads_.data() + at;
  }
  void set_lines(const Grid& grid);
  std::int64_t link_at(std::size_t at) const;

  const InnerNetwork& network_;
  bool lines_ = false;
  Lines rows_;              ///< along the first of two axes; of one axis: lines of one router
  Lines cols_;              ///< along the last axis
  std::int64_t slots_ = 0;  ///< of one device
  ZeroedArray<std::int64_t> loads_;
  ZeroedArray<std::uint8_t> is_noted_;  ///< by the first slot of a line
  std::vector<Noted> noted_;
};

}  // namespace tessera::fabric
