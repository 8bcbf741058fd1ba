// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/reshard/flows/flows.h"
#include "tessera/reshard/flows/walk.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {

/// Generates the transfers of each pair from the segments of its groups.
///
/// Level f holds the sum over the segments of the first f factors. Levels are computed on the way
/// down as long as groups have one segment. So where all groups have one segment, a transfer costs
/// one step of the innermost loop. The other levels are expanded at the end of each choice. Sink
/// has
///     bool wants(const PairAt& pair);          whether the pair's transfers are to be made
///     bool take(const Transfer& transfer);     one of them; false stops
template <typename Sink>
class Expansion {
 public:
  Expansion(const Flows& flows, Sink& sink) : flows_(flows), sink_(sink) {
    std::size_t most = 0;
    for (const FlowFactor& factor : flows.factors) {
      std::size_t here = 0;
      for (const Segment& segment : factor.segments) {
        here = std::max<std::size_t>(here, segment.loop_count);
      }
      most += here;
    }
    levels_.resize(flows.factors.size() + 1);
    for (Level& level : levels_) level.loops.resize(most + 1);
    levels_[0].source_slot = flows.source_slot;
    levels_[0].destination_slot = flows.destination_slot;
    groups_.resize(flows.factors.size());
    transfer_.combines = flows.combines;
  }

  void enter(std::size_t f, const SegmentGroup& group) {
    groups_[f] = &group;
    if (settled_ < f) return;
    settled_ = f;
    if (group.count != 1) return;
    settle(f, flows_.factors[f].segments[group.first]);
    settled_ = f + 1;
  }

  bool leave(const PairAt& pair) {
    if (!sink_.wants(pair)) return true;
    transfer_.source = pair.source.physical;
    transfer_.destination = pair.destination.physical;
    transfer_.source_virtual = pair.source.place;
    transfer_.destination_virtual = pair.destination.place;
    transfer_.share = pair.share;
    transfer_.begins_pair = true;
    return expand(settled_);
  }

 private:
  struct Level {
    std::int64_t source_slot = 0;
    std::int64_t destination_slot = 0;
    std::int64_t elements = 1;
    std::size_t loop_count = 0;
    std::vector<BoxLoop> loops;
  };

  void settle(std::size_t f, const Segment& segment) {
    const Level& above = levels_[f];
    Level& level = levels_[f + 1];
    level.source_slot = above.source_slot + segment.source_slot;
    level.destination_slot = above.destination_slot + segment.destination_slot;
    level.elements = above.elements * segment.elements;
    BoxLoop* const loops = level.loops.data();
    std::size_t count = above.loop_count;
    for (std::size_t i = 0; i < count; ++i) loops[i] = above.loops[i];
    const BoxLoop* added = flows_.factors[f].loops.data() + segment.first_loop;
    for (std::uint32_t i = 0; i < segment.loop_count; ++i, ++added) {
      if (count > 0 && continues(loops[count - 1], *added)) {
        loops[count - 1] = {loops[count - 1].extent * added->extent, added->source_stride,
                            added->destination_stride};
      } else {
        loops[count++] = *added;
      }
    }
    level.loop_count = count;
  }

  /// True when both loops together form one progression on either side.
  static bool continues(const BoxLoop& outer, const BoxLoop& inner) {
    std::int64_t source = 0;
    std::int64_t destination = 0;
    return !__builtin_mul_overflow(inner.extent, inner.source_stride, &source) &&
           source == outer.source_stride &&
           !__builtin_mul_overflow(inner.extent, inner.destination_stride, &destination) &&
           destination == outer.destination_stride;
  }

  bool expand(std::size_t f) {
    if (f == groups_.size()) {
      const Level& level = levels_[f];
      transfer_.source_slot = level.source_slot;
      transfer_.destination_slot = level.destination_slot;
      transfer_.loops = {level.loops.data(), level.loop_count};
      transfer_.elements = level.elements;
      if (!sink_.take(transfer_)) return false;
      transfer_.begins_pair = false;
      return true;
    }
    const SegmentGroup& group = *groups_[f];
    for (std::uint32_t i = 0; i < group.count; ++i) {
      settle(f, flows_.factors[f].segments[group.first + i]);
      if (!expand(f + 1)) return false;
    }
    return true;
  }

  const Flows& flows_;
  Sink& sink_;
  std::vector<Level> levels_;
  std::vector<const SegmentGroup*> groups_;
  std::size_t settled_ = 0;  // levels up to this one are determined by the groups above
  Transfer transfer_;
};

}  // namespace tessera::reshard
