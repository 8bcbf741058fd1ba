// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/result.h"

namespace tessera::exchange {

/// Where another process finds shared pages: plain numbers, which can be sent.
struct PagesKey {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::uint64_t mark = 0;  ///< so that nothing else is taken for them
  std::int64_t bytes = 0;
};

/// Memory from the system, aligned to a page, all zero at first and given back when this goes.
/// Pages that nobody touches take no memory.
class Pages {
 public:
  Pages() = default;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  /// The bytes of the fewest whole pages that have `bytes`, which is not above 2^62.
  static std::int64_t rounded(std::int64_t bytes);

  /// Memory of this process alone. kTooLarge when there is none.
  static Result<Pages> anonymous(std::int64_t bytes);

  /// Memory that other processes of this user on this machine find by its key() until hide(), and
  /// keep after that. It has no name in any folder: nothing is left behind by processes that die,
  /// and the room in /dev/shm does not matter. kTooLarge when there is none, kIo when the system
  /// refuses.
  static Result<Pages> shared(std::int64_t bytes);
  /// What another process made with `shared`. kIo when it is not there, or is something else.
  static Result<Pages> find(const PagesKey& key);
  PagesKey key() const;
  /// Nobody finds it from now on.
  void hide();

  std::span<std::byte> bytes() const { return {start_, size_}; }

 private:
  Pages(std::byte* start, std::size_t size) : start_(start), size_(size) {}
  std::byte* start_ = nullptr;
  std::size_t size_ = 0;
  int descriptor_ = -1;  ///< by which others find it
  std::uint64_t mark_ = 0;
};

}  // namespace tessera::exchange
