// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/walker.h"

#include <algorithm>
#include <cmath>

namespace tessera::choose {
namespace {

constexpr std::uint32_t kLargeTree = 1000;
constexpr double kSmallTree = 30;
constexpr double kMeanTree = 150;
constexpr double kVisits = 15;               // of each node in one annealing
constexpr double kLonger = 1.01;             // each annealing than the one before
constexpr int kMostSettling = 12;            // of settling
constexpr std::int64_t kMostRepairs = 3000;  // after settling
constexpr std::int64_t kMostMends = 500;     // after mixing
constexpr std::int64_t kMovesBetween = 256;  // changes of prices
constexpr double kPress = 0.1;               // how much prices rise
constexpr double kTemperature = 10;          // of annealing, in units of the bound per node
constexpr double kLowTemperature = 1;        // of refinement
constexpr double kNoise = 0.1;
constexpr int kFirstCycles = 4;     // start from roundings
constexpr std::size_t kRecent = 6;  // results of cycles that mixtures draw from
constexpr int kMostMixtures = 6;    // at different prices
constexpr double kCharge = 0.3;     // of what a mixture saves, for exceeding the limit
constexpr double kScaleStep = 1.1;
constexpr double kCheaper = 0.85;  // prices, where a mixture fits

}  // namespace

Walker::Walker(const Model& model, const FloatTables& tables, std::uint64_t seed)
    : model_(model),
      walk_(model, tables, seed),
      fusion_(model, tables),
      prices_(model.moments()),
      most_moves_(200 + static_cast<std::int64_t>(kVisits / kMeanTree * model.nodes())) {}

std::uint32_t Walker::random_size() {
  return static_cast<std::uint32_t>(kSmallTree *
                                    std::pow(kLargeTree / kSmallTree, walk_.random().unit()));
}

void Walker::start(std::span<const double> prices, double bound, const Choice& choice) {
  guide(prices, bound, choice);
  walk_.start(choice, prices_);
  phase_ = Phase::kSettle;
  settled_ = 0;
}

void Walker::guide(std::span<const double> prices, double bound, const Choice& rounding) {
  prices_.assign(prices.begin(), prices.end());
  unit_ = std::max(1.0, std::abs(bound)) / std::max(1U, model_.nodes());
  if (!rounding.empty()) rounding_ = rounding;
}

void Walker::begin_cycle() {
  ++cycles_;
  most_moves_ = static_cast<std::int64_t>(std::ceil(kLonger * static_cast<double>(most_moves_)));
  phase_ = Phase::kSettle;
  settled_ = 0;
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
  const bool from_best = walk_.has_best() && cycles_ >= kFirstCycles && cycles_ % 2 == 1;
  walk_.start(from_best ? walk_.best() : rounding_, changed);
}

void Walker::settle() {
  const auto noise = static_cast<float>(kNoise * unit_);
  const std::uint32_t moves = 3 + 2 * model_.nodes() / kLargeTree;
  for (std::uint32_t k = 0; k < moves; ++k) walk_.free_move({kLargeTree, 1, 0, noise});
  ++settled_;
  if (walk_.state().fits()) {
    phase_ = Phase::kAnneal;
    moves_ = 0;
  } else if (settled_ % kMostSettling == 0) {
    phase_ = Phase::kRepair;
    moves_ = 0;
  } else {
    walk_.press(kPress);
  }
}

/// After settling or mixing. Where it fails, prices rise further, another mixture is taken, or the
/// next cycle begins.
void Walker::repair() {
  if (walk_.state().fits()) {
    phase_ = phase_ == Phase::kMend ? Phase::kRefine : Phase::kAnneal;
    moves_ = 0;
    return;
  }
  if (moves_ >= (phase_ == Phase::kMend ? kMostMends : kMostRepairs)) {
    if (phase_ == Phase::kMend && !fitting_.empty()) {
      walk_.start(fitting_, mixing_prices_);
      return;
    }
    if (phase_ == Phase::kMend || settled_ >= 4 * kMostSettling) return begin_cycle();
    walk_.press(kPress * (1 + static_cast<double>(settled_) / kMostSettling));
    phase_ = Phase::kSettle;
    return;
  }
  const auto scale = static_cast<float>(1 + walk_.random().unit());
  walk_.move({random_size(), scale, 0, static_cast<float>(kNoise * unit_)});
  if (++moves_ % kMovesBetween == 0) walk_.press(kPress);
}

/// One move of annealing or refinement.
void Walker::anneal(double temperature, double noise) {
  const double heat = 1 - static_cast<double>(moves_) / static_cast<double>(most_moves_);
  Walk::Move move;
  move.most_nodes = random_size();
  move.scale = static_cast<float>(0.5 + walk_.random().unit());
  move.temperature = temperature * unit_ * heat * heat;
  move.noise = static_cast<float>(noise * unit_ * heat);
  walk_.move(move);
  if (++moves_ % kMovesBetween == 0) walk_.adapt_prices();
}

/// The mixture of the best choice with the one at hand, and in every other cycle with the recent
/// ones, at prices between those at which it exceeds the limit and those at which it fits.
void Walker::mix() {
  std::vector<Choice> others = {walk_.state().choice()};
  if (recent_.size() < kRecent) {
    recent_.push_back(others[0]);
  } else {
    recent_[static_cast<std::size_t>(cycles_) % kRecent] = others[0];
  }
  if (!learned_.empty()) others.push_back(std::move(learned_));
  learned_.clear();
  mixing_prices_ = prices_;
  for (double& price : mixing_prices_) price *= mixing_scale_;
  if (cycles_ % 2 == 1) {
    walk_.start(walk_.best(), mixing_prices_);
    take_mixture(recent_);
    others.push_back(walk_.state().choice());
  }
  std::vector<double> low;
  std::vector<double> high;
  fitting_.clear();
  Choice exceeding;
  std::int64_t cost = INT64_MAX;
  for (int k = 0; k < kMostMixtures; ++k) {
    walk_.start(walk_.best(), mixing_prices_);
    take_mixture(others);
    if (k == 0) mixing_scale_ *= walk_.state().fits() ? 1 / kScaleStep : kScaleStep;
    if (walk_.state().fits()) {
      high = mixing_prices_;
      if (walk_.state().cost() < cost) {
        cost = walk_.state().cost();
        fitting_ = walk_.state().choice();
      }
      for (double& price : mixing_prices_) price *= kCheaper;
    } else {
      low = mixing_prices_;
      if (walk_.state().cost() < walk_.best_cost()) exceeding = walk_.state().choice();
      const auto saved = static_cast<double>(walk_.best_cost() - walk_.state().cost());
      walk_.charge(kCharge * (k + 1) * std::max(unit_, saved));
      mixing_prices_ = walk_.prices();
    }
    if (low.empty() || high.empty()) continue;
    for (std::size_t m = 0; m < low.size(); ++m) mixing_prices_[m] = (low[m] + high[m]) / 2;
  }
  // In turn: what nearly fits is repaired, or what fits takes over parts of the former.
  if (!exceeding.empty() && (fitting_.empty() || cycles_ % 2 == 0)) {
    walk_.start(exceeding, mixing_prices_);
  } else {
    walk_.start(fitting_.empty() ? walk_.best() : fitting_, mixing_prices_);
    if (!exceeding.empty()) walk_.absorb(exceeding);
  }
  phase_ = Phase::kMend;
  moves_ = 0;
}

void Walker::take_mixture(std::span<const Choice> others) {
  walk_.start(fusion_.mix(walk_.state().choice(), others, walk_.priced(), walk_.random()),
              walk_.prices());
}

void Walker::advance() {
  switch (phase_) {
    case Phase::kSettle:
      return settle();
    case Phase::kRepair:
    case Phase::kMend:
      return repair();
    case Phase::kAnneal:
      if (moves_ >= most_moves_) return mix();
      return anneal(kTemperature, kNoise);
    case Phase::kRefine:
      if (moves_ >= most_moves_) return begin_cycle();
      return anneal(kLowTemperature, 0);
  }
}

void Walker::run(std::int64_t work, const std::function<bool()>& stop) {
  const std::int64_t until = walk_.work() + fusion_.work() + work;
  while (walk_.work() + fusion_.work() < until && !stop()) advance();
}

}  // namespace tessera::choose
