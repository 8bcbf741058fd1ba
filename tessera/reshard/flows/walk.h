// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/reshard/flows/flows.h"

namespace tessera::reshard {

/// The state of a walk through the groups of Flows: sums over the factors so far. At the end,
/// `source` is the place that is read, the nearest to `destination`.
struct PairAt {
  PlacePart source;
  PlacePart destination;
  std::int64_t elements = 1;
  std::int64_t share = 0;
};

/// Walks every choice of one group per factor. Visitor has
///     void enter(std::size_t factor, const SegmentGroup& group);   before the choices below it
///     bool leave(const PairAt& pair);                              a whole choice; false stops
/// so the innermost loop is one addition and one call that can be inlined.
///
/// With a `sought` place, only choices whose virtual place on one side is that place are kept.
/// Parts are at least zero, so a group is skipped when it is more than the remainder, or when the
/// new remainder is more than all other factors can give. Where places nest, only one group per
/// factor remains, and it is found by bisection.
template <typename Visitor>
class GroupWalk {
 public:
  GroupWalk(const Flows& flows, Visitor& visitor)
      : flows_(flows),
        visitor_(visitor),
        plain_(flows.source_adds && flows.destination_adds && flows.nearest.trivial()) {}

  bool all() { return descend(0, {flows_.source, flows_.destination, 1, 0}); }

  /// Part `number` of `parts` of that walk: some groups of the first factor. All parts in their
  /// order are the whole.
  bool part(std::int64_t number, std::int64_t parts) {
    const PairAt start{flows_.source, flows_.destination, 1, 0};
    if (flows_.factors.empty()) return number > 0 || leaf(start);
    const auto& groups = flows_.factors.front().groups;
    const auto count = static_cast<std::int64_t>(groups.size());
    const auto begin = [&](std::int64_t n) {
      return count / parts * n + std::min(n, count % parts);
    };
    for (std::int64_t g = begin(number); g < begin(number + 1); ++g) {
      const SegmentGroup& group = groups[static_cast<std::size_t>(g)];
      visitor_.enter(0, group);
      if (!descend(1, plus(start, group))) return false;
    }
    return true;
  }

  bool to(std::int64_t place) {
    return seek(&SegmentGroup::destination, place - flows_.destination.place);
  }
  /// Walks the choices with this first place of A, before the nearest copy is chosen.
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

  /// The groups of each factor by ascending part of one side, and the maximum sum of the factors
  /// from each factor on.
  struct Sorted {
    std::vector<std::vector<const SegmentGroup*>> orders;
    std::vector<std::int64_t> most_below;
  };

  static Sorted sorted(const Flows& flows, PlacePart SegmentGroup::* side) {
    Sorted made;
    made.most_below.assign(flows.factors.size() + 1, 0);
    for (const FlowFactor& factor : flows.factors) {
      std::vector<const SegmentGroup*>& order = made.orders.emplace_back();
      order.reserve(factor.groups.size());
      for (const SegmentGroup& group : factor.groups) order.push_back(&group);
      const auto before = [side](const SegmentGroup* x, const SegmentGroup* y) {
        return (x->*side).place != (y->*side).place ? (x->*side).place < (y->*side).place : x < y;
      };
      if (!std::is_sorted(order.begin(), order.end(), before)) {
        std::sort(order.begin(), order.end(), before);
      }
    }
    for (std::size_t f = flows.factors.size(); f-- > 0;) {
      const auto& order = made.orders[f];
      made.most_below[f] =
          made.most_below[f + 1] + (order.empty() ? 0 : (order.back()->*side).place);
    }
    return made;
  }

  bool seek(PlacePart SegmentGroup::* side, std::int64_t left) {
    if (left < 0) return true;
    std::optional<Sorted>& groups = side == &SegmentGroup::source ? by_source_ : by_destination_;
    if (!groups) groups = sorted(flows_, side);
    return seek(side, *groups, 0, {flows_.source, flows_.destination, 1, 0}, left);
  }

  bool seek(PlacePart SegmentGroup::* side, const Sorted& groups, std::size_t f, const PairAt& at,
            std::int64_t left) {
    if (f == groups.orders.size()) return left != 0 || leaf(at);
    const auto& order = groups.orders[f];
    auto it = std::partition_point(order.begin(), order.end(), [&](const SegmentGroup* group) {
      return left - (group->*side).place > groups.most_below[f + 1];
    });
    for (; it != order.end() && ((*it)->*side).place <= left; ++it) {
      visitor_.enter(f, **it);
      if (!seek(side, groups, f + 1, plus(at, **it), left - ((*it)->*side).place)) return false;
    }
    return true;
  }

  const Flows& flows_;
  Visitor& visitor_;
  const bool plain_;
  std::optional<Sorted> by_source_;  // computed on first use
  std::optional<Sorted> by_destination_;
};

/// A walk over choices of groups that calls a function.
template <typename Leave>
struct Leaves {
  Leave& on_pair;
  void enter(std::size_t, const SegmentGroup&) {}
  bool leave(const PairAt& pair) { return on_pair(pair); }
};
/// Calls `leave` with every choice until it returns false.
template <typename Leave>
void for_each_choice(const Flows& flows, Leave leave) {
  Leaves<Leave> visitor{leave};
  GroupWalk<Leaves<Leave>>(flows, visitor).all();
}

}  // namespace tessera::reshard
