// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/traffic.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxWords = std::int64_t{1} << 28;

/// Where a dispatch stands among those of its source.
struct Turn {
  std::int64_t source;
  std::int64_t distance;  // to the farthest of its destinations
  std::int64_t turn;
  std::uint32_t dispatch;
  auto key() const { return std::tuple(source, -distance, turn, dispatch); }
};

std::int64_t distance(const FabricMesh& mesh, std::int64_t p, std::int64_t q) {
  return std::abs(p / mesh.cols - q / mesh.cols) + std::abs(p % mesh.cols - q % mesh.cols);
}

}  // namespace

Result<ReshardTraffic> traffic_of(const Reshard& reshard, const Dispatches& dispatches,
                                  bool own_words) {
  const std::optional<FabricMesh>& fabric = reshard.ground().fabric;
  if (!fabric) {
    return Error{ErrorCode::kNotSupported,
                 cat("messages have no routes: ", reshard.ground().why_no_fabric), std::nullopt,
                 "name a target whose places are joined by rows and columns"};
  }
  const std::int64_t nodes = fabric->nodes();
  std::vector<Turn> order;
  order.reserve(dispatches.list.size());
  for (std::uint32_t i = 0; i < dispatches.list.size(); ++i) {
    const Dispatch& dispatch = dispatches.list[i];
    Turn turn{dispatch.source, 0, 0, i};
    for (const std::int64_t q : dispatches.sets[dispatch.set]) {
      turn.distance = std::max(turn.distance, distance(*fabric, dispatch.source, q));
    }
    const std::int64_t first = dispatches.sets[dispatch.set].front();
    turn.turn = (first - dispatch.source + nodes) % nodes;
    order.push_back(turn);
  }
  std::sort(order.begin(), order.end(),
            [](const Turn& x, const Turn& y) { return x.key() < y.key(); });

  ReshardTraffic made;
  std::int64_t words_in_all = 0;
  std::vector<std::int32_t> to;
  for (const Turn& turn : order) {
    const Dispatch& dispatch = dispatches.list[turn.dispatch];
    const std::int64_t words = reshard.wavelets(dispatch.elements);
    const std::int64_t first_word = own_words ? words_in_all : 0;
    words_in_all = own_words ? words_in_all + words : std::max(words_in_all, words);
    if (words_in_all > kMaxWords) {
      return Error{ErrorCode::kTooLarge,
                   cat("messages of more than ", kMaxWords, " words are too long to simulate"),
                   std::nullopt, "use a smaller tensor"};
    }
    to.clear();
    for (const std::int64_t q : dispatches.sets[dispatch.set])
      to.push_back(static_cast<std::int32_t>(q));
    made.traffic.add(static_cast<std::int32_t>(dispatch.source), to, first_word, words, {});
    made.elements.push_back(dispatch.elements);
    made.dispatches.push_back(turn.dispatch);
  }
  made.traffic.payload.assign(static_cast<std::size_t>(words_in_all), 0);
  return made;
}

Result<ReshardTraffic> traffic_of(const Reshard& reshard, std::int64_t most) {
  TESSERA_TRY(const Dispatches dispatches, dispatches_of(reshard, {.boxes = false, .most = most}));
  return traffic_of(reshard, dispatches, false);
}

}  // namespace tessera
