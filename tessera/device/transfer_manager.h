// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "tessera/base/result.h"
#include "tessera/device/device.h"
#include "tessera/relayout/rounding.h"

namespace tessera {
struct PoolOptions;  // base/host_memory_pool.h
}

namespace tessera::device {

struct TransferState;

/// A transfer that was begun. It may be copied; all copies are the same transfer.
///
/// Unless the transfer owns the host's memory, that memory must stay valid, and unchanged by
/// others, until the transfer is complete. The destructor of the last copy waits for that, so
/// memory that outlives the handle is safe.
class TransferHandle {
 public:
  /// Counts from 1, in the order in which transfers were begun.
  std::uint64_t id() const;
  bool is_complete() const;
  /// Waits, and returns how the transfer ended.
  Status wait() const;
  /// Ends the transfer before its next step, unless it is complete by then. Its outcome is then an
  /// error with the reason "cancelled".
  void cancel() const;
  /// Bytes that went through the border so far; in place, those that would have.
  std::int64_t border_bytes() const;

 private:
  friend class TransferManager;
  struct Guard;
  explicit TransferHandle(std::shared_ptr<const Guard> guard) : guard_(std::move(guard)) {}
  std::shared_ptr<const Guard> guard_;
};

/// Elements of 16 bits at the border: as they are in memory, or each in a word of 32 bits.
enum class BorderWords : std::uint8_t {
  kAuto,  ///< words where the machine's border is Cerebras' (its description has a fabric)
  kNever,
  kAlways,
};

struct TransferOptions {
  /// Of each of the two blocks of staging memory; at least 64.
  std::int64_t block_bytes = std::int64_t{512} << 10;
  BorderWords words = BorderWords::kAuto;
  /// What happens to numbers that the type on the other side cannot represent.
  relayout::Rounding rounding = relayout::Rounding::kChecked;
  /// Whether tensors move without staging memory where the host addresses the memory of the device
  /// and they need no image on the host (crossing.h). The results are the same.
  bool in_place = true;
  /// Of the pool of staging memory, read by TransferManager::make; null: the default.
  const PoolOptions* staging = nullptr;
};

/// How a tensor goes through the border.
struct BorderUse {
  std::int64_t rectangles = 0;  ///< of places that get equally many elements
  std::int64_t calls = 0;       ///< rectangles, divided into blocks
  std::int64_t bytes = 0;       ///< through the border, padding between elements included
  bool words = false;
};

/// Moves tensors between the host's memory and a device.
///
/// On the host a tensor is row-major, without gaps, in its own element type (f32 for tensors of
/// block floats; i4 and i2 packed from the lowest bits up). On the device it is as its buffer says:
/// in any layout and any type of storage. Transfers are carried out one after the other, in the
/// order in which they were begun, by threads of the manager: while one block is packed, another
/// crosses. Memory that the host addresses is read and written in place, without blocks.
///
/// Law: after host_to_device, every place of the buffer holds its elements, and its padding the
/// value that the layout promises; partial sums are the value in the first share and neutral
/// elsewhere. device_to_host gives the elements back; partial sums are combined. If a transfer
/// fails or is cancelled, its handle says so; a buffer of which something may have been overwritten
/// then counts as unwritten, and the contents of host memory are unspecified.
///
/// Example:
///     TESSERA_TRY(const auto transfers, TransferManager::make(*device));
///     TESSERA_CHECK_OK(transfers->host_to_device(x, std::as_bytes(std::span(values))));
///     const TransferHandle handle = transfers->device_to_host_async(y, bytes);
///     ..
///     TESSERA_CHECK_OK(handle.wait());
class TransferManager {
 public:
  /// The device must outlive the manager. Errors: kOutOfRange for blocks of less than 64 bytes;
  /// kOutOfMemory.
  static Result<std::unique_ptr<TransferManager>> make(Device& device,
                                                       const TransferOptions& options = {});
  /// Cancels the transfers that are not complete.
  ~TransferManager();
  TransferManager(const TransferManager&) = delete;
  TransferManager& operator=(const TransferManager&) = delete;

  /// Errors: kOutOfRange for host memory of another size, for numbers that do not fit and, towards
  /// the host, for elements that were never written; kBadBuffer; kNotSupported for partial sums of
  /// types without arithmetic; kOutOfMemory; those of the device.
  Status host_to_device(BufferId buffer, std::span<const std::byte> host_data);
  Status device_to_host(BufferId buffer, std::span<std::byte> host_data);

  /// Begin a transfer; all errors are those of the handle. With `owner`, which is kept until the
  /// transfer is complete, the handle may be dropped.
  TransferHandle host_to_device_async(BufferId buffer, std::span<const std::byte> host_data,
                                      std::shared_ptr<const void> owner = nullptr);
  TransferHandle device_to_host_async(BufferId buffer, std::span<std::byte> host_data,
                                      std::shared_ptr<const void> owner = nullptr);

  /// The bytes that the tensor of a buffer has on the host.
  Result<std::int64_t> host_bytes(BufferId buffer) const;
  /// What host_to_device needs of the border.
  Result<BorderUse> border_use(BufferId buffer) const;

  /// Of transfers that succeeded, both directions: bytes on the host, and bytes per second while
  /// they were carried out (0 before the first).
  std::size_t total_bytes_transferred() const;
  double average_transfer_bandwidth() const;

 private:
  struct Body;
  explicit TransferManager(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace tessera::device
