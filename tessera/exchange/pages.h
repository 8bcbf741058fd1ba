// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tessera/base/result.h"

namespace tessera {

/// Whole pages of memory from the system, all zero at first and given back when this goes.
/// Pages that nobody touches take no memory, but for those of `named`.
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

  /// Memory that other processes of this machine find under `name` ("/tessera-4711-0") until
  /// forget(name), and keep after that. All of it is set aside at once, so that a machine with too
  /// little room says kTooLarge here; touching pages that are not there would end the process.
  static Result<Pages> named(const std::string& name, std::int64_t bytes);
  /// What another process made with `named`. kIo when it is not there, kBadPacket when it has
  /// fewer bytes.
  static Result<Pages> find(const std::string& name, std::int64_t bytes);
  /// Nobody finds `name` from now on.
  static void forget(const std::string& name);

  std::span<std::byte> bytes() const { return {start_, size_}; }

 private:
  Pages(std::byte* start, std::size_t size) : start_(start), size_(size) {}
  std::byte* start_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tessera
