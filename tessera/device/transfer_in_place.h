// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/device/crossing.h"
#include "tessera/device/device.h"
#include "tessera/device/transfer_run.h"

namespace tessera::device {

/// Carries out one transfer between the host's array and the memory of the places where that is
/// (Device::in_place), without staging memory: part after part, each by all threads. The buffer is
/// pinned during a part, and may be released between two.
class InPlaceTransfer {
 public:
  /// For a crossing that has `in_place`.
  InPlaceTransfer(Device& device, BufferId buffer, const Crossing& crossing, const HostArray& host,
                  ThreadPool& pool)
      : device_(device),
        buffer_(buffer),
        crossing_(crossing),
        how_(*crossing.in_place),
        host_(host),
        pool_(pool) {}

  /// After an error `touched` says whether anything on the device may have been overwritten.
  Status run(const GoOn& go_on);
  bool touched() const { return touched_; }

 private:
  bool to_device() const { return crossing_.direction == Direction::kToDevice; }
  Status check(PinnedBuffer& pinned) const;
  Status mark(PinnedBuffer& pinned) const;
  Status part(int number, PinnedBuffer& pinned);
  Status fill(PinnedBuffer& pinned);
  Status copy(int number, PinnedBuffer& pinned);

  Device& device_;
  const BufferId buffer_;
  const Crossing& crossing_;
  const InPlace& how_;
  const HostArray host_;
  ThreadPool& pool_;
  bool touched_ = false;
};

}  // namespace tessera::device
