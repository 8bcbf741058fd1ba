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
  const BlockRound sends = schedule.round(round);
  for (std::int64_t group = 0; group < collective.groups; ++group) {
    for (const BlockSend& send : sends) {
      RoundMessage message;
      message.pieces = 0;
      message.combines = send.combines;
      for (const BlockRange& range : send.blocks) {
        std::int64_t elements = 0;
        for (std::int64_t block = range.first; block < range.first + range.count; ++block) {
          elements += block_elements(collective, schedule, group, block);
        }
        message.elements += elements;
        message.pieces += elements > 0 ? 1 : 0;
      }
      if (message.elements == 0) continue;
      message.source = collective.place(group, send.from);
      message.destination = collective.place(group, send.to);
      TESSERA_CHECK_OK(visit(message));
    }
  }
  return ok_status();
}

}  // namespace tessera::reshard
