// SPDX-License-Identifier: Apache-2.0
#pragma once

/// exchange/: moves a tensor from layout A to layout B when its places belong to several ranks
/// (processes, or threads in a test), each with its own memory. In: a Reshard and the ranks of its
/// places. Out: every rank computes its own share of the work (rank_plan.h) and carries it out
/// (resharder.h) over an Exchange. This folder moves bytes only through that interface: it must not
/// use MPI or files.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::exchange {

/// How long ranks wait for each other.
struct Timeouts {
  /// After this time without progress, a waiting rank asks the rank it waits for whether it is
  /// alive.
  std::chrono::milliseconds silence{60'000};
  /// The timeout for its answer.
  std::chrono::milliseconds answer{5'000};
};

// =================================================================================================
// What an exchange is
//
// `ranks()` ranks run the same program. They send each other
//
//   packets   the data, through a Lane: written once into memory of the lane. The receiver reads
//             them in place where both share memory, otherwise from a copy made by the network
//   notes     a few bytes beside the data: questions, answers, agreements (agreement.h)
//
// Packets from one rank to another on one lane arrive in the order in which they were sent; so do
// notes. Nothing blocks: a call does what is possible now, and a waiting caller calls idle() in
// between. Waiting, agreement and the failure detector are built on top, once for all kinds of
// exchange.
//
// Only one thread of a rank uses its exchange. `open` and `share` are collective: every rank calls
// them in the same order.
// =================================================================================================

/// The memory that a lane may take on one rank: (sending + receiving) · packet_bytes.
struct LaneSize {
  std::int64_t packet_bytes = 0;  ///< the longest packet
  int sending = 1;                ///< packets in flight at once
  int receiving = 1;              ///< packets expected at once; ranks that share memory need none
  friend bool operator==(const LaneSize&, const LaneSize&) = default;
};

/// A channel for packets between all ranks of an exchange.
class Lane {
 public:
  virtual ~Lane() = default;

  /// The memory for the next packet: `packet_bytes` bytes, aligned to a cache line; empty while all
  /// `sending` packets are in flight. Stays the same until `send`.
  virtual Result<std::span<std::byte>> room() = 0;
  /// Hands the first `bytes` bytes of room() to rank `to`, which is not this one.
  virtual Status send(int to, std::int64_t bytes) = 0;

  /// Announces one more packet from `from`, so that memory is ready for it. At most `receiving`
  /// packets may be expected and not yet released.
  virtual Status expect(int from) = 0;
  /// The oldest expected packet of `from` that is not released, if it has arrived. Stays the same
  /// until it is released.
  virtual Result<std::optional<std::span<const std::byte>>> arrived(int from) = 0;
  /// Releases the packet that `arrived` returned, after it was read.
  virtual Status release(int from) = 0;

  /// Bytes of memory that this rank uses for the lane.
  virtual std::int64_t staged_bytes() const = 0;
};

/// Memory of one rank that the ranks near it can read.
class SharedArray {
 public:
  virtual ~SharedArray() = default;
  virtual std::span<std::byte> mine() = 0;
  /// The memory of `rank`; empty for a rank that shares no memory with this one. The ranks must
  /// agree on when it may be read.
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
  /// Collective; each rank gets as many bytes as it asks for, aligned to a page.
  virtual Result<std::unique_ptr<SharedArray>> share(std::int64_t bytes) = 0;

  /// Sends a note; `bytes` may be reused immediately.
  virtual Status tell(int to, std::span<const std::byte> bytes) = 0;
  /// The oldest note that has arrived and was not returned before.
  virtual Result<std::optional<RankNote>> heard() = 0;

  /// To be called when there is nothing to do: lets messages progress and yields the processor.
  virtual void idle() = 0;
  /// The clock of all timeouts. A test may replace it.
  virtual std::chrono::steady_clock::time_point now() const {
    return std::chrono::steady_clock::now();
  }
  /// Ends every rank, also those that no longer answer; `status` is the exit status of the whole
  /// program. In one process: from then on no rank receives anything from another, and all calls
  /// return an error.
  virtual void abandon(int status) = 0;

  /// Only for agreement.h: the state that it keeps between decisions, shared by all Agreements.
  std::shared_ptr<AgreementMemory>& agreement_memory() { return agreement_memory_; }

 private:
  std::shared_ptr<AgreementMemory> agreement_memory_;
};

/// `ranks` ranks inside this process, which share memory and are each used by a separate thread:
/// for tests, for many places in one process, and as the model of any other exchange. A rank may be
/// destroyed before the others; ranks that wait for it then run into their timeout.
std::vector<std::unique_ptr<Exchange>> in_process_exchange(int ranks);

}  // namespace tessera::exchange
