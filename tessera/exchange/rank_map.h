// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::exchange {

/// Maps each place of a reshard's physical mesh to its rank (physical places, numbered row-major).
class RankMap {
 public:
  static constexpr std::int64_t kMostPlaces = std::int64_t{1} << 24;

  /// kOutOfRange for zero ranks, kTooLarge for more than kMostPlaces places.
  static Status check(std::int64_t places, int ranks);

  /// Places in order, in blocks whose sizes differ by at most one: rank r has the places that
  /// ThreadPool::share would give it. Example: 10 places on 4 ranks: 0-2, 3-5, 6-7, 8-9.
  static Result<RankMap> blocks(std::int64_t places, int ranks);
  /// Place p on rank p mod ranks.
  static Result<RankMap> cyclic(std::int64_t places, int ranks);
  /// One rank per place. kOutOfRange for a rank that is not below `ranks`.
  static Result<RankMap> table(std::vector<std::int32_t> rank_of, int ranks);

  int ranks() const { return ranks_; }
  std::int64_t places() const { return static_cast<std::int64_t>(rank_of_.size()); }
  int rank_of(std::int64_t place) const { return rank_of_[static_cast<std::size_t>(place)]; }
  std::uint64_t hash() const;
  friend bool operator==(const RankMap&, const RankMap&) = default;

  RankMap() = default;  ///< no places

 private:
  RankMap(std::vector<std::int32_t> rank_of, int ranks)
      : rank_of_(std::move(rank_of)), ranks_(ranks) {}
  std::vector<std::int32_t> rank_of_;
  int ranks_ = 1;
};

}  // namespace tessera::exchange
