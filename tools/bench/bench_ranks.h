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

/// Suite ranks: what it takes one rank to find out its part of a reshard, from a few ranks to many.
/// No rank runs: one process makes the plans of some of them, one after the other.
namespace tessera::tools {

/// A reshard on as many places as there are ranks, one each.
struct RanksCase {
  std::string name;  ///< "rows-to-columns"
  std::int64_t ranks = 0;
  std::string from;  ///< tensors
  std::string to;
  /// Elements that arrive, or stay, on all ranks together.
  std::int64_t arriving_elements = 0;
};

/// All reshards on `ranks` ranks, a power of 4.
std::vector<RanksCase> ranks_cases(std::int64_t ranks);

/// What some ranks took to plan one case. The plan of a rank is its Reshard, its RankMap and its
/// RankPlan: all that a rank does alone. It is made a few times, and the shortest time
/// that it had a processor counts.
struct RanksRow {
  std::string name;
  std::int64_t ranks = 0;
  std::int64_t planned = 0;     ///< ranks whose plans were made
  double seconds = 0;           ///< the median rank
  double largest_seconds = 0;   ///< the slowest
  std::int64_t partners = 0;    ///< most of one rank: ranks that it sends to or receives from
  std::int64_t parcels = 0;     ///< most of one rank
  std::int64_t plan_bytes = 0;  ///< most of one rank
};

/// Plans of several ranks of one case, held against each other: what r sends to s is what s
/// receives from r, in number, order and elements, for every two of them; and when all ranks are
/// there, as many elements arrive as B wants. kContradiction names the ranks that disagree.
Status check_rank_plans(const RanksCase& ranks_case, const std::vector<exchange::RankPlan>& plans);

/// How a figure grows between the two largest numbers of ranks of one reshard: the exponent e of
/// ranks^e. 1 is as the ranks, 2 as their pairs.
struct RanksGrowth {
  std::string name;
  double seconds = 0;
  double largest_seconds = 0;
  double plan_bytes = 0;
  /// Planning must not grow as the pairs do.
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

/// `measured` is called as soon as there is a row.
Result<RanksReport> bench_ranks(
    const RanksOptions& options,
    const std::function<void(const RanksRow& row)>& measured = [](const RanksRow&) {});

std::vector<RanksGrowth> ranks_growth(const std::vector<RanksRow>& rows);

Json ranks_json(const RanksReport& report);
/// The table: a head, a line a row, and what follows the rows.
std::string ranks_head();
std::string ranks_line(const RanksRow& row);
std::string ranks_tail(const RanksReport& report);

}  // namespace tessera::tools
