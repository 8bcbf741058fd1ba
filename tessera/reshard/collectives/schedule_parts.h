// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/collectives/algorithms.h"

/// The schedules from which algorithms.cc composes all others. Each function returns nothing for an
/// algorithm that it does not have. Parameters are valid.
namespace tessera::reshard {

std::optional<Schedule> all_gather_rounds(std::int64_t members, Algorithm algorithm);
std::optional<Schedule> broadcast_rounds(std::int64_t members, std::int64_t root,
                                         const AlgorithmChoice& choice);
std::optional<Schedule> scatter_rounds(std::int64_t members, std::int64_t root,
                                       Algorithm algorithm);
std::optional<Schedule> all_to_all_rounds(std::int64_t members, Algorithm algorithm);
/// Partners at distances 1, 2, 4, .. exchange all they have. Members beyond the largest power of
/// two hand their contribution to a partner first, and receive the result from it last.
Schedule doubling_rounds(std::int64_t members);

/// The same messages backwards, last round first. The reverse of an all_gather or broadcast
/// combines what arrives: where a member received a block once, it now sends it once, after all to
/// whom it had passed it on.
Schedule reversed(const Schedule& schedule, CollectiveKind kind, bool combines);

/// A schedule that several sub-groups carry out side by side: `member` and `blocks` say which
/// member and which blocks of the whole group those of a sub-group are.
struct Phase {
  Schedule schedule;
  std::int64_t groups = 1;
  std::function<std::int64_t(std::int64_t group, std::int64_t member)> member;
  std::function<BlockRanges(std::int64_t group, std::int64_t block)> blocks;
};
/// The phase in which the whole group carries out a schedule.
Phase whole(Schedule schedule);
/// Phases one after the other.
Schedule in_phases(CollectiveKind kind, std::int64_t members, std::int64_t blocks,
                   std::int64_t root, std::vector<Phase> phases);

/// Members in rows x columns: the phases of the algorithm two_phase.
Result<Schedule> two_phase_rounds(CollectiveKind kind, std::int64_t members, std::int64_t root,
                                  const AlgorithmChoice& choice);

/// Blocks first, first + 1, .., counted modulo `blocks` and then moved by `offset`: one or two
/// ranges, none if count is 0.
BlockRanges circular(std::int64_t first, std::int64_t count, std::int64_t blocks,
                     std::int64_t offset = 0);

}  // namespace tessera::reshard
