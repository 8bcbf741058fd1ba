// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/result.h"

/// exchange/: brings a tensor from layout A to layout B when its places belong to several ranks
/// (processes, or threads in a test), each with memory of its own. A Reshard and the ranks of its
/// places come in; every rank works out its own share (rank_plan.h) and carries it out
/// (resharder.h) over an Exchange. The room moves bytes through that interface alone: it knows
/// neither MPI nor files.
namespace tessera::exchange {

// =================================================================================================
// What an exchange is
//
// `ranks()` ranks run the same program. They pass each other
//
//   packets   the data, through a Lane: written once into memory of the lane, and read in place by
//             the receiver where both share memory, or from a copy that the network made
//   notes     a few bytes beside the data: questions, answers, agreements (agreement.h)
//
// Packets from one rank to another on one lane arrive in the order in which they were sent; so do
// notes. Nothing blocks: a call does what can be done now, and whoever waits calls idle() in
// between. Waiting, agreeing and finding out who is silent are built on top, once for all kinds of
// exchange.
//
// One thread of a rank talks to its exchange. `open` and `share` are collective: every rank calls
// them in the same order.
// =================================================================================================

/// How much memory a lane may take on one rank: (sending + receiving) · packet_bytes.
struct LaneSize {
  std::int64_t packet_bytes = 0;  ///< the longest packet
  int sending = 1;                ///< packets on their way at once
  int receiving = 1;              ///< packets expected at once; ranks that share memory need none
  friend bool operator==(const LaneSize&, const LaneSize&) = default;
};

/// A way for packets between all ranks of an exchange.
class Lane {
 public:
  virtual ~Lane() = default;

  /// Where to write the next packet: `packet_bytes` bytes, aligned to a line; empty while all
  /// `sending` packets are on their way. The same until `send`.
  virtual Result<std::span<std::byte>> room() = 0;
  /// Hands the first `bytes` bytes of room() to rank `to`, which is not this one.
  virtual Status send(int to, std::int64_t bytes) = 0;

  /// Says that one more packet from `from` is to come, so that memory waits for it. No more than
  /// `receiving` may be expected and not released.
  virtual Status expect(int from) = 0;
  /// The oldest expected packet of `from` that is not released, once it is there; the same until
  /// then.
  virtual Result<std::optional<std::span<const std::byte>>> arrived(int from) = 0;
  /// The packet that `arrived` answered has been read.
  virtual Status release(int from) = 0;

  /// Bytes that this rank's end of the lane takes.
  virtual std::int64_t staged_bytes() const = 0;
};

/// Memory of one rank that ranks near it can read.
class SharedArray {
 public:
  virtual ~SharedArray() = default;
  virtual std::span<std::byte> mine() = 0;
  /// What `rank` keeps in its own; nothing for a rank that shares no memory with this one. When it
  /// may be read is for the ranks to agree on.
  virtual std::optional<std::span<const std::byte>> of(int rank) const = 0;
};

struct AgreementMemory;  // agreement_state.h

/// A few bytes from another rank.
struct RankNote {
  int from = 0;
  std::vector<std::byte> bytes;
};

/// See the essay above.
class Exchange {
 public:
  static constexpr std::int64_t kNoteBytes = 4096;  ///< the longest note

  virtual ~Exchange() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Collective; `size` is the same on all ranks.
  virtual Result<std::unique_ptr<Lane>> open(const LaneSize& size) = 0;
  /// Collective; each rank has as many bytes as it asks for, aligned to a page.
  virtual Result<std::unique_ptr<SharedArray>> share(std::int64_t bytes) = 0;

  /// Sends a note; `bytes` may be used again at once.
  virtual Status tell(int to, std::span<const std::byte> bytes) = 0;
  /// The oldest note that has arrived and was not answered before.
  virtual Result<std::optional<RankNote>> heard() = 0;

  /// There is nothing to do for now: lets messages come along and others have the processor.
  virtual void idle() = 0;
  /// The clock of all timeouts. A test may have a clock of its own.
  virtual std::chrono::steady_clock::time_point now() const {
    return std::chrono::steady_clock::now();
  }
  /// Ends every rank, also those that no longer answer; `status` is the exit status of the whole.
  /// In one process: no rank hears of another from then on, and all calls answer an error.
  virtual void abandon(int status) = 0;

  /// For agreement.h alone: what it keeps from one decision to the next, whichever Agreement takes
  /// it.
  std::shared_ptr<AgreementMemory>& agreement_memory() { return agreement_memory_; }

 private:
  std::shared_ptr<AgreementMemory> agreement_memory_;
};

}  // namespace tessera::exchange
