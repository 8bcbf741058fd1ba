// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/reshard/reshard.h"

/// collectives/: reshards that groups of places carry out together. In: a Reshard. Out: the
/// collectives that it consists of (this header), rounds of messages that carry out a collective
/// (algorithms.h) on the places of its groups (messages.h), and a reduction in two steps (steps.h).
/// It knows no links: the rounds are priced elsewhere.
namespace tessera::reshard {

// =================================================================================================
// What a collective is
//
// The places that A and B use are written as a grid: place = first + Σ c[k]·stride[k]. A grid axis
// is a mesh axis or a part of one. Along each grid axis a placement treats an element in one of
// four ways:
//
//     cut          it is at one coordinate, which depends on the element
//     fixed        it is at one coordinate, the same for all elements
//     replicated   it is at every coordinate
//     partial      a share of it is at every coordinate
//
// An axis along which A and B treat every element alike is unchanged. The others change:
//
//     A \ B          cut              fixed      replicated
//     cut            all_to_all (*)   gather     all_gather
//     fixed          scatter          permute    broadcast
//     replicated     slice            slice
//     partial        reduce_scatter   reduce     all_reduce
//
// Axes that change in the same way change together, in one collective. Its groups are the places
// that differ only along these axes, and every group does the same. A slice moves nothing: each
// place keeps a part of what it has.
//
// (*) It is an all_to_all if, in every group, each member that has something has a part for each
// member that needs something; it is a permute if whole shards go from member to member. Anything
// else between two cuts is no collective. Copies may move in a permute too: a shard in all places
// of row i may go to all places of column i.
//
// A reshard with several changes is a sequence: slices come first, then reductions, exchanges and
// gathers, then what increases the data (broadcast, all_gather). Scatters come early, unless axes
// also become fixed; then they come late, so that no step uses places that neither A nor B names.
//
// Partial sums. An axis that is partial in A and in B, with the same reduction, is unchanged: B has
// the same value, though its shares may be numbered in another way than in Reshard. Where B is
// partial along other axes, and its shares are those of A (Shares::alike), each share moves as if
// it were a separate tensor. Otherwise share 0 of B receives the value, and the others are neutral
// elements.
//
// Example: Partial(sum) over axis 0 and cut over axis 1, to replicated over both, is an all_reduce
// over axis 0 and then an all_gather over axis 1.
// =================================================================================================

enum class CollectiveKind : std::uint8_t {
  kSlice,
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kAllToAll,
  kBroadcast,
  kReduce,
  kScatter,
  kGather,
  kPermute,
};
/// "slice", "all_gather", "reduce_scatter", ..
std::string_view collective_name(CollectiveKind kind);

/// `count` coordinates that are `step` apart along an axis of the mesh in which places are
/// numbered; numbers of neighbours differ by `stride`.
struct GridAxis {
  std::size_t mesh_axis = 0;
  std::int64_t count = 1;
  std::int64_t step = 1;
  std::int64_t stride = 1;
  friend bool operator==(const GridAxis&, const GridAxis&) = default;
};

/// Places in product form: the place with coordinates c has the number first + Σ c[k]·stride[k].
struct PlaceGrid {
  /// The mesh in which places are numbered, row-major: the physical mesh, the mesh of A or B if a
  /// table of devices scatters its places over the physical mesh, or all used places in a row.
  Shape mesh;
  std::int64_t first = 0;
  std::vector<GridAxis> axes;  ///< by mesh axis, and in each from the largest step to the smallest
  /// The physical number of each place of `mesh`; null where numbers are physical already.
  std::shared_ptr<const std::vector<std::int64_t>> devices;

  std::int64_t physical(std::int64_t number) const {
    return devices ? (*devices)[static_cast<std::size_t>(number)] : number;
  }
};

/// How many elements the places of all groups hold.
struct HeldElements {
  std::int64_t most = 0;   ///< on one place
  std::int64_t total = 0;  ///< on all places of all groups; copies and shares count
  friend bool operator==(const HeldElements&, const HeldElements&) = default;
};

class StepSizes;  // step_sizes.h: what each place holds before and after

/// One collective, carried out by all of its groups at once. Groups and members are numbered
/// row-major over `group_axes` and `member_axes`.
struct Collective {
  CollectiveKind kind = CollectiveKind::kSlice;
  std::vector<std::size_t> axes;          ///< of the grid: those that change
  Reduction reduction = Reduction::kSum;  ///< of reductions
  PlaceGrid grid;                         ///< the same for all steps of a sequence
  std::int64_t first = 0;                 ///< the number of member 0 of group 0
  std::vector<GridAxis> group_axes;       ///< from group to group
  std::vector<GridAxis> member_axes;      ///< from member to member; the same in every group
  std::int64_t groups = 1;
  std::int64_t members = 1;
  std::int64_t root = 0;  ///< of broadcast, scatter, gather and reduce: the member that has all
  /// Permute: where the shard of each member goes; -1 for members that have nothing in any group.
  std::vector<std::int32_t> moves;
  HeldElements before;
  HeldElements after;
  std::shared_ptr<const StepSizes> sizes;

  /// The physical number of a place.
  std::int64_t place(std::int64_t group, std::int64_t member) const;
  /// Elements that a member holds before and after. Uneven cuts give members, and groups,
  /// different sizes. Law: Σ over groups and members = before.total, after.total.
  std::int64_t elements_before(std::int64_t group, std::int64_t member) const;
  std::int64_t elements_after(std::int64_t group, std::int64_t member) const;
  /// Elements that `from` holds before and `to` holds after.
  std::int64_t elements_between(std::int64_t group, std::int64_t from, std::int64_t to) const;
  /// The value that elements_before, elements_after or elements_between has for all members of all
  /// groups; empty where they are not known to be equal.
  std::optional<std::int64_t> same_before() const;
  std::optional<std::int64_t> same_after() const;
  std::optional<std::int64_t> same_between() const;
};

/// A reshard as collectives, one after the other. No steps: every place has what it needs already,
/// although slices of copies that fill no grid may be left over.
struct Collectives {
  PlaceGrid grid;  ///< may have no axes where there are no steps
  std::vector<Collective> steps;
};

/// The collectives that a reshard consists of; empty if there are none. The answer follows from the
/// places of the elements alone: placements that are equal as functions give the same answer,
/// however they were described. Slots do not matter.
/// Law: carried out one after the other by their definitions, the steps lead from A to B.
/// Errors: kTooLarge if places follow no rule of rows and columns and there are too many of them to
/// compare one by one.
/// Example: f32[8, 8] from RowPartition(4) to 4 rows of copies is an all_gather of one group of 4
/// members, each of which holds 16 elements before and 64 after.
Result<std::optional<Collectives>> collectives_of(const Reshard& reshard);

/// "all_reduce over 4 groups of 2, then all_gather over 2 groups of 4"; "nothing moves" without
/// steps.
std::string describe(const Collectives& collectives);

}  // namespace tessera::reshard
