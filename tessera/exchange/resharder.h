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
#include "tessera/exchange/rank_map.h"
#include "tessera/exchange/rank_side.h"
#include "tessera/exchange/timeouts.h"
#include "tessera/relayout/program.h"
#include "tessera/reshard/reshard.h"

namespace tessera::exchange {

struct ResharderOptions {
  /// The most memory that packets on their way may take on one rank, in and out together.
  std::int64_t staging_bytes = std::int64_t{64} << 20;
  /// The longest packet; 0 chooses one that stays in the caches.
  std::int64_t packet_bytes = 0;
  int threads = 1;         ///< that pack and unpack on this rank
  bool checksums = false;  ///< every packet carries one, and is compared with it
  relayout::PaddingRule padding = relayout::PaddingRule::kPromised;
  Timeouts timeouts;
};

/// What a rank moves in one run.
struct RankTotals {
  std::int64_t sent_bytes = 0;  ///< to other ranks
  std::int64_t received_bytes = 0;
  std::int64_t local_bytes = 0;  ///< from its places to its places
  std::int64_t packets_sent = 0;
  std::int64_t packets_received = 0;
  std::int64_t partners = 0;      ///< ranks that it sends to or receives from
  std::int64_t staged_bytes = 0;  ///< memory for packets on their way
};

/// A reshard made ready to be carried out by the ranks of an exchange, as often as wanted.
///
/// Law: when every rank has the memory of its places of A in `from`, then after run() every rank
/// has that of its places of B in `to`, as carrying out the transfers of the reshard would leave it
/// (partial sums combined), padding as asked. Reductions combine in an order that depends only on
/// the plan and on whether sources are read in place, so that results do not change from run to
/// run; sums of floats may differ in their last bits between the two.
class Resharder {
 public:
  /// Collective. All ranks give the same reshard, maps and options (but for threads); that they do
  /// is agreed on first (kPlansDiffer), and an error of one rank is the error of all.
  /// `from` and `to` say which rank has which physical place of A and of B; both have
  /// exchange.ranks() ranks and the places of the physical mesh.
  /// Errors besides: kTooLarge where a rank has more than 2^22 pairs of places or 2^23 packets;
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

  /// Collective. `from` and `to` have the bytes of this rank's sides and do not overlap. `from` may
  /// be the mine() of an array that this rank got from `share_source`: ranks near it then read it
  /// in place, and nothing is packed for them.
  /// Errors, the same on all ranks: kOutOfRange for a buffer of another size; kBadPacket for a
  /// packet of another length or checksum than it should have; kRankSilent. After an error `to`
  /// holds no promise.
  Status run(std::span<const std::byte> from, std::span<std::byte> to);

  /// Collective: memory for `from` that ranks near this one can read.
  Result<std::unique_ptr<SharedArray>> share_source();

  /// Called on this rank as the work goes on, with the bytes that have arrived so far (also from
  /// itself) and those of the whole.
  void on_progress(std::function<void(std::int64_t done, std::int64_t all)> tell);

 private:
  struct Body;
  explicit Resharder(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace tessera::exchange
