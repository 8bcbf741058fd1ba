// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/reshard/costs/measure.h"
#include "tessera/reshard/flows/flow_tables.h"

namespace tessera::reshard {

/// The loads of all links of one direction, from the product form.
///
/// Links are arranged in lines: rows for east and west, columns for south and north. On line k, a
/// multicast that starts at u and reaches as far as v loads the links p with u <= p < v (after
/// mirroring, when the direction is west or north). Three coordinates matter, and each is decided
/// by one block:
///
///     line    the source's row; or each of the destination columns
///     start   the source's column; or its row
///     end     the farthest destination column; or row
///
/// When the line has a separate block, the load is K(k)·F(p). Otherwise each line has its own
/// profile. If start and end come from different blocks, one of them is a step function with few
/// steps and the other rises or falls along the line, so the largest value is at a step.
template <std::size_t Classes>
class LinkProfiles {
 public:
  using M = Measure<Classes>;

  LinkProfiles(const FlowTables& tables, const fabric::FabricMesh& fabric, fabric::Port direction,
               const Reshard::Rate& rate)
      : tables_(tables), rate_(rate) {
    is_row_ = direction == fabric::Port::kEast || direction == fabric::Port::kWest;
    is_mirrored_ = direction == fabric::Port::kWest || direction == fabric::Port::kNorth;
    length_ = is_row_ ? fabric.cols : fabric.rows;
    lines_ = is_row_ ? fabric.rows : fabric.cols;
    line_ = tables.owner_of(is_row_ ? Coordinate::kRow : Coordinate::kCols);
    start_ = tables.owner_of(is_row_ ? Coordinate::kCol : Coordinate::kRow);
    end_ = tables.owner_of(is_row_ ? Coordinate::kCols : Coordinate::kRows);
    rest_ = M::of(tables.still);
    for (std::size_t i = 0; i < tables.blocks.size(); ++i) {
      if (i == line_ || i == start_ || i == end_) continue;
      M all;
      for (const Flow& flow : tables.blocks[i].flows) all += M::of(flow.elements);
      rest_ = rest_ * all;
    }
    if (start_ != end_) {
      started_ = started(block(start_));
      unfinished_ = unfinished(block(end_));
    } else if (line_ != start_) {
      crossing_ = crossing(block(start_));
    }
  }

  struct Summary {
    std::int64_t largest = 0;
    std::int64_t sum = 0;  ///< over all links
  };

  Summary summary() const {
    if (length_ < 2) return {};
    if (line_ != start_ && line_ != end_) return of_separate_lines();
    return of_each_line();
  }

  /// Calls visit(line, link, load) for every link: `link` is the smaller coordinate of its ends.
  template <typename Visit>
  void for_each_link(const Visit& visit) const {
    if (length_ < 2) return;
    const Lines by_line = flows_by_line();
    const auto links = static_cast<std::size_t>(length_ - 1);
    for (std::int32_t k = 0; k < lines_; ++k) {
      const std::vector<Part> parts = by_line.of(k);
      if (parts.empty()) continue;
      const std::vector<M> loads = profile(parts);
      for (std::size_t p = 0; p < links; ++p) {
        const std::int64_t load = (rest_ * loads[p]).rounded(rate_);
        visit(k, static_cast<std::int32_t>(is_mirrored_ ? links - 1 - p : p), load);
      }
    }
  }

 private:
  struct Part {
    std::int32_t start;
    std::int32_t end;
    M measure;
  };
  /// The flows of the line's block, grouped by line; the lists are stored one behind the other.
  struct Lines {
    std::vector<std::size_t> first;  // one more than lines
    std::vector<Part> parts;
    std::vector<Part> of(std::int32_t k) const {
      const auto line = static_cast<std::size_t>(k);
      return {parts.begin() + static_cast<std::ptrdiff_t>(first[line]),
              parts.begin() + static_cast<std::ptrdiff_t>(first[line + 1])};
    }
  };

  const std::vector<Flow>& block(std::size_t i) const { return tables_.blocks[i].flows; }
  std::int32_t start(const Flow& flow) const {
    const std::int32_t at = is_row_ ? flow.col : flow.row;
    return is_mirrored_ ? length_ - 1 - at : at;
  }
  std::int32_t end(const Flow& flow) const {
    const Span1D& to = is_row_ ? flow.cols : flow.rows;
    return is_mirrored_ ? length_ - 1 - to.first : to.last();
  }
  Span1D lines_of(const Flow& flow) const { return is_row_ ? Span1D{flow.row, 1, 1} : flow.cols; }
  std::size_t links() const { return static_cast<std::size_t>(length_ - 1); }

  /// For each link, the flows that start at or before it.
  std::vector<M> started(const std::vector<Flow>& flows) const {
    std::vector<M> sums(static_cast<std::size_t>(length_));
    for (const Flow& flow : flows) {
      sums[static_cast<std::size_t>(start(flow))] += M::of(flow.elements);
    }
    for (std::size_t p = 1; p < sums.size(); ++p) sums[p] += sums[p - 1];
    return sums;
  }

  /// For each link, the flows that end beyond it.
  std::vector<M> unfinished(const std::vector<Flow>& flows) const {
    std::vector<M> sums(static_cast<std::size_t>(length_) + 1);
    for (const Flow& flow : flows) {
      sums[static_cast<std::size_t>(end(flow))] += M::of(flow.elements);
    }
    for (std::size_t p = sums.size() - 1; p-- > 0;) sums[p] += sums[p + 1];
    sums.erase(sums.begin());
    return sums;
  }

  std::vector<M> crossing(const std::vector<Flow>& flows) const {
    std::vector<M> sums(static_cast<std::size_t>(length_));
    for (const Flow& flow : flows) {
      if (start(flow) >= end(flow)) continue;
      sums[static_cast<std::size_t>(start(flow))] += M::of(flow.elements);
      sums[static_cast<std::size_t>(end(flow))] -= M::of(flow.elements);
    }
    for (std::size_t p = 1; p < sums.size(); ++p) sums[p] += sums[p - 1];
    return sums;
  }

  /// The load of link p, when it does not depend on the line.
  M shared_load(std::size_t p) const {
    return start_ != end_ ? started_[p] * unfinished_[p] : crossing_[p];
  }

  Summary of_separate_lines() const {
    std::vector<M> lines(static_cast<std::size_t>(lines_));
    for (const Flow& flow : block(line_)) {
      const Span1D span = lines_of(flow);
      for (std::int32_t i = 0; i < span.count; ++i) {
        lines[static_cast<std::size_t>(span.at(i))] += M::of(flow.elements);
      }
    }
    M all_lines;
    for (const M& line : lines) all_lines += line;
    const std::vector<M> busiest = undominated(std::move(lines));
    Summary summary;
    M all_links;
    for (std::size_t p = 0; p < links(); ++p) {
      const M load = rest_ * shared_load(p);
      all_links += load;
      for (const M& line : busiest) {
        summary.largest = std::max(summary.largest, (line * load).rounded(rate_));
      }
    }
    summary.sum = (all_lines * all_links).rounded(rate_);
    return summary;
  }

  /// Loads grow with every component of a measure. So only measures that no other measure exceeds
  /// in every component are kept.
  static std::vector<M> undominated(std::vector<M> measures) {
    std::sort(measures.begin(), measures.end());
    measures.erase(std::unique(measures.begin(), measures.end()), measures.end());
    std::vector<M> kept;
    for (auto it = measures.rbegin(); it != measures.rend(); ++it) {
      const bool exceeded = std::any_of(kept.begin(), kept.end(), [&](const M& other) {
        if (it->elements > other.elements) return false;
        for (std::size_t i = 1; i < Classes; ++i) {
          if (it->by_size[i] > other.by_size[i]) return false;
        }
        return true;
      });
      if (!exceeded) kept.push_back(*it);
    }
    return kept;
  }

  Lines flows_by_line() const {
    Lines by_line;
    by_line.first.assign(static_cast<std::size_t>(lines_) + 1, 0);
    const auto for_each_line = [&](const auto& visit) {
      for (const Flow& flow : block(line_)) {
        const Span1D span = lines_of(flow);
        for (std::int32_t i = 0; i < span.count; ++i) {
          visit(flow, static_cast<std::size_t>(span.at(i)));
        }
      }
    };
    for_each_line([&](const Flow&, std::size_t line) { ++by_line.first[line + 1]; });
    for (std::size_t k = 1; k < by_line.first.size(); ++k) by_line.first[k] += by_line.first[k - 1];
    std::vector<std::size_t> next(by_line.first.begin(), by_line.first.end() - 1);
    by_line.parts.resize(by_line.first.back());
    for_each_line([&](const Flow& flow, std::size_t line) {
      by_line.parts[next[line]++] = {start(flow), end(flow), M::of(flow.elements)};
    });
    return by_line;
  }

  Summary of_each_line() const {
    Lines by_line = flows_by_line();
    std::vector<M> later;  // for each start: Σ of unfinished from there on
    std::vector<M> earlier;
    if (start_ != end_) {
      later.resize(static_cast<std::size_t>(length_));
      for (std::size_t p = links(); p-- > 0;) later[p] = later[p + 1] + unfinished_[p];
      earlier.resize(static_cast<std::size_t>(length_));
      for (std::size_t p = 0; p < links(); ++p) earlier[p + 1] = earlier[p] + started_[p];
    }
    Summary summary;
    M sum;
    for (std::int32_t k = 0; k < lines_; ++k) {
      Part* const first = by_line.parts.data() + by_line.first[static_cast<std::size_t>(k)];
      Part* const last = by_line.parts.data() + by_line.first[static_cast<std::size_t>(k) + 1];
      if (first == last) continue;
      std::int64_t largest = 0;
      if (start_ == end_) {
        largest = sweep(first, last, sum);
      } else if (line_ == start_) {
        std::sort(first, last, [](const Part& x, const Part& y) { return x.start < y.start; });
        M here;
        for (const Part* part = first; part != last; ++part) {
          here += part->measure;
          const auto p = static_cast<std::size_t>(part->start);
          sum += part->measure * later[p];
          if (p < links()) {
            largest = std::max(largest, (rest_ * here * unfinished_[p]).rounded(rate_));
          }
        }
      } else {
        std::sort(first, last, [](const Part& x, const Part& y) { return x.end > y.end; });
        M here;
        for (const Part* part = first; part != last; ++part) {
          here += part->measure;
          const auto p = static_cast<std::size_t>(part->end);
          sum += part->measure * earlier[p];
          if (p > 0) largest = std::max(largest, (rest_ * here * started_[p - 1]).rounded(rate_));
        }
      }
      summary.largest = std::max(summary.largest, largest);
    }
    summary.sum = (rest_ * sum).rounded(rate_);
    return summary;
  }

  /// The largest load of a line whose flows carry both ends; adds all of its loads to `sum`.
  std::int64_t sweep(const Part* first, const Part* last, M& sum) const {
    std::vector<std::pair<std::int32_t, const Part*>> ends;
    std::vector<std::pair<std::int32_t, const Part*>> starts;
    for (const Part* part = first; part != last; ++part) {
      if (part->start >= part->end) continue;
      starts.emplace_back(part->start, part);
      ends.emplace_back(part->end, part);
      sum += part->measure * (part->end - part->start);
    }
    const auto before = [](const auto& x, const auto& y) { return x.first < y.first; };
    std::sort(starts.begin(), starts.end(), before);
    std::sort(ends.begin(), ends.end(), before);
    std::int64_t largest = 0;
    M here;
    std::size_t done = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      for (; done < ends.size() && ends[done].first <= starts[i].first; ++done) {
        here -= ends[done].second->measure;
      }
      here += starts[i].second->measure;
      if (i + 1 < starts.size() && starts[i + 1].first == starts[i].first) continue;
      largest = std::max(largest, (rest_ * here).rounded(rate_));
    }
    return largest;
  }

  /// All loads of one line, without the factor that is the same for all lines.
  std::vector<M> profile(const std::vector<Part>& parts) const {
    std::vector<M> loads(static_cast<std::size_t>(length_) + 1);
    if (line_ != start_ && line_ != end_) {
      M all;
      for (const Part& part : parts) all += part.measure;
      for (std::size_t p = 0; p < links(); ++p) loads[p] = all * shared_load(p);
      return loads;
    }
    for (const Part& part : parts) {
      const std::int32_t from = line_ == start_ ? part.start : 0;
      const std::int32_t to = line_ == end_ ? part.end : length_ - 1;
      if (from >= to) continue;
      loads[static_cast<std::size_t>(from)] += part.measure;
      loads[static_cast<std::size_t>(to)] -= part.measure;
    }
    for (std::size_t p = 1; p < loads.size(); ++p) loads[p] += loads[p - 1];
    if (start_ == end_) return loads;
    for (std::size_t p = 0; p < links(); ++p) {
      loads[p] = loads[p] * (line_ == start_ ? unfinished_[p] : started_[p]);
    }
    return loads;
  }

  const FlowTables& tables_;
  const Reshard::Rate& rate_;
  bool is_row_ = true;
  bool is_mirrored_ = false;
  std::int32_t length_ = 0;  // routers along a line
  std::int32_t lines_ = 0;
  std::size_t line_ = 0;  // the blocks that decide line, start and end
  std::size_t start_ = 0;
  std::size_t end_ = 0;
  M rest_;
  std::vector<M> started_;
  std::vector<M> unfinished_;
  std::vector<M> crossing_;
};

}  // namespace tessera::reshard
