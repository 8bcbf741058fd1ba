// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/fabric/queue_network.h"
#include "tessera/fabric/xy_trees.h"

namespace tessera::fabric {

/// The route of a message in ideal mode: to one router, or along a tree.
class IdealRoute {
 public:
  static IdealRoute to(RouterAt end) { return {end.row, end.col}; }
  static IdealRoute along(std::size_t tree) { return {-1, static_cast<std::int32_t>(tree)}; }
  bool is_tree() const { return row_ < 0; }
  std::size_t tree() const { return static_cast<std::size_t>(col_); }
  RouterAt end() const { return {row_, col_}; }

 private:
  IdealRoute(std::int32_t row, std::int32_t col) : row_(row), col_(col) {}
  std::int32_t row_;
  std::int32_t col_;
};

/// Steers wavelets by the destination of their message. A router has 5 outputs and 16 queues, one
/// for each pair of input and output that XY routes use:
///
///     out, in     ramp  east-  west-  south-  north-bound
///     east          0     1
///     west          2            3
///     south         4     5      6      7
///     north         8     9     10             11
///     ramp               12     13     14      15
///
/// Router n's output at port p is output p · 2^shift + n, its queue k is k · 2^shift + n: what one
/// stream uses in many routers is contiguous, and separate from what it does not use.
class IdealSteering {
 public:
  static constexpr std::uint32_t kQueues = 16;
  static constexpr std::uint32_t kPorts = 5;

  /// `sources` and `routes` have one entry per message.
  IdealSteering(std::int32_t rows, std::int32_t cols, const XyTrees& trees,
                const std::vector<RouterAt>& sources, const std::vector<IdealRoute>& routes)
      : cols_(cols),
        shift_(static_cast<unsigned>(std::bit_width(static_cast<std::uint32_t>(rows * cols - 1)))),
        trees_(trees),
        sources_(sources),
        routes_(routes) {
    for (std::int32_t row = 0; row < rows; ++row) {
      for (std::int32_t col = 0; col < cols; ++col) at_.push_back({row, col});
    }
  }

  unsigned shift() const { return shift_; }
  std::size_t queues() const { return std::size_t{kQueues} << shift_; }
  std::vector<RouterOutput> outputs() const {
    std::vector<RouterOutput> outputs(std::size_t{kPorts} << shift_);
    for (std::uint32_t o = 0; o < outputs.size(); ++o) {
      outputs[o].first_queue = kFirst[port(o)] << shift_ | router(o);
      outputs[o].to_ramp = port(o) == static_cast<std::uint32_t>(Port::kRamp);
    }
    return outputs;
  }
  std::uint32_t port(std::uint32_t output) const { return output >> shift_; }
  /// The router of an output; at least the number of routers if no router has this output.
  std::uint32_t router(std::uint32_t output) const {
    return output & ((std::uint32_t{1} << shift_) - 1);
  }

  int next(QueueAt from, Wavelet wavelet, QueueAt* targets) const {
    const std::uint32_t out = port(from.output);
    const RouterAt at = at_[router(from.output)];
    const RouterAt here{at.row + kRowStep[out], at.col + kColStep[out]};
    return enter(here, out, routes_[wavelet.message], targets);
  }

  int first(std::uint32_t message, QueueAt* targets) const {
    return enter(sources_[message], static_cast<std::uint32_t>(Port::kRamp), routes_[message],
                 targets);
  }

  /// Which destination of its message a wavelet has reached when it leaves by a ramp.
  std::uint32_t destination(QueueAt from, std::uint32_t message) const {
    const IdealRoute route = routes_[message];
    if (!route.is_tree()) return 0;
    return trees_.cell(route.tree(), at_[router(from.output)]).destination();
  }

 private:
  static constexpr std::int32_t kRowStep[] = {0, 0, 1, -1, 0};
  static constexpr std::int32_t kColStep[] = {1, -1, 0, 0, 0};
  static constexpr std::uint32_t kFirst[] = {0, 2, 4, 8, 12};
  /// Indexed by input (the port by which the wavelet left the previous router, or the ramp) and
  /// output.
  static constexpr std::uint32_t kQueue[5][5] = {
      {1, 0, 5, 9, 12}, {0, 3, 6, 10, 13}, {0, 0, 7, 0, 14}, {0, 0, 0, 11, 15}, {0, 2, 4, 8, 0}};

  /// The port towards a destination, indexed by 3 · (west, same column, east) + (north, same row,
  /// south).
  static constexpr std::uint32_t kTowards[] = {1, 1, 1, 3, 4, 2, 0, 0, 0};

  QueueAt queue(std::uint32_t at, std::uint32_t in, std::uint32_t out) const {
    return {kQueue[in][out] << shift_ | at, out << shift_ | at};
  }

  int enter(RouterAt here, std::uint32_t in, IdealRoute route, QueueAt* targets) const {
    const auto at = static_cast<std::uint32_t>(here.row * cols_ + here.col);
    if (!route.is_tree()) {
      const RouterAt end = route.end();
      const int east = (end.col > here.col) - (end.col < here.col);
      const int south = (end.row > here.row) - (end.row < here.row);
      targets[0] = queue(at, in, kTowards[3 * east + south + 4]);
      return 1;
    }
    unsigned ports = trees_.cell(route.tree(), here).ports();
    int count = 0;
    for (; ports != 0; ports &= ports - 1) {
      targets[count++] = queue(at, in, static_cast<std::uint32_t>(std::countr_zero(ports)));
    }
    return count;
  }

  std::int32_t cols_;
  unsigned shift_;
  const XyTrees& trees_;
  const std::vector<RouterAt>& sources_;
  const std::vector<IdealRoute>& routes_;
  std::vector<RouterAt> at_;
};

}  // namespace tessera::fabric
