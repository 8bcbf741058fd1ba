// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/layout/layout.h"

namespace tessera {

/// What a layout allocates compared with what it holds, in elements, summed over all places.
struct Waste {
  std::int64_t allocated = 0;
  std::int64_t needed = 0;  ///< counts every replica

  bool more_than(double factor) const;
  /// allocated / needed as text: "96" or "2.5". Requires needed > 0.
  std::string factor_text() const;
};

/// `needed` counts the elements only.
/// Example: 8x96x32 as (d0 * 96 + d1, d1, d2) allocates 96 times the data.
Waste waste_of(const Layout& layout);

/// `needed` counts whole tiles: it includes the elements added by rounding up the last two dims.
Waste waste_beside_tiles(const Layout& layout, std::int64_t rows, std::int64_t cols);

/// The number of places that hold nothing because the lines end before them. Holes inside a line
/// are not counted. Empty if a line does not assign consecutive pieces to consecutive places.
/// Example: 53 rows in pieces of 32 on 3 places: 1.
std::optional<std::int64_t> places_past_the_end(const Form& form);

}  // namespace tessera
