// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/collectives/algorithms.h"
#include "tessera/reshard/collectives/collective.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// The elements of one block of a schedule in one group. Blocks of broadcast, reduce and all_reduce
/// divide what a member holds evenly: the first ones are one element longer.
std::int64_t block_elements(const Collective& collective, const Schedule& schedule,
                            std::int64_t group, std::int64_t block);

/// What one place sends to another in one round.
struct RoundMessage {
  std::int64_t source = 0;  ///< physical numbers
  std::int64_t destination = 0;
  std::int64_t elements = 0;  ///< at least 1
  std::int64_t pieces = 1;    ///< ranges of blocks that are not empty
  bool combines = false;
};

/// Calls `visit` with the messages of one round in all groups, group by group, until it returns an
/// error. Messages without elements are left out. Error kContradiction if the schedule is of
/// another kind, size or root than the collective.
Status for_each_message(const Collective& collective, const Schedule& schedule, std::int64_t round,
                        const std::function<Status(const RoundMessage&)>& visit);

/// The sizes of the blocks of a collective, found once for all rounds of a schedule.
class BlockSizes {
 public:
  /// Of a schedule that is of the collective.
  BlockSizes(const Collective& collective, const Schedule& schedule);

  /// The size that all blocks of all groups have; empty if they differ.
  std::optional<std::int64_t> same() const { return same_; }
  std::int64_t elements(std::int64_t group, std::int64_t block) const {
    return same_ ? *same_ : sizes_[static_cast<std::size_t>(group * blocks_ + block)];
  }

 private:
  std::int64_t blocks_ = 0;
  std::optional<std::int64_t> same_;
  std::vector<std::int64_t> sizes_;
};

/// The physical numbers of the places of a collective, found once for all rounds.
class MemberPlaces {
 public:
  explicit MemberPlaces(const Collective& collective);
  std::int64_t place(std::int64_t group, std::int64_t member) const {
    return places_[static_cast<std::size_t>(group * members_ + member)];
  }
  std::int64_t groups() const { return groups_; }
  /// Group by group.
  const std::vector<std::int64_t>& all() const { return places_; }

 private:
  std::int64_t groups_ = 1;
  std::int64_t members_ = 1;
  std::vector<std::int64_t> places_;
};

/// The messages of the sends of one round, as for_each_message visits them; replaces what is in
/// `messages`.
void list_messages(const MemberPlaces& places, const BlockSizes& sizes, const BlockRound& sends,
                   std::vector<RoundMessage>& messages);

}  // namespace tessera::reshard
