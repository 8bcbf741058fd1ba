// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/schedules/table_loads.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace tessera::reshard {
namespace {

std::size_t index(std::int32_t position) { return static_cast<std::size_t>(position); }

void keep_larger(std::vector<std::int64_t>& list, std::int32_t at, std::int64_t value) {
  if (list.size() <= index(at)) list.resize(index(at) + 1);
  list[index(at)] = std::max(list[index(at)], value);
}

/// Adds up entries with the same position.
void gather(std::vector<std::pair<std::int32_t, std::int64_t>>& list) {
  if (!std::is_sorted(list.begin(), list.end())) std::sort(list.begin(), list.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (kept > 0 && list[kept - 1].first == list[i].first) {
      list[kept - 1].second += list[i].second;
    } else {
      list[kept++] = list[i];
    }
  }
  list.resize(kept);
}

}  // namespace

/// Marks positions, and lists them in order.
class TableLoads::Marks {
 public:
  explicit Marks(std::int32_t length) : marks_(index(length)) {}
  static constexpr std::uint8_t kFromBelow = 1;
  static constexpr std::uint8_t kFromAbove = 2;

  void add(std::int32_t position, std::uint8_t mark) {
    if (marks_[index(position)] == 0) touched_.push_back(position);
    marks_[index(position)] |= mark;
  }
  void take(std::vector<LineReceiver>& receivers) {
    receivers.clear();
    if (!std::is_sorted(touched_.begin(), touched_.end())) {
      std::sort(touched_.begin(), touched_.end());
    }
    for (const std::int32_t position : touched_) {
      std::uint8_t& mark = marks_[index(position)];
      receivers.push_back({position, (mark & kFromBelow) != 0, (mark & kFromAbove) != 0});
      mark = 0;
    }
    touched_.clear();
  }

 private:
  std::vector<std::uint8_t> marks_;
  std::vector<std::int32_t> touched_;
};

/// Parts that may begin anywhere, summed by where they end.
struct TableLoads::Ends {
  Tally lasts;   ///< last ends, with the elements that go at least as far; falling
  Tally firsts;  ///< first ends, with the elements that go at least as far; rising
  std::span<const Part> parts;

  void set(std::span<const Part> of) {
    parts = of;
    lasts.clear();
    firsts.clear();
    for (const Part& part : of) {
      lasts.emplace_back(part.ends.last(), part.elements);
      firsts.emplace_back(part.ends.first, part.elements);
    }
    gather(lasts);
    gather(firsts);
    std::reverse(lasts.begin(), lasts.end());
    for (Tally* list : {&lasts, &firsts}) {
      for (std::size_t i = 1; i < list->size(); ++i) (*list)[i].second += (*list)[i - 1].second;
    }
  }
};

/// What starts at a position goes to all ends.
void TableLoads::set_product(const Tally& starts, const Ends& ends, Marks& marks, LineLoad& load) {
  load.senders.clear();
  const std::int32_t last = ends.lasts.front().first;
  const std::int32_t first = ends.firsts.front().first;
  std::size_t beyond = ends.lasts.size();  // the last ends [0, beyond) are beyond the start
  std::size_t before = 0;                  // the first ends [0, before) are before it
  for (const auto& [start, elements] : starts) {
    while (beyond > 0 && ends.lasts[beyond - 1].first <= start) --beyond;
    while (before < ends.firsts.size() && ends.firsts[before].first < start) ++before;
    if (beyond == 0 && before == 0) continue;
    load.senders.push_back({start, beyond > 0 ? last : start, before > 0 ? first : start,
                            beyond > 0 ? elements * ends.lasts[beyond - 1].second : 0,
                            before > 0 ? elements * ends.firsts[before - 1].second : 0});
  }
  for (const Part& part : ends.parts) {
    for (std::int32_t i = 0; i < part.ends.count; ++i) {
      const std::int32_t end = part.ends.at(i);
      if (starts.front().first < end) marks.add(end, Marks::kFromBelow);
      if (starts.back().first > end) marks.add(end, Marks::kFromAbove);
    }
  }
  marks.take(load.receivers);
}

void TableLoads::set_parts(std::vector<Part>& parts, Marks& marks, LineLoad& load) {
  load.senders.clear();
  sort_by_start(parts);
  for (const Part& part : parts) {
    if (part.ends.is_only(part.start)) continue;
    const std::int32_t start = part.start;
    if (load.senders.empty() || load.senders.back().position != start) {
      load.senders.push_back({start, start, start, 0, 0});
    }
    LineSender& sender = load.senders.back();
    if (part.ends.last() > start) sender.up += part.elements;
    if (part.ends.first < start) sender.down += part.elements;
    sender.up_reach = std::max(sender.up_reach, part.ends.last());
    sender.down_reach = std::min(sender.down_reach, part.ends.first);
    for (std::int32_t i = 0; i < part.ends.count; ++i) {
      const std::int32_t end = part.ends.at(i);
      if (end > start) marks.add(end, Marks::kFromBelow);
      if (end < start) marks.add(end, Marks::kFromAbove);
    }
  }
  marks.take(load.receivers);
}

/// A start counts only if it has more elements than all that are farther away: those pass at least
/// as many at every distance.
void TableLoads::product_steps(const Tally& starts, const Ends& ends, StepLoads& loads) {
  std::int64_t most = 0;
  for (const auto& [start, elements] : starts) {
    if (elements <= most) continue;
    most = elements;
    for (const auto& [last, others] : ends.lasts) {
      if (last <= start) break;
      keep_larger(loads.up, last - start, elements * others);
    }
  }
  most = 0;
  for (const auto& [start, elements] : std::views::reverse(starts)) {
    if (elements <= most) continue;
    most = elements;
    for (const auto& [first, others] : ends.firsts) {
      if (first >= start) break;
      keep_larger(loads.down, start - first, elements * others);
    }
  }
}

void TableLoads::sort_by_start(std::vector<Part>& parts) {
  const auto before = [](const Part& x, const Part& y) { return x.start < y.start; };
  if (!std::is_sorted(parts.begin(), parts.end(), before)) {
    std::sort(parts.begin(), parts.end(), before);
  }
}

void TableLoads::part_steps(std::vector<Part>& parts, StepLoads& loads) {
  sort_by_start(parts);
  for (auto first = parts.begin(); first != parts.end();) {
    const auto last = std::find_if(first, parts.end(),
                                   [&](const Part& part) { return part.start != first->start; });
    for (const bool up : {true, false}) {
      const auto reach = [&](const Part& part) {
        return up ? part.ends.last() - part.start : part.start - part.ends.first;
      };
      if (last - first > 1) {
        std::sort(first, last, [&](const Part& x, const Part& y) { return reach(x) > reach(y); });
      }
      std::int64_t passing = 0;
      for (auto part = first; part != last && reach(*part) > 0; ++part) {
        passing += part->elements;
        keep_larger(up ? loads.up : loads.down, reach(*part), passing);
      }
    }
    first = last;
  }
}

TableLoads::TableLoads(const FlowTables& tables, const fabric::FabricMesh& mesh, Axis axis)
    : tables_(tables), lines_(Lines::of(mesh, axis)), rest_(tables.still) {
  const bool along_rows = axis == Axis::kAlongRows;
  line_ = tables.owner_of(along_rows ? Coordinate::kRow : Coordinate::kCols);
  start_ = tables.owner_of(along_rows ? Coordinate::kCol : Coordinate::kRow);
  end_ = tables.owner_of(along_rows ? Coordinate::kCols : Coordinate::kRows);
  for (std::size_t i = 0; i < tables.blocks.size(); ++i) {
    if (i == line_ || i == start_ || i == end_) continue;
    std::int64_t elements = 0;
    for (const Flow& flow : block(i)) elements += flow.elements;
    rest_ *= elements;
  }
}

std::vector<TableLoads::Part> TableLoads::parts_of(std::size_t i) const {
  std::vector<Part> parts;
  parts.reserve(block(i).size());
  for (const Flow& flow : block(i)) parts.push_back(part(flow));
  return parts;
}

void TableLoads::set_starts(std::span<const Part> parts, Tally& starts) {
  starts.clear();
  for (const Part& part : parts) starts.emplace_back(part.start, part.elements);
  gather(starts);
}

std::vector<std::int64_t> TableLoads::multiples() const {
  std::vector<std::int64_t> lines(index(lines_.lines));
  for (const Flow& flow : block(line_)) {
    const Span1D span = lines_of(flow);
    for (std::int32_t i = 0; i < span.count; ++i) lines[index(span.at(i))] += flow.elements;
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  if (lines.front() == 0) lines.erase(lines.begin());
  return lines;
}

TableLoads::ByLine TableLoads::by_line() const {
  ByLine sorted;
  sorted.first.assign(index(lines_.lines) + 1, 0);
  const auto for_each = [&](const auto& visit) {
    for (const Flow& flow : block(line_)) {
      const Span1D span = lines_of(flow);
      for (std::int32_t i = 0; i < span.count; ++i) visit(index(span.at(i)), flow);
    }
  };
  for_each([&](std::size_t line, const Flow&) { ++sorted.first[line + 1]; });
  for (std::size_t k = 1; k < sorted.first.size(); ++k) sorted.first[k] += sorted.first[k - 1];
  std::vector<std::size_t> next(sorted.first.begin(), sorted.first.end() - 1);
  sorted.parts.resize(sorted.first.back());
  for_each([&](std::size_t line, const Flow& flow) { sorted.parts[next[line]++] = part(flow); });
  return sorted;
}

/// Calls on_parts(parts) where start and end come from one block, otherwise on_product(starts,
/// ends): once for separate lines, otherwise for each line until it returns false.
template <typename OnParts, typename OnProduct>
void TableLoads::for_each_form(const OnParts& on_parts, const OnProduct& on_product) const {
  const bool is_product = start_ != end_;
  std::vector<Part> start_parts;
  std::vector<Part> end_parts;
  Tally starts;
  Ends ends;
  if (is_product && start_ != line_) {
    start_parts = parts_of(start_);
    set_starts(start_parts, starts);
  }
  if (is_product && end_ != line_) {
    end_parts = parts_of(end_);
    ends.set(end_parts);
  }
  if (is_separate()) {
    if (is_product) {
      on_product(starts, ends);
    } else {
      start_parts = parts_of(start_);
      on_parts(start_parts);
    }
    return;
  }
  const ByLine lines = by_line();
  for (std::size_t k = 0; k + 1 < lines.first.size(); ++k) {
    const auto parts =
        std::span(lines.parts).subspan(lines.first[k], lines.first[k + 1] - lines.first[k]);
    if (parts.empty()) continue;
    bool goes_on = true;
    if (is_product) {
      if (end_ == line_) ends.set(parts);
      if (start_ == line_) set_starts(parts, starts);
      goes_on = on_product(starts, ends);
    } else {
      start_parts.assign(parts.begin(), parts.end());
      goes_on = on_parts(start_parts);
    }
    if (!goes_on) return;
  }
}

void TableLoads::for_each_line(const Visit& visit) const {
  LineLoad load;
  Marks marks(lines_.length);
  const auto see = [&] {
    if (load.senders.empty()) return true;
    if (!is_separate()) {
      load.scale = rest_;
      return visit(load);
    }
    for (const std::int64_t multiple : multiples()) {
      load.scale = rest_ * multiple;
      if (!visit(load)) break;
    }
    return false;
  };
  for_each_form(
      [&](std::vector<Part>& parts) {
        set_parts(parts, marks, load);
        return see();
      },
      [&](const Tally& starts, const Ends& ends) {
        set_product(starts, ends, marks, load);
        return see();
      });
}

StepLoads TableLoads::steps() const {
  StepLoads loads;
  for_each_form(
      [&](std::vector<Part>& parts) {
        part_steps(parts, loads);
        return true;
      },
      [&](const Tally& starts, const Ends& ends) {
        product_steps(starts, ends, loads);
        return true;
      });
  const std::int64_t scale = is_separate() ? rest_ * multiples().back() : rest_;
  for (auto* list : {&loads.up, &loads.down}) {
    for (std::size_t d = list->size(); d-- > 1;) {
      (*list)[d - 1] = std::max((*list)[d - 1], (*list)[d]);
    }
    for (std::int64_t& elements : *list) elements *= scale;
  }
  return loads;
}

}  // namespace tessera::reshard
