// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/collectives/collective.h"

namespace tessera::reshard {

// =================================================================================================
// Algorithms: a collective of one group as rounds of messages
//
// A group has P members and moves blocks. What a block is depends on the collective:
//
//     all_gather, gather       P blocks: block m is what member m has at the beginning
//     scatter, reduce_scatter  P blocks: block m is what member m has at the end
//     all_to_all               P·P blocks: block i·P + j goes from member i to member j
//     broadcast, reduce,       any number of blocks, which the algorithm chooses; together they are
//     all_reduce               what each member has at the end
//     permute                  P blocks: block m is what member m has at the beginning
//
// In a round every member sends what it has when the round begins. A message that combines adds its
// blocks to the receiver's own contributions. The same rounds happen in every group at once.
//
// Below, n is the size of all blocks together, P·b in the case of P blocks of size b, L is
// log2(P) rounded up, and S is the number of segments. "Sent" is the most that one member sends in
// all rounds. Members are a line 0, 1, .., P-1, and a ring with P-1 next to 0.
//
//   algorithm     collective       rounds               sent            how
//   direct        all_gather       1                    (P-1)·b         to all others
//                 broadcast        1                    (P-1)·n
//                 scatter          1                    (P-1)·b
//                 all_to_all       1                    (P-1)·n/P²
//                 permute          1                    b
//                 all_reduce       2                    (P-1)·n         to member 0 and back
//   ring          all_gather       P-1                  (P-1)·b         pass on what arrived last
//                 broadcast        P+S-2                n
//                 scatter          P-1                  (P-1)·b         the farthest block first
//                 all_to_all       P-1                  (P-1)/2·n/P     relay until it is there
//                 all_reduce       2·(P-1)              2·(P-1)/P·n     reduce_scatter, all_gather
//   two_way_ring  all_gather       ⌈(P-1)/2⌉            (P-1)·b         in both directions
//                 broadcast        ⌈(P-1)/2⌉+S-1        2·n
//                 scatter          ⌈(P-1)/2⌉            (P-1)·b
//                 all_to_all       ⌈(P-1)/2⌉            about n/4
//                 all_reduce       2·⌈(P-1)/2⌉          2·(P-1)/P·n
//   chain         all_gather       P-1                  (P+1)·b         up and down the line
//                 broadcast        D+S-1                2·n             D: steps from the root to
//                 scatter          D                    (P-1)·b         the farther end
//                 all_to_all       P-1                  about n/2
//                 all_reduce       2·(P+S-2)            2·n             reduce, then broadcast
//   tree          all_gather       L                    (P-1)·b         distances 1, 2, 4, ..
//                 broadcast        L                    L·n             halves of the members
//                 scatter          L                    (P-1)·b
//                 all_to_all       L                    up to L/2·n/P   bits of the distance
//                 all_reduce       2·L                  L·n             reduce, then broadcast
//   doubling      all_reduce       ⌊log2 P⌋, and 2 more L·n             partners exchange all
//                                  unless P = 2^k
//   pairwise      all_to_all       P-1                  (P-1)·n/P²      to the member r places on
//   scattered     broadcast        scatter + all_gather                 the inner algorithm, twice
//                 all_reduce       reduce_scatter + all_gather
//   two_phase     all but permute  the rows and the columns of members in R rows and C columns,
//                                  one after the other, each by the inner algorithm
//
// reduce_scatter, reduce and gather are all_gather, broadcast and scatter with time reversed:
// messages go from their receiver to their sender. So they take as many rounds, and as much is
// received as was sent.
//
// Lower bounds. In an all_gather each member must receive all blocks but its own: (P-1)·n bytes in
// total, as many in a reduce_scatter, and twice as many, 2·(P-1)/P·n for each member, in an
// all_reduce. Ring, two-way ring and tree reach it, so does two_phase with one of them. If a member
// sends one message per round, no all_gather or broadcast takes fewer than L rounds; tree does it.
// =================================================================================================

enum class Algorithm : std::uint8_t {
  kDirect,
  kRing,
  kTwoWayRing,
  kChain,
  kTree,
  kDoubling,
  kPairwise,
  kScattered,
  kTwoPhase,
};
/// "direct", "ring", "two_way_ring", ..
std::string_view algorithm_name(Algorithm algorithm);

/// An algorithm with its parameters.
struct AlgorithmChoice {
  Algorithm algorithm = Algorithm::kDirect;
  /// Blocks of broadcast, reduce and all_reduce by chain, ring or two_way_ring (all_reduce: chain
  /// only), which follow each other along the members.
  std::int64_t segments = 1;
  std::int64_t rows = 1;               ///< two_phase: members are rows x (P / rows), row-major
  Algorithm inner = Algorithm::kRing;  ///< of scattered and two_phase
};

/// Blocks first, first + 1, .., first + count - 1.
struct BlockRange {
  std::int64_t first = 0;
  std::int64_t count = 1;
  friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

/// A short list of ranges. Up to two, which most messages have, take no memory of their own.
class BlockRanges {
 public:
  BlockRanges() = default;
  BlockRanges(std::initializer_list<BlockRange> ranges) {
    for (const BlockRange& range : ranges) push_back(range);
  }
  void push_back(const BlockRange& range) {
    if (size_ < kOwn) {
      own_[size_] = range;
    } else {
      if (size_ == kOwn) all_.assign(own_.begin(), own_.end());
      all_.push_back(range);
    }
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const BlockRange* begin() const { return size_ > kOwn ? all_.data() : own_.data(); }
  const BlockRange* end() const { return begin() + size_; }
  BlockRange& back() { return size_ > kOwn ? all_.back() : own_[size_ - 1]; }
  friend bool operator==(const BlockRanges& x, const BlockRanges& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  }

 private:
  static constexpr std::size_t kOwn = 2;
  std::size_t size_ = 0;
  std::array<BlockRange, kOwn> own_;
  std::vector<BlockRange> all_;  ///< of more than kOwn
};

/// One message of a round.
struct BlockSend {
  std::int32_t from = 0;
  std::int32_t to = 0;
  BlockRanges blocks;
  bool combines = false;

  /// The number of its blocks.
  std::int64_t count() const {
    std::int64_t sum = 0;
    for (const BlockRange& range : blocks) sum += range.count;
    return sum;
  }
};
using BlockRound = std::vector<BlockSend>;

/// True if the same members send as many blocks, in as many ranges, to the same members.
bool alike(const BlockRound& x, const BlockRound& y);

/// The rounds of an algorithm for one group. Rounds are made when asked for, so that a schedule of
/// many members takes no memory. A value; cheap to copy.
class Schedule {
 public:
  using MakeRound = std::function<BlockRound(std::int64_t round)>;
  using Repeats = std::function<bool(std::int64_t round)>;
  Schedule(CollectiveKind kind, std::int64_t members, std::int64_t blocks, std::int64_t root,
           std::int64_t rounds, MakeRound make, Repeats repeats = {})
      : kind_(kind),
        members_(members),
        blocks_(blocks),
        root_(root),
        rounds_(rounds),
        make_(std::move(make)),
        repeats_(std::move(repeats)) {}

  CollectiveKind kind() const { return kind_; }
  std::int64_t members() const { return members_; }
  std::int64_t blocks() const { return blocks_; }
  std::int64_t root() const { return root_; }
  std::int64_t rounds() const { return rounds_; }
  BlockRound round(std::int64_t round) const { return make_(round); }
  /// True where it is known, without making them, that a round and the one before it are alike.
  /// Example: all rounds of an all_gather by ring but the first.
  bool repeats(std::int64_t round) const { return round > 0 && repeats_ && repeats_(round); }

 private:
  CollectiveKind kind_;
  std::int64_t members_;
  std::int64_t blocks_;
  std::int64_t root_;
  std::int64_t rounds_;
  MakeRound make_;
  Repeats repeats_;
};

/// The rounds of a collective of any kind but permute and slice.
/// Law: carried out, the rounds give each member exactly what the collective promises, with each
/// contribution combined once.
/// Errors: kNotSupported for an algorithm that the table above does not have for the collective;
/// kOutOfRange for fewer than one member or segment, a root that is no member, or rows that do not
/// divide the members; kTooLarge for more than 2^16 members, or 2^12 in an all_to_all.
Result<Schedule> schedule_of(CollectiveKind kind, std::int64_t members, std::int64_t root,
                             const AlgorithmChoice& choice);

/// The round of a permute: moves[m] is the member that receives the shard of m, or -1.
Schedule permute_schedule(std::vector<std::int32_t> moves);

/// The rounds of a recognised collective. kNotSupported for a slice, which has none.
Result<Schedule> schedule_of(const Collective& collective, const AlgorithmChoice& choice);

/// What the members of one group send.
struct Traffic {
  std::int64_t rounds = 0;
  std::int64_t messages = 0;
  std::int64_t total_bytes = 0;
  std::int64_t most_sent_bytes = 0;      ///< by one member in all rounds
  std::int64_t most_received_bytes = 0;  ///< by one member in all rounds
  /// Σ over the rounds of the most bytes that one member sends or receives in it.
  std::int64_t serial_bytes = 0;
};
/// `block_bytes` has one number per block. Messages without bytes do not count.
Traffic traffic_of(const Schedule& schedule, std::span<const std::int64_t> block_bytes);

/// The fewest bytes that members must send in total: each block must reach every other member that
/// needs it, and each contribution must leave its member. The block at position b of `block_bytes`
/// is as above; permute is not included.
std::int64_t least_total_bytes(CollectiveKind kind, std::int64_t members, std::int64_t root,
                               std::span<const std::int64_t> block_bytes);

}  // namespace tessera::reshard
