// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/layout/placement.h"
#include "tessera/moves/price.h"

namespace tessera::run {

/// A text that is the same for equal layouts, views and their element types only. Placements of
/// several pieces, and those with a device map, have none: "".
std::string text_key(const Placement& placement);

/// What moves take on a machine, each different one priced once and only when it is asked for.
/// Predictions of executions and plans share it, so they cannot disagree about a price. A price
/// does not depend on what else moves.
class MovePrices {
 public:
  using Number = std::size_t;

  explicit MovePrices(moves::MoveModel model) : model_(std::move(model)) {}

  const moves::MoveModel& model() const { return model_; }
  /// The number of a move, the same for equal ones.
  Number number_of(const moves::Stored& from, const moves::Stored& to);
  bool is_priced(Number move) const { return entries_[move]->is_priced; }
  /// Prices those that are not priced yet, with all threads of the pool.
  Status price(const std::vector<Number>& moves, ThreadPool& pool);
  /// Cycles of a move, priced now if it was not before; empty where a figure is missing.
  std::optional<double> cycles(Number move);
  /// The steps of a move, priced now if it was not before; none if it cannot be priced.
  const std::vector<moves::Step>& steps(Number move);
  /// No more than `cycles`, without pricing the move: infinite for one that is known to have no
  /// price.
  double at_least(Number move) const;
  /// How many moves were priced.
  std::size_t priced() const;

 private:
  struct Entry {
    moves::Stored from;
    moves::Stored to;
    double least = 0;
    bool is_priced = false;
    std::optional<double> cycles;
    std::vector<moves::Step> steps;
  };
  void price(Entry& entry) const;

  moves::MoveModel model_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, Number> numbers_;
};

}  // namespace tessera::run
