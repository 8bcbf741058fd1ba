// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/dual.h"

#include <algorithm>
#include <cmath>

namespace tessera::choose {
namespace {

constexpr double kMemory = 0.9;  // weight of earlier passes in the average violation

}  // namespace

Dual::Dual(const Model& model, const FloatTables& tables)
    : model_(model), tables_(tables), prices_(model.moments()), violation_(model.moments()) {
  std::size_t total = 0;
  for (const Model::Link& link : model.links) {
    to_a_.push_back(total);
    total += tables.width(link.a);
    to_b_.push_back(total);
    total += tables.width(link.b);
  }
  if (!messages_.assign(total, 0) || !priced_.assign(tables.size(), 0) ||
      !beliefs_.assign(tables.size(), 0))
    return;
  favourites_.assign(model.nodes(), 0);
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    std::uint32_t forward = 0;
    for (const std::uint32_t link : model.links_at(node)) forward += model.links[link].a == node;
    const auto all = static_cast<std::uint32_t>(model.links_at(node).size());
    share_.push_back(1.0F / static_cast<float>(std::max({1U, forward, all - forward})));
  }
}

void Dual::add_up(std::uint32_t node, float* out) const {
  const std::uint32_t width = tables_.width(node);
  std::copy_n(tables_.costs(node), width, out);
  add_row(out, priced(node), width);
  for (const std::uint32_t link : model_.links_at(node)) {
    add_row(out, message(link, model_.links[link].a == node), width);
  }
}

/// In a backward sweep every node passes the share of its belief to the links of earlier nodes;
/// what remains is the node's part of the bound.
void Dual::sweep(bool forward) {
  const std::uint32_t count = model_.nodes();
  double bound = 0;
  Array<float> lists;
  std::uint32_t widest = 4;
  for (std::uint32_t node = 0; node < count; ++node) widest = std::max(widest, tables_.width(node));
  if (!lists.assign(2 * std::size_t{widest}, 0)) return;
  float* const belief = lists.data();
  float* const part = lists.data() + widest;
  for (std::uint32_t at = 0; at < count; ++at) {
    const std::uint32_t node = forward ? at : count - 1 - at;
    const std::uint32_t width = tables_.width(node);
    add_up(node, belief);
    const float least = least_of(belief, width);
    favourites_[node] = position_of_least(belief, width);
    if (!forward) std::copy_n(belief, width, beliefs_.data() + tables_.first(node));
    bound += static_cast<double>(least);
    const float share = share_[node];
    for (const std::uint32_t link : model_.links_at(node)) {
      const bool is_a = model_.links[link].a == node;
      if (is_a != forward) continue;  // the other end is not ahead
      const float* incoming = message(link, is_a);
      for (std::uint32_t k = 0; k < width; ++k) part[k] = share * (belief[k] - least) - incoming[k];
      const std::uint32_t other = is_a ? model_.links[link].b : model_.links[link].a;
      float* const outgoing = message(link, !is_a);
      const std::uint32_t other_width = tables_.width(other);
      min_plus(part, model_.strategies(node), tables_.rows(link, is_a), other_width, outgoing);
      const float base = least_of(outgoing, other_width);
      for (std::uint32_t l = 0; l < other_width; ++l) outgoing[l] -= base;
      bound += static_cast<double>(base);
    }
  }
  estimate_ = bound + static_cast<double>(model_.constant);
  for (std::uint32_t m = 0; m < model_.moments(); ++m) {
    estimate_ -= prices_[m] * static_cast<double>(model_.room[m]);
  }
}

void Dual::pass() {
  sweep(true);
  sweep(false);
}

void Dual::set_prices(std::span<const double> prices) {
  std::copy(prices.begin(), prices.end(), prices_.begin());
  update_priced();
}

void Dual::update_priced() {
  price_usages(model_, tables_, prices_, {priced_.data(), priced_.size()});
}

void Dual::step(double size, double softness) {
  std::vector<double> loads(model_.moments() + 1);
  std::vector<double> weights;
  for (std::uint32_t node = 0; node < model_.nodes(); ++node) {
    if (model_.pieces_of(node).empty()) continue;
    const std::uint32_t count = model_.strategies(node);
    const float* const b = belief(node);
    const float least = least_of(b, tables_.width(node));
    weights.assign(count, 0);
    double sum = 0;
    for (std::uint32_t k = 0; k < count; ++k) {
      const double far = static_cast<double>(b[k] - least) / softness;
      if (far >= 1) continue;
      weights[k] = (1 - far) * (1 - far);
      sum += weights[k];
    }
    for (double& weight : weights) weight /= sum;
    for (const Model::Piece& piece : model_.pieces_of(node)) {
      double usage = 0;
      for (std::uint32_t k = 0; k < count; ++k) {
        usage += weights[k] * static_cast<double>(model_.usages[piece.usage + k]);
      }
      loads[piece.from] += usage;
      loads[piece.to] -= usage;
    }
  }
  double now = 0;
  double scale = 0;
  for (std::size_t m = 0; m < model_.moments(); ++m) {
    now += loads[m];
    const auto room = static_cast<double>(model_.room[m]);
    violation_[m] = kMemory * violation_[m] + (1 - kMemory) * (now - room);
    if (violation_[m] > 0 || prices_[m] > 0) scale += std::abs(violation_[m]) * room;
  }
  if (scale <= 0) return;
  for (std::size_t m = 0; m < model_.moments(); ++m) {
    prices_[m] = std::max(0.0, prices_[m] + size / scale * violation_[m]);
  }
  update_priced();
}

}  // namespace tessera::choose
