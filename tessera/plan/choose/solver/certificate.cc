// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tessera/plan/choose/solver/dual.h"

namespace tessera::choose {
namespace {

using Wide = __int128;

constexpr int kPriceBits = 40;                              // of a price per byte, after the point
constexpr std::int64_t kMostShift = std::int64_t{1} << 58;  // of one message or priced usage
constexpr std::int64_t kUnreachable = std::int64_t{1} << 60;  // a forbidden pair

std::int64_t clamped(Wide value) {
  return static_cast<std::int64_t>(std::clamp<Wide>(value, -kMostShift, kMostShift));
}

/// The largest cost of every node and link together: no sum of costs is larger.
double largest_total(const Model& model) {
  double total = 1 + std::abs(static_cast<double>(model.constant));
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    std::int64_t most = 0;
    for (const std::int64_t cost : model.costs_of(node)) most = std::max(most, std::abs(cost));
    total += static_cast<double>(most);
  }
  for (const Model::Link& link : model.links) {
    std::int64_t most = 0;
    const std::size_t size = std::size_t{model.strategies(link.a)} * model.strategies(link.b);
    for (std::size_t k = 0; k < size; ++k) {
      const std::int64_t cost = model.tables[link.table + k];
      if (cost < kForbidden) most = std::max(most, std::abs(cost));
    }
    total += static_cast<double>(most);
  }
  return total;
}

/// One backward sweep of Dual in integers. Costs are multiplied by 2^bits, so that the shares that
/// are rounded down lose little. Whatever the messages and prices are, every shift is exact and
/// every rounding is downward, so the result is a bound.
class Certificate {
 public:
  Certificate(const Model& model, std::span<const double> prices) : model_(model) {
    const double total = largest_total(model);
    while (bits_ < 16 && std::ldexp(total, bits_ + 1) < std::ldexp(1.0, 56)) ++bits_;
    beliefs_.resize(model.costs.size());
    for (std::size_t k = 0; k < beliefs_.size(); ++k) beliefs_[k] = model.costs[k] << bits_;
    add_prices(prices);
  }

  std::int64_t run(const Dual& dual) {
    std::vector<std::int64_t> part;
    for (std::uint32_t node = model_.nodes(); node-- > 0;) {
      const std::uint32_t count = model_.strategies(node);
      std::int64_t* const belief = beliefs_.data() + model_.first[node];
      std::uint32_t backward = 0;
      for (const std::uint32_t link : model_.links_at(node)) {
        if (model_.links[link].b != node) continue;
        ++backward;
        const float* message = dual.message(link, false);
        for (std::uint32_t k = 0; k < count; ++k) belief[k] += shift(message[k]);
      }
      const std::int64_t least = *std::min_element(belief, belief + count);
      bound_ += least;
      const auto all = static_cast<std::uint32_t>(model_.links_at(node).size());
      const std::uint32_t shares = std::max({1U, backward, all - backward});
      for (const std::uint32_t link : model_.links_at(node)) {
        if (model_.links[link].b != node) continue;
        const float* message = dual.message(link, false);
        part.resize(count);
        for (std::uint32_t k = 0; k < count; ++k) {
          part[k] = (belief[k] - least) / shares - shift(message[k]);
        }
        pass_on(model_.links[link], part);
      }
    }
    const Wide unit = Wide{1} << bits_;
    bound_ += Wide{model_.constant} * unit;
    const Wide whole = bound_ / unit + (bound_ % unit > 0 ? 1 : 0);  // costs are integers
    return static_cast<std::int64_t>(std::clamp<Wide>(whole, INT64_MIN, kForbidden));
  }

 private:
  std::int64_t shift(float message) const {
    constexpr double kMost = 1e17;
    return static_cast<std::int64_t>(
        std::clamp(std::floor(std::ldexp(static_cast<double>(message), bits_)), -kMost, kMost));
  }

  void add_prices(std::span<const double> prices) {
    std::vector<Wide> before(prices.size() + 1);
    Wide room = 0;
    for (std::size_t m = 0; m < prices.size(); ++m) {
      constexpr double kMost = 4e18;
      const auto price = static_cast<std::int64_t>(
          std::clamp(std::floor(std::ldexp(prices[m], kPriceBits)), 0.0, kMost));
      before[m + 1] = before[m] + price;
      room += Wide{price} * model_.room[m];
    }
    for (std::uint32_t node = 0; node < model_.nodes(); ++node) {
      const std::uint32_t count = model_.strategies(node);
      std::vector<Wide> sums(count);
      for (const Model::Piece& piece : model_.pieces_of(node)) {
        const Wide price = before[piece.to] - before[piece.from];
        if (price == 0) continue;
        for (std::uint32_t k = 0; k < count; ++k) {
          sums[k] += price * model_.usages[piece.usage + k];
        }
      }
      for (std::uint32_t k = 0; k < count; ++k) {
        beliefs_[model_.first[node] + k] += clamped(sums[k] >> (kPriceBits - bits_));
      }
    }
    bound_ -= (room >> (kPriceBits - bits_)) + 1;
  }

  /// Moves what the node at b passes to a link on to the beliefs of a.
  void pass_on(const Model::Link& link, const std::vector<std::int64_t>& part) {
    std::int64_t* const belief = beliefs_.data() + model_.first[link.a];
    const std::uint32_t height = model_.strategies(link.a);
    const std::uint32_t width = model_.strategies(link.b);
    std::vector<std::int64_t> outgoing(height, kUnreachable);
    std::int64_t base = kUnreachable;
    for (std::uint32_t k = 0; k < height; ++k) {
      const std::int64_t* row = model_.tables.data() + link.table + std::size_t{k} * width;
      for (std::uint32_t l = 0; l < width; ++l) {
        if (row[l] >= kForbidden) continue;
        outgoing[k] = std::min(outgoing[k], (row[l] << bits_) + part[l]);
      }
      base = std::min(base, outgoing[k]);
    }
    bound_ += base;
    for (std::uint32_t k = 0; k < height; ++k) {
      belief[k] = clamped(Wide{belief[k]} + outgoing[k] - base);
    }
  }

  const Model& model_;
  int bits_ = 0;
  std::vector<std::int64_t> beliefs_;
  Wide bound_ = 0;
};

}  // namespace

std::int64_t Dual::certified_bound() const { return Certificate(model_, prices_).run(*this); }

}  // namespace tessera::choose
