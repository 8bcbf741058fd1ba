// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/base/host_allocator.h"
#include "tessera/base/host_memory_pool.h"
#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/device/crossing.h"
#include "tessera/device/device.h"

namespace tessera::device {

/// The arrays of a transfer on the host; one of them, by its direction.
struct HostArray {
  std::span<const std::byte> source;
  std::span<std::byte> destination;
};

/// Asked before each step of a transfer, with the bytes that went through the border so far; false
/// ends it.
using GoOn = std::function<bool(std::int64_t)>;
Error cancelled_after(std::int64_t done_bytes, std::int64_t all_bytes);

/// Carries out one transfer, chunk by chunk, between two blocks of staging memory: while one thread
/// packs (or receives) a chunk, another sends (or unpacks) the one before.
class TransferRun {
 public:
  TransferRun(Device& device, BufferId buffer, const Crossing& crossing, const HostArray& host,
              HostMemoryPool& blocks, ThreadPool& pool);

  /// After an error `touched` says whether anything may have been sent.
  Status run(const GoOn& go_on);
  bool touched() const { return touched_; }

 private:
  Status make_image();
  Status finish_image();
  Status steps(const GoOn& go_on);
  Result<std::byte*> block_for(std::size_t chunk);
  CrossingPlace items_of(const Chunk& chunk, std::size_t i) const;
  Status pack(const Chunk& chunk, std::byte* block);
  Status send(const Chunk& chunk, const std::byte* block);
  Status receive(const Chunk& chunk, std::byte* block);
  Status unpack(const Chunk& chunk, std::byte* block);
  BorderCall call_of(const Chunk& chunk);

  Device& device_;
  const BufferId buffer_;
  const Crossing& crossing_;
  const HostArray host_;
  HostMemoryPool& blocks_;
  ThreadPool& pool_;
  ThreadPool alone_{1};  // of the thread that packs or unpacks
  bool touched_ = false;
  HostAllocator::UniquePtr<std::byte> image_;
  /// Two blocks that alternate, from the pool or, for a chunk that cannot be divided, of their own.
  std::array<HostMemoryPool::UniqueBlock, 2> pooled_;
  std::array<HostAllocator::UniquePtr<std::byte>, 2> own_;
  std::array<std::size_t, 2> own_bytes_ = {0, 0};
  std::vector<std::int64_t> call_places_;
};

}  // namespace tessera::device
