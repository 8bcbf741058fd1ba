// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/messages.h"

#include <algorithm>

#include "tessera/base/text.h"

namespace tessera::reshard {

std::int64_t block_elements(const Collective& collective, const Schedule& schedule,
                            std::int64_t group, std::int64_t block) {
  switch (collective.kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
    case CollectiveKind::kPermute:
      return collective.elements_before(group, block);
    case CollectiveKind::kScatter:
    case CollectiveKind::kReduceScatter:
      return collective.elements_after(group, block);
    case CollectiveKind::kAllToAll:
      return collective.elements_between(group, block / collective.members,
                                         block % collective.members);
    default: {
      const std::int64_t all = collective.elements_before(group, collective.root);
      return all / schedule.blocks() + (block < all % schedule.blocks() ? 1 : 0);
    }
  }
}

Status for_each_message(const Collective& collective, const Schedule& schedule, std::int64_t round,
                        const std::function<Status(const RoundMessage&)>& visit) {
  if (schedule.kind() != collective.kind || schedule.members() != collective.members ||
      schedule.root() != collective.root) {
    return Error{ErrorCode::kContradiction,
                 cat("the schedule is for ", collective_name(schedule.kind()), " of ",
                     schedule.members(), " members, the collective is ",
                     collective_name(collective.kind), " of ", collective.members),
                 std::nullopt, "make the schedule from the collective"};
  }
  const BlockSizes sizes(collective, schedule);
  std::vector<RoundMessage> messages;
  list_messages(MemberPlaces(collective), sizes, schedule.round(round), messages);
  for (const RoundMessage& message : messages) TESSERA_CHECK_OK(visit(message));
  return ok_status();
}

namespace {

/// The size of all blocks, where the tables of the collective show that it is the same.
std::optional<std::int64_t> same_blocks(const Collective& collective, const Schedule& schedule) {
  switch (collective.kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
    case CollectiveKind::kPermute:
      return collective.same_before();
    case CollectiveKind::kScatter:
    case CollectiveKind::kReduceScatter:
      return collective.same_after();
    case CollectiveKind::kAllToAll:
      return collective.same_between();
    default: {
      const std::optional<std::int64_t> all = collective.same_before();
      if (!all || *all % schedule.blocks() != 0) return std::nullopt;
      return *all / schedule.blocks();
    }
  }
}

}  // namespace

BlockSizes::BlockSizes(const Collective& collective, const Schedule& schedule)
    : blocks_(schedule.blocks()), same_(same_blocks(collective, schedule)) {
  if (same_) return;
  sizes_.reserve(static_cast<std::size_t>(collective.groups * blocks_));
  for (std::int64_t group = 0; group < collective.groups; ++group) {
    for (std::int64_t block = 0; block < blocks_; ++block) {
      sizes_.push_back(block_elements(collective, schedule, group, block));
    }
  }
  const bool equal = std::all_of(sizes_.begin(), sizes_.end(),
                                 [&](std::int64_t size) { return size == sizes_.front(); });
  if (equal && !sizes_.empty()) same_ = sizes_.front();
}

MemberPlaces::MemberPlaces(const Collective& collective)
    : groups_(collective.groups), members_(collective.members) {
  places_.reserve(static_cast<std::size_t>(groups_ * members_));
  for (std::int64_t group = 0; group < groups_; ++group) {
    for (std::int64_t member = 0; member < members_; ++member) {
      places_.push_back(collective.place(group, member));
    }
  }
}

void list_messages(const MemberPlaces& places, const BlockSizes& sizes, const BlockRound& sends,
                   std::vector<RoundMessage>& messages) {
  messages.clear();
  for (std::int64_t group = 0; group < places.groups(); ++group) {
    for (const BlockSend& send : sends) {
      RoundMessage message;
      message.pieces = 0;
      message.combines = send.combines;
      for (const BlockRange& range : send.blocks) {
        std::int64_t elements = 0;
        if (sizes.same()) {
          elements = *sizes.same() * range.count;
        } else {
          for (std::int64_t block = range.first; block < range.first + range.count; ++block) {
            elements += sizes.elements(group, block);
          }
        }
        message.elements += elements;
        message.pieces += elements > 0 ? 1 : 0;
      }
      if (message.elements == 0) continue;
      message.source = places.place(group, send.from);
      message.destination = places.place(group, send.to);
      messages.push_back(message);
    }
  }
}

}  // namespace tessera::reshard
