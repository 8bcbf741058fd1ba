// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/result.h"

namespace tessera::exchange {

/// The key by which another process finds shared pages: plain numbers that can be sent.
struct PagesKey {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::uint64_t mark = 0;  ///< unique mark, so that no other memory is mistaken for these pages
  std::int64_t bytes = 0;
};

/// Memory from the system, aligned to a page, initially zero, and freed by the destructor. Pages
/// that are never touched take no memory.
class Pages {
 public:
  Pages() = default;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  /// The size of the fewest whole pages that hold `bytes`, which is at most 2^62.
  static std::int64_t rounded(std::int64_t bytes);

  /// Memory of this process alone. kOutOfMemory when there is none.
  static Result<Pages> anonymous(std::int64_t bytes);

  /// Memory that other processes of this user on this machine can find by its key() until hide(),
  /// and keep after that. It has no name in any folder: processes that die leave nothing behind,
  /// and the space in /dev/shm does not matter. kOutOfMemory when there is no memory, kIo when the
  /// system refuses.
  static Result<Pages> shared(std::int64_t bytes);
  /// Maps memory that another process made with `shared`. kIo when it does not exist, or is
  /// something else.
  static Result<Pages> find(const PagesKey& key);
  PagesKey key() const;
  /// From now on no other process can find it.
  void hide();

  std::span<std::byte> bytes() const { return {start_, size_}; }

 private:
  Pages(std::byte* start, std::size_t size) : start_(start), size_(size) {}
  std::byte* start_ = nullptr;
  std::size_t size_ = 0;
  int descriptor_ = -1;  ///< the descriptor by which others find it
  std::uint64_t mark_ = 0;
};

}  // namespace tessera::exchange
