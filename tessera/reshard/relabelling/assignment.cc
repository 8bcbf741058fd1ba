// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/relabelling/assignment.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxWeight = std::int64_t{1} << 60;
constexpr std::int32_t kNone = -1;

/// One run of the algorithm. The potentials u of rows and v of columns are never negative. u + v is
/// at least the weight of every pair and equal to it on matched pairs. Free rows and columns that
/// are finished have potential 0. Then the matching is the heaviest of the rows seen so far.
class Search {
 public:
  Search(std::size_t rows, std::size_t columns, const std::vector<Worth>& worths)
      : worths_(worths),
        begin_(rows + 1, 0),
        u_(rows, 0),
        v_(columns, 0),
        column_of_(rows, kNone),
        row_of_(columns, kNone),
        distance_(columns, 0),
        from_(columns, kNone),
        seen_(columns, kNone) {
    for (const Worth& worth : worths) {
      const auto row = static_cast<std::size_t>(worth.row);
      ++begin_[row + 1];
      u_[row] = std::max(u_[row], worth.weight);
    }
    for (std::size_t row = 0; row < rows; ++row) begin_[row + 1] += begin_[row];
  }

  /// False when the steps ran out.
  bool run(std::int64_t most_steps) {
    for (std::size_t row = 0; row < column_of_.size(); ++row) {
      if (!augment(static_cast<std::int32_t>(row), most_steps)) return false;
    }
    return true;
  }

  const std::vector<std::int32_t>& column_of() const { return column_of_; }
  const std::vector<std::int32_t>& row_of() const { return row_of_; }

 private:
  using Reached = std::pair<std::int64_t, std::int32_t>;  // distance, column

  /// Gives `start` a column, directly or by moving other rows, or leaves one row without a column.
  bool augment(std::int32_t start, std::int64_t& steps) {
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> open;
    std::vector<std::pair<std::int32_t, std::int64_t>> rows;  // reached, with their distances
    std::vector<std::int32_t> columns;                        // settled
    std::int64_t best = u_[at(start)];  // the cost of leaving `start` without a column
    std::int32_t best_row = start;
    std::int32_t best_column = kNone;
    std::int32_t row = start;
    std::int64_t distance = 0;
    while (true) {
      rows.emplace_back(row, distance);
      steps -= static_cast<std::int64_t>(begin_[at(row) + 1] - begin_[at(row)]) + 1;
      if (steps < 0) return false;
      for (std::size_t e = begin_[at(row)]; e < begin_[at(row) + 1]; ++e) {
        const Worth& pair = worths_[e];
        const std::size_t column = at(pair.column);
        const std::int64_t there = distance + u_[at(row)] + v_[column] - pair.weight;
        if (there > best || (there == best && best_column != kNone)) continue;
        if (seen_[column] == start && there >= distance_[column]) continue;
        seen_[column] = start;
        distance_[column] = there;
        from_[column] = row;
        open.emplace(there, pair.column);
      }
      row = kNone;
      while (!open.empty() && row == kNone) {
        const auto [there, column] = open.top();
        open.pop();
        if (there != distance_[at(column)]) continue;  // a shorter path was found since
        if (there > best || (there == best && best_column != kNone)) break;
        columns.push_back(column);
        distance = there;
        row = row_of_[at(column)];
        if (row == kNone) {  // free: no open column is cheaper
          best = there;
          best_row = kNone;
          best_column = column;
          break;
        }
        if (there + u_[at(row)] < best) {
          best = there + u_[at(row)];
          best_row = row;
          best_column = column;
        }
      }
      if (row == kNone) break;
    }
    for (const auto& [reached, there] : rows) {
      if (there <= best) u_[at(reached)] -= best - there;
    }
    for (const std::int32_t column : columns) {
      if (distance_[at(column)] <= best) v_[at(column)] += best - distance_[at(column)];
    }
    if (best_row == start) return true;
    if (best_row != kNone) column_of_[at(best_row)] = kNone;
    for (std::int32_t column = best_column; column != kNone;) {
      const std::int32_t taker = from_[at(column)];
      row_of_[at(column)] = taker;
      std::swap(column_of_[at(taker)], column);
      if (taker == start) break;
    }
    return true;
  }

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  const std::vector<Worth>& worths_;  // by row
  std::vector<std::size_t> begin_;    // worths of row r: [begin_[r], begin_[r + 1])
  std::vector<std::int64_t> u_, v_;
  std::vector<std::int32_t> column_of_, row_of_;
  // For the row that is being placed; `seen_` tells which row they belong to.
  std::vector<std::int64_t> distance_;
  std::vector<std::int32_t> from_, seen_;
};

/// Rows without a column get their own, if it is free, otherwise the free ones in order.
std::vector<std::int32_t> complete(std::vector<std::int32_t> column_of,
                                   std::vector<std::int32_t> row_of) {
  for (std::size_t row = 0; row < column_of.size(); ++row) {
    if (column_of[row] != kNone || row_of[row] != kNone) continue;
    column_of[row] = static_cast<std::int32_t>(row);
    row_of[row] = static_cast<std::int32_t>(row);
  }
  std::size_t next = 0;
  for (std::int32_t& column : column_of) {
    if (column != kNone) continue;
    while (row_of[next] != kNone) ++next;
    column = static_cast<std::int32_t>(next++);
  }
  return column_of;
}

bool by_row(const Worth& x, const Worth& y) {
  return x.row != y.row ? x.row < y.row : x.column < y.column;
}

}  // namespace

Result<Assignment> assign(std::size_t rows, std::size_t columns, const std::vector<Worth>& worths,
                          std::int64_t most_steps) {
  std::int64_t largest = 0;
  for (const Worth& worth : worths) largest = std::max(largest, worth.weight);
  if (largest > kMaxWeight) {
    return Error{ErrorCode::kOverflow, cat("an overlap of ", largest, " elements is beyond 2^60"),
                 std::nullopt, "use smaller tensors"};
  }
  const auto rank = static_cast<std::int64_t>(rows) + 1;
  std::vector<Worth> weighted = worths;
  // A row on its own column counts 1, and all other weights are scaled to exceed the sum of these.
  if ((Checked(largest) * rank + 1).saturated() <= kMaxWeight) {
    std::vector<bool> listed(rows, false);
    for (Worth& worth : weighted) {
      const bool own = worth.row == worth.column;
      worth.weight = worth.weight * rank + (own ? 1 : 0);
      if (own) listed[static_cast<std::size_t>(worth.row)] = true;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const auto number = static_cast<std::int32_t>(row);
      if (!listed[row]) weighted.push_back({number, number, 1});
    }
  }
  std::sort(weighted.begin(), weighted.end(), by_row);
  Search search(rows, columns, weighted);
  Assignment answer;
  answer.optimal = search.run(most_steps);
  answer.column_of = complete(search.column_of(), search.row_of());
  for (const Worth& worth : worths) {
    if (answer.column_of[static_cast<std::size_t>(worth.row)] == worth.column) {
      answer.weight += worth.weight;
    }
  }
  return answer;
}

}  // namespace tessera::reshard
