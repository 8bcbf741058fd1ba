// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/algorithms.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/reshard/collectives/schedule_parts.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxScheduleMembers = std::int64_t{1} << 16;
constexpr std::int64_t kMaxExchangeMembers = std::int64_t{1} << 12;

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce ||
         kind == CollectiveKind::kScatter || kind == CollectiveKind::kGather;
}

Status check(CollectiveKind kind, std::int64_t members, std::int64_t root,
             const AlgorithmChoice& choice) {
  const auto out_of_range = [](std::string message) {
    return Error{ErrorCode::kOutOfRange, std::move(message), std::nullopt, ""};
  };
  if (members < 1) return out_of_range(cat("a group of ", members, " members"));
  if (root < 0 || root >= members) {
    return out_of_range(cat("root ", root, " is none of ", members, " members"));
  }
  if (choice.segments < 1) return out_of_range(cat(choice.segments, " segments"));
  if (choice.algorithm == Algorithm::kTwoPhase && (choice.rows < 1 || members % choice.rows != 0)) {
    return out_of_range(cat(members, " members are not ", choice.rows, " rows of equal length"));
  }
  const std::int64_t most =
      kind == CollectiveKind::kAllToAll ? kMaxExchangeMembers : kMaxScheduleMembers;
  if (members <= most) return ok_status();
  return Error{ErrorCode::kTooLarge,
               cat("a schedule for ", members, " members of one group is more than ", most),
               std::nullopt, "use two phases, of rows and of columns"};
}

Error not_supported(CollectiveKind kind, Algorithm algorithm) {
  return Error{
      ErrorCode::kNotSupported,
      cat("there is no ", collective_name(kind), " by the algorithm ", algorithm_name(algorithm)),
      std::nullopt, "see the table of reshard/collectives/algorithms.h"};
}

Schedule one_after_the_other(CollectiveKind kind, Schedule first, Schedule second) {
  const std::int64_t members = first.members();
  const std::int64_t blocks = first.blocks();
  const std::int64_t root = has_root(kind) ? std::max(first.root(), second.root()) : 0;
  return in_phases(kind, members, blocks, root,
                   {whole(std::move(first)), whole(std::move(second))});
}

/// The schedule for members of which one has everything already.
Schedule without_sends_to(std::int64_t member, Schedule schedule) {
  const CollectiveKind kind = schedule.kind();
  const std::int64_t members = schedule.members();
  const std::int64_t blocks = schedule.blocks();
  const std::int64_t rounds = schedule.rounds();
  const std::int64_t root = schedule.root();
  const auto shared = std::make_shared<const Schedule>(std::move(schedule));
  return Schedule(
      kind, members, blocks, root, rounds,
      [shared, member](std::int64_t round) {
        BlockRound sends = shared->round(round);
        std::erase_if(sends, [member](const BlockSend& send) { return send.to == member; });
        return sends;
      },
      [shared](std::int64_t round) { return shared->repeats(round); });
}

/// Two collectives of blocks, one for each member, in place of one of whole vectors.
Result<Schedule> scattered(CollectiveKind kind, std::int64_t members, std::int64_t root,
                           const AlgorithmChoice& choice) {
  using enum CollectiveKind;
  const AlgorithmChoice inner{choice.inner, 1, 1, choice.inner};
  if (kind != kBroadcast && kind != kReduce && kind != kAllReduce) {
    return not_supported(kind, choice.algorithm);
  }
  TESSERA_TRY(Schedule first, schedule_of(kind == kBroadcast ? kScatter : kReduceScatter, members,
                                          kind == kBroadcast ? root : 0, inner));
  TESSERA_TRY(Schedule second, schedule_of(kind == kReduce ? kGather : kAllGather, members,
                                           kind == kReduce ? root : 0, inner));
  if (kind == kBroadcast) second = without_sends_to(root, std::move(second));
  return one_after_the_other(kind, std::move(first), std::move(second));
}

Result<Schedule> all_reduce(std::int64_t members, const AlgorithmChoice& choice) {
  using enum CollectiveKind;
  if (choice.algorithm == Algorithm::kDoubling) return doubling_rounds(members);
  if (choice.algorithm == Algorithm::kRing || choice.algorithm == Algorithm::kTwoWayRing) {
    return scattered(kAllReduce, members, 0, {Algorithm::kScattered, 1, 1, choice.algorithm});
  }
  const std::optional<Schedule> back = broadcast_rounds(members, 0, choice);
  if (!back) return not_supported(kAllReduce, choice.algorithm);
  return one_after_the_other(kAllReduce, reversed(*back, kReduce, true), *back);
}

}  // namespace

bool alike(const BlockRound& x, const BlockRound& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const BlockSend& a, const BlockSend& b) {
                      return a.from == b.from && a.to == b.to && a.combines == b.combines &&
                             a.blocks.size() == b.blocks.size() && a.count() == b.count();
                    });
}

std::string_view algorithm_name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kDirect:
      return "direct";
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTwoWayRing:
      return "two_way_ring";
    case Algorithm::kChain:
      return "chain";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kDoubling:
      return "doubling";
    case Algorithm::kPairwise:
      return "pairwise";
    case Algorithm::kScattered:
      return "scattered";
    case Algorithm::kTwoPhase:
      return "two_phase";
  }
  return "direct";
}

Result<Schedule> schedule_of(CollectiveKind kind, std::int64_t members, std::int64_t root,
                             const AlgorithmChoice& choice) {
  using enum CollectiveKind;
  if (kind == kSlice || kind == kPermute) return not_supported(kind, choice.algorithm);
  TESSERA_CHECK_OK(check(kind, members, root, choice));
  if (!has_root(kind)) root = 0;
  if (choice.algorithm == Algorithm::kTwoPhase) {
    const bool nests =
        choice.inner == Algorithm::kTwoPhase || choice.inner == Algorithm::kScattered;
    if (nests) return not_supported(kind, choice.inner);
    return two_phase_rounds(kind, members, root, choice);
  }
  if (choice.algorithm == Algorithm::kScattered) {
    if (choice.inner == Algorithm::kTwoPhase) return not_supported(kind, choice.inner);
    return scattered(kind, members, root, choice);
  }
  std::optional<Schedule> forwards;
  switch (kind) {
    case kAllReduce:
      return all_reduce(members, choice);
    case kAllToAll:
      forwards = all_to_all_rounds(members, choice.algorithm);
      break;
    case kAllGather:
    case kReduceScatter:
      forwards = all_gather_rounds(members, choice.algorithm);
      break;
    case kBroadcast:
    case kReduce:
      forwards = broadcast_rounds(members, root, choice);
      break;
    default:
      forwards = scatter_rounds(members, root, choice.algorithm);
      break;
  }
  if (!forwards) return not_supported(kind, choice.algorithm);
  if (kind == kReduceScatter || kind == kReduce) return reversed(*forwards, kind, true);
  if (kind == kGather) return reversed(*forwards, kind, false);
  return *std::move(forwards);
}

Schedule permute_schedule(std::vector<std::int32_t> moves) {
  const auto members = static_cast<std::int64_t>(moves.size());
  bool any = false;
  for (std::size_t m = 0; m < moves.size(); ++m) {
    any = any || (moves[m] >= 0 && moves[m] != static_cast<std::int32_t>(m));
  }
  return Schedule(CollectiveKind::kPermute, members, members, 0, any ? 1 : 0,
                  [moves = std::move(moves)](std::int64_t) {
                    BlockRound sends;
                    for (std::size_t m = 0; m < moves.size(); ++m) {
                      const auto from = static_cast<std::int32_t>(m);
                      if (moves[m] < 0 || moves[m] == from) continue;
                      sends.push_back({from, moves[m], {{from, 1}}, false});
                    }
                    return sends;
                  });
}

Result<Schedule> schedule_of(const Collective& collective, const AlgorithmChoice& choice) {
  if (collective.kind != CollectiveKind::kPermute) {
    return schedule_of(collective.kind, collective.members, collective.root, choice);
  }
  if (choice.algorithm != Algorithm::kDirect) {
    return not_supported(collective.kind, choice.algorithm);
  }
  return permute_schedule(collective.moves);
}

Traffic traffic_of(const Schedule& schedule, std::span<const std::int64_t> block_bytes) {
  Traffic traffic;
  traffic.rounds = schedule.rounds();
  const auto members = static_cast<std::size_t>(schedule.members());
  std::vector<std::int64_t> sent(members, 0);
  std::vector<std::int64_t> received(members, 0);
  for (std::int64_t round = 0; round < schedule.rounds(); ++round) {
    std::vector<std::int64_t> out(members, 0);
    std::vector<std::int64_t> in(members, 0);
    for (const BlockSend& send : schedule.round(round)) {
      std::int64_t bytes = 0;
      for (const BlockRange& range : send.blocks) {
        const auto begin = block_bytes.begin() + range.first;
        bytes += std::accumulate(begin, begin + range.count, std::int64_t{0});
      }
      if (bytes == 0) continue;
      ++traffic.messages;
      traffic.total_bytes += bytes;
      out[static_cast<std::size_t>(send.from)] += bytes;
      in[static_cast<std::size_t>(send.to)] += bytes;
    }
    std::int64_t most = 0;
    for (std::size_t m = 0; m < members; ++m) {
      most = std::max({most, out[m], in[m]});
      sent[m] += out[m];
      received[m] += in[m];
    }
    traffic.serial_bytes += most;
  }
  traffic.most_sent_bytes = *std::max_element(sent.begin(), sent.end());
  traffic.most_received_bytes = *std::max_element(received.begin(), received.end());
  return traffic;
}

std::int64_t least_total_bytes(CollectiveKind kind, std::int64_t members, std::int64_t root,
                               std::span<const std::int64_t> block_bytes) {
  const std::int64_t all = std::accumulate(block_bytes.begin(), block_bytes.end(), std::int64_t{0});
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (members - 1) * all;
    case CollectiveKind::kScatter:
    case CollectiveKind::kGather:
      return all - block_bytes[static_cast<std::size_t>(root)];
    case CollectiveKind::kAllToAll: {
      std::int64_t own = 0;
      for (std::int64_t m = 0; m < members; ++m) {
        own += block_bytes[static_cast<std::size_t>(m * members + m)];
      }
      return all - own;
    }
    default:
      return (members - 1) * all;
  }
}

}  // namespace tessera::reshard
