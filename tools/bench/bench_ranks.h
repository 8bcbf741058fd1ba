// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/ranks/rank_plan.h"
#include "tools/json/json.h"

/// Suite ranks: the time that one rank needs to plan its part of a reshard, from a few ranks to
/// many. No rank runs: one process makes the plans of some of them, one after the other.
namespace tessera::tools {

/// A reshard on as many places as there are ranks, one per rank.
struct RanksCase {
  std::string name;  ///< "rows-to-columns"
  std::int64_t ranks = 0;
  std::string from;  ///< tensors
  std::string to;
  /// Elements that arrive, or stay, in total over all ranks.
  std::int64_t arriving_elements = 0;
};

/// All reshards on `ranks` ranks, a power of 4.
std::vector<RanksCase> ranks_cases(std::int64_t ranks);

/// The measurements of planning one case on some ranks. The plan of a rank is its Reshard, its
/// RankMap and its RankPlan: everything that a rank computes alone. It is made a few times, and the
/// shortest CPU time counts.
struct RanksRow {
  std::string name;
  std::int64_t ranks = 0;
  std::int64_t planned = 0;     ///< ranks whose plans were made
  double seconds = 0;           ///< the median rank
  double largest_seconds = 0;   ///< the slowest
  std::int64_t partners = 0;    ///< ranks to send to or receive from; maximum over the ranks
  std::int64_t parcels = 0;     ///< maximum over the ranks
  std::int64_t plan_bytes = 0;  ///< maximum over the ranks
};

/// Compares the plans of several ranks of one case: what r sends to s is what s receives from r, in
/// number, order and elements, for every two of them; and when all ranks are present, as many
/// elements arrive as B needs. kContradiction names the ranks that disagree.
Status check_rank_plans(const RanksCase& ranks_case, const std::vector<exchange::RankPlan>& plans);

/// How a number grows between the two largest numbers of ranks of one reshard: the exponent e of
/// ranks^e. 1 means proportional to the ranks, 2 to their pairs.
struct RanksGrowth {
  std::string name;
  double seconds = 0;
  double largest_seconds = 0;
  double plan_bytes = 0;
  /// Planning must not grow with the number of pairs.
  bool met() const;
};
inline constexpr double kMostGrowth = 1.3;

struct RanksReport {
  std::vector<RanksRow> rows;
  std::vector<RanksGrowth> growth;
};

struct RanksOptions {
  std::string only;                 ///< cases whose "name/ranks" holds this text
  std::vector<std::int64_t> ranks;  ///< powers of 4
  bool quick = false;
};
inline constexpr std::int64_t kMostRanks = 65536;

/// `measured` is called as soon as a row is complete.
Result<RanksReport> bench_ranks(
    const RanksOptions& options,
    const std::function<void(const RanksRow& row)>& measured = [](const RanksRow&) {});

std::vector<RanksGrowth> ranks_growth(const std::vector<RanksRow>& rows);

Json ranks_json(const RanksReport& report);
/// The table: a header, one line per row, and a summary below the rows.
std::string ranks_head();
std::string ranks_line(const RanksRow& row);
std::string ranks_tail(const RanksReport& report);

}  // namespace tessera::tools
