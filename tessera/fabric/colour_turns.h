// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/mesh.h"
#include "tessera/fabric/queue_network.h"
#include "tessera/fabric/traffic.h"
#include "tessera/fabric/xy_trees.h"

namespace tessera::fabric {

/// Whether the messages name their colours. Errors: kContradiction when only some of them do, or
/// when a message waits for a later one; kOutOfRange for a colour that the mesh does not have.
Result<bool> names_colours(const FabricMesh& mesh, const Traffic& traffic);

/// Steers a QueueNetwork by the colours that messages name. There is one queue for each output and
/// colour, and all messages of the colour pass through it. A message enters a router only when it
/// is its turn there: when every word of the earlier messages of its colour that cross this router
/// has entered. Outputs and sources that wait for a turn are woken when it comes.
class ColourTurns {
 public:
  static constexpr bool kTakesTurns = true;

  /// `tree_of` is the tree of each message; the trees are on a mesh of `cols` columns.
  ColourTurns(const Traffic& traffic, const XyTrees& trees, std::span<const std::uint32_t> tree_of,
              std::int32_t cols);

  /// The used outputs, for QueueNetwork::reset, and their number of queues.
  std::vector<RouterOutput> outputs() const;
  std::size_t queues() const { return queues_; }
  /// The router and port of an output: router · 5 + port.
  std::uint32_t way(std::size_t output) const { return ways_[output]; }
  std::int64_t colours() const { return colours_; }

  /// The queues that follow, or -1 if the wavelet has to wait for its turn at the next router.
  int next(QueueAt from, Wavelet wavelet, QueueAt* targets) {
    const Cell& cell = cells_[cell_after(from, wavelet.message)];
    Turn& turn = turns_[cell.turn];
    if (messages_[turn.next] != wavelet.message) {
      std::vector<std::uint32_t>& waiting = turn.waiting_outputs;
      if (std::find(waiting.begin(), waiting.end(), from.output) == waiting.end()) {
        waiting.push_back(from.output);
      }
      return -1;
    }
    return copy(cell, targets);
  }
  int first(std::uint32_t message, QueueAt* targets) const {
    return copy(cells_[source_cell(message)], targets);
  }

  /// Whether a source may send the next word of a message; otherwise it is woken when it may.
  bool may_send(std::uint32_t message, std::uint32_t source) {
    Turn& turn = turns_[cells_[source_cell(message)].turn];
    if (messages_[turn.next] == message) return true;
    turn.waiting_source = source;
    return false;
  }
  /// A word left its source.
  template <typename Wake>
  void sent(std::uint32_t message, const Wake& wake_output) {
    count(cells_[source_cell(message)].turn, wake_output, [](std::uint32_t) {});
  }
  /// A word was passed to the next router. Counted by `settle`, so that the order of outputs within
  /// a cycle does not matter.
  void passed(QueueAt from, Wavelet wavelet) {
    entered_.push_back(cells_[cell_after(from, wavelet.message)].turn);
  }
  template <typename WakeOutput, typename WakeSource>
  void settle(const WakeOutput& wake_output, const WakeSource& wake_source) {
    for (const std::uint32_t turn : entered_) count(turn, wake_output, wake_source);
    entered_.clear();
  }

  /// Which destination of the message a queue to a ramp leads to.
  std::uint32_t destination(QueueAt from, std::uint32_t message) const {
    return trees_.cell(tree_of_[message], router_of(from.output)).destination();
  }

 private:
  static constexpr std::uint32_t kPorts = 5;
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  /// A router of a route: the queues that a wavelet enters there.
  struct Cell {
    std::uint32_t first_target = 0;
    std::uint32_t targets = 0;
    std::uint32_t turn = 0;
  };
  /// The messages of one colour at one router, in the order of their numbers.
  struct Turn {
    std::uint32_t next = 0;  ///< the current one, in messages_; the list ends with kNobody
    std::int64_t entered = 0;
    std::uint32_t waiting_source = kNobody;
    std::vector<std::uint32_t> waiting_outputs;
  };

  RouterAt router_of(std::uint32_t output) const {
    const auto router = static_cast<std::int32_t>(ways_[output] / kPorts);
    return {router / cols_, router % cols_};
  }
  std::size_t source_cell(std::uint32_t message) const {
    const std::uint32_t tree = tree_of_[message];
    return first_cell_[route_of_[message]] + trees_.number(tree, trees_.source(tree));
  }
  std::size_t cell_after(QueueAt from, std::uint32_t message) const;
  int copy(const Cell& cell, QueueAt* targets) const {
    for (std::uint32_t i = 0; i < cell.targets; ++i) targets[i] = targets_[cell.first_target + i];
    return static_cast<int>(cell.targets);
  }
  template <typename WakeOutput, typename WakeSource>
  void count(std::uint32_t number, const WakeOutput& wake_output, const WakeSource& wake_source) {
    Turn& turn = turns_[number];
    if (++turn.entered < traffic_.messages[messages_[turn.next]].words) return;
    turn.entered = 0;
    ++turn.next;
    for (const std::uint32_t output : turn.waiting_outputs) wake_output(output);
    turn.waiting_outputs.clear();
    if (turn.waiting_source == kNobody) return;
    wake_source(turn.waiting_source);
    turn.waiting_source = kNobody;
  }

  void find_routes();
  void make_queues();
  void make_turns();

  const Traffic& traffic_;
  const XyTrees& trees_;
  std::span<const std::uint32_t> tree_of_;
  std::int32_t cols_;
  std::int64_t colours_ = 0;
  std::size_t queues_ = 0;
  std::vector<std::uint32_t> route_of_;  ///< of each message: a pair of tree and colour
  std::vector<std::uint32_t> route_tree_;
  std::vector<std::int32_t> route_colour_;
  std::vector<std::size_t> first_cell_;  ///< of each route
  std::vector<Cell> cells_;
  std::vector<QueueAt> targets_;
  std::vector<std::uint32_t> ways_;  ///< of each output, increasing
  std::vector<std::uint32_t> first_queue_;
  std::vector<Turn> turns_;
  std::vector<std::uint32_t> messages_;
  std::vector<std::uint32_t> entered_;  ///< turns into which a word passed in this cycle
};

}  // namespace tessera::fabric
