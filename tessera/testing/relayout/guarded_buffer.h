// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera::test {

/// Memory between two inaccessible pages: code that reads or writes outside of its span crashes,
/// and writes on the same pages next to the span are detected afterwards. One buffer serves many
/// tests, one after the other.
class GuardedBuffer {
 public:
  /// Room for spans of up to `bytes` bytes at any misalignment.
  explicit GuardedBuffer(std::size_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  /// A span that begins `skip` (below 64) bytes after the inaccessible page in front: with 0, a
  /// read before the span crashes.
  std::span<std::byte> at_start(std::size_t bytes, std::size_t skip);
  /// A span that ends at the inaccessible page behind it.
  std::span<std::byte> at_end(std::size_t bytes);

  /// Whether the bytes around the last span (up to a page on either side) are unchanged.
  bool surroundings_kept() const;

 private:
  std::span<std::byte> settle(std::size_t begin, std::size_t bytes);
  std::byte* mapping_ = nullptr;
  std::size_t page_ = 0;
  std::size_t room_ = 0;  // bytes between the inaccessible pages
  std::span<std::byte> last_;
};

/// During its lifetime, a crash of the process first prints this text: which case it was. Only one
/// at a time.
class CrashNote {
 public:
  explicit CrashNote(std::string_view text);
  ~CrashNote();
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;
};

}  // namespace tessera::test
