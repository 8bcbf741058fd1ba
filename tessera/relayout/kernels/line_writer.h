// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/relayout/kernels/kernels.h"

namespace tessera::relayout {

/// Collects bytes for consecutive addresses and writes them as whole lines that bypass the caches.
/// Only where the addresses jump, it writes the partial lines at both sides with normal stores.
class LineWriter {
 public:
  /// `buffer` is aligned to a line and has `bytes`, a multiple of a line; its last line is only for
  /// bytes that are written past the end of a reserved range. Without `streaming`, lines are
  /// written with normal stores.
  LineWriter(std::byte* buffer, std::int64_t bytes, bool streaming = true)
      : buffer_(buffer), bytes_(bytes - kLine), streaming_(streaming) {}
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  ~LineWriter() { finish(); }

  /// The most bytes that one `reserve` can return.
  std::int64_t capacity() const { return bytes_ - 2 * kLine; }

  /// A buffer for the `bytes` bytes of destination `to`, at most capacity(). The caller must fill
  /// it before the next call.
  std::byte* reserve(std::byte* to, std::int64_t bytes) {
    assert(bytes <= capacity());
    if (to != next_) {
      finish();
      const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % kLine);
      line_ = to - past;
      begin_ = end_ = past;
    } else if (end_ + bytes > bytes_) {
      drain();
    }
    std::byte* room = buffer_ + end_;
    end_ += bytes;
    next_ = to + bytes;
    return room;
  }

  void finish() {
    if (next_ == nullptr) return;
    drain();
    if (end_ > begin_) {
      std::memcpy(line_ + begin_, buffer_ + begin_, static_cast<std::size_t>(end_ - begin_));
    }
    next_ = nullptr;
  }

 private:
  /// Writes all whole lines and keeps the rest.
  void drain() {
    std::int64_t from = 0;
    if (begin_ > 0) {
      if (end_ < kLine) return;
      std::memcpy(line_ + begin_, buffer_ + begin_, static_cast<std::size_t>(kLine - begin_));
      from = kLine;
    }
    const std::int64_t whole = end_ / kLine * kLine;
    copy_bytes(line_ + from, buffer_ + from, whole - from, streaming_);
    if (whole == 0) return;
    std::memcpy(buffer_, buffer_ + whole, static_cast<std::size_t>(end_ - whole));
    line_ += whole;
    begin_ = 0;
    end_ -= whole;
  }

  std::byte* buffer_;
  std::int64_t bytes_;
  bool streaming_;
  std::byte* line_ = nullptr;  ///< where buffer_[0] belongs
  std::int64_t begin_ = 0;     ///< the first byte of the buffer that is ours
  std::int64_t end_ = 0;
  std::byte* next_ = nullptr;  ///< where the next byte would continue
};

}  // namespace tessera::relayout
