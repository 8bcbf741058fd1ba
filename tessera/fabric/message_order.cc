// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/message_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::fabric {
namespace {

/// One entry of an `after` list.
struct Wait {
  std::int64_t awaited = 0;
  std::uint32_t waiting = 0;
  std::size_t entry = 0;  ///< counted over all lists
};

std::vector<Wait> waits_of(const Traffic& traffic) {
  std::vector<Wait> waits;
  for (std::size_t m = 0; m < traffic.messages.size(); ++m) {
    for (const std::int64_t awaited : traffic.after_of(traffic.messages[m])) {
      waits.push_back({awaited, static_cast<std::uint32_t>(m), waits.size()});
    }
  }
  return waits;
}

void sort_by_awaited(std::vector<Wait>& waits) {
  std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) {
    return std::pair(a.awaited, a.entry) < std::pair(b.awaited, b.entry);
  });
}

}  // namespace

Result<std::vector<std::int64_t>> awaited_destinations(const Traffic& traffic) {
  std::vector<Wait> waits = waits_of(traffic);
  sort_by_awaited(waits);
  std::vector<std::int64_t> found(waits.size());
  std::vector<std::pair<std::int32_t, std::int64_t>> ends;  // of one message: node, number
  std::int64_t listed = -1;
  for (const Wait& wait : waits) {
    if (wait.awaited != listed) {
      ends.clear();
      listed = wait.awaited;
      const FabricMessage& message = traffic.messages[static_cast<std::size_t>(listed)];
      for (const std::int32_t node : traffic.destinations_of(message)) {
        ends.emplace_back(node, static_cast<std::int64_t>(ends.size()));
      }
      std::sort(ends.begin(), ends.end());
    }
    const std::int32_t source = traffic.messages[wait.waiting].source;
    const auto end = std::lower_bound(ends.begin(), ends.end(), std::pair(source, std::int64_t{0}));
    if (end == ends.end() || end->first != source) {
      return Error{ErrorCode::kOutOfRange,
                   cat("message ", wait.waiting, " waits at router ", source, " for message ",
                       wait.awaited, ", which does not end there"),
                   std::nullopt, "a message waits for messages whose destinations name its source"};
    }
    found[wait.entry] = end->second;
  }
  return found;
}

Result<std::vector<std::uint32_t>> message_order(const Traffic& traffic) {
  const std::size_t count = traffic.messages.size();
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::vector<Wait> waits = waits_of(traffic);
  if (waits.empty()) return order;
  sort_by_awaited(waits);

  // For each message: the next message of the same source, and the number of messages that it still
  // waits for.
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> next(count, kNone);
  std::vector<std::uint32_t> missing(count, 0);
  std::vector<std::uint32_t> by_source = order;
  std::sort(by_source.begin(), by_source.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(traffic.messages[a].source, a) < std::pair(traffic.messages[b].source, b);
  });
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint32_t before = by_source[i - 1];
    if (traffic.messages[before].source != traffic.messages[by_source[i]].source) continue;
    next[before] = by_source[i];
    ++missing[by_source[i]];
  }
  for (const Wait& wait : waits) ++missing[wait.waiting];

  order.clear();
  for (std::uint32_t m = 0; m < count; ++m) {
    if (missing[m] == 0) order.push_back(m);
  }
  const auto settle = [&](std::uint32_t message) {
    if (--missing[message] == 0) order.push_back(message);
  };
  std::size_t seen = 0;
  while (seen < order.size()) {
    const std::uint32_t done = order[seen++];
    if (next[done] != kNone) settle(next[done]);
    const auto first =
        std::lower_bound(waits.begin(), waits.end(), std::int64_t{done},
                         [](const Wait& w, std::int64_t awaited) { return w.awaited < awaited; });
    for (auto wait = first; wait != waits.end() && wait->awaited == done; ++wait) {
      settle(wait->waiting);
    }
  }
  if (order.size() == count) return order;
  const auto stuck = std::find_if(missing.begin(), missing.end(), [](auto n) { return n > 0; });
  return Error{ErrorCode::kContradiction,
               cat("message ", stuck - missing.begin(),
                   " is never sent: it is part of a cycle of messages that wait for each other"),
               std::nullopt, "list messages of a source in the order in which they can be sent"};
}

}  // namespace tessera::fabric
