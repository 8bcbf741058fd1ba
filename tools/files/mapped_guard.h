// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace tessera::tools {

/// Memory that is mapped from a file. When a page is not available (the file became shorter, the
/// disk failed), the system sends SIGBUS; then the rest of the mapping becomes zeros and `is_lost`.
/// What is read or written there afterwards is meaningless, but the process survives and can report
/// it.
class GuardedMapping {
 public:
  /// Maps `size` bytes of a descriptor, for reading or also for writing. On failure `at()` is null
  /// and errno has the reason. For 0 bytes nothing is mapped, which is not a failure.
  GuardedMapping(int descriptor, std::size_t size, bool writable);
  ~GuardedMapping();
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;

  std::byte* at() const { return at_; }
  std::size_t size() const { return size_; }
  bool failed() const { return at_ == nullptr && size_ > 0; }
  bool is_lost() const;

 private:
  std::byte* at_ = nullptr;
  std::size_t size_ = 0;
  int slot_ = -1;
};

/// The name of a file that SIGINT, SIGTERM and SIGHUP remove before they end the process, unless
/// the program handles these signals itself. Any number of names may be kept at a time. Keep the
/// name before the file is created, so that there is no moment at which a signal would leave it.
class RemovedOnSignal {
 public:
  explicit RemovedOnSignal(const std::string& path);
  ~RemovedOnSignal();
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;

 private:
  void* entry_ = nullptr;
};

}  // namespace tessera::tools
