// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/round_patterns.h"

#include <algorithm>
#include <map>

namespace tessera::moves {
namespace {

/// The pairs that no other pair exceeds in both numbers.
std::vector<std::pair<std::int64_t, std::int64_t>> largest(
    std::vector<std::pair<std::int64_t, std::int64_t>> all) {
  std::sort(all.rbegin(), all.rend());
  std::vector<std::pair<std::int64_t, std::int64_t>> kept;
  for (const auto& pair : all) {
    if (kept.empty() || pair.second > kept.back().second) kept.push_back(pair);
  }
  return kept;
}

}  // namespace

std::uint64_t hash_of(const reshard::MemberPlaces& places) {
  SequenceHash hash;
  hash.mix(static_cast<std::uint64_t>(places.groups()));
  for (const std::int64_t place : places.all()) hash.mix(static_cast<std::uint64_t>(place));
  return hash.value();
}

std::uint64_t hash_of(const reshard::BlockRound& sends) {
  SequenceHash hash;
  for (const reshard::BlockSend& send : sends) {
    hash.mix(static_cast<std::uint64_t>(send.from) << 32 | static_cast<std::uint32_t>(send.to));
    hash.mix(static_cast<std::uint64_t>(send.count()) << 24 | send.blocks.size() << 1 |
             (send.combines ? 1U : 0U));
  }
  return hash.value();
}

Result<RoundPattern> pattern_of(const reshard::BlockRound& sends,
                                const reshard::MemberPlaces& places,
                                fabric::NetworkPricer& pricer) {
  RoundPattern pattern;
  pattern.sends = hash_of(sends);
  pattern.messages = std::ssize(sends) * places.groups();
  if (!sends.empty()) {
    pattern.blocks = sends.front().count();
    pattern.ranges = static_cast<std::int64_t>(sends.front().blocks.size());
  }
  const bool equal = std::all_of(sends.begin(), sends.end(), [&](const reshard::BlockSend& send) {
    return send.count() == pattern.blocks && std::ssize(send.blocks) == pattern.ranges;
  });
  if (!equal) return pattern;
  struct Count {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    std::int64_t combined = 0;
  };
  std::map<std::int32_t, Count> counts;
  std::vector<fabric::Message> messages;
  messages.reserve(sends.size() * static_cast<std::size_t>(places.groups()));
  for (std::int64_t group = 0; group < places.groups(); ++group) {
    for (const reshard::BlockSend& send : sends) {
      const auto from = static_cast<std::int32_t>(places.place(group, send.from));
      const auto to = static_cast<std::int32_t>(places.place(group, send.to));
      messages.push_back({from, to, 1, 1});
      Count& end = counts[to];
      if (send.combines) pattern.most_combined = std::max(pattern.most_combined, ++end.combined);
      if (from == to) continue;
      ++end.received;
      ++counts[from].sent;
    }
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> loads;
  for (const auto& [place, count] : counts) loads.emplace_back(count.sent, count.received);
  pattern.busiest_places = largest(std::move(loads));
  TESSERA_TRY(pattern.routes, pricer.pattern(std::move(messages)));
  return pattern;
}

}  // namespace tessera::moves
