// SPDX-License-Identifier: Apache-2.0
#pragma once

/// reshard/: moves data from layout A to layout B when the data are spread over many places. In:
/// two Placements and a PhysicalMesh. Out: the exact transfers (transfers.h), their cost, their
/// kind, a better choice of places (relabel.h), and whether memory suffices
/// (feasible.h). Pure: it uses no files and no threads.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/fabric/mesh.h"
#include "tessera/layout/placement.h"
#include "tessera/target/machine.h"

namespace tessera::reshard {

/// The physical places that two placements share, and the fabric that connects them.
struct PhysicalMesh {
  Shape mesh;                                ///< the machine's places, numbered row-major
  std::optional<fabric::FabricMesh> fabric;  ///< empty where the routes are not known
  std::string why_no_fabric;                 ///< half a sentence; empty when there is a fabric
  std::vector<std::int64_t> dead;            ///< place numbers in ascending order

  /// The places of a machine. `check` must accept the machine.
  static Result<PhysicalMesh> of(const Machine& machine);
  /// The smallest mesh that holds the meshes of both placements (with a device map: its physical
  /// mesh), connected by links with the default figures of FabricMesh. For use without a machine.
  /// kMeshMismatch when the ranks of the meshes differ and neither mesh is a single place.
  static Result<PhysicalMesh> around(const Placement& a, const Placement& b);
  /// Places are only numbers: place i of A and place i of B are the same place, counted row-major
  /// on each placement's own mesh (with a device map: its physical mesh). For files and ranks,
  /// which are numbers too: devices 0 to 5 on one side match a grid of 2x3 on the other.
  static Result<PhysicalMesh> in_a_row(const Placement& a, const Placement& b);
};

// =================================================================================================
// What moves, exactly
//
// A keeps element x on the places A(x): one place, or one for each replica. B requires it on the
// places B(x).
//
//   source       Each place q of B(x) takes x from the place of A(x) nearest to q: the fewest steps
//                along rows and columns; on a tie, the smallest place number. If that place is q
//                itself, x is copied inside q; otherwise x crosses.
//   shares       Where A keeps partial sums, x has one value for each share. If B keeps shares of
//                the same number and reduction (fill by fill), share i goes to share i, as if the
//                shares were separate tensors. Otherwise every share of A goes to each place of
//                share 0 of B, which combines them; the other shares of B start as the neutral
//                element of B's reduction, and nothing moves for them.
//   message      Everything that crosses from one place p to another place q (an ordered pair). It
//                takes ceil(bits / wavelet_bits) wavelets.
//   multicast    Elements that leave p for the same set of other places travel together, once over
//                each link of the tree to them.
//
// Worked example: [4] f32 from RowPartition(2), two elements on each of (0,0) and (1,0), to
// Grid(2, 2, replicate=[0, 1]), all four on each of four places. x0 and x1 are only on (0,0), so
// it sends them to the three other places: one multicast, 3 messages of 8 bytes. (1,0) does the
// same with x2 and x3. 48 bytes cross in 6 messages, and 8 bytes are copied inside each of (0,0)
// and (1,0).
//
// Product form. The common refinement of A and B is a list of factors, each a short list of
// pieces; choosing one piece per factor gives a strided nest. Places, like slots, are sums over the
// factors, so costs are sums of products (cost_of), and transfers are listed only on request.
// =================================================================================================

struct ReshardPart;  // part.h: what one box of the tensor does

/// A checked reshard. See the essay above.
class Reshard {
 public:
  /// Errors: kShapeMismatch; kBadDType when the element types or their types in memory differ (a
  /// reshard moves bits; relayout converts them); kNotInjective when elements share a slot of `to`;
  /// kNotSupported for shares of several reductions that are not alike; those of PlaceMap for
  /// places that are dead or outside the physical mesh; kTooLarge as for refine; kOverflow when
  /// bits times the longest route do not fit.
  static Result<Reshard> make(const Placement& from, const Placement& to,
                              const PhysicalMesh& physical);

  const Placement& from() const { return from_; }
  const Placement& to() const { return to_; }
  const PhysicalMesh& physical() const { return physical_; }
  /// One part, or one for each pair of boxes of piecewise placements that intersect. Empty boxes
  /// have none.
  const std::vector<ReshardPart>& parts() const { return *parts_; }

  /// The size of `elements` elements together, rounded up: in bytes of memory, and in wavelets (of
  /// 32 bits where there is no fabric). Elements of block floats count their share of a tile.
  std::int64_t bytes(std::int64_t elements) const { return byte_rate_.of(elements); }
  std::int64_t wavelets(std::int64_t elements) const { return wavelet_rate_.of(elements); }
  /// wavelets(n) = ceil(n · numerator / denominator), in lowest terms: 1/2 for f16, 2/1 for f64.
  struct Rate {
    std::int64_t numerator = 1;
    std::int64_t denominator = 1;
    std::int64_t of(std::int64_t n) const {
      return (n * numerator + denominator - 1) / denominator;
    }
  };
  Rate wavelet_rate() const { return wavelet_rate_; }
  Rate byte_rate() const { return byte_rate_; }

 private:
  Reshard(Placement from, Placement to, PhysicalMesh physical)
      : from_(std::move(from)), to_(std::move(to)), physical_(std::move(physical)) {}
  Placement from_;
  Placement to_;
  PhysicalMesh physical_;
  std::shared_ptr<const std::vector<ReshardPart>> parts_;  // never null
  Rate byte_rate_;
  Rate wavelet_rate_;
};

/// The kind of a reshard, derived from the two placements alone: the first of these that applies.
enum class ReshardKind : std::uint8_t {
  kIdentity,   ///< the same slots of the same physical places; also every empty tensor
  kReduce,     ///< shares of A are combined, and B keeps none
  kScatter,    ///< all of A is on one place; B's elements are on several places
  kGather,     ///< A's elements are on several places; all of B is on one place
  kReplicate,  ///< the same tiles (sets of elements that share their places), but B keeps more
               ///< copies of them
  kTranspose,  ///< the same tiles, on places with row and column exchanged; at least one place must
               ///< differ
  kRedistribute,  ///< the same tiles on other places
  kReshard,       ///< anything else; also a change of slots alone
};
/// "IDENTITY", "REDUCE", "SCATTER", ..
std::string_view kind_name(ReshardKind kind);

/// kTranspose exchanges the coordinates of the virtual meshes when both have two axes.
/// Example: [8, 8] on Grid(2, 4) to Grid(4, 2, dim_to_pe=[1, 0]) is a TRANSPOSE.
Result<ReshardKind> kind_of(const Reshard& reshard);

/// The load on the network, where the routes are known (XY, fabric/mesh.h).
struct FabricCost {
  std::int64_t hops = 0;               ///< Σ over messages of wavelets · distance
  std::int64_t link_hops = 0;          ///< Σ over links of their load: a multicast counts once per
                                       ///< link
  std::int64_t max_link_wavelets = 0;  ///< over one directed link
  std::int64_t max_ramp_wavelets = 0;  ///< into or out of one place; a multicast leaves once
  std::int64_t longest_distance = 0;   ///< steps of the longest message
  std::int64_t depth = 0;   ///< longest chain of dependent steps: 1, or 0 without messages
  std::int64_t cycles = 0;  ///< see below
  friend bool operator==(const FabricCost&, const FabricCost&) = default;
};

/// The cost of a reshard.
///
/// cycles = max(C, max(E/N, M) + L) + (2·T_R + 1)·D, with C the most wavelets through one ramp, E
/// the wavelet-hops, N the links used, M the largest link load, L the longest distance, D the depth
/// (Near-Optimal Wafer-Scale Reduce, HPDC 2024). M is never below E/N, so N is not needed.
struct ReshardCost {
  std::int64_t bytes = 0;        ///< bytes that cross between places; each destination is counted
  std::int64_t local_bytes = 0;  ///< bytes copied inside places
  std::int64_t messages = 0;     ///< ordered pairs of different places
  std::int64_t wavelets = 0;     ///< Σ over messages, each rounded up
  std::optional<FabricCost> fabric;
  friend bool operator==(const ReshardCost&, const ReshardCost&) = default;
};

/// Exact, computed from the product form. The work grows with the number of places along the axes,
/// not with their product; if one dim drives both axes, it grows with the number of links.
/// Law: every field equals what listing the transfers and walking their routes gives.
/// Errors: kTooLarge where the product form does not apply and there are more than 2^23 messages;
/// kOverflow.
Result<ReshardCost> cost_of(const Reshard& reshard);

/// The most elements that are copied inside one place. Errors as for cost_of.
Result<std::int64_t> busiest_local(const Reshard& reshard);

/// The load of each directed link, in wavelets. The link that leaves router (r, c) in a direction
/// is at index r·cols + c. Links that would leave the mesh carry nothing.
struct LinkLoads {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::vector<std::int64_t> east, west, south, north;
};

/// Errors: kNotSupported where the routes are not known; kTooLarge for more than 2^24 routers; and
/// the errors of cost_of.
/// Law: the largest load is max_link_wavelets, and the sum of all loads is link_hops.
Result<LinkLoads> link_loads(const Reshard& reshard);

}  // namespace tessera::reshard
