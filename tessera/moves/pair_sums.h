// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/checked.h"

namespace tessera::moves {

/// What goes from one endpoint to another: elements, in so many contiguous runs.
struct PairSum {
  std::int64_t elements = 0;
  std::int64_t runs = 0;
};

/// Sums by pair of endpoints: a table where pairs are few, or few for so many additions; a list
/// otherwise.
class PairSums {
 public:
  explicit PairSums(std::int64_t endpoints, std::int64_t additions = 0) : endpoints_(endpoints) {
    constexpr std::int64_t kFewCells = std::int64_t{1} << 10;
    constexpr std::int64_t kMostCells = std::int64_t{1} << 20;
    const std::int64_t cells = (Checked(endpoints) * endpoints).saturated();
    if (cells <= std::max(kFewCells, std::min(2 * additions, kMostCells))) {
      cells_.resize(static_cast<std::size_t>(cells));
    }
  }
  void add(std::int64_t source, std::int64_t destination, std::int64_t elements,
           std::int64_t runs) {
    const std::int64_t key = source * endpoints_ + destination;
    if (cells_.empty()) {
      constexpr std::size_t kMostListed = std::size_t{1} << 20;
      if (listed_.size() >= kMostListed && listed_.size() >= 2 * joined_) join();
      listed_.push_back({key, {elements, runs}});
      return;
    }
    PairSum& sum = cells_[static_cast<std::size_t>(key)];
    sum.elements += elements;
    sum.runs += runs;
  }
  /// By ascending source, then destination.
  template <typename Visit>
  void for_each(const Visit& visit) {
    const auto see = [&](std::int64_t key, const PairSum& sum) {
      if (sum.elements > 0) visit(key / endpoints_, key % endpoints_, sum);
    };
    for (std::size_t key = 0; key < cells_.size(); ++key) {
      see(static_cast<std::int64_t>(key), cells_[key]);
    }
    join();
    for (const Listed& listed : listed_) see(listed.key, listed.sum);
  }

 private:
  struct Listed {
    std::int64_t key = 0;
    PairSum sum;
  };
  /// Sorts the list, and adds up what has the same key.
  void join();

  std::int64_t endpoints_;
  std::vector<PairSum> cells_;
  std::vector<Listed> listed_;
  std::size_t joined_ = 0;  ///< entries after the last join
};

}  // namespace tessera::moves
