// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/schedules/streams.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <utility>

namespace tessera::reshard {

StreamLine::StreamLine(const LineLoad& load, const Reshard::Rate& rate) : load_(load), rate_(rate) {
  find_segments();
  find_groups();
}

void StreamLine::find_segments() {
  const std::vector<LineSender>& senders = load_.senders;
  for (std::uint32_t i = 0; i < senders.size(); ++i) {
    const LineSender& sender = senders[i];
    if (sender.up == 0) continue;
    if (ups_.empty() || sender.position >= ups_.back().high) {
      ups_.push_back({sender.position, sender.up_reach, true, i, i});
    }
    ups_.back().high = std::max(ups_.back().high, sender.up_reach);
    ups_.back().last = i + 1;
  }
  for (auto i = static_cast<std::uint32_t>(senders.size()); i-- > 0;) {
    const LineSender& sender = senders[i];
    if (sender.down == 0) continue;
    if (downs_.empty() || sender.position <= downs_.back().low) {
      downs_.push_back({sender.down_reach, sender.position, false, i, i + 1});
    }
    downs_.back().low = std::min(downs_.back().low, sender.down_reach);
    downs_.back().first = i;
  }
  std::reverse(downs_.begin(), downs_.end());
}

void StreamLine::find_groups() {
  const auto add = [&](StreamGroup group) {
    const bool both = !group.ups.empty() && !group.downs.empty();
    if (both && needs_sweep(group)) {
      group.kind = StreamGroup::Kind::kSweep;
      groups_.push_back(std::move(group));
      return;
    }
    for (const std::uint32_t u : group.ups) {
      groups_.push_back({StreamGroup::Kind::kUp, ups_[u].low, ups_[u].high, {u}, {}});
    }
    for (const std::uint32_t d : group.downs) {
      groups_.push_back({StreamGroup::Kind::kDown, downs_[d].low, downs_[d].high, {}, {d}});
    }
  };
  std::uint32_t u = 0;
  std::uint32_t d = 0;
  StreamGroup group;
  while (u < ups_.size() || d < downs_.size()) {
    const bool up = d == downs_.size() || (u < ups_.size() && ups_[u].low <= downs_[d].low);
    const StreamSegment& next = up ? ups_[u] : downs_[d];
    const bool is_empty = group.ups.empty() && group.downs.empty();
    if (!is_empty && next.low >= group.high) {
      add(std::exchange(group, {}));
      continue;
    }
    group.low = is_empty ? next.low : group.low;
    group.high = is_empty ? next.high : std::max(group.high, next.high);
    (up ? group.ups : group.downs).push_back(up ? u++ : d++);
  }
  if (!group.ups.empty() || !group.downs.empty()) add(std::move(group));
}

/// Whether some place sends, or receives, in both directions.
bool StreamLine::needs_sweep(const StreamGroup& group) const {
  const auto inside = [&](std::int32_t p) { return group.low < p && p < group.high; };
  const auto after = [](const auto& list, std::int32_t position) {
    return std::partition_point(list.begin(), list.end(),
                                [&](const auto& item) { return item.position <= position; });
  };
  for (auto it = after(load_.senders, group.low); it != load_.senders.end() && inside(it->position);
       ++it) {
    if (it->up > 0 && it->down > 0) return true;
  }
  for (auto it = after(load_.receivers, group.low);
       it != load_.receivers.end() && inside(it->position); ++it) {
    if (it->from_below && it->from_above) return true;
  }
  return false;
}

std::int64_t StreamLine::one_way(const StreamSegment& segment) const {
  std::int64_t busy = 0;
  const auto add = [&](const LineSender& sender, std::int32_t distance) {
    const std::int64_t here = words(sender, segment.up);
    if (here > 0) busy = std::max<std::int64_t>(busy, distance) + here;
  };
  if (segment.up) {
    for (std::uint32_t i = segment.last; i-- > segment.first;) {
      add(load_.senders[i], segment.high - load_.senders[i].position);
    }
  } else {
    for (std::uint32_t i = segment.first; i < segment.last; ++i) {
      add(load_.senders[i], load_.senders[i].position - segment.low);
    }
  }
  return busy;
}

std::int64_t StreamLine::sweep(const StreamGroup& group) const {
  const std::vector<LineSender>& senders = load_.senders;
  const auto first = std::partition_point(senders.begin(), senders.end(), [&](const auto& sender) {
    return sender.position < group.low;
  });
  const auto base = static_cast<std::uint32_t>(first - senders.begin());
  std::int64_t latest = 0;
  // When the last word from above has entered the router of each sender.
  std::vector<std::int64_t> token;
  for (std::size_t k = base; k < senders.size() && senders[k].position <= group.high; ++k) {
    token.push_back(0);
  }
  std::int64_t at_end = 0;
  std::int32_t end = -1;
  for (const auto down : std::views::reverse(group.downs)) {
    const StreamSegment& segment = downs_[down];
    std::int64_t passed = end == segment.high ? at_end : 0;
    std::uint32_t i = segment.last;
    while (i > base && senders[i - 1].position >= segment.low) {
      --i;
      token[i - base] = passed + segment.high - senders[i].position;
      if (senders[i].position > segment.low) passed += words(senders[i], false);
    }
    end = segment.low;
    at_end = passed + segment.high - segment.low;
    latest = std::max(latest, at_end);
  }
  // Where a segment begins, one that ends there waits until the first place has sent its words.
  std::int64_t freed = 0;
  std::int32_t freed_at = -1;
  for (auto u = group.ups.rbegin(); u != group.ups.rend(); ++u) {
    const StreamSegment& segment = ups_[*u];
    std::int64_t busy = segment.high == freed_at ? freed : 0;
    for (std::uint32_t i = segment.last; i-- > segment.first;) {
      const LineSender& sender = senders[i];
      if (sender.up == 0) continue;
      const std::int64_t own = sender.position > group.low ? words(sender, false) : 0;
      const std::int64_t start = std::max<std::int64_t>(0, token[i - base] - 1) + own;
      busy = std::max(busy, start + segment.high - sender.position) + words(sender, true);
    }
    latest = std::max(latest, busy);
    freed_at = segment.low;
    freed = busy - (segment.high - segment.low);
  }
  return latest;
}

/// Where groups meet, one ramp may have to take, or to send, the words of both.
std::int64_t StreamLine::meeting(std::int32_t position) const {
  std::int64_t received = 0;
  const auto below = std::partition_point(ups_.begin(), ups_.end(),
                                          [&](const auto& up) { return up.high < position; });
  const auto above = std::partition_point(downs_.begin(), downs_.end(),
                                          [&](const auto& down) { return down.low < position; });
  const bool meets = below != ups_.end() && below->high == position && above != downs_.end() &&
                     above->low == position;
  if (meets) {
    std::int64_t nearest = INT64_MAX;
    for (const StreamSegment* segment : {&*below, &*above}) {
      for (std::uint32_t i = segment->first; i < segment->last; ++i) {
        const std::int64_t here = words(load_.senders[i], segment->up);
        if (here == 0) continue;
        const std::int32_t steps = load_.senders[i].position - position;
        nearest = std::min<std::int64_t>(nearest, std::max(steps, -steps));
        received += here;
      }
    }
    received += nearest;
  }
  const auto at = std::partition_point(load_.senders.begin(), load_.senders.end(),
                                       [&](const auto& s) { return s.position < position; });
  if (at == load_.senders.end() || at->position != position || at->up == 0 || at->down == 0) {
    return received;
  }
  // The segments that it sends to: the last that begins no later, the first that ends no earlier.
  const auto up =
      std::partition_point(ups_.begin(), ups_.end(),
                           [&](const auto& segment) { return segment.low <= position; }) -
      1;
  const auto down = std::partition_point(
      downs_.begin(), downs_.end(), [&](const auto& segment) { return segment.high < position; });
  const std::int32_t up_steps = up->high - position;
  const std::int32_t down_steps = position - down->low;
  const std::int64_t up_words = words(*at, true);
  const std::int64_t down_words = words(*at, false);
  // The longer one of the two streams ends last.
  const std::int32_t steps = up_words > down_words   ? up_steps
                             : up_words < down_words ? down_steps
                                                     : std::max(up_steps, down_steps);
  return std::max(received, up_words + down_words + steps);
}

std::int64_t StreamLine::cycles(std::int64_t ramp_cycles) const {
  std::int64_t latest = 0;
  for (const StreamGroup& group : groups_) {
    const std::int64_t alone = group.kind == StreamGroup::Kind::kSweep ? sweep(group)
                               : group.kind == StreamGroup::Kind::kUp
                                   ? one_way(ups_[group.ups.front()])
                                   : one_way(downs_[group.downs.front()]);
    latest = std::max({latest, alone, meeting(group.high)});
  }
  return latest == 0 ? 0 : latest + 2 * ramp_cycles;
}

std::int64_t stream_cycles(const LineLoads& loads, const Reshard::Rate& rate,
                           std::int64_t ramp_cycles) {
  std::int64_t most = 0;
  loads.for_each_line([&](const LineLoad& load) {
    most = std::max(most, StreamLine(load, rate).cycles(ramp_cycles));
    return true;
  });
  return most;
}

namespace {

/// Makes the sends of one line.
class LineSends {
 public:
  LineSends(const Carries& carries, const Dispatches& dispatches, const Reshard::Rate& rate,
            std::span<const Carry> line)
      : carries_(carries), dispatches_(dispatches), rate_(rate) {
    Carries::for_each_start(line, [&](std::span<const Carry> start) { starts_.push_back(start); });
  }

  void add(const StreamLine& streams, const StreamGroup& group, std::int32_t colour,
           Round& round) const {
    switch (group.kind) {
      case StreamGroup::Kind::kUp: {
        const StreamSegment& segment = streams.ups()[group.ups.front()];
        for (std::uint32_t i = segment.last; i-- > segment.first;) {
          add_send(i, segment, colour, round);
        }
        break;
      }
      case StreamGroup::Kind::kDown: {
        const StreamSegment& segment = streams.downs()[group.downs.front()];
        for (std::uint32_t i = segment.first; i < segment.last; ++i) {
          add_send(i, segment, colour, round);
        }
        break;
      }
      case StreamGroup::Kind::kSweep:
        for (auto i = static_cast<std::uint32_t>(starts_.size()); i-- > 0;) {
          for (const std::uint32_t d : group.downs) add_in(i, streams.downs()[d], colour, round);
          for (const std::uint32_t u : group.ups) add_in(i, streams.ups()[u], colour, round);
        }
        break;
    }
  }

 private:
  void add_in(std::uint32_t i, const StreamSegment& segment, std::int32_t colour,
              Round& round) const {
    if (segment.first <= i && i < segment.last) add_send(i, segment, colour, round);
  }

  void add_send(std::uint32_t i, const StreamSegment& segment, std::int32_t colour,
                Round& round) const {
    const auto carries = starts_[i];
    const std::int32_t start = carries.front().start;
    const std::int32_t line = carries.front().line;
    const std::int32_t end = segment.end();
    Send send;
    send.source = carries_.lines.node(line, start);
    send.colour = colour;
    LegMaker legs(rate_);
    std::vector<std::int32_t> to;
    for (const Carry& carry : carries) {
      to.clear();
      bool leaves = false;
      if (!segment.up) to.push_back(carries_.lines.node(line, end));
      for (const std::int32_t position : carries_.ends_of(carry)) {
        if (segment.up ? position <= start : position >= start) continue;
        leaves = true;
        if (position != end) to.push_back(carries_.lines.node(line, position));
      }
      if (!leaves) continue;
      if (segment.up) to.push_back(carries_.lines.node(line, end));
      send.items.push_back(carry.item);
      legs.add(dispatches_.list[carry.item].elements, to);
    }
    if (send.items.empty()) return;
    send.legs = legs.take();
    round.sends.push_back(std::move(send));
  }

  const Carries& carries_;
  const Dispatches& dispatches_;
  const Reshard::Rate& rate_;
  std::vector<std::span<const Carry>> starts_;  // one for each sender of the line
};

}  // namespace

Round stream_round(const Carries& carries, const Dispatches& dispatches, const Reshard::Rate& rate,
                   std::int32_t first_colour) {
  Round round;
  const CarriedLoads loads(carries, dispatches);
  carries.for_each_line([&](std::span<const Carry> line) {
    const LineLoad load = loads.load_of(line);
    const StreamLine streams(load, rate);
    const LineSends sends(carries, dispatches, rate, line);
    std::array<std::int32_t, 3> count{};
    for (const StreamGroup& group : streams.groups()) {
      const auto kind = static_cast<std::int32_t>(group.kind);
      const std::int32_t number = count[static_cast<std::size_t>(kind)]++;
      sends.add(streams, group, first_colour + 2 * kind + number % 2, round);
    }
  });
  return round;
}

}  // namespace tessera::reshard
