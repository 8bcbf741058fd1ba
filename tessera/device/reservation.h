// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tessera/base/result.h"

namespace tessera::device {

/// A range of address space whose pages take memory when they are first written. Fresh bytes are 0.
class Reservation {
 public:
  /// `small_pages`: a write makes one page of the smallest size resident, also where the system
  /// prefers large pages. kOutOfMemory when the process may not have so much address space.
  static Result<Reservation> make(std::int64_t bytes, bool small_pages);
  Reservation() = default;
  Reservation(Reservation&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Reservation();

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  /// Bytes of the pages that are in memory.
  std::int64_t resident_bytes() const;

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace tessera::device
