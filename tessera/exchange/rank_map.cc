// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/exchange/fingerprint.h"
#include "tessera/exchange/resharder.h"

namespace tessera::exchange {
Status RankMap::check(std::int64_t places, int ranks) {
  if (ranks < 1) {
    return Error{ErrorCode::kOutOfRange, cat("places on ", ranks, " ranks"), std::nullopt,
                 "use at least one rank"};
  }
  if (places < 0 || places > RankMap::kMostPlaces) {
    return Error{ErrorCode::kTooLarge,
                 cat(places, " places are assigned to ranks; at most ", RankMap::kMostPlaces,
                     " are allowed"),
                 std::nullopt, "use a smaller mesh"};
  }
  return ok_status();
}

Result<RankMap> RankMap::blocks(std::int64_t places, int ranks) {
  TESSERA_CHECK_OK(check(places, ranks));
  std::vector<std::int32_t> rank_of(static_cast<std::size_t>(places));
  for (int r = 0; r < ranks; ++r) {
    const ThreadPool::Range mine = ThreadPool::share(places, r, ranks);
    for (std::int64_t p = mine.from; p < mine.to; ++p) rank_of[static_cast<std::size_t>(p)] = r;
  }
  return RankMap(std::move(rank_of), ranks);
}

Result<RankMap> RankMap::cyclic(std::int64_t places, int ranks) {
  TESSERA_CHECK_OK(check(places, ranks));
  std::vector<std::int32_t> rank_of(static_cast<std::size_t>(places));
  for (std::size_t p = 0; p < rank_of.size(); ++p) {
    rank_of[p] = static_cast<std::int32_t>(p % static_cast<std::size_t>(ranks));
  }
  return RankMap(std::move(rank_of), ranks);
}

Result<RankMap> RankMap::table(std::vector<std::int32_t> rank_of, int ranks) {
  TESSERA_CHECK_OK(check(static_cast<std::int64_t>(rank_of.size()), ranks));
  for (std::size_t p = 0; p < rank_of.size(); ++p) {
    if (rank_of[p] >= 0 && rank_of[p] < ranks) continue;
    return Error{ErrorCode::kOutOfRange,
                 cat("place ", p, " is on rank ", rank_of[p], ", and there are ", ranks, " ranks"),
                 std::nullopt, cat("ranks are numbers from 0 to ", ranks - 1)};
  }
  return RankMap(std::move(rank_of), ranks);
}

std::uint64_t RankMap::hash() const {
  Fingerprint print;
  print.add(ranks_);
  print.add(places());
  for (const std::int32_t rank : rank_of_) print.add(rank);
  return print.value();
}

}  // namespace tessera::exchange
