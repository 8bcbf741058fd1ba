// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/ascent.h"

#include <algorithm>
#include <cmath>

namespace tessera::choose {
namespace {

constexpr int kPassesUntilSmaller = 10;  // passes without a higher bound until the step shrinks
constexpr double kShrink = 0.85;
constexpr double kProgress = 1e-5;  // relative; less counts as none
constexpr double kNew = 0.05;       // weight of a pass in the averages
constexpr double kSoftness = 1;     // at the first step, of a node's share of the cost

}  // namespace

Ascent::Ascent(const Model& model, const FloatTables& tables)
    : model_(model),
      tables_(tables),
      dual_(model, tables),
      average_(model.moments()),
      doubt_(model.nodes()),
      usual_(model.nodes()),
      work_(static_cast<std::int64_t>(2 * model.tables.size() + 2 * model.usages.size() +
                                      std::size_t{2} * model.moments() +
                                      std::size_t{8} * tables.size())) {}

void Ascent::set_prices(std::span<const double> prices) {
  average_.assign(prices.begin(), prices.end());
  dual_.set_prices(prices);
  step_ = kFirstStep / 4;
}

double Ascent::stake(std::uint32_t node) const {
  const std::uint32_t count = model_.strategies(node);
  const float* const priced = dual_.priced(node);
  const auto [least, most] = std::minmax_element(priced, priced + count);
  double stake = 1 + static_cast<double>(*most - *least);
  for (const std::uint32_t link : model_.links_at(node)) {
    const bool is_a = model_.links[link].a == node;
    const float* const rows = tables_.rows(link, is_a);
    const std::uint32_t other = model_.other(link, node);
    float low = kHuge;
    float high = 0;
    for (std::uint32_t l = 0; l < model_.strategies(other); ++l) {
      low = std::min(low, rows[l]);
      if (rows[l] < kHuge) high = std::max(high, rows[l]);
    }
    stake += static_cast<double>(high - low) / 4;
  }
  return stake;
}

void Ascent::advance() {
  dual_.pass();
  ++passes_;
  const double estimate = dual_.estimate();
  if (passes_ == 1) best_ = estimate;
  if (estimate > best_ + kProgress * std::abs(best_)) {
    since_ = 0;
  } else if (++since_ >= kPassesUntilSmaller) {
    since_ = 0;
    step_ *= kShrink;
  }
  best_ = std::max(best_, estimate);
  for (std::uint32_t node = 0; node < model_.nodes(); ++node) {
    const bool differs = dual_.favourite(node) != usual_[node];
    doubt_[node] += 0.1 * ((differs ? 1 : 0) - doubt_[node]);
    if (differs && doubt_[node] > 0.5) usual_[node] = dual_.favourite(node);
  }
  if (passes_ < 3) return;
  const double cost = std::max(1.0, std::abs(best_));
  const double softness = kSoftness * std::max(0.02, step_ / kFirstStep);
  dual_.step(step_ * cost, softness * cost / static_cast<double>(model_.nodes()));
  const double weight = std::max(kNew, 1.0 / passes_);
  for (std::size_t m = 0; m < average_.size(); ++m) {
    average_[m] += weight * (dual_.prices()[m] - average_[m]);
  }
}

}  // namespace tessera::choose
