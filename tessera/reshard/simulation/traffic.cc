// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/simulation/traffic.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "tessera/base/text.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxWords = std::int64_t{1} << 28;

struct Router {
  std::int64_t row;
  std::int64_t col;
};
Router router(const fabric::FabricMesh& mesh, std::int64_t node) {
  return {node / mesh.cols, node % mesh.cols};
}

/// The largest of the loads of links and ramps, in wavelets. A tree is a few straight legs. A leg
/// is kept as a difference at either end, so a long route costs no more than a short one.
class Loads {
 public:
  explicit Loads(const fabric::FabricMesh& mesh)
      : mesh_(mesh), changes_(static_cast<std::size_t>(mesh.nodes()) * kWays, 0) {}

  void add(std::int64_t source, const std::vector<std::int64_t>& set, std::int64_t words) {
    const Router from = router(mesh_, source);
    at(from, kOut) += words;
    // Along the row to the farthest column in each direction; along each column to its ends.
    std::int64_t east = from.col;
    std::int64_t west = from.col;
    ends_.clear();
    for (const std::int64_t q : set) {
      const Router to = router(mesh_, q);
      at(to, kIn) += words;
      east = std::max(east, to.col);
      west = std::min(west, to.col);
      ends_.emplace_back(to.col, to.row);
    }
    leg(from, {from.row, east}, kEast, words);
    leg(from, {from.row, west}, kWest, words);
    std::sort(ends_.begin(), ends_.end());
    for (std::size_t i = 0; i < ends_.size();) {
      std::size_t last = i;
      while (last + 1 < ends_.size() && ends_[last + 1].first == ends_[i].first) ++last;
      const std::int64_t col = ends_[i].first;
      leg({from.row, col}, {std::max(from.row, ends_[last].second), col}, kSouth, words);
      leg({from.row, col}, {std::min(from.row, ends_[i].second), col}, kNorth, words);
      i = last + 1;
    }
  }

  std::int64_t largest() const {
    std::int64_t most = 0;
    for (std::int64_t row = 0; row < mesh_.rows; ++row) {
      most = std::max(most, along({row, 0}, {0, 1}, mesh_.cols, kEast));
      most = std::max(most, along({row, mesh_.cols - 1}, {0, -1}, mesh_.cols, kWest));
    }
    for (std::int64_t col = 0; col < mesh_.cols; ++col) {
      most = std::max(most, along({0, col}, {1, 0}, mesh_.rows, kSouth));
      most = std::max(most, along({mesh_.rows - 1, col}, {-1, 0}, mesh_.rows, kNorth));
    }
    for (std::size_t i = 0; i < changes_.size(); i += kWays) {
      most = std::max({most, changes_[i + kIn], changes_[i + kOut]});
    }
    return most;
  }

 private:
  enum Way : std::uint8_t { kEast, kWest, kSouth, kNorth, kIn, kOut };
  static constexpr std::size_t kWays = 6;

  std::size_t number(const Router& at, Way way) const {
    return static_cast<std::size_t>(at.row * mesh_.cols + at.col) * kWays + way;
  }
  std::int64_t& at(const Router& router, Way way) { return changes_[number(router, way)]; }

  /// Leaves `from` and every router before `to` by `way`.
  void leg(const Router& from, const Router& to, Way way, std::int64_t words) {
    at(from, way) += words;
    at(to, way) -= words;
  }

  /// The largest load on a whole row or column.
  std::int64_t along(Router at, const Router& step, std::int64_t routers, Way way) const {
    std::int64_t load = 0;
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < routers; ++i, at.row += step.row, at.col += step.col) {
      load += changes_[number(at, way)];
      most = std::max(most, load);
    }
    return most;
  }

  const fabric::FabricMesh& mesh_;
  std::vector<std::int64_t> changes_;  ///< of links, along their leg; of ramps, the loads
  std::vector<std::pair<std::int64_t, std::int64_t>> ends_;
};

/// The position of a dispatch among those of its place.
struct Rank {
  std::int64_t source;
  std::int64_t distance;  // to the farthest of its destinations
  std::int64_t turn;
  std::uint32_t dispatch;
  auto key() const { return std::tuple(source, -distance, turn, dispatch); }
};

std::vector<Rank> ranked(const Dispatches& dispatches, const fabric::FabricMesh& mesh) {
  std::vector<Rank> ranks;
  ranks.reserve(dispatches.list.size());
  for (std::uint32_t i = 0; i < dispatches.list.size(); ++i) {
    const Dispatch& dispatch = dispatches.list[i];
    const std::vector<std::int64_t>& set = dispatches.sets[dispatch.set];
    const Router from = router(mesh, dispatch.source);
    std::int64_t distance = 0;
    for (const std::int64_t q : set) {
      const Router to = router(mesh, q);
      distance = std::max(distance, std::abs(to.row - from.row) + std::abs(to.col - from.col));
    }
    const std::int64_t nodes = mesh.nodes();
    ranks.push_back({dispatch.source, distance, (set[0] - dispatch.source + nodes) % nodes, i});
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const Rank& x, const Rank& y) { return x.key() < y.key(); });
  return ranks;
}

/// A planned message.
struct Part {
  std::int64_t start;
  std::uint32_t dispatch;
  std::int64_t first_word;
  std::int64_t words;
};

/// A number in [0, 1) for each router, such that neighbours in a row or a column are far apart and
/// values never repeat: multiples of two irrational numbers.
double phase_of(const Router& at) {
  const double sum = static_cast<double>(at.row) * 0.7548776662466927 +
                     static_cast<double>(at.col) * 0.6180339887498949;
  return sum - std::floor(sum);
}

/// The parts of the dispatches of one place, in the order in which they leave.
void cut(std::span<const Rank> ranks, const Dispatches& dispatches, const Reshard& reshard,
         std::int64_t most_parts, std::int64_t busiest, double phase, std::vector<Part>& parts) {
  parts.clear();
  const auto n = static_cast<double>(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::uint32_t number = ranks[r].dispatch;
    const std::int64_t words = reshard.wavelets(dispatches.list[number].elements);
    const std::int64_t count = std::min(most_parts, words);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t first = words * k / count;
      Part part{0, number, first, words * (k + 1) / count - first};
      if (most_parts > 1) {
        const double share = (static_cast<double>(k) + (static_cast<double>(r) + phase) / n) /
                             static_cast<double>(count);
        part.start = static_cast<std::int64_t>(share * static_cast<double>(busiest));
      }
      parts.push_back(part);
    }
  }
  if (most_parts == 1) return;
  std::sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) {
    return std::tie(x.start, x.dispatch, x.first_word) <
           std::tie(y.start, y.dispatch, y.first_word);
  });
}

Error too_many_words(std::int64_t words) {
  return Error{ErrorCode::kTooLarge, cat("messages of ", words, " words are more than ", kMaxWords),
               std::nullopt, "simulate a smaller tensor"};
}

/// The fabric on which messages travel, checked before any allocation depends on its size.
Result<fabric::FabricMesh> routes_of(const Reshard& reshard) {
  const std::optional<fabric::FabricMesh>& mesh = reshard.physical().fabric;
  if (!mesh) {
    return Error{ErrorCode::kNotSupported,
                 cat("messages have no routes: ", reshard.physical().why_no_fabric), std::nullopt,
                 "name a target whose places are connected by rows and columns"};
  }
  TESSERA_CHECK_OK(fabric::Traffic().check(*mesh));
  return *mesh;
}

}  // namespace

Result<ReshardTraffic> traffic_of(const Reshard& reshard, const Dispatches& dispatches,
                                  const TrafficOptions& options) {
  TESSERA_TRY(const fabric::FabricMesh mesh, routes_of(reshard));
  ReshardTraffic made;
  Loads loads(mesh);
  std::vector<std::int64_t> first_word;  // of each dispatch
  std::int64_t words_in_all = 0;
  for (const Dispatch& dispatch : dispatches.list) {
    const std::int64_t words = reshard.wavelets(dispatch.elements);
    loads.add(dispatch.source, dispatches.sets[dispatch.set], words);
    first_word.push_back(options.own_words ? words_in_all : 0);
    words_in_all = options.own_words ? words_in_all + words : std::max(words_in_all, words);
    if (words_in_all > kMaxWords) return too_many_words(words_in_all);
  }
  made.busiest = loads.largest();
  made.traffic.payload.assign(static_cast<std::size_t>(words_in_all), 0);

  const std::vector<Rank> ranks = ranked(dispatches, mesh);
  const Reshard::Rate rate = reshard.wavelet_rate();
  std::vector<Part> parts;
  std::vector<std::int32_t> to;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin;
    while (end < ranks.size() && ranks[end].source == ranks[begin].source) ++end;
    cut(std::span(ranks).subspan(begin, end - begin), dispatches, reshard,
        std::max<std::int64_t>(1, options.parts), made.busiest,
        phase_of(router(mesh, ranks[begin].source)), parts);
    for (const Part& part : parts) {
      const Dispatch& dispatch = dispatches.list[part.dispatch];
      to.clear();
      for (const std::int64_t q : dispatches.sets[dispatch.set]) {
        to.push_back(static_cast<std::int32_t>(q));
      }
      const std::int64_t message =
          made.traffic.add(static_cast<std::int32_t>(dispatch.source), to,
                           first_word[part.dispatch] + part.first_word, part.words, {});
      made.traffic.messages[static_cast<std::size_t>(message)].not_before = part.start;
      // Elements whose last bit lies in the words [0, w): floor(w · bits / bits per element).
      const auto within = [&](std::int64_t w) {
        return std::min(dispatch.elements, w * rate.denominator / rate.numerator);
      };
      made.elements.push_back(within(part.first_word + part.words) - within(part.first_word));
      made.dispatches.push_back(part.dispatch);
      made.first_words.push_back(part.first_word);
    }
    begin = end;
  }
  return made;
}

Result<ReshardTraffic> traffic_of(const Reshard& reshard, std::int64_t most,
                                  TrafficOptions options) {
  TESSERA_TRY([[maybe_unused]] const fabric::FabricMesh mesh, routes_of(reshard));
  TESSERA_TRY(const Dispatches dispatches, dispatches_of(reshard, {.boxes = false, .most = most}));
  const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(dispatches.list.size()));
  options.parts =
      std::clamp<std::int64_t>(options.parts, 1, std::max<std::int64_t>(1, most / count));
  return traffic_of(reshard, dispatches, options);
}

}  // namespace tessera::reshard
