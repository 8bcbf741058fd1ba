// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/round_patterns.h"

#include <algorithm>
#include <map>
#include <numeric>

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

bool sends_copies(const reshard::BlockRound& round) {
  std::map<std::int32_t, const reshard::BlockSend*> first;
  const reshard::BlockSend* last = nullptr;  // of the same member, in most rounds
  bool several = false;
  for (const reshard::BlockSend& send : round) {
    bool is_new = false;
    if (last == nullptr || last->from != send.from) {
      const auto [known, added] = first.emplace(send.from, &send);
      last = known->second;
      is_new = added;
    }
    if (send.combines || last->blocks != send.blocks) return false;
    several = several || !is_new;
  }
  return several;
}

std::vector<fabric::Multicast> multicasts_of(const std::vector<fabric::Message>& messages) {
  std::vector<std::uint32_t> order(messages.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](std::uint32_t x, std::uint32_t y) {
    const fabric::Message& a = messages[x];
    const fabric::Message& b = messages[y];
    return a.source != b.source ? a.source < b.source : a.destination < b.destination;
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::sort(order.begin(), order.end(), before);
  }
  std::vector<fabric::Multicast> multicasts;
  for (const std::uint32_t number : order) {
    const fabric::Message& message = messages[number];
    if (multicasts.empty() || multicasts.back().source != message.source) {
      multicasts.push_back({message.source, {}, message.bytes, message.transactions});
    }
    multicasts.back().receivers.push_back(message.destination);
  }
  return multicasts;
}

Result<RoundPattern> pattern_of(const reshard::BlockRound& sends,
                                const reshard::MemberPlaces& places, fabric::NetworkPricer& pricer,
                                fabric::MulticastPricer* multicasts) {
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
  pattern.copies = multicasts != nullptr && sends_copies(sends);
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
  for (const auto& [place, count] : counts) {
    // A multicast leaves its source once.
    const std::int64_t sent = pattern.copies ? std::min<std::int64_t>(count.sent, 1) : count.sent;
    loads.emplace_back(sent, count.received);
  }
  pattern.busiest_places = largest(std::move(loads));
  if (pattern.copies) {
    std::erase_if(messages, [](const fabric::Message& m) { return m.source == m.destination; });
    pattern.trees = multicasts->pattern(multicasts_of(messages));
    return pattern;
  }
  TESSERA_TRY(pattern.routes, pricer.pattern(std::move(messages)));
  return pattern;
}

}  // namespace tessera::moves
