// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/ranks/rank_plan.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/layout/placement.h"
#include "tessera/reshard/flows/walk.h"
#include "tessera/reshard/part.h"

namespace tessera::exchange {
namespace {

constexpr std::size_t kMostParcels = std::size_t{1} << 22;
constexpr std::int64_t kMostHeld = std::int64_t{1} << 24;

/// A choice of groups between two places, before leaves to several copies are merged.
struct Leaf {
  std::int32_t peer = 0;
  std::uint32_t part = 0;
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::int64_t elements = 0;
  std::size_t first_group = 0;
};

/// The leaves of one direction, and their groups.
struct LeafList {
  std::vector<Leaf> list;
  std::vector<const reshard::SegmentGroup*> groups;
};

/// The offsets of the copies of an element from the virtual number of its first place.
Result<std::vector<std::int64_t>> copy_offsets(const Form& form) {
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    const OffsetSet along =
        replica_offsets(form.fills, static_cast<int>(axis), Fill::Kind::kReplicate);
    if (along.size() <= 1) continue;
    std::vector<std::int64_t> more;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < along.size(); ++i) {
        more.push_back(offset + along.at(i) * strides[axis]);
      }
      if (static_cast<std::int64_t>(more.size()) > kMostHeld) {
        return Error{ErrorCode::kTooLarge, cat("more than ", kMostHeld, " copies of an element"),
                     std::nullopt, "keep fewer copies"};
      }
    }
    offsets = std::move(more);
  }
  return offsets;
}

/// Follows a walk, and keeps the current groups.
template <typename OnLeaf>
struct Follower {
  const reshard::Flows& flows;
  OnLeaf on_leaf;
  std::vector<const reshard::SegmentGroup*> groups =
      std::vector<const reshard::SegmentGroup*>(flows.factors.size());

  void enter(std::size_t factor, const reshard::SegmentGroup& group) { groups[factor] = &group; }
  bool leave(const reshard::PairAt& pair) { return on_leaf(pair, groups); }
};

std::int64_t first_place(const reshard::Flows& flows,
                         const std::vector<const reshard::SegmentGroup*>& groups) {
  std::int64_t place = flows.source.place;
  for (const reshard::SegmentGroup* group : groups) place += group->source.place;
  return place;
}

}  // namespace

/// Makes the parcels of a plan.
class ParcelList {
 public:
  ParcelList(RankPlan& plan, const RankMap& to) : plan_(plan), to_(to) {}

  Status add_part(std::uint32_t part) {
    const reshard::ReshardPart& rule = plan_.reshard_->parts()[part];
    const reshard::Flows& flows = (*plan_.flows_)[part];
    TESSERA_TRY(const std::vector<std::int64_t> copies, copy_offsets(rule.a));
    if (copies.size() > 1 && (Checked(static_cast<std::int64_t>(copies.size())) *
                              static_cast<std::int64_t>(plan_.from_.places.size()))
                                     .saturated() > kMostHeld) {
      return Error{ErrorCode::kTooLarge,
                   cat("rank ", plan_.rank_, " has ", plan_.from_.places.size(),
                       " places, each with one of ", copies.size(), " copies"),
                   std::nullopt, "use more ranks, or keep fewer copies"};
    }
    const bool fits = add_arrivals(part, flows, copies) &&
                      (copies.size() > 1 ? add_departures_of_copies(part, flows, copies)
                                         : add_departures(part, flows));
    if (fits) return ok_status();
    return Error{
        ErrorCode::kTooLarge,
        cat("rank ", plan_.rank_, " takes part in more than ", kMostParcels, " pairs of places"),
        std::nullopt, "use more ranks, or layouts of fewer places"};
  }

  void finish() {
    std::vector<RankRoute> local = join(local_);
    plan_.local_ = local.empty() ? RankRoute{plan_.rank_, 0, 0, 0} : local.front();
    plan_.sends_ = join(sends_);
    plan_.receives_ = join(receives_);
  }

 private:
  bool add(LeafList& leaves, const Leaf& leaf,
           const std::vector<const reshard::SegmentGroup*>& groups) {
    if (leaves.list.size() == kMostParcels) return false;
    leaves.list.push_back(leaf);
    leaves.list.back().first_group = leaves.groups.size();
    leaves.groups.insert(leaves.groups.end(), groups.begin(), groups.end());
    return true;
  }

  int rank_from(const reshard::Flows& flows, std::int64_t place) const {
    return plan_.from_ranks_.rank_of(flows.map_a->physical(place));
  }

  /// The data that the places of this rank need, from itself and from others.
  bool add_arrivals(std::uint32_t part, const reshard::Flows& flows,
                    const std::vector<std::int64_t>& copies) {
    // The first place of each copy that is here, and the place that has it.
    std::unordered_map<std::int64_t, std::int64_t> held;
    if (copies.size() > 1) {
      for (const std::int64_t place : plan_.from_.places) {
        for (const std::int64_t offset : copies) held.try_emplace(place - offset, place);
      }
    }
    const auto on_leaf = [&](const reshard::PairAt& pair,
                             const std::vector<const reshard::SegmentGroup*>& groups) {
      Leaf leaf{0, part, pair.source.place, pair.destination.place, pair.elements, 0};
      if (!held.empty()) {
        const auto here = held.find(first_place(flows, groups));
        if (here != held.end()) leaf.source = here->second;
      }
      leaf.peer = rank_from(flows, leaf.source);
      return add(leaf.peer == plan_.rank_ ? local_ : receives_, leaf, groups);
    };
    Follower<decltype(on_leaf)> follower{flows, on_leaf};
    reshard::GroupWalk<Follower<decltype(on_leaf)>> walk(flows, follower);
    for (const std::int64_t place : plan_.to_.places) {
      if (!walk.to(place)) return false;
    }
    return true;
  }

  /// The data that others need from this rank's places, which alone have them.
  bool add_departures(std::uint32_t part, const reshard::Flows& flows) {
    const auto on_leaf = [&](const reshard::PairAt& pair,
                             const std::vector<const reshard::SegmentGroup*>& groups) {
      const int peer = to_.rank_of(pair.destination.physical);
      if (peer == plan_.rank_) return true;
      return add(sends_, {peer, part, pair.source.place, pair.destination.place, pair.elements, 0},
                 groups);
    };
    Follower<decltype(on_leaf)> follower{flows, on_leaf};
    reshard::GroupWalk<Follower<decltype(on_leaf)>> walk(flows, follower);
    for (const std::int64_t place : plan_.from_.places) {
      if (!walk.from(place)) return false;
    }
    return true;
  }

  /// The same if other places have the data too: only data for which the nearest copy is here, and
  /// which are not on the rank that needs them.
  bool add_departures_of_copies(std::uint32_t part, const reshard::Flows& flows,
                                const std::vector<std::int64_t>& copies) {
    std::int64_t sender = 0;
    std::vector<std::int32_t> holders;  // ranks that have the element, ascending
    bool listed = false;
    const auto on_leaf = [&](const reshard::PairAt& pair,
                             const std::vector<const reshard::SegmentGroup*>& groups) {
      const int peer = to_.rank_of(pair.destination.physical);
      if (pair.source.place != sender || peer == plan_.rank_) return true;
      if (!listed) {
        listed = true;
        holders.clear();
        const std::int64_t first = first_place(flows, groups);
        for (const std::int64_t offset : copies)
          holders.push_back(rank_from(flows, first + offset));
        std::sort(holders.begin(), holders.end());
      }
      if (std::binary_search(holders.begin(), holders.end(), peer)) return true;
      return add(sends_, {peer, part, pair.source.place, pair.destination.place, pair.elements, 0},
                 groups);
    };
    Follower<decltype(on_leaf)> follower{flows, on_leaf};
    reshard::GroupWalk<Follower<decltype(on_leaf)>> walk(flows, follower);
    for (const std::int64_t place : plan_.from_.places) {
      sender = place;
      for (const std::int64_t offset : copies) {
        listed = false;
        if (!walk.from(place - offset)) return false;
      }
    }
    return true;
  }

  std::size_t first_dim(std::uint32_t part) const {
    return (*plan_.flows_)[part].factors.size() -
           plan_.reshard_->parts()[part].refinement.factors().size();
  }

  /// -1, 0 or 1: the order of the data of two leaves of one part, independent of their destination.
  /// Copies of B are factors too, but affect only the destination.
  int compare_loads(const LeafList& leaves, const Leaf& x, const Leaf& y) const {
    const auto order = [&](std::size_t f) {
      const reshard::SegmentGroup* a = leaves.groups[x.first_group + f];
      const reshard::SegmentGroup* b = leaves.groups[y.first_group + f];
      return a == b ? 0 : a < b ? -1 : 1;
    };
    if (plan_.reshard_->parts()[x.part].shares.from > 1) {
      if (const int share = order(0)) return share;
    }
    for (std::size_t f = first_dim(x.part); f < (*plan_.flows_)[x.part].factors.size(); ++f) {
      if (const int dim = order(f)) return dim;
    }
    return 0;
  }

  /// Merges what several places of one rank need from one place, and adds the parcels of each peer
  /// to the plan, in an order that both ends compute.
  std::vector<RankRoute> join(LeafList& leaves) {
    std::vector<Leaf>& list = leaves.list;
    std::sort(list.begin(), list.end(), [&](const Leaf& x, const Leaf& y) {
      if (x.peer != y.peer) return x.peer < y.peer;
      if (x.part != y.part) return x.part < y.part;
      if (x.source != y.source) return x.source < y.source;
      if (const int loads = compare_loads(leaves, x, y)) return loads < 0;
      return x.destination < y.destination;
    });
    struct Joined {
      const Leaf* leaf;
      std::size_t count;
    };
    std::vector<Joined> joined;
    for (const Leaf& leaf : list) {
      const bool same = !joined.empty() && joined.back().leaf->peer == leaf.peer &&
                        joined.back().leaf->part == leaf.part &&
                        joined.back().leaf->source == leaf.source &&
                        compare_loads(leaves, *joined.back().leaf, leaf) == 0;
      if (same) {
        ++joined.back().count;
      } else {
        joined.push_back({&leaf, 1});
      }
    }
    std::sort(joined.begin(), joined.end(), [&](const Joined& i, const Joined& j) {
      const Leaf& x = *i.leaf;
      const Leaf& y = *j.leaf;
      if (x.peer != y.peer) return x.peer < y.peer;
      if (x.destination != y.destination) return x.destination < y.destination;
      if (x.part != y.part) return x.part < y.part;
      if (x.source != y.source) return x.source < y.source;
      return compare_loads(leaves, x, y) < 0;
    });
    std::vector<RankRoute> routes;
    for (const Joined& entry : joined) {
      const Leaf& leaf = *entry.leaf;
      if (routes.empty() || routes.back().rank != leaf.peer) {
        routes.push_back({leaf.peer, plan_.parcels_.size(), 0, 0});
      }
      ++routes.back().count;
      routes.back().elements += leaf.elements;
      Parcel parcel;
      parcel.part = leaf.part;
      parcel.source = leaf.source;
      parcel.first_group = plan_.groups_.size();
      parcel.first_destination = plan_.destinations_.size();
      parcel.destinations = static_cast<std::uint32_t>(entry.count);
      parcel.elements = leaf.elements;
      const std::size_t factors = (*plan_.flows_)[leaf.part].factors.size();
      for (std::size_t f = 0; f < factors; ++f) {
        plan_.groups_.push_back(leaves.groups[leaf.first_group + f]);
      }
      for (std::size_t i = 0; i < entry.count; ++i) {
        plan_.destinations_.push_back(entry.leaf[i].destination);
      }
      plan_.parcels_.push_back(parcel);
    }
    leaves = {};
    return routes;
  }

  RankPlan& plan_;
  const RankMap& to_;
  LeafList local_;
  LeafList sends_;
  LeafList receives_;
};

Result<RankPlan> RankPlan::make(std::shared_ptr<const reshard::Reshard> reshard,
                                const RankMap& from, const RankMap& to, int rank) {
  const std::int64_t places = reshard->physical().mesh.elements();
  for (const RankMap* map : {&from, &to}) {
    if (map->places() == places && map->ranks() == from.ranks()) continue;
    return Error{
        ErrorCode::kMeshMismatch,
        cat("a map of ", map->places(), " places on ", map->ranks(),
            " ranks for a physical mesh of ", places, " places and ", from.ranks(), " ranks"),
        std::nullopt, "give every place of the physical mesh a rank, for A and for B"};
  }
  if (rank < 0 || rank >= from.ranks()) {
    return Error{ErrorCode::kOutOfRange, cat("rank ", rank, " of ", from.ranks()), std::nullopt,
                 cat("ranks are numbers from 0 to ", from.ranks() - 1)};
  }
  RankPlan plan;
  plan.reshard_ = std::move(reshard);
  plan.from_ranks_ = from;
  plan.rank_ = rank;
  const std::vector<reshard::ReshardPart>& parts = plan.reshard_->parts();
  const reshard::PhysicalMesh& physical = plan.reshard_->physical();
  TESSERA_TRY(plan.from_map_, place_map_of(plan.reshard_->from(), physical));
  TESSERA_TRY(const reshard::PlaceMap to_map, place_map_of(plan.reshard_->to(), physical));
  TESSERA_TRY(plan.from_, plan.from_of(rank));
  TESSERA_TRY(plan.to_, side_of(plan.reshard_->to(), to_map, to, rank));
  std::vector<reshard::Flows> flows;
  flows.reserve(parts.size());
  for (const reshard::ReshardPart& part : parts) {
    TESSERA_TRY(reshard::Flows of_part, reshard::flows_of(part, physical));
    flows.push_back(std::move(of_part));
  }
  plan.flows_ = std::make_shared<const std::vector<reshard::Flows>>(std::move(flows));
  ParcelList list(plan, to);
  for (std::uint32_t part = 0; part < parts.size(); ++part) {
    TESSERA_CHECK_OK(list.add_part(part));
  }
  list.finish();
  return plan;
}

Result<RankSide> RankPlan::from_of(int rank) const {
  return side_of(reshard_->from(), *from_map_, from_ranks_, rank);
}

std::int64_t RankPlan::bytes() const {
  std::size_t bytes = parcels_.capacity() * sizeof(Parcel) +
                      groups_.capacity() * sizeof(const reshard::SegmentGroup*) +
                      (destinations_.capacity() + from_.places.capacity() + to_.places.capacity()) *
                          sizeof(std::int64_t) +
                      (sends_.capacity() + receives_.capacity()) * sizeof(RankRoute) +
                      static_cast<std::size_t>(from_ranks_.places()) * sizeof(std::int32_t);
  for (const reshard::Flows& flows : *flows_) {
    for (const reshard::FlowFactor& factor : flows.factors) {
      bytes += factor.groups.capacity() * sizeof(reshard::SegmentGroup) +
               factor.segments.capacity() * sizeof(reshard::Segment) +
               factor.loops.capacity() * sizeof(reshard::BoxLoop);
    }
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace tessera::exchange
