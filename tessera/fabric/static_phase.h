// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/fabric/queue_network.h"
#include "tessera/fabric/xy_trees.h"

namespace tessera::fabric {

/// A tree and its colour in a phase.
struct ColouredTree {
  std::uint32_t tree = 0;
  std::int32_t colour = 0;
};

/// The routes of one phase of static mode: one queue for each path of a colour through a router,
/// and for each queue the queues that follow it. Steers a QueueNetwork.
class StaticPhase {
 public:
  /// `trees` are the trees of the phase, each once, on a mesh of `cols` columns.
  StaticPhase(const XyTrees& all, std::int32_t cols, std::span<const ColouredTree> trees);

  /// The used outputs, for QueueNetwork::reset, and their number of queues.
  std::vector<RouterOutput> outputs() const;
  std::size_t queues() const { return destination_.size(); }
  /// The router and port of an output: router · 5 + port.
  std::uint32_t way(std::size_t output) const { return ways_[output]; }

  int next(QueueAt from, Wavelet /*wavelet*/, QueueAt* targets) const {
    return copy(following_[from.queue], targets);
  }
  /// The queues at the source of a tree, by its position in the list of trees.
  int first(std::size_t tree, QueueAt* targets) const { return copy(sources_[tree], targets); }
  /// Which of a tree's destinations a queue to a ramp leads to.
  std::uint32_t destination(std::uint32_t queue) const { return destination_[queue]; }

 private:
  struct Run {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };
  int copy(Run run, QueueAt* targets) const {
    for (std::uint32_t i = 0; i < run.count; ++i) targets[i] = targets_[run.begin + i];
    return static_cast<int>(run.count);
  }

  std::vector<std::uint32_t> ways_;         ///< of each output, increasing
  std::vector<std::uint32_t> first_queue_;  ///< of each output
  std::vector<std::uint32_t> destination_;  ///< of each queue
  std::vector<Run> following_;              ///< of each queue, in targets_
  std::vector<Run> sources_;                ///< of each tree
  std::vector<QueueAt> targets_;
};

}  // namespace tessera::fabric
