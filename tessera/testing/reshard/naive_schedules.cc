// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/naive_schedules.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace tessera::test {
namespace {

/// Elements that go along a line from one position to others.
struct Packet {
  std::int64_t start = 0;
  std::set<std::int64_t> ends;  // without the start
  std::int64_t elements = 0;
  std::int64_t last(bool up) const { return up ? *ends.rbegin() : *ends.begin(); }
  bool leaves(bool up) const { return up ? last(true) > start : last(false) < start; }
};
using Line = std::vector<Packet>;

/// Everything that moves, in the unit of words.
class Walk {
 public:
  Walk(const NaiveReshard& moves, const Placement& placement, const reshard::PhysicalMesh& physical)
      : moves_(moves), placement_(placement), physical_(physical), mesh_(*physical.fabric) {}

  std::int64_t words(std::int64_t elements) const {
    return naive_wavelets(placement_, physical_, elements);
  }
  std::int64_t ramps() const { return 2 * mesh_.ramp_cycles; }
  const fabric::FabricMesh& mesh() const { return mesh_; }
  const NaiveReshard& moves() const { return moves_; }

  /// The packets of each line of a phase.
  std::map<std::int64_t, Line> lines(bool along_rows) const {
    std::map<std::int64_t, Line> lines;
    for (const auto& [tree, elements] : moves_.multicasts) {
      const std::int64_t row = tree.first / mesh_.cols;
      const std::int64_t col = tree.first % mesh_.cols;
      std::map<std::int64_t, std::set<std::int64_t>> rows_of_column;
      for (const std::int64_t place : tree.second) {
        rows_of_column[place % mesh_.cols].insert(place / mesh_.cols);
      }
      Packet along{col, {}, elements};
      for (auto& [column, rows] : rows_of_column) {
        if (column != col) along.ends.insert(column);
        rows.erase(row);
        if (!along_rows && !rows.empty()) lines[column].push_back({row, rows, elements});
      }
      if (along_rows && !along.ends.empty()) lines[row].push_back(along);
    }
    return lines;
  }

 private:
  const NaiveReshard& moves_;
  const Placement& placement_;
  const reshard::PhysicalMesh& physical_;
  const fabric::FabricMesh& mesh_;
};

/// Every packet is moved one place per step.
std::int64_t shifts(const Walk& walk, const std::map<std::int64_t, Line>& lines) {
  std::int64_t cycles = 0;
  for (const bool up : {true, false}) {
    for (std::int64_t step = 1;; ++step) {
      std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> passed;
      for (const auto& [line, packets] : lines) {
        for (const Packet& packet : packets) {
          const std::int64_t from = packet.start + (up ? step - 1 : 1 - step);
          const bool goes_on = up ? packet.last(true) > from : packet.last(false) < from;
          if (goes_on) passed[{line, from}] += packet.elements;
        }
      }
      if (passed.empty()) break;
      std::int64_t most = 0;
      for (const auto& [at, elements] : passed) most = std::max(most, walk.words(elements));
      cycles += most + walk.ramps() + 1;
    }
  }
  return cycles;
}

/// What leaves each position in one direction.
struct Leaving {
  std::int64_t words = 0;
  std::int64_t reach = 0;
};
std::map<std::int64_t, Leaving> leaving(const Walk& walk, const Line& line, bool up) {
  std::map<std::int64_t, std::int64_t> elements;
  std::map<std::int64_t, Leaving> found;
  for (const Packet& packet : line) {
    if (!packet.leaves(up)) continue;
    elements[packet.start] += packet.elements;
    const auto [at, fresh] = found.try_emplace(packet.start, Leaving{0, packet.last(up)});
    at->second.reach = up ? std::max(at->second.reach, packet.last(true))
                          : std::min(at->second.reach, packet.last(false));
  }
  for (auto& [start, here] : found) here.words = walk.words(elements[start]);
  return found;
}

/// A run of links in one direction that no router separates.
struct Segment {
  bool up = true;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t end() const { return up ? high : low; }
};

std::vector<Segment> segments(const Line& line, bool up, std::int64_t length) {
  const auto covers = [&](const Packet& packet, std::int64_t low, std::int64_t high) {
    return up ? packet.start <= low && packet.last(true) >= high
              : packet.start >= high && packet.last(false) <= low;
  };
  const auto any = [&](std::int64_t low, std::int64_t high) {
    return std::any_of(line.begin(), line.end(),
                       [&](const Packet& packet) { return covers(packet, low, high); });
  };
  std::vector<Segment> found;
  for (std::int64_t p = 0; p + 1 < length; ++p) {
    if (!any(p, p + 1)) continue;
    // Joined to the link before if some packet crosses the router between them.
    if (p > 0 && any(p - 1, p + 1)) {
      found.back().high = p + 1;
    } else {
      found.push_back({up, p, p + 1});
    }
  }
  return found;
}

class Streams {
 public:
  Streams(const Walk& walk, const Line& line, std::int64_t length)
      : line_(line),
        length_(length),
        up_(leaving(walk, line, true)),
        down_(leaving(walk, line, false)) {
    for (const bool up : {true, false}) {
      for (const Segment& segment : segments(line, up, length)) segments_.push_back(segment);
    }
  }

  /// Without the ramps.
  std::int64_t cycles() const {
    std::int64_t most = 0;
    std::vector<bool> done(segments_.size());
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (done[i]) continue;
      const std::vector<std::size_t> group = joined(i);
      Segment whole = segments_[i];
      for (const std::size_t k : group) {
        done[k] = true;
        whole.low = std::min(whole.low, segments_[k].low);
        whole.high = std::max(whole.high, segments_[k].high);
      }
      if (needs_sweep(group, whole)) {
        most = std::max(most, sweep(group, whole));
        outer_.insert({whole.low, whole.high});
      } else {
        for (const std::size_t k : group) {
          most = std::max(most, one_way(segments_[k]));
          outer_.insert({segments_[k].low, segments_[k].high});
        }
      }
    }
    for (const auto& [low, high] : outer_) most = std::max(most, meeting(high));
    return most;
  }

 private:
  std::vector<std::size_t> joined(std::size_t first) const {
    std::vector<std::size_t> group = {first};
    for (std::size_t k = 0; k < group.size(); ++k) {
      for (std::size_t j = 0; j < segments_.size(); ++j) {
        const Segment& x = segments_[group[k]];
        const Segment& y = segments_[j];
        const bool shares = std::max(x.low, y.low) < std::min(x.high, y.high);
        if (shares && std::count(group.begin(), group.end(), j) == 0) group.push_back(j);
      }
    }
    return group;
  }

  std::int64_t words(bool up, std::int64_t p) const {
    const auto& list = up ? up_ : down_;
    const auto found = list.find(p);
    return found == list.end() ? 0 : found->second.words;
  }

  bool needs_sweep(const std::vector<std::size_t>& group, const Segment& whole) const {
    for (std::int64_t p = whole.low; p <= whole.high; ++p) {
      bool sends[2] = {};
      bool gets[2] = {};
      for (const std::size_t k : group) {
        const Segment& segment = segments_[k];
        if (p < segment.low || p > segment.high) continue;
        if (p != segment.end() && words(segment.up, p) > 0) sends[segment.up] = true;
        if (p == segment.end()) gets[segment.up] = true;
        for (const Packet& packet : line_) {
          const bool on_way = segment.up ? packet.start < p : packet.start > p;
          const bool inside = packet.start >= segment.low && packet.start <= segment.high;
          if (on_way && inside && packet.ends.count(p) > 0) gets[segment.up] = true;
        }
      }
      if ((sends[0] && sends[1]) || (gets[0] && gets[1])) return true;
    }
    return false;
  }

  /// The last word waits for the busiest tail: its own distance and all words from there on.
  std::int64_t one_way(const Segment& segment) const {
    std::int64_t most = 0;
    for (std::int64_t p = segment.low; p <= segment.high; ++p) {
      if (p == segment.end() || words(segment.up, p) == 0) continue;
      std::int64_t tail = 0;
      for (std::int64_t q = segment.low; q <= segment.high; ++q) {
        const bool farther = segment.up ? q <= p : q >= p;
        if (farther && q != segment.end()) tail += words(segment.up, q);
      }
      most = std::max(most, tail + (segment.up ? segment.high - p : p - segment.low));
    }
    return most;
  }

  bool is_link(const std::vector<std::size_t>& group, bool up, std::int64_t lower) const {
    return std::any_of(group.begin(), group.end(), [&](std::size_t k) {
      const Segment& segment = segments_[k];
      return segment.up == up && segment.low <= lower && lower < segment.high;
    });
  }
  /// When the last word from above has entered the router at p.
  std::int64_t token(const std::vector<std::size_t>& group, const Segment& whole,
                     std::int64_t p) const {
    if (p >= whole.high || !is_link(group, false, p)) return 0;
    return token(group, whole, p + 1) + words(false, p + 1) + 1;
  }

  std::int64_t sweep(const std::vector<std::size_t>& group, const Segment& whole) const {
    std::int64_t most = 0;
    for (std::int64_t p = whole.low; p <= whole.high; ++p) {
      most = std::max(most, token(group, whole, p));
    }
    // Upward segments from the top: one that ends where another begins waits for its first place.
    std::vector<Segment> ups;
    for (const std::size_t k : group) {
      if (segments_[k].up) ups.push_back(segments_[k]);
    }
    std::sort(ups.begin(), ups.end(), [](const auto& x, const auto& y) { return x.low > y.low; });
    std::int64_t freed = 0;  // when the lowest place of the previous segment has sent its words
    std::int64_t freed_at = -1;
    for (const Segment& segment : ups) {
      std::int64_t busy = segment.high == freed_at ? freed : 0;
      for (std::int64_t p = segment.high - 1; p >= segment.low; --p) {
        if (words(true, p) == 0) continue;
        const std::int64_t own = p > whole.low ? words(false, p) : 0;
        const std::int64_t start = std::max<std::int64_t>(0, token(group, whole, p) - 1) + own;
        busy = std::max(busy, start + segment.high - p) + words(true, p);
      }
      most = std::max(most, busy);
      freed_at = segment.low;
      freed = busy - (segment.high - segment.low);
    }
    return most;
  }

  /// One ramp that takes, or sends, what two groups have.
  std::int64_t meeting(std::int64_t p) const {
    std::int64_t got[2] = {};
    std::int64_t nearest = length_;
    for (const Segment& segment : segments_) {
      if (segment.end() != p) continue;
      for (std::int64_t q = segment.low; q <= segment.high; ++q) {
        if (q == p || words(segment.up, q) == 0) continue;
        got[segment.up] += words(segment.up, q);
        nearest = std::min(nearest, std::max(p - q, q - p));
      }
    }
    std::int64_t most = got[0] > 0 && got[1] > 0 ? got[0] + got[1] + nearest : 0;
    const std::int64_t up = words(true, p);
    const std::int64_t down = words(false, p);
    if (up == 0 || down == 0) return most;
    std::int64_t ways[2] = {};
    for (const Segment& segment : segments_) {
      const bool inside = segment.low <= p && p <= segment.high && p != segment.end();
      if (inside) ways[segment.up] = std::max(segment.end() - p, p - segment.end());
    }
    const std::int64_t way = up > down ? ways[1] : up < down ? ways[0] : std::max(ways[0], ways[1]);
    return std::max(most, up + down + way);
  }

  const Line& line_;
  std::int64_t length_;
  std::map<std::int64_t, Leaving> up_;
  std::map<std::int64_t, Leaving> down_;
  std::vector<Segment> segments_;
  mutable std::set<std::pair<std::int64_t, std::int64_t>> outer_;
};

/// A route of `direct`.
struct Route {
  std::int64_t low, high;
  bool down;
  std::int64_t words;
  std::int64_t colour = 0;
  std::int64_t start() const { return down ? high : low; }
  std::int64_t steps() const { return high - low; }
  bool crosses(std::int64_t lower) const { return low <= lower && lower < high; }
};

std::vector<Route> routes_of(const Walk& walk, const Line& line) {
  std::vector<Route> routes;
  for (const auto& [p, here] : leaving(walk, line, true)) {
    routes.push_back({p, here.reach, false, here.words});
  }
  for (const auto& [p, here] : leaving(walk, line, false)) {
    routes.push_back({here.reach, p, true, here.words});
  }
  std::sort(routes.begin(), routes.end(), [](const Route& x, const Route& y) {
    return std::tuple(x.low, x.high, x.down) < std::tuple(y.low, y.high, y.down);
  });
  for (std::size_t i = 0; i < routes.size(); ++i) {
    std::set<std::int64_t> taken;
    for (std::size_t j = 0; j < i; ++j) {
      if (routes[j].high >= routes[i].low) taken.insert(routes[j].colour);
    }
    while (taken.count(routes[i].colour) > 0) ++routes[i].colour;
  }
  return routes;
}

/// What one round of a line takes, without the ramps.
std::int64_t slowest(const std::vector<Route>& routes, std::int64_t length) {
  std::int64_t most = 0;
  const auto load = [&](std::int64_t lower, bool down) {
    std::int64_t words = 0;
    for (const Route& route : routes) {
      if (route.down == down && route.crosses(lower)) words += route.words;
    }
    return words;
  };
  for (std::int64_t p = 0; p + 1 < length; ++p) {
    for (const bool down : {false, true}) {
      std::int64_t before = length;
      std::int64_t after = length;
      for (const Route& route : routes) {
        if (route.down != down || !route.crosses(p)) continue;
        before = std::min(before, down ? route.high - p - 1 : p - route.low);
        after = std::min(after, down ? p - route.low : route.high - p - 1);
      }
      if (load(p, down) > 0) most = std::max(most, load(p, down) + before + 1 + after);
    }
    const bool both = p > 0 && load(p - 1, false) > 0 && load(p, true) > 0;
    if (!both) continue;
    most = std::max(most, load(p - 1, false) + load(p, true) + 1);
  }
  for (const Route& x : routes) {
    for (const Route& y : routes) {
      if (x.start() != y.start() || x.down == y.down) continue;
      const Route& longer = x.words > y.words       ? x
                            : x.words < y.words     ? y
                            : x.steps() > y.steps() ? x
                                                    : y;
      most = std::max(most, x.words + y.words + longer.steps());
    }
  }
  return most;
}

std::int64_t direct(const Walk& walk, const std::map<std::int64_t, Line>& lines,
                    std::int64_t length) {
  std::map<std::int64_t, std::int64_t> rounds;
  for (const auto& [number, line] : lines) {
    std::map<std::int64_t, std::vector<Route>> by_round;
    for (const Route& route : routes_of(walk, line)) {
      by_round[route.colour / walk.mesh().colours].push_back(route);
    }
    for (const auto& [round, routes] : by_round) {
      rounds[round] = std::max(rounds[round], slowest(routes, length) + walk.ramps());
    }
  }
  std::int64_t cycles = 0;
  for (const auto& [round, taken] : rounds) cycles += taken;
  return cycles;
}

/// Every route of every multicast, link by link.
std::int64_t trees(const Walk& walk) {
  struct Use {
    std::int64_t words = 0;
    std::int64_t longest = 0;
  };
  std::map<std::pair<std::int64_t, int>, Use> uses;
  const std::int64_t cols = walk.mesh().cols;
  for (const auto& [tree, elements] : walk.moves().multicasts) {
    std::set<std::pair<std::int64_t, int>> ways = {{tree.first, -1}};
    std::int64_t longest = 0;
    for (const std::int64_t place : tree.second) {
      std::int64_t at = tree.first;
      std::int64_t steps = 0;
      const auto go = [&](std::int64_t by, int way) {
        ways.insert({at, way});
        at += by;
        ++steps;
      };
      while (at % cols < place % cols) go(1, 0);
      while (at % cols > place % cols) go(-1, 1);
      while (at < place) go(cols, 2);
      while (at > place) go(-cols, 3);
      ways.insert({place, 4});
      longest = std::max(longest, steps);
    }
    for (const auto& way : ways) {
      uses[way].words += walk.words(elements);
      uses[way].longest = std::max(uses[way].longest, longest);
    }
  }
  std::int64_t most = 0;
  for (const auto& [way, use] : uses) most = std::max(most, use.words + use.longest);
  return most + walk.ramps();
}

}  // namespace

std::map<std::string, std::int64_t> naive_schedules(const NaiveReshard& moves,
                                                    const Placement& placement,
                                                    const reshard::PhysicalMesh& physical) {
  std::map<std::string, std::int64_t> cycles;
  if (moves.multicasts.empty()) return cycles;
  const Walk walk(moves, placement, physical);
  const std::int64_t colours = walk.mesh().colours;
  if (static_cast<std::int64_t>(moves.multicasts.size()) <= colours) {
    cycles["multicast_trees"] = trees(walk);
  }
  for (const bool along_rows : {true, false}) {
    const auto lines = walk.lines(along_rows);
    if (lines.empty()) continue;
    const std::int64_t length = along_rows ? walk.mesh().cols : walk.mesh().rows;
    cycles["direct"] += direct(walk, lines, length);
    if (colours >= 4) cycles["shifts"] += shifts(walk, lines);
    if (colours < 6) continue;
    std::int64_t most = 0;
    for (const auto& [number, line] : lines) {
      most = std::max(most, Streams(walk, line, length).cycles());
    }
    cycles["row_then_column_streams"] += most + walk.ramps();
  }
  return cycles;
}

}  // namespace tessera::test
