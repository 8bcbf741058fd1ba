// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/naive_fabric.h"

#include <algorithm>
#include <cstdlib>
#include <deque>

namespace tessera::test {
namespace {

std::int32_t next_router(const fabric::FabricMesh& mesh, std::int32_t router, fabric::Port port) {
  switch (port) {
    case fabric::Port::kEast:
      return router + 1;
    case fabric::Port::kWest:
      return router - 1;
    case fabric::Port::kSouth:
      return router + mesh.cols;
    case fabric::Port::kNorth:
      return router - mesh.cols;
    case fabric::Port::kRamp:
      break;
  }
  return router;
}

/// The order in which an output takes turns: from the ramp, then by direction; or by colour.
int turn_of(fabric::Port came_by, bool from_ramp, fabric::FabricMode mode, std::int32_t colour) {
  if (mode == fabric::FabricMode::kStatic) return colour;
  return from_ramp ? 0 : 1 + static_cast<int>(came_by);
}

struct NaiveWavelet {
  std::int64_t message = 0;
  std::int64_t index = 0;
  std::uint32_t word = 0;
};
using Way = std::pair<std::int32_t, fabric::Port>;        // router, output
using Key = std::tuple<std::int32_t, fabric::Port, int>;  // router, output, turn
using Queues = std::map<Key, std::deque<NaiveWavelet>>;

class Machine {
 public:
  Machine(const fabric::FabricMesh& mesh, const fabric::Traffic& traffic,
          const fabric::SimulateOptions& options, const std::vector<fabric::MessageTimes>& given)
      : mesh_(mesh), traffic_(traffic), options_(options), given_(given) {
    run_.messages.resize(traffic.messages.size());
    names_colours_ = options.mode == fabric::FabricMode::kStatic && !traffic.messages.empty() &&
                     traffic.messages.front().colour != fabric::kAnyColour;
    for (std::size_t m = 0; m < traffic.messages.size(); ++m) {
      run_.messages[m] = {-1, -1, -1, -1, given[m].phase, given[m].colour};
      routers_.push_back(walked_routers(mesh, traffic, traffic.messages[m]));
      auto& ways = ways_.emplace_back(walked_links(mesh, traffic, traffic.messages[m]));
      for (const std::int32_t end : traffic.destinations_of(traffic.messages[m])) {
        ways.emplace(end, fabric::Port::kRamp);
        left_ += traffic.messages[m].words;
      }
    }
  }

  NaiveRun run() {
    std::int32_t phases = 0;
    for (const fabric::MessageTimes& times : given_) phases = std::max(phases, times.phase + 1);
    std::int64_t start = 0;
    for (std::int32_t phase = 0; phase < phases; ++phase) {
      carry_out(phase, start);
      start = last_ + 1 + options_.switch_cycles;
    }
    run_.finished = left_ == 0;
    return run_;
  }

 private:
  void carry_out(std::int32_t phase, std::int64_t start) {
    std::map<std::int32_t, std::map<std::int32_t, std::deque<std::int64_t>>> pending;
    std::map<std::int32_t, std::int32_t> next_colour;
    std::int64_t undelivered = 0;
    for (std::size_t m = 0; m < traffic_.messages.size(); ++m) {
      if (given_[m].phase != phase) continue;
      const fabric::FabricMessage& message = traffic_.messages[m];
      const std::int32_t thread = names_colours_ ? message.colour : 0;
      pending[message.source][thread].push_back(static_cast<std::int64_t>(m));
      undelivered += traffic_.messages[m].words * traffic_.messages[m].destinations.count;
    }
    const std::int64_t goal = left_ - undelivered;
    Queues queues;
    std::map<Way, int> turns;
    for (std::int64_t cycle = start + mesh_.ramp_cycles; left_ > goal; ++cycle) {
      if (cycle > start + 100000) return;
      for (auto& [source, lists] : pending) {
        // The first colour that can send, from the one after the colour that sent last.
        std::vector<std::int32_t> colours;
        for (const auto& [colour, list] : lists) colours.push_back(colour);
        std::rotate(colours.begin(),
                    std::lower_bound(colours.begin(), colours.end(), next_colour[source]),
                    colours.end());
        for (const std::int32_t colour : colours) {
          if (!depart(queues, source, lists[colour], cycle)) continue;
          next_colour[source] = colour + 1;
          break;
        }
      }
      move(queues, turns, cycle);
    }
  }

  std::vector<Key> enter(std::int64_t message, std::int32_t router, fabric::Port came_by,
                         bool from_ramp) const {
    std::vector<Key> keys;
    for (const fabric::Port port : {fabric::Port::kEast, fabric::Port::kWest, fabric::Port::kSouth,
                                    fabric::Port::kNorth, fabric::Port::kRamp}) {
      if (ways_[static_cast<std::size_t>(message)].count({router, port}) == 0) continue;
      const std::int32_t colour = given_[static_cast<std::size_t>(message)].colour;
      keys.emplace_back(router, port, turn_of(came_by, from_ramp, options_.mode, colour));
    }
    return keys;
  }

  bool all_have_room(const Queues& queues, const std::vector<Key>& keys) const {
    return std::all_of(keys.begin(), keys.end(), [&](const Key& key) {
      const auto queue = queues.find(key);
      return queue == queues.end() ||
             static_cast<std::int64_t>(queue->second.size()) < options_.queue_depth;
    });
  }

  /// With named colours: whether all words of the earlier messages of this colour that cross the
  /// router have entered it.
  bool has_turn(
      std::int64_t message, std::int32_t router,
      const std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t>& entered) const {
    if (!names_colours_) return true;
    const auto colour = [&](std::int64_t m) {
      return traffic_.messages[static_cast<std::size_t>(m)].colour;
    };
    for (std::int64_t m = 0; m < message; ++m) {
      if (colour(m) != colour(message)) continue;
      if (routers_[static_cast<std::size_t>(m)].count(router) == 0) continue;
      const auto words = entered.find({m, router});
      if (words == entered.end()) return false;
      if (words->second < traffic_.messages[static_cast<std::size_t>(m)].words) return false;
    }
    return true;
  }

  /// Whether a word left.
  bool depart(Queues& queues, std::int32_t source, std::deque<std::int64_t>& list,
              std::int64_t cycle) {
    if (list.empty()) return false;
    const std::int64_t m = list.front();
    const fabric::FabricMessage& message = traffic_.messages[static_cast<std::size_t>(m)];
    const std::int64_t index = sent_[m];
    const std::int64_t departure = cycle - mesh_.ramp_cycles;
    if (departure < message.not_before) return false;
    std::uint32_t word = traffic_.payload[static_cast<std::size_t>(message.first_word + index)];
    for (const std::int64_t awaited : traffic_.after_of(message)) {
      const auto ends =
          traffic_.destinations_of(traffic_.messages[static_cast<std::size_t>(awaited)]);
      const std::int64_t end = std::find(ends.begin(), ends.end(), source) - ends.begin();
      const auto arrived = run_.deliveries.find({awaited, end, index});
      if (arrived == run_.deliveries.end() || arrived->second.second + 1 > departure) return false;
      word = options_.combine(word, arrived->second.first);
    }
    const std::vector<Key> keys = enter(m, source, fabric::Port::kRamp, true);
    if (!all_have_room(queues, keys) || !has_turn(m, source, entered_)) return false;
    ++entered_[{m, source}];
    for (const Key& key : keys) queues[key].push_back({m, index, word});
    fabric::MessageTimes& times = run_.messages[static_cast<std::size_t>(m)];
    if (index == 0) times.first_departure = departure;
    times.last_departure = departure;
    if (++sent_[m] == message.words) list.pop_front();
    return true;
  }

  void move(Queues& queues, std::map<Way, int>& turns, std::int64_t cycle) {
    const Queues before = queues;
    const auto entered_before = entered_;
    std::map<Way, std::vector<int>> waiting;
    for (const auto& [key, list] : before) {
      if (list.empty()) continue;
      waiting[{std::get<0>(key), std::get<1>(key)}].push_back(std::get<2>(key));
    }
    for (auto& [way, order] : waiting) {
      const auto [router, port] = way;
      const auto first = std::lower_bound(order.begin(), order.end(), turns[way]);
      std::rotate(order.begin(), first, order.end());
      for (const int turn : order) {
        const NaiveWavelet wavelet = before.at({router, port, turn}).front();
        if (port == fabric::Port::kRamp) {
          deliver(router, wavelet, cycle + mesh_.ramp_cycles);
        } else {
          const std::int32_t next = next_router(mesh_, router, port);
          const auto keys = enter(wavelet.message, next, port, false);
          if (!all_have_room(before, keys)) continue;
          if (!has_turn(wavelet.message, next, entered_before)) continue;
          ++entered_[{wavelet.message, next}];
          for (const Key& key : keys) queues[key].push_back(wavelet);
        }
        queues[{router, port, turn}].pop_front();
        turns[way] = turn + 1;
        break;
      }
    }
  }

  void deliver(std::int32_t router, const NaiveWavelet& wavelet, std::int64_t cycle) {
    const fabric::FabricMessage& message =
        traffic_.messages[static_cast<std::size_t>(wavelet.message)];
    const auto ends = traffic_.destinations_of(message);
    const std::int64_t end = std::find(ends.begin(), ends.end(), router) - ends.begin();
    run_.deliveries[{wavelet.message, end, wavelet.index}] = {wavelet.word, cycle};
    fabric::MessageTimes& times = run_.messages[static_cast<std::size_t>(wavelet.message)];
    if (times.first_delivery < 0) times.first_delivery = cycle;
    times.last_delivery = cycle;
    last_ = cycle;
    --left_;
  }

  const fabric::FabricMesh& mesh_;
  const fabric::Traffic& traffic_;
  const fabric::SimulateOptions& options_;
  const std::vector<fabric::MessageTimes>& given_;
  bool names_colours_ = false;
  std::vector<std::set<Way>> ways_;
  std::vector<std::set<std::int32_t>> routers_;
  /// (message, router) to the words that have entered the router.
  std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t> entered_;
  std::map<std::int64_t, std::int64_t> sent_;
  std::int64_t left_ = 0;
  std::int64_t last_ = -1;
  NaiveRun run_;
};

}  // namespace

std::set<Way> walked_links(const fabric::FabricMesh& mesh, const fabric::Traffic& traffic,
                           const fabric::FabricMessage& message) {
  std::set<Way> links;
  for (const std::int32_t end : traffic.destinations_of(message)) {
    std::int32_t at = message.source;
    const auto step = [&](fabric::Port port) {
      links.emplace(at, port);
      at = next_router(mesh, at, port);
    };
    while (at % mesh.cols < end % mesh.cols) step(fabric::Port::kEast);
    while (at % mesh.cols > end % mesh.cols) step(fabric::Port::kWest);
    while (at < end) step(fabric::Port::kSouth);
    while (at > end) step(fabric::Port::kNorth);
  }
  return links;
}

std::set<std::int32_t> walked_routers(const fabric::FabricMesh& mesh,
                                      const fabric::Traffic& traffic,
                                      const fabric::FabricMessage& message) {
  std::set<std::int32_t> routers{message.source};
  for (const auto& [router, port] : walked_links(mesh, traffic, message)) {
    routers.insert(next_router(mesh, router, port));
  }
  return routers;
}

std::int64_t distance(const fabric::FabricMesh& mesh, std::int32_t a, std::int32_t b) {
  return std::abs(a / mesh.cols - b / mesh.cols) + std::abs(a % mesh.cols - b % mesh.cols);
}

NaiveRun naive_run(const fabric::FabricMesh& mesh, const fabric::Traffic& traffic,
                   const fabric::SimulateOptions& options,
                   const std::vector<fabric::MessageTimes>& given) {
  return Machine(mesh, traffic, options, given).run();
}

}  // namespace tessera::test
