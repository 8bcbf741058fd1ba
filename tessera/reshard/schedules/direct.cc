// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/schedules/direct.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "tessera/base/sort_stably.h"

namespace tessera::reshard {
namespace {

/// Gives each route the first colour that is free at all of its routers.
void give_colours(std::vector<DirectRoute>& routes) {
  using Ends = std::pair<std::int32_t, std::int32_t>;  // upper end, colour
  std::priority_queue<Ends, std::vector<Ends>, std::greater<>> taken;
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> free;
  std::int32_t colours = 0;
  for (DirectRoute& route : routes) {
    for (; !taken.empty() && taken.top().first < route.low; taken.pop()) {
      free.push(taken.top().second);
    }
    if (free.empty()) free.push(colours++);
    route.colour = free.top();
    free.pop();
    taken.emplace(route.high, route.colour);
  }
}

/// Words over links, as routes begin and end.
struct Event {
  std::int32_t position = 0;
  std::int64_t words = 0;
  friend auto operator<=>(const Event&, const Event&) = default;
};

/// The largest, over the links of one direction, of load + nearest end - nearest start. Routes are
/// sorted by lower end. Both nearest ones are the same for all links between two ends of routes.
std::int64_t slowest_link(std::span<const DirectRoute> routes, bool up) {
  std::vector<std::pair<std::int32_t, std::int32_t>> lows;  // of active routes, with upper ends
  std::priority_queue<Event, std::vector<Event>, std::greater<>> active;  // by upper end
  std::int64_t load = 0;
  std::int64_t most = 0;
  const auto see = [&] {
    if (active.empty()) return;
    most = std::max(most, load + active.top().position - lows.back().first);
  };
  const auto end_before = [&](std::int32_t position) {
    while (!active.empty() && active.top().position <= position) {
      const std::int32_t end = active.top().position;
      for (; !active.empty() && active.top().position == end; active.pop()) {
        load -= active.top().words;
      }
      while (!lows.empty() && lows.back().second <= end) lows.pop_back();
      see();
    }
  };
  for (const DirectRoute& route : routes) {
    if (route.up != up) continue;
    end_before(route.low);
    load += route.words;
    active.push({route.high, route.words});
    lows.emplace_back(route.low, route.high);
    see();
  }
  end_before(INT32_MAX);
  return most;
}

/// The most words that one place receives from both sides, and one more.
std::int64_t slowest_receiver(std::span<const DirectRoute> routes) {
  std::vector<Event> below;  // changes of what comes from there
  std::vector<Event> above;
  for (const DirectRoute& route : routes) {
    std::vector<Event>& list = route.up ? below : above;
    const std::int32_t first = route.up ? route.low + 1 : route.low;
    const std::int32_t beyond = route.up ? route.high + 1 : route.high;
    list.push_back({first, route.words});
    list.push_back({beyond, -route.words});
  }
  if (below.empty() || above.empty()) return 0;
  std::sort(below.begin(), below.end());
  std::sort(above.begin(), above.end());
  std::int64_t from_below = 0;
  std::int64_t from_above = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0, j = 0; i < below.size() && j < above.size();) {
    const std::int32_t position = std::min(below[i].position, above[j].position);
    for (; i < below.size() && below[i].position == position; ++i) from_below += below[i].words;
    for (; j < above.size() && above[j].position == position; ++j) from_above += above[j].words;
    if (from_below > 0 && from_above > 0) most = std::max(most, from_below + from_above + 1);
  }
  return most;
}

/// Places that send to both sides.
std::int64_t slowest_sender(std::span<const DirectRoute> routes) {
  std::map<std::int32_t, const DirectRoute*> ups;
  for (const DirectRoute& route : routes) {
    if (route.up) ups[route.low] = &route;
  }
  std::int64_t most = 0;
  for (const DirectRoute& down : routes) {
    if (down.up) continue;
    const auto found = ups.find(down.high);
    if (found == ups.end()) continue;
    const DirectRoute& up = *found->second;
    const std::int32_t up_steps = up.high - up.low;
    const std::int32_t down_steps = down.high - down.low;
    const std::int32_t steps = up.words > down.words   ? up_steps
                               : up.words < down.words ? down_steps
                                                       : std::max(up_steps, down_steps);
    most = std::max(most, up.words + down.words + steps);
  }
  return most;
}

std::int64_t slowest(std::span<const DirectRoute> routes) {
  return std::max({slowest_link(routes, true), slowest_link(routes, false),
                   slowest_receiver(routes), slowest_sender(routes)});
}

}  // namespace

std::vector<DirectRoute> direct_routes(const LineLoad& load, const Reshard::Rate& rate) {
  std::vector<DirectRoute> routes;
  for (const LineSender& sender : load.senders) {
    const std::int64_t up = rate.of(sender.up * load.scale);
    const std::int64_t down = rate.of(sender.down * load.scale);
    if (up > 0) routes.push_back({sender.position, sender.up_reach, true, 0, up});
    if (down > 0) routes.push_back({sender.down_reach, sender.position, false, 0, down});
  }
  std::sort(routes.begin(), routes.end(), [](const DirectRoute& x, const DirectRoute& y) {
    return std::tuple(x.low, x.high, !x.up) < std::tuple(y.low, y.high, !y.up);
  });
  give_colours(routes);
  return routes;
}

DirectCost direct_cost(const LineLoads& loads, const Reshard::Rate& rate,
                       const fabric::FabricMesh& mesh) {
  DirectCost cost;
  std::vector<std::int64_t> rounds;
  std::int64_t looked = 0;
  loads.for_each_line([&](const LineLoad& load) {
    looked += std::ssize(load.senders);
    cost.is_known = looked <= kMaxDirectRoutes;
    if (!cost.is_known) return false;
    std::vector<DirectRoute> routes = direct_routes(load, rate);
    const auto round_of = [&](const DirectRoute& route) { return route.colour / mesh.colours; };
    sort_stably(routes, [&](const auto& x, const auto& y) { return round_of(x) < round_of(y); });
    for (std::size_t begin = 0, round = 0; begin < routes.size(); ++round) {
      std::size_t end = begin;
      for (; end < routes.size() && round_of(routes[end]) == round_of(routes[begin]); ++end) {
        cost.colours = std::max<std::int64_t>(cost.colours, routes[end].colour + 1);
      }
      if (rounds.size() <= round) rounds.resize(round + 1);
      const std::int64_t here = slowest(std::span(routes).subspan(begin, end - begin));
      rounds[round] = std::max(rounds[round], here + 2 * mesh.ramp_cycles);
      begin = end;
    }
    return true;
  });
  cost.colours = std::min(cost.colours, mesh.colours);
  cost.rounds = std::ssize(rounds);
  for (const std::int64_t cycles : rounds) cost.cycles += cycles;
  return cost;
}

void add_direct_rounds(const Carries& carries, const Dispatches& dispatches,
                       const Reshard::Rate& rate, const fabric::FabricMesh& mesh,
                       Program& program) {
  const std::size_t first_round = program.rounds.size();
  const CarriedLoads loads(carries, dispatches);
  carries.for_each_line([&](std::span<const Carry> line) {
    std::map<std::int32_t, std::span<const Carry>> starts;
    Carries::for_each_start(
        line, [&](std::span<const Carry> start) { starts[start.front().start] = start; });
    const LineLoad load = loads.load_of(line);
    for (const DirectRoute& route : direct_routes(load, rate)) {
      const std::int32_t number = line.front().line;
      Send send;
      send.source = carries.lines.node(number, route.start());
      send.colour = static_cast<std::int32_t>(route.colour % mesh.colours);
      std::vector<std::int32_t> to;
      for (std::int32_t p = route.low; p <= route.high; ++p) {
        if (p != route.start()) to.push_back(carries.lines.node(number, p));
      }
      LegMaker legs(rate);
      for (const Carry& carry : starts.at(route.start())) {
        const auto ends = carries.ends_of(carry);
        const bool leaves = route.up ? ends.back() > route.start() : ends.front() < route.start();
        if (!leaves) continue;
        send.items.push_back(carry.item);
        legs.add(dispatches.list[carry.item].elements, to);
      }
      send.legs = legs.take();
      const std::size_t round = first_round + static_cast<std::size_t>(route.colour / mesh.colours);
      if (program.rounds.size() <= round) program.rounds.resize(round + 1);
      program.rounds[round].sends.push_back(std::move(send));
    }
  });
}

}  // namespace tessera::reshard
