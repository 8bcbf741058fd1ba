// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/exchange/exchange.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {
struct PhysicalMesh;
class PlaceMap;
}  // namespace tessera::reshard

namespace tessera::exchange {

/// Maps each place of a reshard's physical mesh to its rank (physical places, numbered row-major).
class RankMap {
 public:
  static constexpr std::int64_t kMostPlaces = std::int64_t{1} << 24;

  /// kOutOfRange for zero ranks, kTooLarge for more than kMostPlaces places.
  static Status check(std::int64_t places, int ranks);

  /// Places in order, in blocks whose sizes differ by at most one: rank r has the places that
  /// ThreadPool::share would give it. Example: 10 places on 4 ranks: 0-2, 3-5, 6-7, 8-9.
  static Result<RankMap> blocks(std::int64_t places, int ranks);
  /// Place p on rank p mod ranks.
  static Result<RankMap> cyclic(std::int64_t places, int ranks);
  /// One rank per place. kOutOfRange for a rank that is not below `ranks`.
  static Result<RankMap> table(std::vector<std::int32_t> rank_of, int ranks);

  int ranks() const { return ranks_; }
  std::int64_t places() const { return static_cast<std::int64_t>(rank_of_.size()); }
  int rank_of(std::int64_t place) const { return rank_of_[static_cast<std::size_t>(place)]; }
  std::uint64_t hash() const;
  friend bool operator==(const RankMap&, const RankMap&) = default;

  RankMap() = default;  ///< no places

 private:
  RankMap(std::vector<std::int32_t> rank_of, int ranks)
      : rank_of_(std::move(rank_of)), ranks_(ranks) {}
  std::vector<std::int32_t> rank_of_;
  int ranks_ = 1;
};

/// The part of a placement that one rank holds: its (virtual) places by ascending number, one after
/// the other in memory, `slots` slots on each.
struct RankSide {
  std::vector<std::int64_t> places;
  relayout::Memory memory;  ///< of mesh [places.size()]
  std::int64_t bytes() const { return memory.bytes; }
  /// The index of a place in `places`, which must contain it.
  std::int64_t position(std::int64_t place) const;
};

/// How places are distributed over ranks.
enum class RankOrder : std::uint8_t {
  kBlocks,  ///< in order, in blocks whose sizes differ by at most one
  kCyclic,  ///< round-robin
};

/// The places of a placement on the physical mesh, by ascending number, distributed over ranks. If
/// A and B have the same places, they have the same ranks; and a row of 4 places that becomes a
/// column of 4 is on 4 ranks before and after. Places that the placement does not have are on rank
/// 0.
Result<RankMap> distribute_places(const Placement& placement, const reshard::PhysicalMesh& physical,
                                  int ranks, RankOrder order = RankOrder::kBlocks);

/// Maps the (virtual) places of a placement to the physical mesh.
/// Error kNotSupported for pieces with their own device maps: no rank would hold all of a place.
Result<reshard::PlaceMap> place_map_of(const Placement& placement,
                                       const reshard::PhysicalMesh& physical);

/// The part of a placement that `rank` holds; `map` gives the physical places. Error kOverflow.
Result<RankSide> side_of(const Placement& placement, const reshard::PlaceMap& map,
                         const RankMap& ranks, int rank);

struct ResharderOptions {
  /// The maximum memory for packets in flight on one rank, sent and received together.
  std::int64_t staging_bytes = std::int64_t{64} << 20;
  /// The longest packet; 0 chooses a length that stays in the caches.
  std::int64_t packet_bytes = 0;
  int threads = 1;         ///< threads that pack and unpack on this rank
  bool checksums = false;  ///< every packet carries a checksum, which the receiver checks
  relayout::PaddingRule padding = relayout::PaddingRule::kPromised;
  Timeouts timeouts;
};

/// The amount of data that a rank moves in one run.
struct RankTotals {
  std::int64_t sent_bytes = 0;  ///< to other ranks
  std::int64_t received_bytes = 0;
  std::int64_t local_bytes = 0;  ///< from its own places to its own places
  std::int64_t packets_sent = 0;
  std::int64_t packets_received = 0;
  std::int64_t partners = 0;      ///< ranks that it sends to or receives from
  std::int64_t staged_bytes = 0;  ///< memory for packets in flight
};

/// A reshard prepared for the ranks of an exchange. It can be run any number of times.
///
/// Law: if every rank has the memory of its places of A in `from`, then after run() every rank has
/// the memory of its places of B in `to`, as if the transfers of the reshard had been carried out
/// (partial sums combined), with padding as requested. The order in which reductions combine
/// depends only on the plan and on whether sources are read in place, so results do not change from
/// run to run. Sums of floats may differ in their last bits between reading in place and packets.
class Resharder {
 public:
  /// Collective. All ranks give the same reshard, maps and options (except for threads). This is
  /// checked first (kPlansDiffer), and an error of one rank is the error of all. `from` and `to`
  /// map each physical place of A and of B to its rank; both have exchange.ranks() ranks and the
  /// places of the physical mesh.
  /// Other errors: kTooLarge where a rank has more than 2^22 pairs of places or 2^23 packets;
  /// kNotSupported for block floats whose tiles do not move as a whole, and for reductions that
  /// combine.h does not have; kOutOfRange for options that leave no room for a packet.
  static Result<Resharder> make(Exchange& exchange, const reshard::Reshard& reshard,
                                const RankMap& from, const RankMap& to,
                                const ResharderOptions& options = {});
  Resharder(Resharder&&) noexcept;
  Resharder& operator=(Resharder&&) noexcept;
  ~Resharder();

  const RankSide& from() const;
  const RankSide& to() const;
  const RankTotals& totals() const;
  /// The same on all ranks.
  std::uint64_t plan_hash() const;

  /// Collective. `from` and `to` have the size of this rank's sides and do not overlap. `from` may
  /// be the mine() of an array that this rank got from `share_source`: the ranks near it then read
  /// it in place, and nothing is packed for them.
  /// Errors, the same on all ranks: kOutOfRange for a buffer of another size; kBadPacket for a
  /// packet with a wrong length or checksum; kRankSilent. After an error the contents of `to` are
  /// unspecified.
  Status run(std::span<const std::byte> from, std::span<std::byte> to);

  /// Collective: memory for `from` that the ranks near this one can read.
  Result<std::unique_ptr<SharedArray>> share_source();

  /// Sets a function that is called on this rank during run(), with the bytes that have arrived so
  /// far (also from this rank itself) and the total.
  void on_progress(std::function<void(std::int64_t done, std::int64_t all)> tell);

 private:
  struct Body;
  explicit Resharder(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace tessera::exchange
