// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"
#include "tessera/exchange/packets/packets.h"

namespace tessera::exchange {

/// The objects that a run uses besides the packets.
struct PacketTools {
  Agreement& agreement;
  Lane& lane;
  const SlabMovers& movers;
  ThreadPool& pool;
  LaneSize size;
  std::uint64_t plan = 0;  ///< the plan number in its packets
  bool checksums = false;
};

/// One run of a plan: sends, receives and does local copies, each as soon as it is possible. While
/// packets are in flight, it packs others. While none can be sent or received, it copies local
/// data. When there is nothing to do, it waits through the agreement. A busy rank also answers when
/// another rank asks whether it is alive.
class PacketRun {
 public:
  PacketRun(const PacketTools& tools, const Packets& packets, std::span<const std::byte> from,
            std::span<std::byte> to);

  /// Sends nothing between this rank and the ranks in `near`: their data are read in place.
  void read_directly(const std::vector<bool>& near, const DirectReads& reads,
                     const SharedArray& array);
  /// Sets a function that is told the bytes that have reached places of B, and the total.
  void on_progress(const std::function<void(std::int64_t, std::int64_t)>& tell);

  /// Runs everything. An error ends the exchange at once. A bad packet does not: it is reported by
  /// outcome() at the end, so that no rank is left waiting.
  Status all();
  const Status& outcome() const { return outcome_; }

 private:
  bool is_near(int rank) const;
  void note(Status status);
  void done(std::int64_t bytes);
  void move_all(const PacketPlan& packet, std::span<const SlabMovers::Use> uses,
                std::span<const std::byte> from, std::span<std::byte> to);
  void copy_local();
  Status keep_up(std::size_t received);
  Status read_all();
  Status attend();
  void skip_near();
  Status expect_more();
  Result<bool> send_one();
  Result<bool> receive_one();
  Status check(const PacketPlan& packet, std::span<const std::byte> bytes) const;
  int awaited() const;

  PacketTools tools_;
  const Packets& packets_;
  const std::span<const std::byte> from_;
  const std::span<std::byte> to_;

  const std::vector<bool>* near_ = nullptr;
  const DirectReads* reads_ = nullptr;
  const SharedArray* array_ = nullptr;
  const std::function<void(std::int64_t, std::int64_t)>* tell_ = nullptr;

  std::size_t next_send_ = 0;
  std::size_t next_local_ = 0;
  std::size_t next_expected_ = 0;  // receives before this index are expected or taken
  std::size_t first_missing_ = 0;  // receives before this index are taken
  int expected_ = 0;
  std::size_t received_ = 0;
  std::vector<bool> taken_;
  std::vector<int> passed_;
  std::chrono::steady_clock::time_point last_;  // time of the last progress
  std::chrono::steady_clock::time_point attended_;
  std::int64_t done_bytes_ = 0;
  std::int64_t all_bytes_ = 0;
  Status outcome_ = ok_status();
};

}  // namespace tessera::exchange
