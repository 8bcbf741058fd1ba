// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/schedule_law.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

using reshard::CollectiveKind;
using enum reshard::CollectiveKind;
using Contributions = std::set<std::int64_t>;  // the members whose contributions a block contains
using Memory = std::vector<std::vector<std::optional<Contributions>>>;  // by member, then block

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

bool is_reduction(CollectiveKind kind) {
  return kind == kReduce || kind == kReduceScatter || kind == kAllReduce;
}

/// Whether a member has a block at the beginning; reductions begin with a contribution everywhere.
bool begins_with(const reshard::Schedule& schedule, std::int64_t member, std::int64_t block) {
  switch (schedule.kind()) {
    case kBroadcast:
    case kScatter:
      return member == schedule.root();
    case kAllToAll:
      return block / schedule.members() == member;
    case kAllGather:
    case kGather:
    case kPermute:
      return block == member;
    default:
      return true;
  }
}

/// Whether a member must have a block at the end.
bool ends_with(const reshard::Schedule& schedule, const std::vector<std::int32_t>& moves,
               std::int64_t member, std::int64_t block) {
  switch (schedule.kind()) {
    case kGather:
    case kReduce:
      return member == schedule.root();
    case kAllToAll:
      return block % schedule.members() == member;
    case kScatter:
    case kReduceScatter:
      return block == member;
    case kPermute:
      return moves[at(block)] == member;
    default:
      return true;
  }
}

/// One block of one message. Returns what is wrong.
std::string deliver(const reshard::Schedule& schedule, const reshard::BlockSend& send,
                    std::int64_t block, const Memory& before, Memory& after) {
  if (block < 0 || block >= schedule.blocks()) return cat("block ", block, " does not exist");
  const std::optional<Contributions>& sent = before[at(send.from)][at(block)];
  std::optional<Contributions>& held = after[at(send.to)][at(block)];
  if (!sent) return cat("member ", send.from, " sends block ", block, " without having it");
  if (send.combines) {
    if (!held) return cat("member ", send.to, " combines block ", block, " with nothing");
    for (const std::int64_t contribution : *sent) {
      if (!held->insert(contribution).second) {
        return cat("member ", send.to, " combines the contribution of ", contribution, " to block ",
                   block, " twice");
      }
    }
    return "";
  }
  // A broadcast may scatter first, so that a block may have passed through a member before.
  if (held && held->size() >= sent->size() && schedule.kind() != kBroadcast) {
    return cat("block ", block, " arrives at member ", send.to, ", which has it");
  }
  held = sent;
  return "";
}

}  // namespace

std::string schedule_mistake(const reshard::Schedule& schedule,
                             const std::vector<std::int32_t>& moves) {
  const std::int64_t members = schedule.members();
  const bool reduces = is_reduction(schedule.kind());
  Memory memory(at(members));
  for (std::int64_t m = 0; m < members; ++m) {
    memory[at(m)].resize(at(schedule.blocks()));
    for (std::int64_t block = 0; block < schedule.blocks(); ++block) {
      if (begins_with(schedule, m, block)) memory[at(m)][at(block)] = {reduces ? m : 0};
    }
  }
  for (std::int64_t round = 0; round < schedule.rounds(); ++round) {
    const Memory before = memory;
    const reshard::BlockRound sends = schedule.round(round);
    if (sends.empty()) return cat("round ", round, " is empty");
    for (const reshard::BlockSend& send : sends) {
      const bool valid = send.from != send.to && std::min(send.from, send.to) >= 0 &&
                         std::max(send.from, send.to) < members && !send.blocks.empty();
      if (!valid) return cat("round ", round, ": ", send.from, " to ", send.to, " is no message");
      for (const reshard::BlockRange& range : send.blocks) {
        for (std::int64_t i = 0; i < range.count; ++i) {
          std::string wrong = deliver(schedule, send, range.first + i, before, memory);
          if (!wrong.empty()) return cat("round ", round, ": ", wrong);
        }
      }
    }
  }
  for (std::int64_t m = 0; m < members; ++m) {
    for (std::int64_t block = 0; block < schedule.blocks(); ++block) {
      if (!ends_with(schedule, moves, m, block)) continue;
      const std::size_t wanted = reduces ? at(members) : 1;
      const std::optional<Contributions>& held = memory[at(m)][at(block)];
      if (!held || held->size() != wanted) {
        return cat("member ", m, " does not end with block ", block);
      }
    }
  }
  return "";
}

}  // namespace tessera::test
