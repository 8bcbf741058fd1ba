// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/walker.h"

#include <algorithm>
#include <cmath>

namespace tessera::choose {
namespace {

constexpr std::uint32_t kLargeTree = 1000;
constexpr double kSmallTree = 30;
constexpr int kMostRounds = 12;  // of settling
constexpr std::int64_t kMostRepairs = 3000;
constexpr double kPress = 0.1;       // how much prices rise in a round of settling
constexpr double kTemperature = 10;  // of annealing, in units of the bound per node
constexpr double kNoise = 0.1;
constexpr double kFinal = 0.15;       // of the search refines the best choice
constexpr double kLonger = 1.3;       // each cycle than the one before
constexpr std::int64_t kVisits = 60;  // of each node in the first annealing
constexpr double kMeanTree = 150;
constexpr std::int64_t kMovesBetween = 256;  // changes of prices

}  // namespace

Walker::Walker(const Model& model, const FloatTables& tables, std::uint64_t seed)
    : model_(model), walk_(model, tables, seed), prices_(model.moments()) {
  most_moves_ = 200 + static_cast<std::int64_t>(static_cast<double>(kVisits) *
                                                static_cast<double>(model.nodes()) / kMeanTree);
}

std::uint32_t Walker::random_size() {
  return static_cast<std::uint32_t>(kSmallTree *
                                    std::pow(kLargeTree / kSmallTree, walk_.random().unit()));
}

void Walker::guide(std::span<const double> prices, double bound, const Choice& start) {
  prices_.assign(prices.begin(), prices.end());
  unit_ = std::max(1.0, std::abs(bound)) / std::max(1U, model_.nodes());
  if (start.empty()) return;
  walk_.start(start, prices);
  origin_ = start;
  phase_ = Phase::kSettle;
  rounds_ = 0;
  repairs_ = 0;
  moves_ = 0;
}

void Walker::absorb(const Choice& choice) {
  if (!walk_.has_best()) return;
  const Choice now = walk_.state().choice();
  walk_.start(walk_.best(), walk_.prices());
  walk_.absorb(choice);
  walk_.start(now, walk_.prices());
}

void Walker::begin_cycle() {
  most_moves_ = static_cast<std::int64_t>(kLonger * static_cast<double>(most_moves_));
  rounds_ = 0;
  repairs_ = 0;
  moves_ = 0;
  phase_ = Phase::kSettle;
  // Prices change by a factor that is the same over long ranges of time.
  std::vector<double> changed = prices_;
  const std::size_t blocks = 1 + walk_.random().below(12);
  const std::size_t length = changed.size() / blocks + 1;
  for (std::size_t from = 0; from < changed.size(); from += length) {
    const double factor = std::exp(walk_.random().unit() - 0.5);
    for (std::size_t m = from; m < std::min(from + length, changed.size()); ++m) {
      changed[m] *= factor;
    }
  }
  const bool from_origin = ++cycles_ % 2 == 0 && !origin_.empty();
  if (walk_.has_best()) {
    absorb(walk_.state().choice());
    walk_.start(from_origin ? origin_ : walk_.best(), changed);
  } else {
    walk_.set_prices(changed);
  }
}

void Walker::advance(double left) {
  const auto noise = static_cast<float>(kNoise * unit_);
  if (left < kFinal && !is_final_ && walk_.has_best()) {
    is_final_ = true;
    walk_.start(walk_.best(), prices_);
    phase_ = Phase::kAnneal;
    moves_ = 0;
  }
  switch (phase_) {
    case Phase::kSettle: {
      const std::uint32_t moves = 3 + 2 * model_.nodes() / kLargeTree;
      for (std::uint32_t k = 0; k < moves; ++k) walk_.free_move({kLargeTree, 1, 0, noise});
      ++rounds_;
      if (walk_.state().fits()) {
        phase_ = Phase::kAnneal;
      } else if (rounds_ % kMostRounds == 0) {
        phase_ = Phase::kRepair;
        repairs_ = 0;
      } else {
        walk_.press(kPress);
      }
      return;
    }
    case Phase::kRepair: {
      const auto scale = static_cast<float>(1 + walk_.random().unit());
      walk_.move({random_size(), scale, 0, noise});
      if (walk_.state().fits()) {
        phase_ = Phase::kAnneal;
      } else if (++repairs_ >= kMostRepairs) {
        const int presses = 1 + rounds_ / kMostRounds;
        walk_.press(kPress * static_cast<double>(presses));
        phase_ = Phase::kSettle;
        if (rounds_ >= 4 * kMostRounds) begin_cycle();
      } else if (repairs_ % kMovesBetween == 0) {
        walk_.press(kPress);
      }
      return;
    }
    case Phase::kAnneal: {
      double heat = is_final_ ? 0.1 * left / kFinal
                              : 1 - static_cast<double>(moves_) / static_cast<double>(most_moves_);
      heat = std::max(0.0, heat);
      Walk::Move move;
      move.most_nodes = random_size();
      move.scale = static_cast<float>(0.5 + walk_.random().unit());
      move.temperature = kTemperature * unit_ * heat * heat;
      move.noise = noise * static_cast<float>(heat);
      walk_.move(move);
      if (++moves_ % kMovesBetween == 0) walk_.adapt_prices();
      if (moves_ >= most_moves_ && !is_final_) begin_cycle();
      return;
    }
  }
}

void Walker::run(std::int64_t work, double left, const std::function<bool()>& stop) {
  const std::int64_t until = walk_.work() + work;
  while (walk_.work() < until && !stop()) advance(left);
}

}  // namespace tessera::choose
