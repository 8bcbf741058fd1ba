// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/resharder.h"
#include "tessera/reshard/flows/flows.h"
#include "tessera/reshard/reshard.h"

/// ranks/: which data each rank sends and receives. In: a Reshard and the ranks of its places. Out:
/// the RankPlan of one rank, and its estimated time on a cluster (cluster_model.h). It must not
/// move data or talk to other ranks.
namespace tessera::exchange {

// =================================================================================================
// What one rank does
//
// Ranks hold whole places. The data that cross are determined as in reshard.h, but between ranks:
// an element that a place q of B needs comes
//
//   from its own rank   if that keeps a copy: the one on the place with the smallest number
//   from the nearest    copy on the physical mesh otherwise, as in reshard.h
//
// and data that several places of one rank need from the same place of A travel once.
//
// A *parcel* is what goes from one place of A to one place of B, or to several that keep copies, in
// product form: one group of segments per factor (reshard/flows/flows.h). Parcels are never listed
// element by element or box by box: 8x8 blocks into 100x100 blocks are a few dozen segments per
// dim.
//
// A rank computes only what its own places send and receive. So the time of planning depends on its
// partners, not on all pairs of ranks.
//
// Law: over all ranks, the parcels that r sends to s are those that s receives from r, in the same
// order. Every element of every place of B is in exactly one parcel that its rank receives or
// already has; where shares are combined, in one for each share.
// =================================================================================================

/// See above. Groups and destinations are lists of RankPlan.
struct Parcel {
  std::uint32_t part = 0;             ///< index of the part of the reshard
  std::int64_t source = 0;            ///< virtual place of A
  std::size_t first_group = 0;        ///< one for each factor of the part's flows
  std::size_t first_destination = 0;  ///< virtual places of B, by ascending number
  std::uint32_t destinations = 1;
  std::int64_t elements = 0;  ///< per destination
};

/// All data between this rank and another.
struct RankRoute {
  int rank = 0;
  std::size_t first = 0;  ///< index of its first parcel
  std::size_t count = 0;
  std::int64_t elements = 0;
};

/// See the essay above.
class RankPlan {
 public:
  /// Both maps have the places of the reshard's physical mesh and the same number of ranks, and
  /// `rank` is one of them.
  /// Errors: kMeshMismatch for maps of other places or ranks; kTooLarge where the places of this
  /// rank take part in more than 2^22 parcels; kNotSupported for pieces with their own device maps;
  /// those of flows_of.
  static Result<RankPlan> make(std::shared_ptr<const reshard::Reshard> reshard, const RankMap& from,
                               const RankMap& to, int rank);

  int rank() const { return rank_; }
  const reshard::Reshard& reshard() const { return *reshard_; }
  const RankSide& from() const { return from_; }
  const RankSide& to() const { return to_; }
  /// The part of A that `rank` holds: for ranks that read it in place.
  Result<RankSide> from_of(int rank) const;

  const std::vector<RankRoute>& sends() const { return sends_; }        ///< by ascending rank
  const std::vector<RankRoute>& receives() const { return receives_; }  ///< by ascending rank
  const RankRoute& local() const { return local_; }
  std::span<const Parcel> parcels(const RankRoute& route) const {
    return std::span(parcels_).subspan(route.first, route.count);
  }
  const reshard::Flows& flows(const Parcel& parcel) const { return (*flows_)[parcel.part]; }
  /// The group of each factor of flows(parcel).
  std::span<const reshard::SegmentGroup* const> groups(const Parcel& parcel) const {
    return std::span(groups_).subspan(parcel.first_group, flows(parcel).factors.size());
  }
  std::span<const std::int64_t> destinations(const Parcel& parcel) const {
    return std::span(destinations_).subspan(parcel.first_destination, parcel.destinations);
  }

  /// Memory that the plan itself takes.
  std::int64_t bytes() const;

 private:
  RankPlan() = default;
  friend class ParcelList;
  std::shared_ptr<const reshard::Reshard> reshard_;
  std::shared_ptr<const std::vector<reshard::Flows>> flows_;  // one per part
  RankMap from_ranks_;
  std::optional<reshard::PlaceMap> from_map_;  // empty only during make()
  int rank_ = 0;
  RankSide from_;
  RankSide to_;
  std::vector<RankRoute> sends_;
  std::vector<RankRoute> receives_;
  RankRoute local_;
  std::vector<Parcel> parcels_;
  std::vector<const reshard::SegmentGroup*> groups_;
  std::vector<std::int64_t> destinations_;
};

}  // namespace tessera::exchange
