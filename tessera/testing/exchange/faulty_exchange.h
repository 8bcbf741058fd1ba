// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/exchange/exchange.h"
#include "tessera/testing/exchange/pace.h"

namespace tessera::test {

/// Calls of an Exchange and of its lanes, by name.
enum class ExchangeCall : std::uint8_t {
  kOpen,
  kShare,
  kTell,
  kHeard,
  kIdle,
  kRoom,
  kSend,
  kExpect,
  kArrived,
  kRelease,
};

/// The faults of one rank. All numbers count from 0: `at` is the number of the note or packet among
/// those to that rank, over all lanes, or of the call among the calls of that name.
struct Faults {
  struct DroppedNote {
    int to = 0;
    std::int64_t at = 0;
  };
  struct CutPacket {
    int to = 0;
    std::int64_t at = 0;
    std::int64_t bytes = 0;  ///< lost at its end; at most all of them
  };
  struct FlippedBit {
    int to = 0;
    std::int64_t at = 0;
    std::int64_t bit = 0;  ///< modulo the bits of the packet; no bit in an empty one
  };
  struct Hang {
    ExchangeCall call = ExchangeCall::kIdle;
    std::int64_t at = 0;
  };
  struct Delay {
    ExchangeCall call = ExchangeCall::kIdle;
    std::int64_t at = 0;
    std::chrono::milliseconds time{0};
  };
  std::vector<DroppedNote> dropped_notes;
  std::vector<CutPacket> cut_packets;
  std::vector<FlippedBit> flipped_bits;
  std::vector<Hang> hangs;
  std::vector<Delay> delays;
};

/// An exchange of any kind with a plan of injected faults. Operations that the plan does not name
/// are passed on unchanged. With a pace its ranks use that clock: an idle() is a step, delays are
/// measured by it, and a rank that hangs is away.
class FaultyExchange final : public exchange::Exchange {
 public:
  FaultyExchange(std::unique_ptr<exchange::Exchange> inner, Faults faults,
                 std::shared_ptr<Pace> pace = nullptr);
  ~FaultyExchange() override;

  int rank() const override { return inner_->rank(); }
  int ranks() const override { return inner_->ranks(); }
  Result<std::unique_ptr<exchange::Lane>> open(const exchange::LaneSize& size) override;
  Result<std::unique_ptr<exchange::SharedArray>> share(std::int64_t bytes) override;
  Status tell(int to, std::span<const std::byte> bytes) override;
  Result<std::optional<exchange::RankNote>> heard() override;
  void idle() override;
  std::chrono::steady_clock::time_point now() const override;
  void abandon(int status) override { inner_->abandon(status); }

  /// Ends all hanging, now and later. May be called from any thread during the lifetime of the
  /// exchange.
  void let_go();
  /// Whether the rank hangs. May be called from any thread.
  bool hangs() const;

  struct State;  ///< shared with its lanes

 private:
  std::unique_ptr<exchange::Exchange> inner_;
  std::shared_ptr<State> state_;
};

/// Ranks in one process that share one pace; `faults` happen on rank `faulty`.
std::vector<std::unique_ptr<exchange::Exchange>> paced_exchange(const std::shared_ptr<Pace>& pace,
                                                                int ranks, int faulty = -1,
                                                                const Faults& faults = {});

}  // namespace tessera::test
