// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/reshard/flows.h"

namespace tessera {

/// Where a walk through the groups of Flows stands: sums over the factors so far. At the end
/// `source` is the place that is read, nearest to `destination`.
struct PairAt {
  PlacePart source;
  PlacePart destination;
  std::int64_t elements = 1;
  std::int64_t share = 0;
};

/// Walks every choice of one group a factor. Visitor has
///     void enter(std::size_t factor, const SegmentGroup& group);   before the choices below it
///     bool leave(const PairAt& pair);                              a whole choice; false stops
/// so that the innermost loop is one addition and one call that can be inlined.
///
/// A `sought` place keeps only the choices whose virtual place on one side is that one. Parts are
/// at or above zero, so a group is passed over when it is more than what is left, or when what it
/// leaves is more than all other factors can give: where places nest, only one group a factor
/// remains, and it is found by bisection.
template <typename Visitor>
class GroupWalk {
 public:
  GroupWalk(const Flows& flows, Visitor& visitor)
      : flows_(flows),
        visitor_(visitor),
        plain_(flows.source_adds && flows.destination_adds && flows.nearest.trivial()) {}

  bool all() { return descend(0, {flows_.source, flows_.destination, 1, 0}); }

  bool to(std::int64_t place) {
    return seek(&SegmentGroup::destination, place - flows_.destination.place);
  }
  /// First places of A, before the nearest copy is chosen.
  bool from(std::int64_t place) { return seek(&SegmentGroup::source, place - flows_.source.place); }

 private:
  static PairAt plus(const PairAt& at, const SegmentGroup& group) {
    return {at.source + group.source, at.destination + group.destination,
            at.elements * group.elements, at.share + group.share};
  }

  bool leaf(PairAt at) {
    if (!plain_) {
      if (!flows_.source_adds) at.source.physical = flows_.map_a->physical(at.source.place);
      if (!flows_.destination_adds) {
        at.destination.physical = flows_.map_b->physical(at.destination.place);
      }
      at.source = flows_.nearest.nearest(at.source, at.destination.physical);
    }
    return visitor_.leave(at);
  }

  bool descend(std::size_t f, const PairAt& at) {
    if (f == flows_.factors.size()) return leaf(at);
    const bool last = f + 1 == flows_.factors.size();
    for (const SegmentGroup& group : flows_.factors[f].groups) {
      visitor_.enter(f, group);
      if (!(last ? leaf(plus(at, group)) : descend(f + 1, plus(at, group)))) return false;
    }
    return true;
  }

  bool seek(PlacePart SegmentGroup::* side, std::int64_t left) {
    if (left < 0) return true;
    orders_.clear();
    most_below_.assign(flows_.factors.size() + 1, 0);
    for (std::size_t f = flows_.factors.size(); f-- > 0;) {
      std::int64_t most = 0;
      for (const SegmentGroup& group : flows_.factors[f].groups) {
        most = std::max(most, (group.*side).place);
      }
      most_below_[f] = most_below_[f + 1] + most;
    }
    for (const FlowFactor& factor : flows_.factors) {
      std::vector<const SegmentGroup*>& order = orders_.emplace_back();
      order.reserve(factor.groups.size());
      for (const SegmentGroup& group : factor.groups) order.push_back(&group);
      std::sort(order.begin(), order.end(), [&](const SegmentGroup* x, const SegmentGroup* y) {
        return (x->*side).place != (y->*side).place ? (x->*side).place < (y->*side).place : x < y;
      });
    }
    return seek(side, 0, {flows_.source, flows_.destination, 1, 0}, left);
  }

  bool seek(PlacePart SegmentGroup::* side, std::size_t f, const PairAt& at, std::int64_t left) {
    if (f == orders_.size()) return left != 0 || leaf(at);
    const auto& order = orders_[f];
    auto it = std::partition_point(order.begin(), order.end(), [&](const SegmentGroup* group) {
      return left - (group->*side).place > most_below_[f + 1];
    });
    for (; it != order.end() && ((*it)->*side).place <= left; ++it) {
      visitor_.enter(f, **it);
      if (!seek(side, f + 1, plus(at, **it), left - ((*it)->*side).place)) return false;
    }
    return true;
  }

  const Flows& flows_;
  Visitor& visitor_;
  const bool plain_;
  std::vector<std::vector<const SegmentGroup*>> orders_;
  std::vector<std::int64_t> most_below_;
};

/// A walk over choices of groups that calls a function.
template <typename Leave>
struct Leaves {
  Leave& on_pair;
  void enter(std::size_t, const SegmentGroup&) {}
  bool leave(const PairAt& pair) { return on_pair(pair); }
};
/// Calls `leave` with every choice until it answers false.
template <typename Leave>
void for_each_choice(const Flows& flows, Leave leave) {
  Leaves<Leave> visitor{leave};
  GroupWalk<Leaves<Leave>>(flows, visitor).all();
}

}  // namespace tessera
