// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tessera {

/// Two positions of a list that hold the same number.
struct Repeat {
  std::size_t first = 0;
  std::size_t second = 0;
  friend bool operator==(const Repeat&, const Repeat&) = default;
};

/// The first repeat: the lowest position whose number occurred before, and the position of that
/// earlier occurrence. Numbers are at least 0. Linear time and one bit per number if they are
/// dense, like the places of a mesh; n log n time and 16 bytes per number otherwise.
///
/// Example: of {4, 7, 9, 7, 4} it is the 7 at positions 1 and 3.
std::optional<Repeat> first_repeat(std::span<const std::int64_t> numbers);

}  // namespace tessera
